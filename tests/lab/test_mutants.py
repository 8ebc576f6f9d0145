"""The oracle must be able to say no: faults are put into the code that trains, and it finds each.

A mutant is a snippet of a module's source and what replaces it. The changed source is compiled, and
the code of every function in it is swapped into the live function, so that whoever holds that
function runs the fault, however it was imported. Afterwards everything is put back.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from types import CodeType, FunctionType, ModuleType
from typing import Any

import pytest

from evenodds.credit import centered, standardized_sample
from evenodds.lab.oracle import Case, Row, cases, check
from evenodds.lab.oracle.forms import recipe_case
from evenodds.lab.oracle.world import make_world
from evenodds.objectives import RECIPES, recipes
from evenodds.objectives.ratio import token
from evenodds.objectives.reduce import per_answer
from evenodds.objectives.surrogate import Cispo, Clip, DualClip, SoftGate

pytestmark = pytest.mark.usefixtures("no_shapes")


@dataclass(frozen=True)
class Mutant:
    """name: the fault. near: a section of the oracle, or a recipe, that is looked at first."""

    name: str
    module: str
    old: str
    new: str
    near: str = "recipes"


CREDIT, BATCH = "credit", "batch"
OBJECTIVE, RATIO, SURROGATE, REDUCE, PENALTY, CORRECTION, SHAPING = (
    f"objectives.{name}"
    for name in ("objective", "ratio", "surrogate", "reduce", "penalty", "correction", "shaping")
)
ALONE, SAMPLER, CUT = "KL in the loss, alone", "sampler is not the learner", "truncated answers"

STD = "std = float(shifted(rewards).std(ddof=ddof))"
OTHER_STDS = [  # each is the std itself for right or wrong among two or three
    Mutant(
        "std by the range",
        CREDIT,
        STD,
        "std = float(np.ptp(rewards)) * (rewards.size - 1) ** 0.5 / rewards.size",
    ),
    Mutant(
        "std by the mean distance",
        CREDIT,
        STD,
        "std = np.abs(deviation).mean() * rewards.size / 2 / (rewards.size - 1) ** 0.5",
    ),
    Mutant(
        "std of p (1 - p), p from one success",
        CREDIT,
        STD,
        "std = (1 / rewards.size * (1 - 1 / rewards.size)) ** 0.5",
    ),
]
"""Without the difficulty bias, or with another one."""

MUTANTS = [
    # credit
    *OTHER_STDS,
    Mutant("forgets the mean", CREDIT, "near - near.mean()", "near * 1.0"),
    Mutant("sample std", CREDIT, "std(ddof=ddof)", "std(ddof=1 - ddof)"),
    Mutant("no floor", CREDIT, "deviation / (std + delta)", "deviation / std", "credit"),
    Mutant("no std", CREDIT, "deviation / (std + delta)", "deviation"),
    Mutant("rloo factor dropped", CREDIT, "* (size / (size - 1)) if", "* 1.0 if", "rloo"),
    Mutant("rloo factor upside down", CREDIT, "(size / (size - 1))", "((size - 1) / size)", "rloo"),
    Mutant(
        "maxrl by the std",
        CREDIT,
        "deviation / abs(mean)",
        "deviation / (rewards.std() + 1e-99)",
        "maxrl",
    ),
    Mutant(
        "raw is centered",
        CREDIT,
        "rewards.astype(np.float64)",
        "rewards - rewards.mean()",
        "reinforce",
    ),
    Mutant(
        "whitening mean by answer",
        CREDIT,
        "values - np.average(values, weights=weights)",
        "values - values.mean()",
        "reinforce_pp",
    ),
    Mutant(
        "whitening std by answer",
        CREDIT,
        "np.average(deviation**2, weights=weights)",
        "(deviation**2).mean()",
        "reinforce_pp",
    ),
    # ratio
    Mutant("sequence ratio is a sum", RATIO, " / tokens.lengths.to(log_ratio.dtype)", "", "gspo"),
    Mutant(
        "sequence ratio detached",
        RATIO,
        "return means[tokens.rollout]",
        "return means[tokens.rollout].detach()",
        "gspo",
    ),
    Mutant("token ratio upside down", RATIO, "    return log_ratio\n", "    return -log_ratio\n"),
    # objective
    Mutant("loss sign", OBJECTIVE, "loss = -(", "loss = +("),
    Mutant("weights forgotten", OBJECTIVE, "self.reduce(tokens, extent) * self", "self"),
    Mutant("no correction", OBJECTIVE, "self.correction(tokens) * value", "value", SAMPLER),
    Mutant(
        "correction without its ratio",
        OBJECTIVE,
        "old = tokens.first_logprobs",
        "old = tokens.old_logprobs",
        SAMPLER,
    ),
    Mutant("KL sign", OBJECTIVE, "value - self.kl_loss(", "value + self.kl_loss(", ALONE),
    Mutant(
        "KL corrected too",
        OBJECTIVE,
        "value = value - self.kl_loss(",
        "value = value - (self.correction(tokens) if self.correction else 1) * self.kl_loss(",
        SAMPLER,
    ),
    Mutant(
        "entropy sign", OBJECTIVE, "value + self.entropy *", "value - self.entropy *", "entropy"
    ),
    # surrogate
    Mutant(
        "clip sides swapped",
        SURROGATE,
        "ratio.clamp(1 - self.low, 1 + self.high)",
        "ratio.clamp(1 - self.high, 1 + self.low)",
    ),
    Mutant(
        "clip from below only",
        SURROGATE,
        "ratio.clamp(1 - self.low, 1 + self.high)",
        "ratio.clamp(min=1 - self.low)",
    ),
    Mutant(
        "clip from above only",
        SURROGATE,
        "ratio.clamp(1 - self.low, 1 + self.high)",
        "ratio.clamp(max=1 + self.high)",
    ),
    Mutant("max for min", SURROGATE, "torch.minimum(ratio *", "torch.maximum(ratio *"),
    Mutant(
        "no min",
        SURROGATE,
        "torch.minimum(ratio * tokens.advantages, clipped * tokens.advantages)",
        "clipped * tokens.advantages",
    ),
    Mutant(
        "no clip",
        SURROGATE,
        "torch.minimum(ratio * tokens.advantages, clipped * tokens.advantages)",
        "ratio * tokens.advantages",
    ),
    Mutant(
        "dual clip on the other side",
        SURROGATE,
        "torch.where(tokens.advantages < 0, floor",
        "torch.where(tokens.advantages > 0, floor",
        "surrogate",
    ),
    Mutant(
        "dual clip from the other side",
        SURROGATE,
        "torch.maximum(value, self.dual",
        "torch.minimum(value, self.dual",
        "dual_clip",
    ),
    Mutant("no dual clip", SURROGATE, "floor, value)", "value, value)", "surrogate"),
    Mutant(
        "cispo through its weight",
        SURROGATE,
        "exp(log_ratio.detach()).clamp",
        "exp(log_ratio).clamp",
        "cispo",
    ),
    Mutant(
        "cispo without a cap",
        SURROGATE,
        "exp(log_ratio.detach()).clamp(1 - self.low, 1 + self.high)",
        "exp(log_ratio.detach())",
        "surrogate",
    ),
    Mutant(
        "cispo cap absolute",
        SURROGATE,
        "exp(log_ratio.detach()).clamp(1 - self.low, 1 + self.high)",
        "exp(log_ratio.detach()).clamp(1 - self.low, self.high)",
        "surrogate",
    ),
    Mutant("soft gate 4/τ dropped", SURROGATE, "4 / tau * torch", "torch", "sapo"),
    Mutant("soft gate 4 for 4/τ", SURROGATE, "4 / tau * torch", "4 * torch", "sapo"),
    Mutant(
        "soft gate τ swapped",
        SURROGATE,
        "torch.where(tokens.advantages > 0, self.p",
        "torch.where(tokens.advantages < 0, self.p",
        "sapo",
    ),
    Mutant("soft gate off centre", SURROGATE, "(exp(log_ratio) - 1)", "exp(log_ratio)", "sapo"),
    Mutant(
        "ratio of reinforce detached",
        SURROGATE,
        "return exp(log_ratio) * tokens.advantages",
        "return exp(log_ratio.detach()) * tokens.advantages",
        "rloo",
    ),
    Mutant(
        "clip share at A = 0",
        SURROGATE,
        "(slope == 0) & (tokens.advantages != 0)",
        "slope == 0",
        "batch",
    ),
    Mutant("clip share of what is free", SURROGATE, "(slope == 0) &", "(slope != 0) &"),
    # reduce
    Mutant(
        "1/|o| deleted",
        REDUCE,
        "(extent.rollouts * tokens.lengths[tokens.rollout].to(tokens.logprobs.dtype))",
        "extent.rollouts + 0 * tokens.advantages",
    ),
    Mutant(
        "per answer by tokens", REDUCE, "(extent.rollouts * tokens.l", "(extent.tokens * tokens.l"
    ),
    Mutant("max_tokens deleted", REDUCE, "extent.rollouts * extent.max_tokens", "extent.rollouts"),
    Mutant("per budget by tokens", REDUCE, "extent.rollouts * extent.max_tokens", "extent.tokens"),
    Mutant("per token by answers", REDUCE, "1.0 / extent.tokens", "1.0 / extent.rollouts"),
    Mutant(
        "tokens of the micro-batch",
        REDUCE,
        "1.0 / extent.tokens",
        "1.0 / len(tokens.logprobs)",
        "reduction",
    ),
    Mutant(
        "answers of the micro-batch",
        REDUCE,
        "1.0 / (extent.rollouts * extent.max_tokens)",
        "1.0 / (len(tokens.lengths) * extent.max_tokens)",
        "reduction",
    ),
    # penalty
    Mutant("k1 sign", PENALTY, "return -gap", "return gap", ALONE),
    Mutant("k2 without its half", PENALTY, "gap.square() / 2", "gap.square()", ALONE),
    Mutant("k3 without exp", PENALTY, "expm1() - gap", "square() - gap", ALONE),
    Mutant("k3 without its 1", PENALTY, "expm1() - gap", "exp() - gap", ALONE),
    Mutant("k3 without l", PENALTY, "expm1() - gap", "expm1()", ALONE),
    Mutant(
        "gap upside down",
        PENALTY,
        "tokens.reference_logprobs - tokens.logprobs",
        "tokens.logprobs - tokens.reference_logprobs",
        ALONE,
    ),
    Mutant("KL coefficient lost", PENALTY, "self.coefficient * ESTIMATORS", "ESTIMATORS", ALONE),
    Mutant(
        "weighted KL without gradient",
        PENALTY,
        "exp(log_ratio) * value if",
        "exp(log_ratio.detach()) * value if",
        ALONE,
    ),
    Mutant("KL weight lost", PENALTY, "exp(log_ratio) * value if", "value if", ALONE),
    # correction
    Mutant(
        "answer's weight is a mean",
        CORRECTION,
        "tokens.sum_by_answer(gap)[tokens.rollout]",
        "(tokens.sum_by_answer(gap) / tokens.lengths)[tokens.rollout]",
        SAMPLER,
    ),
    Mutant(
        "truncate is mask",
        CORRECTION,
        "weight.clamp(max=cap)",
        "torch.where(weight <= cap, weight, torch.zeros_like(weight))",
        SAMPLER,
    ),
    Mutant(
        "mask is truncate",
        CORRECTION,
        "torch.where(weight <= cap, weight, torch.zeros_like(weight))",
        "weight.clamp(max=cap)",
        SAMPLER,
    ),
    Mutant("mask keeps the rest", CORRECTION, "weight <= cap", "weight > cap", SAMPLER),
    Mutant(
        "correction upside down",
        CORRECTION,
        "tokens.first_logprobs - tokens.old_logprobs",
        "tokens.old_logprobs - tokens.first_logprobs",
        SAMPLER,
    ),
    # shaping
    Mutant("overlong paid", SHAPING, "return -over / buffer", "return over / buffer", CUT),
    Mutant(
        "overlong from the buffer",
        SHAPING,
        "length - (max_tokens - buffer)",
        "length - buffer",
        CUT,
    ),
    Mutant("overlong paid at the budget", SHAPING, "return -1.0  #", "return 1.0  #", CUT),
    Mutant(
        "penalty where all agree",
        SHAPING,
        'objective.zero_signal == "refill" and not group.is_informative',
        "False",
    ),
    Mutant("shaped twice", SHAPING, "+ sum(penalties", "+ 2 * sum(penalties", CUT),
    Mutant(
        "KL in the reward paid",
        SHAPING,
        "-objective.kl_reward *",
        "objective.kl_reward *",
        "KL with rewards",
    ),
    # batch
    Mutant(
        "kept are dropped, dropped kept",
        BATCH,
        'objective.zero_signal == "keep"',
        'objective.zero_signal != "keep"',
        "batch",
    ),
    Mutant(
        "nothing is dropped",
        BATCH,
        '(credit.any() or objective.zero_signal == "keep")',
        "True",
        "batch",
    ),
    Mutant("masked are counted", BATCH, "rollouts=len(answers)", "rollouts=index", CUT),
    Mutant(
        "nothing is masked",
        BATCH,
        "not (objective.mask_truncated and rollout.is_truncated)",
        "True",
        CUT,
    ),
    Mutant("whitening sees the masked", BATCH, "if _in_loss(r, j, objective) else 0", "", CUT),
    Mutant("whitening forgotten", BATCH, "if not objective.whiten", "if True", "reinforce_pp"),
    Mutant("another's advantage", BATCH, "float(credit[place])", "float(credit[-1 - place])"),
    Mutant("float32 in between", BATCH, "astype(old.dtype)", "astype(np.float32)"),
    Mutant(
        "tokens are answers", BATCH, "sum(answer.ids.size for answer in answers)", "len(answers)"
    ),
]

SWAPPED: list[tuple[str, dict[str, Any]]] = [
    ("grpo", {"credit": standardized_sample}),
    ("rloo", {"credit": centered}),
    ("gspo", {"ratio": token}),
    ("gspo", {"surrogate": Clip(4e-4, 3e-4)}),
    ("dapo", {"overlong": 0.0}),
    ("dapo", {"overlong": 0.5}),
    ("dapo", {"surrogate": Clip(0.2, 0.2)}),
    ("dr_grpo", {"surrogate": Clip(0.28, 0.2)}),
    ("cispo", {"surrogate": Cispo(1.0, 3.5)}),
    ("sapo", {"surrogate": SoftGate(1.05, 1.0)}),
    ("dual_clip", {"surrogate": DualClip(0.2, 0.2, 2.5)}),
    ("maxrl", {"reduce": per_answer}),
    ("reinforce", {"credit": centered}),
    ("reinforce_pp", {"whiten": False}),
    ("reinforce_pp_baseline", {"surrogate": Clip(0.25, 0.25)}),
]
"""Recipes with a wrong choice on one axis."""

QUICK = list(cases(quick=True))  # the theory does not change while the code does


def _functions(module: ModuleType) -> Iterator[FunctionType]:
    """The innermost functions of a module and of its classes, whatever wraps them in tests."""
    for value in vars(module).values():
        if getattr(value, "__module__", None) != module.__name__:
            continue
        members = vars(value).values() if inspect.isclass(value) else [value]
        for member in members:
            member = member.fget if isinstance(member, property) else member
            found = inspect.unwrap(member) if callable(member) else None
            if isinstance(found, FunctionType) and found.__module__ == module.__name__:
                yield found


def _codes(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _codes(constant)


@contextmanager
def fault(mutant: Mutant) -> Iterator[None]:
    """The code with the fault in it. Fails where the snippet is gone, so that none rots."""
    module = import_module(f"evenodds.{mutant.module}")
    source = inspect.getsource(module)
    assert source.count(mutant.old) == 1, f"{mutant.old!r}: {source.count(mutant.old)} times"
    changed = source.replace(mutant.old, mutant.new)
    before = {code.co_qualname: code for code in _codes(compile(source, "before", "exec"))}
    after = {code.co_qualname: code for code in _codes(compile(changed, "after", "exec"))}
    touched = {
        name
        for name, code in after.items()
        if code.co_code != before[name].co_code
        or code.co_consts != before[name].co_consts
        or code.co_names != before[name].co_names
    }
    undo: list[tuple[FunctionType, CodeType]] = []
    try:
        for function in _functions(module):
            if function.__qualname__ in touched:
                undo.append((function, function.__code__))
                function.__code__ = after[function.__qualname__]
        assert undo, f"no live function of {mutant.module} was changed"
        yield
    finally:
        for function, code in reversed(undo):  # a function may have been met twice
            function.__code__ = code


def first_failing(near: str = "", wanted: Callable[[Any], bool] = lambda case: True) -> Row | None:
    """The first row that says no; those of a section or recipe before the others."""

    def is_far(case: Case) -> bool:
        return near not in (case.section, case.name)

    for case in sorted(filter(wanted, QUICK), key=is_far):
        row = check(case)
        if not row.is_ok:
            return row
    return None


def test_there_are_enough_mutants_with_names_of_their_own() -> None:
    assert len(MUTANTS) >= 35
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)


def test_without_a_fault_nothing_fails() -> None:
    assert first_failing() is None


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_fault_is_found(mutant: Mutant) -> None:
    with fault(mutant):
        row = first_failing(mutant.near)
    assert row is not None, f"{mutant.name}: every row still passes"
    assert check(row.case).is_ok, "the fault was not taken out again"


@pytest.mark.parametrize("mutant", OTHER_STDS, ids=lambda mutant: mutant.name)
def test_a_row_that_tells_of_difficulty_sees_it(mutant: Mutant) -> None:
    """All of them, by themselves: a recipe's rows are what a person looks at."""
    told = [case for case in QUICK if "difficulty E" in case.says or "difficulty;" in case.says]
    assert {"grpo", "dapo", "gspo", "cispo", "sapo", "dual_clip"} < {case.name for case in told}
    with fault(mutant):
        blind = [case.name for case in told if check(case).is_ok]
    assert blind == []


def test_of_two_or_three_another_std_is_not_seen() -> None:
    """Why the recipes with a std are taken with four: there it is a number times `centered`."""
    told = [recipe_case("grpo", make_world("tabular", 1, 3), size) for size in (2, 3, 4)]
    for mutant in OTHER_STDS:
        with fault(mutant):
            assert [check(case).is_ok for case in told] == [True, True, False]


@pytest.mark.parametrize(("recipe", "changes"), SWAPPED, ids=lambda part: "-".join(part))
def test_a_wrong_choice_in_a_recipe_is_found(recipe: str, changes, monkeypatch) -> None:
    monkeypatch.setitem(recipes.RECIPES, recipe, replace(RECIPES[recipe], **changes))
    row = first_failing(wanted=lambda case: case.recipe == recipe)
    assert row is not None and row.case.recipe == recipe

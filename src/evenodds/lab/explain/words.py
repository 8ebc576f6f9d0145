"""An objective as a formula in plain text, with its own numbers in it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from evenodds.credit import (
    centered,
    leave_one_out,
    mean_normalized,
    raw,
    standardized,
    standardized_sample,
)
from evenodds.objectives import Objective
from evenodds.objectives.choose import named
from evenodds.objectives.correction import Correction, mask, truncate
from evenodds.objectives.ratio import sequence, token
from evenodds.objectives.reduce import per_answer, per_budget, per_sequence, per_token
from evenodds.objectives.surrogate import Cispo, Clip, DualClip, Reinforce, SoftGate
from evenodds.report.text import counted
from evenodds.run.build import bonus_of
from evenodds.run.config import Config

# Pairs and not dicts by name or hash: a function of a person's own may have the name of one of
# ours, and need not be hashable.
Words = Sequence[tuple[Any, str]]
CREDITS: Words = (
    (raw, "r"),
    (centered, "r − mean(r)"),
    (standardized, "(r − mean(r)) / std(r)"),
    (standardized_sample, "(r − mean(r)) / (std(r) + 0.0001), std with n − 1"),
    (leave_one_out, "r − mean(r of the other answers)"),
    (mean_normalized, "(r − mean(r)) / |mean(r)|, 0 where the mean is 0"),
)
WEIGHTS: Words = (
    (per_answer, "1/(N·n)"),
    (per_sequence, "1/(N·n)"),
    (per_budget, "1/(N·L)"),
    (per_token, "1/T"),
)
COUNTS: Words = (
    (per_answer, "N answers in the loss of the step, n tokens in this answer"),
    (per_sequence, "N answers in the loss of the step, n tokens in this answer"),
    (per_budget, "N answers in the loss of the step, L = {budget}, the budget"),
    (per_token, "T tokens in the loss of the step"),
)
AS_DRAWN = "π_old: as it was drawn, after temperature"
ESTIMATORS = {"k1": "−l", "k2": "l²/2", "k3": "exp(l) − l − 1"}


def _clip(s: Clip | DualClip, x: str) -> str:
    return f"min({x}·A, clip({x}, {1 - s.low:g}, {1 + s.high:g})·A)"


def _dual(s: DualClip, x: str) -> str:
    return f"{_clip(s, x)}, and where A < 0 never below {s.dual:g}·A"


def _gate(s: SoftGate, x: str) -> str:
    return f"(4/τ)·sigmoid(τ·({x} − 1))·A, τ = {s.positive:g} where A > 0, else {s.negative:g}"


def _cispo(s: Cispo, x: str) -> str:
    return f"constant(clip({x}, {1 - s.low:g}, {1 + s.high:g}))·A·log π"


def _reinforce(s: Reinforce, x: str) -> str:
    return f"{x}·A"


SURROGATES: dict[type, Callable[[Any, str], str]] = {
    Clip: _clip,
    DualClip: _dual,
    Cispo: _cispo,
    Reinforce: _reinforce,
    SoftGate: _gate,
}
LONG = (DualClip, SoftGate)  # on a line of their own


def known(table: Words, choice: Any) -> str | None:
    """The words for this very function; None for any other, whatever its name."""
    return next((words for entry, words in table if entry is choice), None)


def formula_of(objective: Objective, config: Config) -> tuple[str, ...]:
    """J, and below it what its letters mean, a line each."""
    x = "s" if objective.ratio is sequence else "ρ"
    surrogate = _surrogate(objective, x)
    short = "f" if isinstance(objective.surrogate, LONG) else surrogate
    paid = _entropy(objective, config)
    terms = [f"c·{short}" if objective.correction else short, *_penalties(objective, x), *paid[:1]]
    inner = f"[ {' '.join(terms)} ]" if len(terms) > 1 else terms[0]
    weight = known(WEIGHTS, objective.reduce) or "w"
    lines = [f"J = Σ_answers Σ_tokens {weight} · {inner}"]
    lines += [f"f = {surrogate}"] if short == "f" else []
    lines += _own_surrogate(objective)
    lines += [f"A = {_credit(objective)}", _reward(objective), _ratio(objective, x)]
    if objective.correction is not None:
        lines.append(f"c = {_correction(objective.correction)}, a constant; {AS_DRAWN}")
    own = f"w = {named(objective.reduce)}, a function of your own"
    budget = counted(config.sampling.max_tokens, "token")
    counts = (known(COUNTS, objective.reduce) or own).replace("{budget}", budget)
    return (*lines, *_letters(objective), *paid[1:], counts)


def _surrogate(objective: Objective, x: str) -> str:
    house = SURROGATES.get(type(objective.surrogate))
    if house is None:
        return f"{named(objective.surrogate)}({x}, A)"
    return house(objective.surrogate, x)


def _own_surrogate(objective: Objective) -> list[str]:
    """That `clip(ρ, A)` is not ours: also where it has the name of one."""
    if type(objective.surrogate) in SURROGATES:
        return []
    return [f"{named(objective.surrogate)}: a surrogate of your own"]


def _credit(objective: Objective) -> str:
    words = known(CREDITS, objective.credit)
    if words is None:
        words = f"{named(objective.credit)}(r), a function of your own"
    if objective.credit is not raw:
        words = f"{words}, over the answers to one problem"
    return (
        f"{words}, then (A − mean)/std over all tokens of the step" if objective.whiten else words
    )


def _reward(objective: Objective) -> str:
    parts = ["the verifier's score"]
    if objective.overlong:
        parts.append("+ the overlong penalty")
    if objective.kl_reward:
        parts.append(f"− {objective.kl_reward:g}·Σ_tokens (log π_old − log π_start)")
    return f"r = {' '.join(parts)}"


def _ratio(objective: Objective, x: str) -> str:
    old, about = "π_old", AS_DRAWN
    if objective.correction is not None:
        old, about = "π_first", "π_first: the learner's before its first update on this step"
    if objective.ratio is sequence:
        return f"s = (product of π/{old} over the answer's tokens)^(1/n); {about}"
    if objective.ratio is token:
        return f"{x} = π/{old} of the token; {about}"
    own = f"{named(objective.ratio)}, a function of your own,"
    return f"{x} = what {own} makes of π/{old}; {about}"


def _correction(correction: Correction) -> str:
    over = "product of π_first/π_old over the answer" if correction.sequence else "π_first/π_old"
    if correction.bound is truncate:
        return f"min({over}, {correction.cap:g})"
    if correction.bound is mask:
        return f"{over} where it is at most {correction.cap:g}, else 0"
    return f"{named(correction.bound)}({over}, {correction.cap:g})"


def _penalties(objective: Objective, x: str) -> list[str]:
    found: list[str] = []
    if objective.kl_loss is not None:
        kl = objective.kl_loss
        found.append(f"− {kl.coefficient:g}·{f'{x}·' if kl.weighted else ''}{kl.estimator}(l)")
    return found


def _entropy(objective: Objective, config: Config) -> list[str]:
    """The term of an entropy bonus, and lines for its letters; a target's coefficient moves."""
    bonus = bonus_of(config, objective)
    letters = ["H = entropy of the distribution that the token is drawn from, in nats"]
    if bonus is not None:
        start = f"κ = {bonus.coefficient:g} at the start, then moved so that H stays at"
        return ["+ κ·H", *letters, f"{start} {bonus.target:g} or above"]
    return [f"+ {objective.entropy:g}·H", *letters] if objective.entropy else []


def _letters(objective: Objective) -> list[str]:
    found: list[str] = []
    if objective.kl_loss is not None:
        name = objective.kl_loss.estimator
        words = ESTIMATORS.get(name, "an estimator of your own")
        found.append(f"{name}(l) = {words}, l = log π_start − log π of the token")
    return found


def signs_of(objective: Objective) -> tuple[str, str]:
    """Which answers have A > 0, and which A < 0, in words."""
    if objective.credit is raw and not objective.whiten:
        return "answers with a reward above 0", "answers with a reward below 0"
    is_ours = known(CREDITS, objective.credit) is not None
    if objective.whiten and objective.credit is raw:
        return "answers better than the step's mean", "answers worse than the step's mean"
    if objective.whiten:
        lead = "lead over their group" if is_ours else "credit by your own function"
        return f"answers whose {lead} is above the step's mean", f"answers whose {lead} is below it"
    if is_ours:
        return "answers better than their group", "answers worse than their group"
    return "answers that your own credit raises", "answers that your own credit lowers"

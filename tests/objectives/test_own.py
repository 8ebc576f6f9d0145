"""Functions of a person's own on an axis: they work, and what is wrong with them is one line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import jaxtyping
import pytest
import torch

from evenodds.cli.flags import config_of
from evenodds.domain import Extent
from evenodds.errors import RunError, UsageError
from evenodds.objectives import RECIPES, Tokens, make_objective
from evenodds.objectives.check import example
from evenodds.objectives.describe import axes_of
from evenodds.own import load_named
from evenodds.run.build import objective_of

FILE = '''
from dataclasses import dataclass

import numpy as np
import torch

from evenodds.objectives import Objective, Tokens
from evenodds.objectives.correction import Correction
from evenodds.objectives.surrogate import Clip


def sharp(log_ratio, tokens):
    """The policy gradient without a ratio."""
    print("a print must not reach stdout")
    return tokens.advantages * tokens.logprobs


@dataclass(frozen=True)
class Soft:
    high: float = 0.5

    def __call__(self, log_ratio, tokens):
        return log_ratio.clamp(max=self.high) * tokens.advantages


def best(rewards):
    return (rewards == rewards.max()) * 1.0 - (rewards == rewards.min())


def mean_of_batch(log_ratio, tokens):
    return log_ratio - log_ratio.mean().detach()


def one(tokens, extent):
    return torch.full_like(tokens.logprobs, 1.0 / extent.rollouts)


mine = Objective(surrogate=Clip(0.1, 0.1), entropy=0.01)
tight = Correction(cap=1.1)


def short(log_ratio, tokens):
    return log_ratio[:-1]


def scalar(log_ratio, tokens):
    return (log_ratio * tokens.advantages).sum()


def number(log_ratio, tokens):
    return 1.0


def nan(log_ratio, tokens):
    return (log_ratio * 0).sqrt() * tokens.advantages + tokens.logprobs.sub(9).log()


def raises(*values):
    raise RuntimeError("two\\nlines")


def leaves(*values):
    raise SystemExit(3)


def dead(log_ratio, tokens):
    return tokens.advantages


def sum_of(rewards):
    return rewards.sum()


def blank(rewards):
    return np.full_like(rewards, np.nan)


class Needy:
    def __init__(self, must):
        self.must = must

    def __call__(self, log_ratio, tokens):
        return log_ratio * self.must


def weight(tokens):
    return torch.ones_like(tokens.logprobs)


answer = 42
'''


@pytest.fixture(autouse=True)
def as_a_person_runs_it() -> Iterator[None]:
    """Without the shape checks of the tests, which would find some of this before our own."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


@pytest.fixture
def own(tmp_path):
    file = tmp_path / "own.py"
    file.write_text(FILE)
    return lambda name: f"{file}:{name}"


@pytest.mark.parametrize(
    ("axis", "name"),
    [
        ("surrogate", "sharp"),
        ("surrogate", "Soft"),
        ("credit", "best"),
        ("ratio", "mean_of_batch"),
        ("reduce", "one"),
        ("correction", "tight"),
    ],
)
def test_a_function_of_ones_own_on_each_axis(own, axis, name, tmp_path, capsys) -> None:
    objective = make_objective(**{axis: own(name)})
    chosen = getattr(objective, axis)
    assert getattr(chosen, "__name__", type(chosen).__name__) in (name, "Correction")
    assert getattr(chosen, "cap", 1.1) == 1.1
    assert capsys.readouterr().out == ""  # it was tried, and printed
    tokens, extent = example()
    assert objective.score(tokens, extent).loss.requires_grad
    (tmp_path / "config.toml").write_text(f'[objective]\n{axis} = "own.py:{name}"\n')
    found = getattr(objective_of(config_of(str(tmp_path / "config.toml"), {})), axis)
    assert getattr(found, "__name__", type(found).__name__) in (name, "Correction")
    assert axis == "correction" or name in axes_of(objective)


def test_settings_of_a_surrogate_of_ones_own(own) -> None:
    assert make_objective(surrogate=own("Soft"), clip_high=0.7).surrogate.high == 0.7
    with pytest.raises(UsageError, match=r"objective\.clip_high has no meaning"):
        make_objective(surrogate=own("sharp"), clip_high=0.7)


def test_a_recipe_of_ones_own_and_its_axes_changed(own) -> None:
    objective = make_objective(own("mine"), credit="leave_one_out", clip_high=0.3)
    assert (objective.surrogate.low, objective.surrogate.high) == (0.1, 0.3)
    assert objective.entropy == 0.01
    assert objective.credit is RECIPES["rloo"].credit


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"surrogate": "short"}, "objective.surrogate of your own must return a tensor with one"),
        ({"surrogate": "scalar"}, "value a token, (6,). Got ()"),
        ({"surrogate": "number"}, "Got float"),
        ({"ratio": "short"}, "objective.ratio of your own must return"),
        ({"reduce": "number"}, "objective.reduce of your own must return"),
        ({"surrogate": "nan"}, "has values that are not finite"),
        ({"surrogate": "raises"}, "of your own failed. Got RuntimeError: two lines. Mend it."),
        ({"surrogate": "leaves"}, "of your own failed. Got SystemExit: 3. Mend it."),
        ({"surrogate": "dead"}, "failed on an example. Got RuntimeError"),
        ({"surrogate": "answer"}, "of your own failed. Got TypeError"),
        ({"surrogate": "best"}, "of your own failed. Got TypeError"),
        ({"credit": "sum_of"}, "must return a finite advantage for each reward"),
        ({"credit": "blank"}, "must return a finite advantage for each reward"),
        ({"credit": "raises"}, "of your own failed. Got RuntimeError: two lines"),
        ({"surrogate": "sharpp"}, "has no function 'sharpp'. Did you mean 'sharp'"),
        ({"recipe": "sharp"}, "is not an Objective. Got a function. A function of your own goes"),
        ({"recipe": "answer"}, "is not an Objective. Got a int"),
    ],
    ids=str,
)
def test_what_is_wrong_with_ones_own_is_one_line(own, settings, reason) -> None:
    with pytest.raises(UsageError) as caught:
        make_objective(**{axis: own(name) for axis, name in settings.items()})
    message = str(caught.value)
    assert reason in message
    assert "\n" not in message
    assert len(message) < 500


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("nowhere.py:f", "the file nowhere.py does not exist"),
        ("no_such_module:f", "no_such_module could not be imported. Got ModuleNotFoundError"),
        (":f", "no function is named by ':f'"),
        ("own.py:", "no function is named by 'own.py:'"),
    ],
)
def test_what_cannot_be_found_is_one_line(name, reason) -> None:
    with pytest.raises(UsageError) as caught:
        make_objective(surrogate=name)
    assert reason in str(caught.value)


def test_a_file_that_does_not_run_is_one_line(tmp_path) -> None:
    (tmp_path / "bad.py").write_text("def f(:\n")
    with pytest.raises(UsageError, match=r"could not be imported\. Got SyntaxError"):
        make_objective(credit=f"{tmp_path / 'bad.py'}:f")


def test_what_lies_beside_a_file_is_said_how_to_find(tmp_path, monkeypatch) -> None:
    (tmp_path / "evenodds_neighbour.py").write_text("def f(rewards):\n    return rewards\n")
    (tmp_path / "own.py").write_text("from evenodds_neighbour import f\n")
    name = f"{tmp_path / 'own.py'}:f"
    with pytest.raises(UsageError, match=r"Set PYTHONPATH to .*, where evenodds_neighbour lies"):
        load_named(name)
    monkeypatch.syspath_prepend(tmp_path)
    assert callable(load_named(name))
    (tmp_path / "own.py").write_text("import no_such_neighbour\n")
    with pytest.raises(UsageError, match="Mend it or name another"):
        load_named(name)


def test_a_module_serves_as_well_as_a_file() -> None:
    assert make_objective(credit="evenodds.credit:leave_one_out") == make_objective(
        credit="leave_one_out"
    )


def test_a_class_whose_settings_have_no_default_is_one_line(own) -> None:
    with pytest.raises(UsageError, match="Needy"):
        make_objective(surrogate=own("Needy"))


def test_a_correction_that_is_a_plain_function_is_refused(own) -> None:
    """It has no cap to be reported, and none to be changed."""
    with pytest.raises(UsageError, match="Correction"):
        make_objective(correction=own("weight"))


@pytest.mark.parametrize("at", ["[1.0, 1.0, 1.0]", "[1.0]"])
def test_a_credit_that_fails_where_all_agree_or_one_is_alone_is_found(tmp_path, at) -> None:
    body = "r - r.mean()" if at == "[1.0]" else "(r - r.mean()) / r.std()"
    lone = " if r.size > 1 else r * float('nan')" if at == "[1.0]" else ""
    (tmp_path / "mine.py").write_text(f"def normed(r):\n    return {body}{lone}\n")
    with pytest.raises(UsageError, match="finite advantage for each reward") as found:
        make_objective(credit=f"{tmp_path / 'mine.py'}:normed")
    assert f"for {at}" in str(found.value)


DOCS = Path(__file__).parents[2] / "docs" / "objectives.md"


def test_the_example_of_the_docs_is_what_they_say(tmp_path) -> None:
    """At most ten lines, nothing else edited: its push is rho A / (1 + (rho - 1)^2)."""
    code = DOCS.read_text().split("```python\n# mine.py\n")[1].split("```")[0]
    body = code[code.index("def ") :]
    assert len(body.strip().splitlines()) <= 10
    (tmp_path / "mine.py").write_text(code)
    objective = make_objective(surrogate=f"{tmp_path / 'mine.py'}:fading", mask_truncated=False)
    ratio = torch.tensor([0.3, 0.9, 1.0, 1.5, 4.0], dtype=torch.float64)
    credit = torch.tensor([1.0, -1.0, 2.0, 1.0, -3.0], dtype=torch.float64)
    logprobs = (ratio.log() - 1).requires_grad_()
    tokens = Tokens(
        logprobs,
        torch.full_like(ratio, -1.0),
        credit,
        torch.zeros(5, dtype=torch.int64),
        torch.tensor([5]),
    )
    scored = objective.score(tokens, Extent(5, 1, 10))
    scored.loss.backward()
    wanted = -ratio * credit / (1 + (ratio - 1) ** 2) / 10
    assert torch.allclose(logprobs.grad, wanted)
    assert not scored.clipped.any()


def test_a_credit_that_pays_groups_which_agree_needs_them_kept(tmp_path) -> None:
    (tmp_path / "mine.py").write_text(
        "import numpy as np\ndef always(r):\n    return np.sign(r - 0.5)\n"
    )
    name = f"{tmp_path / 'mine.py'}:always"
    with pytest.raises(UsageError, match="groups whose rewards agree have a gradient"):
        make_objective(credit=name)
    assert make_objective(credit=name, zero_signal="keep").zero_signal == "keep"


LATE = """
import sys
import torch
calls = []


def late(kind):
    def surrogate(log_ratio, tokens):
        print("not on stdout")
        calls.append(kind)
        value = log_ratio.exp() * tokens.advantages
        if len(tokens.lengths) == 3:  # the example
            return value
        if kind == "exit":
            sys.exit(0)
        if kind == "write":
            tokens.old_logprobs.zero_()
        wrong = {"first": value[:1], "sum": value.sum(), "nan": value * float("nan")}
        return wrong.get(kind, value)
    return surrogate


exits, first, total, nan, writes = map(late, ("exit", "first", "sum", "nan", "write"))
"""


def many() -> tuple[Tokens, Extent]:
    lengths = torch.tensor([2, 2, 1, 3])
    rollout = torch.repeat_interleave(torch.arange(4), lengths)
    old = -torch.ones(8)
    logprobs = (old + 0.1).requires_grad_()
    return Tokens(logprobs, old, torch.ones(8), rollout, lengths), Extent(8, 4, 8)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("exits", r"objective\.surrogate of your own failed\. Got SystemExit: 0"),
        ("first", r"one value a token, \(8,\)\. Got \(1,\)"),
        ("total", r"one value a token, \(8,\)\. Got \(\)"),
        ("nan", "values that are not finite"),
    ],
)
def test_what_goes_wrong_only_in_a_run_is_one_line_too(tmp_path, capsys, name, reason) -> None:
    (tmp_path / "late.py").write_text(LATE)
    objective = make_objective(surrogate=f"{tmp_path / 'late.py'}:{name}")
    with pytest.raises(RunError, match=reason):
        objective.score(*many())
    assert capsys.readouterr().out == ""


def test_a_function_of_ones_own_cannot_write_into_the_step(tmp_path) -> None:
    (tmp_path / "late.py").write_text(LATE)
    tokens, extent = many()
    make_objective(surrogate=f"{tmp_path / 'late.py'}:writes").score(tokens, extent)
    assert torch.equal(tokens.old_logprobs, -torch.ones(8))


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ("zero_signal='bogus'", "unknown way with groups that agree"),
        ("overlong=5.0, mask_truncated=False", "overlong cannot be 5.0"),
        ("kl_reward=float('nan')", "kl_reward cannot be nan"),
        ("entropy=float('nan')", "entropy cannot be nan"),
    ],
)
def test_an_objective_by_hand_has_the_same_bounds(tmp_path, fields, reason) -> None:
    (tmp_path / "mine.py").write_text(
        f"from evenodds.objectives import Objective\nmine = Objective({fields})\n"
    )
    with pytest.raises(UsageError, match=reason):
        make_objective(f"{tmp_path / 'mine.py'}:mine")


def test_a_name_that_would_steer_a_terminal_is_shown_without_that(tmp_path) -> None:
    (tmp_path / "mine.py").write_text(
        "def pull(log_ratio, tokens):\n    return log_ratio * tokens.advantages\n"
        "pull.__name__ = '\\x1b[31mred'\n"
    )
    assert "\x1b" not in axes_of(make_objective(surrogate=f"{tmp_path / 'mine.py'}:pull"))

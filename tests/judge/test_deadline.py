"""The rule by which a deadline shrinks, and what a worker is given."""

from __future__ import annotations

import pytest

from evenodds.errors import UsageError
from evenodds.judge.deadline import Pace, Patience
from evenodds.judge.inline import InlineJudge
from evenodds.judge.nursery import environment
from evenodds.judge.opening import needed_seconds, open_judge
from evenodds.judge.options import JudgeOptions
from evenodds.judge.workers import WorkerJudge
from evenodds.verifiers import KINDS, find_verifier


def test_the_first_time_outs_cost_the_whole_deadline_and_the_rest_little() -> None:
    patience = Patience(5.0, 2, Pace())
    spent: list[float] = []
    while not patience.is_spent:
        spent.append(patience.deadline(is_first=False))
        patience.ran_out(spent[-1])
    assert spent[:5] == [5.0] * 4 + [0.25]
    assert set(spent[4:]) == {0.25}
    assert sum(spent[:64]) / 2 < 20  # seconds for 64 hanging answers and two workers
    assert 60 <= sum(spent) / 2 < 61


def test_slow_honest_verdicts_keep_their_time() -> None:
    pace = Pace()
    patience = Patience(5.0, 2, pace, timeouts=100)
    pace.note(0.3, is_first=False)
    assert patience.deadline(is_first=False) == pytest.approx(1.2)
    pace.note(1.3, is_first=False)
    assert patience.deadline(is_first=False) == 5.0
    for _ in range(512):  # it was long ago
        pace.note(0.001, is_first=False)
    assert patience.deadline(is_first=False) == 0.25


def test_the_first_call_of_a_process_may_import_something() -> None:
    pace = Pace()
    patience = Patience(5.0, 2, pace, timeouts=100)
    pace.note(0.8, is_first=True)
    assert patience.deadline(is_first=True) == pytest.approx(3.2)
    assert patience.deadline(is_first=False) == 0.25


def test_a_short_deadline_never_grows() -> None:
    assert Patience(0.05, 1, Pace(), timeouts=9).deadline(is_first=True) == 0.05


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"workers": -1}, "judge.workers"),
        ({"seconds": 0.0}, "judge.seconds"),
        ({"seconds": float("inf")}, "judge.seconds"),
        ({"memory_mb": 1}, "judge.memory_mb"),
    ],
)
def test_unfit_options_are_one_line(values: dict[str, float], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        JudgeOptions(**values)  # type: ignore[arg-type]


def test_secrets_go_to_a_persons_own_function_only(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "HF_TOKEN", "WANDB_API_KEY", "MY_SETTING", "PYTHON_SECRET"):
        monkeypatch.setenv(name, "x")
    monkeypatch.setenv("HF_HOME", "/models")
    ours = environment(is_own=False)
    assert {"PATH", "HF_HOME"} <= ours.keys()
    assert "x" not in ours.values()
    assert {"OPENAI_API_KEY", "HF_TOKEN", "MY_SETTING"} <= environment(is_own=True).keys()


@pytest.mark.parametrize(("part", "judge"), [("math", InlineJudge), ("regex", WorkerJudge)])
def test_a_composite_runs_where_its_parts_may(part: str, judge: type) -> None:
    parts = [{"verifier": part, "weight": 0.9}, {"format": "box", "weight": 0.1}]
    verifier = find_verifier("composite", {"parts": parts})
    with open_judge(verifier, JudgeOptions(workers=1)) as opened:
        assert type(opened) is judge


def test_a_kind_that_bounds_its_own_work_has_its_time() -> None:
    bounded = [kind for kind in KINDS.values() if kind.seconds]
    assert bounded
    for kind in bounded:
        if kind.unavailable is not None and kind.unavailable(kind.policy):
            continue  # such as lean, where there is none
        with open_judge(kind.with_policy(), JudgeOptions(workers=1, seconds=1)) as judge:
            assert isinstance(judge, WorkerJudge)
            assert judge.options.seconds == kind.seconds
    parts = [{"verifier": bounded[0].name, "weight": 0.5}, {"verifier": "number", "weight": 0.5}]
    assert needed_seconds(find_verifier("composite", {"parts": parts})) == bounded[0].seconds
    assert needed_seconds(find_verifier("number")) == 0

"""Judging beside the sampler: the same verdicts, deadlines that hold, and nothing left behind."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from evenodds.domain import Limits, Problem, Rollout, Status, Stop, Verdict
from evenodds.evaluation import answer_all
from evenodds.judge import (
    InlineJudge,
    JudgeOptions,
    OpenJudge,
    ScriptedJudge,
    WorkerJudge,
    begin,
    open_judge,
    workers,
)
from evenodds.run.timing import Stopwatch, timed
from evenodds.sampling.scripted import ScriptedSampler
from evenodds.step import Tools
from evenodds.verifiers import find_verifier

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="judges inline there")

MINE = """
import os, time

def score(problem, text):
    return len(text) * float(problem.answer)

def of_a_group(completions, answer, **columns):
    return [len(text) * float(gold) for text, gold in zip(completions, answer)]

def marks(problem, text):
    open(text, "w").write(str(os.getpid()))
    while text.endswith("hangs"):
        time.sleep(0.01)
    return 1.0
"""
HANGS = ("a-hangs", "b-hangs")
PROBLEMS = [Problem(str(n), f"prompt {n}", str(n), "t") for n in range(4)]


def rollout(text: str) -> Rollout:
    nothing = np.zeros(0, dtype=np.int64)
    return Rollout(nothing, nothing, np.zeros(0, dtype=np.float32), Stop.END_TOKEN, text)


GROUPS = [[rollout("x" * (n + a)) for a in range(n)] for n in range(4)]  # the first is empty


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Callable[..., OpenJudge]]:
    (tmp_path / "mine.py").write_text(MINE)
    judges: list[OpenJudge] = []

    def open_one(name: str, seconds: float = 20.0) -> OpenJudge:
        verifier = find_verifier(f"{tmp_path / 'mine.py'}:{name}")
        judges.append(open_judge(verifier, JudgeOptions(workers=2, seconds=seconds)))
        assert isinstance(judges[-1], WorkerJudge)
        return judges[-1]

    yield open_one
    for judge in judges:
        judge.close()


def until(condition: Callable[[], bool]) -> None:
    """Wait for it, as long as a slow machine may need."""
    end = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.005)


def runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.parametrize("order", [(), (2,), (3, 1), (0, 1, 2, 3), (3, 2, 1, 0)])
@pytest.mark.parametrize("name", ["score", "of_a_group"])
def test_verdicts_are_those_that_come_at_the_end(opened, name: str, order: Sequence[int]) -> None:
    """Whatever is given early, and in whatever order."""
    judge = opened(name)
    with begin(judge, PROBLEMS) as judging:
        for index in order:
            judging.give(index, GROUPS[index])
        early = judging.verdicts(GROUPS)
    assert early == judge.judge(PROBLEMS, GROUPS)
    expected = [[float(n * len(r.text)) for r in group] for n, group in enumerate(GROUPS)]
    assert [[verdict.score for verdict in row] for row in early] == expected


def test_what_is_given_is_judged_before_anybody_waits(opened, tmp_path: Path) -> None:
    places = [tmp_path / "one", tmp_path / "two"]
    with begin(opened("marks"), PROBLEMS[:1]) as judging:
        judging.give(0, [rollout(str(place)) for place in places])
        until(lambda: all(place.exists() for place in places))
        (row,) = judging.verdicts([[rollout("")] * 2])
    assert [verdict.score for verdict in row] == [1.0, 1.0]


def test_a_deadline_holds_while_the_sampler_is_busy(opened, tmp_path: Path) -> None:
    """An answer that hangs is ended in time, and the one behind it has its verdict meanwhile."""
    judge = opened("marks", seconds=0.3)
    judge.judge(PROBLEMS[:1], [[rollout(str(tmp_path / "warm"))]])
    with begin(judge, PROBLEMS[:1]) as judging:
        texts = [str(tmp_path / name) for name in (*HANGS, "c")]
        judging.give(0, [rollout(text) for text in texts])
        until((tmp_path / "c").exists)
        until(lambda: not any(runs(int((tmp_path / name).read_text())) for name in HANGS))
        (row,) = judging.verdicts([[rollout(text) for text in texts]])
    assert [verdict.status for verdict in row[:2]] == [Status.TIMEOUT] * 2
    assert row[0].note == "no verdict within 0.3 s (judge.seconds)"
    assert row[0].seconds >= 0.3
    assert row[2].score == 1.0


def test_who_leaves_early_leaves_no_process_at_work(opened, tmp_path: Path) -> None:
    """As Ctrl-C does while the sampler works. The judge is as good as new afterwards."""
    judge = opened("marks")
    place = tmp_path / "it-hangs"
    with pytest.raises(KeyboardInterrupt), begin(judge, PROBLEMS[:1]) as judging:
        judging.give(0, [rollout(str(place)), rollout(str(tmp_path / "x"))])
        until(lambda: place.exists() and place.read_text() != "")
        raise KeyboardInterrupt
    until(lambda: not runs(int(place.read_text())))
    (row,) = judge.judge(PROBLEMS[:1], [[rollout(str(tmp_path / "y"))]])
    assert row[0].score == 1.0


def test_a_turn_that_cannot_begin_leaves_the_judge_free(opened, monkeypatch) -> None:
    def none_left() -> tuple[int, int]:
        raise OSError("too many open files")

    judge = opened("score")
    with monkeypatch.context() as patch:
        patch.setattr(workers, "pipe", none_left)
        with pytest.raises(OSError, match="open files"):
            judge.judge(PROBLEMS, GROUPS)
    assert len(judge.judge(PROBLEMS, GROUPS)) == len(PROBLEMS)


def test_a_group_that_is_given_twice_and_a_wrong_shape_are_said(opened) -> None:
    judge = opened("score")
    with begin(judge, PROBLEMS) as judging:
        judging.give(2, GROUPS[2])
        with pytest.raises(ValueError, match="given twice"):
            judging.give(2, GROUPS[2])
        with pytest.raises(ValueError, match="zip"):
            judging.verdicts(GROUPS[:3])


def test_where_the_sampler_needs_all_cores_workers_wait_for_the_end(opened, tmp_path: Path) -> None:
    judge = opened("marks")
    assert judge.early
    judge.early = False
    place = tmp_path / "place"
    with begin(judge, PROBLEMS[:1]) as judging:
        judging.give(0, [rollout(str(place))])
        time.sleep(0.1)
        assert not place.exists()
        (row,) = judging.verdicts([[rollout(str(place))]])
    assert row[0].score == 1.0 and place.exists()


def test_a_judge_in_this_process_waits_for_the_end() -> None:
    """A verifier called meanwhile would hold up the sampler, in whose thread it would run."""
    seen: list[str] = []

    def verifier(problem: Problem, completion: object) -> Verdict:
        seen.append(problem.key)
        return Verdict(1.0, Status.RIGHT)

    with begin(InlineJudge(verifier), PROBLEMS) as judging:
        judging.give(3, GROUPS[3])
        assert seen == []
        verdicts = judging.verdicts(GROUPS)
    assert [len(row) for row in verdicts] == [0, 1, 2, 3]
    assert seen == ["1", "2", "2", "3", "3", "3"]
    script = ScriptedJudge({"2": [0.25]})
    with begin(script, PROBLEMS) as judging:
        assert judging.verdicts(GROUPS) == script.judge(PROBLEMS, GROUPS)


def test_evaluation_and_the_stopwatch_judge_the_same_way(opened, tmp_path: Path) -> None:
    """While the sampler writes its second answer the first one is judged."""
    judge = opened("marks")
    watch = Stopwatch()

    def script(prompt: object, rng: np.random.Generator) -> str:
        places = [tmp_path / f"{p.key}" for p in PROBLEMS]
        done = [place for place in places if f"now {place}" in seen]
        if done:
            until(done[-1].exists)
        seen.append(f"now {places[len(done)]}")
        return str(places[len(done)])

    seen: list[str] = []
    learner: object = None
    tools = timed(Tools(ScriptedSampler(script), judge, learner), watch)  # type: ignore[arg-type]
    groups = answer_all(PROBLEMS, tools.sampler, tools.judge, 1, Limits(300), 0)
    assert [group.right for group in groups] == [1, 1, 1, 1]
    assert {"time/sample", "time/judge"} <= watch.lap().keys()
    assert os.path.exists(seen[-1].removeprefix("now "))

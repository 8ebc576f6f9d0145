"""What `evenodds eval` prints: every k, an overall line, and no more than 100 columns."""

from __future__ import annotations

from typing import Any

import pytest

from evenodds.domain import Limits
from evenodds.errors import UsageError
from evenodds.evaluation import (
    Evaluation,
    EvaluationSettings,
    LevelResult,
    ProblemResult,
    summary_of,
)
from evenodds.report.evaluation_text import table
from evenodds.run.fresh import require_judged
from tests.report import synthetic


def blocks(lines: list[str]) -> list[list[str]]:
    """The tables, which are apart by empty lines."""
    text = "\n".join(lines)
    return [part.split("\n") for part in text.split("\n\n")]


def full_record() -> dict[str, Any]:
    """A record that has all that an evaluation can measure."""
    record = synthetic.evaluation(3.0, 1)
    for level in record["levels"]:
        for place, problem in enumerate(level["problems"]):
            right = problem["right"]
            votes = [["42", right, True], ["7", 8 - right, False]]
            problem |= {
                "votes": [vote for vote in votes if vote[1]],
                "source": synthetic.HOSTILE if place % 2 else "book",
                "ended": 7,
                "duplicates": 3,
                "strategies": min(right, 2),
                "entropy": 0.25,
                "audit_tries": 8,
                "audit_right": max(0, right - 1),
                "disagree": min(1, right),
            }
    control = synthetic.evaluation(1.0, 2) | {"task": synthetic.HOSTILE}
    note = synthetic.HOSTILE * 3
    canaries = {"asked": 16, "paid": 1, "first": synthetic.HOSTILE}
    return record | {"control": control, "control_note": note, "canaries": canaries}


@pytest.mark.parametrize("samples", [1, 6, 8, 512])
def test_every_block_has_every_level_and_all_of_them_within_100_columns(samples) -> None:
    lines = table(summary_of(synthetic.evaluation(3.0, 1, tries=samples)))
    assert max(map(len, lines)) <= 100
    rates, curves, answers = blocks(lines)
    for block in (rates, curves, answers):
        assert [line[:10].strip() for line in block[1:]] == [*synthetic.LEVELS, "all levels"]
    ks = sorted({2**power for power in range(10) if 2**power <= samples} | {samples})
    assert curves[0].partition("=")[2].split() == [str(k) for k in ks]


def test_all_that_can_be_measured_stands_there_within_100_columns() -> None:
    lines = table(summary_of(full_record()))
    assert max(map(len, lines)) <= 100
    assert "\x1b" not in "".join(lines) and "\u202e" not in "".join(lines)
    rates, sources, curves, answers, beside = blocks(lines)
    assert rates[0].split()[:4] == ["level", "n", "pass@1", "greedy"]
    assert rates[0].endswith("by the audit")
    assert [line.split()[0] for line in sources] == ["source", "book", "<script>alert(1…"]
    assert curves[-1].startswith("maj@k, all")
    assert answers[-1].startswith("all levels") and "38 %" in answers[-1] and "0.250" in answers[-2]
    assert answers[0].endswith("audit differs")
    assert beside[0].startswith("control task <script>") and "over 320 problems" in beside[0]
    assert beside[-1] == "canaries: 1 of 16 answers that must not be paid were paid"


def test_what_was_not_measured_has_no_column_and_no_line() -> None:
    lines = table(summary_of(synthetic.evaluation(3.0, 1, greedy=False)))
    text = "\n".join(lines)
    for word in ("audit", "greedy", "maj@k", "source", "control", "canaries"):
        assert word not in text, word
    assert "-" in blocks(lines)[2][1]  # an old record has no share of repeats


def test_a_task_without_a_control_says_why() -> None:
    record = synthetic.evaluation(3.0, 1) | {"control_note": "none was measured: for a reason"}
    assert table(summary_of(record))[-1] == "control task: none was measured: for a reason"


def test_unjudged_answers_do_not_end_the_table() -> None:
    record = synthetic.evaluation(3.0, 1)
    record["levels"][0]["problems"][0] |= {"tries": 7, "right": 1}
    for problem in record["levels"][1]["problems"]:
        problem |= {"tries": 3, "right": 1}
    for problem in record["levels"][2]["problems"]:
        problem |= {"tries": 0, "right": 0}
    lines = table(summary_of(record), "down\x1b[31m")
    curves = blocks(lines)[1][1:]
    assert "[" in curves[0]
    assert curves[1].split()[-4:] == ["33.3", "66.7", "-", "-"]
    assert curves[2].split()[-4:] == ["-"] * 4
    assert lines[-2].startswith("521 of 2560 answers could not be judged")
    assert "\x1b" not in "".join(lines)


def test_a_hostile_label_stays_in_its_cell() -> None:
    record = synthetic.evaluation(3.0, 1)
    record["levels"][0]["label"] = synthetic.HOSTILE
    lines = table(summary_of(record))
    assert "\x1b" not in "".join(lines) and max(map(len, lines)) <= 100


def test_an_evaluation_without_a_judged_answer_is_refused_in_one_line() -> None:
    problem = ProblemResult("k", 0, 0, None, 0, 0, 3.0)
    level = LevelResult(0, "only", (problem,), 0.1)
    found = Evaluation("fake", EvaluationSettings(Limits(8)), (level,), "the database is down")
    with pytest.raises(UsageError, match="the database is down") as caught:
        require_judged("mine", found)
    assert "\n" not in str(caught.value)

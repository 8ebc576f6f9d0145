"""What `evenodds eval` prints: every k, an overall line, and no more than 100 columns."""

from __future__ import annotations

import pytest

from evenodds.cli.commands.eval import require_judged, table
from evenodds.domain import Limits
from evenodds.errors import UsageError
from evenodds.evaluation import (
    Evaluation,
    EvaluationSettings,
    LevelResult,
    ProblemResult,
    summary_of,
)
from tests.report import synthetic


@pytest.mark.parametrize("samples", [1, 6, 8, 512])
def test_both_blocks_have_every_level_and_all_of_them_within_100_columns(samples) -> None:
    lines = table(summary_of(synthetic.evaluation(3.0, 1, tries=samples)))
    assert max(map(len, lines)) <= 100
    half = len(synthetic.LEVELS) + 2
    rates, curves = lines[:half], lines[half + 1 :]
    assert len(curves) == half and lines[half] == ""
    for block in (rates, curves):
        assert [line[:10].strip() for line in block[1:]] == [*synthetic.LEVELS, "all levels"]
    ks = sorted({2**power for power in range(10) if 2**power <= samples} | {samples})
    assert curves[0].partition("=")[2].split() == [str(k) for k in ks]


def test_unjudged_answers_do_not_end_the_table() -> None:
    record = synthetic.evaluation(3.0, 1)
    record["levels"][0]["problems"][0] |= {"tries": 7, "right": 1}
    for problem in record["levels"][1]["problems"]:
        problem |= {"tries": 3, "right": 1}
    for problem in record["levels"][2]["problems"]:
        problem |= {"tries": 0, "right": 0}
    lines = table(summary_of(record), "down\x1b[31m")
    curves = lines[lines.index("") + 2 :]
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
        require_judged(found)
    assert "\n" not in str(caught.value)

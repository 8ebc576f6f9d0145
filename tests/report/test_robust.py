"""Nothing that a run recorded keeps its page from being written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evenodds.report import write_report
from evenodds.report.record import read_run
from evenodds.report.sound import is_evaluation
from tests.report import synthetic
from tests.report.records import evaluation

ODD_METRICS = [0, 0.0, -1.0, float("nan"), float("inf"), -float("inf"), 1e308, -1e308, 10**400,
               10**29, 1e-320, "x", None, [], {}, True]  # fmt: skip
PROBLEM = {"key": "a", "tries": 4, "right": 1, "greedy_right": None}
ODD_LEVELS: list[Any] = [
    [1, 2],
    {"level": 0},
    "levels",
    [{"level": "x", "problems": []}],
    [{"level": 0, "problems": 3}],
    [{"level": 0, "problems": [1]}],
    *(
        [{"level": 0, "label": "a", "problems": [PROBLEM | odd]}]
        for odd in ({"right": "x"}, {"right": 9}, {"tries": []}, {"mean_length": "long"})
    ),
]


@pytest.mark.parametrize("value", ODD_METRICS)
@pytest.mark.parametrize("steps", [1, 40])
def test_no_metric_keeps_the_page_from_being_written(
    tmp_path: Path, value: Any, steps: int
) -> None:
    run = synthetic.learned(tmp_path)
    names = [name for row in synthetic.metrics(3) for name in row if name != "step"]
    for odd in (range(steps), range(1, steps, 2)):  # all steps, and every other one
        rows = synthetic.metrics(steps)
        for place in odd:
            rows[place] |= dict.fromkeys([*names, "learning_rate", "skipped"], value)
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (run / "metrics.jsonl").write_text(text + '{"step": 1e999}\n', "utf-8")
        assert "nan" not in write_report(run).read_text("utf-8").split("<svg", 1)[1].lower()


@pytest.mark.parametrize("low", [0.0, -1.0, 1e-300])
def test_a_ratio_of_nothing_is_drawn_at_the_edge(tmp_path: Path, low: float) -> None:
    run = synthetic.learned(tmp_path)
    rows = [row | {"ratio/min": low, "ratio/max": 1e9} for row in synthetic.metrics(30)]
    synthetic.write_metrics(run, rows)
    assert "min–max" in write_report(run).read_text("utf-8")


@pytest.mark.parametrize("record", [[], {}, *({"levels": levels} for levels in ODD_LEVELS)])
def test_an_odd_evaluation_is_missing_and_the_page_says_so(tmp_path: Path, record: Any) -> None:
    run = synthetic.learned(tmp_path)
    (run / "evaluation" / "final.json").write_text(json.dumps(record), "utf-8")
    assert read_run(run).final is None
    page = write_report(run).read_text("utf-8")
    assert "evaluation/final.json is there but cannot be read" in page
    assert "the evaluation of the trained model is missing" in page


def test_an_answer_that_was_judged_nobody_knows_how_is_no_evaluation() -> None:
    record = evaluation([[4] * 20])
    assert is_evaluation(record)
    del record["levels"][0]["problems"][3]["right"]
    assert not is_evaluation(record)

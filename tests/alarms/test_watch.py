"""The watch as a value: declared, folded, rebuilt, and no larger after a thousand rows."""

from __future__ import annotations

import json
import time
from pathlib import Path

import numpy as np
import pytest

from evenodds.alarms import RULES, Facts, make_watch
from evenodds.alarms.history import FIRST, LAST, digest, trend
from evenodds.errors import UsageError
from tests.alarms.traces import FAILING, HEALTHY, row

DOCS = Path(__file__).parents[2] / "docs" / "alarms.md"
CUT = {"completions/clipped_ratio": 1.0, "groups/drawn": 16}


def stepped(watch, rows):
    found = []
    for number, values in enumerate(rows, 1):
        watch, begun = watch.observe({"step": number, **values})
        found += begun
    return watch, found


def test_every_rule_stands_in_the_docs_with_its_threshold() -> None:
    text = DOCS.read_text()
    for rule in RULES:
        assert f"| `{rule.name}` | {rule.sees} | {rule.threshold:g}: {rule.measure} |" in text
        assert rule.remedy in text


def test_an_alarm_is_told_once_and_again_only_after_ten_clear_steps() -> None:
    rows = [CUT] * 8 + [{}] * 5 + [CUT] * 6
    _, found = stepped(make_watch(Facts()), rows)
    assert [alarm.step for alarm in found] == [4]
    _, found = stepped(make_watch(Facts()), [CUT] * 8 + [{}] * 12 + [CUT] * 6)
    assert [alarm.step for alarm in found] == [4, 24]


def test_thresholds_off_and_stop_are_as_declared() -> None:
    watch = make_watch(Facts(), stop=["all_truncated"], thresholds={"all_truncated": "0.5"})
    watch, [alarm] = stepped(watch, [CUT | {"completions/clipped_ratio": 0.6}] * 4)
    assert alarm.stops
    assert alarm.threshold == 0.5
    assert watch.stopping == alarm
    assert "60 %" in alarm.reason
    assert "sampling.max_tokens" in str(alarm)
    off = make_watch(Facts(), off=["all_truncated"])
    assert stepped(off, [CUT] * 10)[1] == []


@pytest.mark.parametrize("value", [True, "high", -1, None, float("nan"), float("inf"), [1]])
def test_what_is_no_threshold_is_refused(value) -> None:
    with pytest.raises(UsageError, match="no threshold"):
        make_watch(Facts(), thresholds={"kl_blowup": value})


@pytest.mark.parametrize("trace", FAILING, ids=lambda trace: trace.name)
def test_a_watch_rebuilt_from_the_file_is_the_one_that_was_left(trace) -> None:
    rows = [*trace.rows(0)]
    written = [json.loads(json.dumps(r).replace("NaN", "null")) for r in rows]
    for cut in (3, 43, len(rows)):
        live = make_watch(trace.facts)
        for one in rows[:cut]:
            live, _ = live.observe(one)
        again = make_watch(trace.facts).folded(written[:cut])
        assert again.history == live.history
        assert again.active == live.active


def test_memory_and_time_do_not_grow_with_the_run() -> None:
    rng = np.random.default_rng(0)
    rows = [row(HEALTHY, step, rng) for step in range(1, 401)]
    watch = make_watch(Facts())
    seconds = []
    for one in rows:
        began = time.perf_counter()
        watch, _ = watch.observe(one)
        seconds.append(time.perf_counter() - began)
    median = sorted(seconds)[200]
    print(f"\n{1e3 * median:.2f} ms a step")
    assert median < 1e-3
    assert len(watch.history.first) == FIRST
    assert len(watch.history.last) == LAST


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"reward": "high", "entropy": None, "groups/drawn": [], "step": None},
        {"level/x/solve_rate": 2.0, "level/1/solve_rate": "x", "level/2/solve_rate": 0.5},
        {"entropy": -1.0, "completions/mean_length": 0.0, "grad_norm": 1e308, "ratio/p01": 0.0},
        {"heldout/pass@1": 1.0, "heldout/pass@1_gain_high": float("inf")},
    ],
)
def test_rows_that_make_no_sense_are_survived(values) -> None:
    stepped(make_watch(Facts()), [values] * 60)


def test_a_digest_holds_what_follows_from_a_row() -> None:
    found = digest(
        {
            "groups/drawn": 4,
            "level/0/solve_rate": 0.5,
            "level/0/groups": 3,
            "level/1/solve_rate": 1.0,
            "level/1/groups": 1,
            "entropy": 0.2,
            "completions/mean_length": 10,
            "status/error": 0.25,
            "time/step": 3.0,
        },
        Facts(group_size=2),
    )
    assert found["answers"] == 8
    assert found["informative"] == pytest.approx(0.75 * 0.5)
    assert found["entropy/answer"] == 2
    assert found["unjudged"] == 0.25
    assert "time/step" not in found


def test_a_trend_is_the_line_of_least_squares() -> None:
    values = np.array([1.0, 3.0, 2.0, 5.0, 4.0])
    found = trend(values)
    slope, start = np.polyfit(np.arange(5), values, 1)
    assert found.slope == pytest.approx(slope)
    assert found.at_end == pytest.approx(start + 4 * slope)
    left = values - np.polyval([slope, start], np.arange(5))
    error = np.sqrt(left @ left / 3 / 10)
    assert found.sureness == pytest.approx(slope / error)
    assert trend(np.array([1.0, 2.0, 3.0])).sureness > 1e6

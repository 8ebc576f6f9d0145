"""The comparison says what the two evaluations say, and nothing where they say nothing."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import pytest

from evenodds.report import compare
from evenodds.report.comparison import (
    BETTER,
    NO_EVIDENCE,
    TOO_FEW,
    WORSE,
    corrected,
    overall_side,
    sides,
)
from evenodds.report.story import (
    by_level,
    changes,
    headline,
    problems_sentence,
    sharpening,
    warnings,
)
from tests.report import synthetic


def one_level(right: list[int], tries: int = 4, keys: str = "abcdefghijkl", **more: Any) -> Any:
    problems = [
        {"key": key, "tries": tries, "right": count, "greedy_right": None, **more}
        for key, count in zip(keys, right, strict=False)
    ]
    return {"levels": [{"level": 0, "label": "only", "problems": problems}]}


def test_means_and_gains_are_those_of_the_problems() -> None:
    found = compare(one_level([0, 4, 2, 2]), one_level([4, 4, 2, 4]))
    row = found.overall
    assert (row.before.sampled.mean, row.after.sampled.mean) == (0.5, 0.875)
    assert row.gain.mean == pytest.approx(0.375)
    assert found.curves.ks == (1, 2, 4)
    assert found.curves.before[0].mean == pytest.approx(0.5)
    assert found.curves.after[2].mean == 1.0
    assert (found.coverage.gained, found.coverage.lost, found.coverage.kept) == (1, 0, 3)
    assert row.greedy_gain is None


def test_problems_are_matched_by_key_and_the_rest_is_counted() -> None:
    found = compare(one_level([0, 4, 0]), one_level([4, 0, 4], keys="bax"))
    assert found.overall.problems == 2
    assert found.overall.gain.mean == 0.0  # a: 0 -> 0, b: 4 -> 4
    assert found.unmatched == 2


def test_problems_that_nobody_judged_are_left_out() -> None:
    base, final = one_level([0, 1]), one_level([4, 4])
    base["levels"][0]["problems"][0]["tries"] = 0
    found = compare(base, final)
    assert found.overall.problems == 1
    assert found.overall.before.sampled.mean == 0.25


def test_the_share_that_was_cut_is_one_of_all_answers_not_of_judged_ones() -> None:
    records = [one_level([1, 1], tries=2, truncated=2, mean_length=9.0) for _ in range(2)]
    for record in records:
        record["settings"] = {"samples": 4}
        record["levels"][0]["problems"][0]["tries"] = 4
    row = compare(*records).overall
    assert (row.before.truncated, row.after.truncated, row.after.length) == (0.5, 0.5, 9.0)
    assert overall_side(records[0]).truncated == sides(records[0])[0][3].truncated == 0.5


@pytest.mark.parametrize("final", [{"levels": []}, one_level([1], keys="z"), {}])
def test_nothing_in_common_is_said_and_not_invented(final: Any) -> None:
    found = compare(one_level([1, 2]), final)
    assert found.overall.problems == 0
    assert math.isnan(found.overall.gain.mean)
    assert "nothing can be said" in headline(found)
    json.dumps(found.to_dict(), allow_nan=False)


def test_a_run_that_learned_is_better_and_says_so_with_intervals() -> None:
    found = compare(synthetic.evaluation(1.6, 1), synthetic.evaluation(5.0, 2))
    assert not found.worse and len(found.better) >= 5
    gain = found.overall.gain.points()
    assert f"changed by {gain}, paired by problem: better." in headline(found)
    assert str(found.overall.after.sampled) in headline(found)
    assert "worse at no level" in by_level(found)
    assert "Greedy" in changes(found)[0]


def test_what_got_worse_is_said_beside_what_got_better() -> None:
    base, final = synthetic.evaluation(3.0, 1), synthetic.evaluation(6.0, 2)
    for problem in final["levels"][0]["problems"]:
        problem["right"] = 0
    found = compare(base, final)
    assert found.worse == ["1×1 digits"]
    assert "; worse at 1×1 digits" in by_level(found)
    assert f"{found.coverage.lost} only before it" in problems_sentence(found)
    assert found.coverage.lost >= 30


def test_no_change_is_no_evidence() -> None:
    found = compare(synthetic.evaluation(3.0, 1), synthetic.evaluation(3.0, 1))
    assert not found.better and not found.worse
    assert by_level(found) == "No level shows evidence of a change."
    assert sharpening(found.curves) is None


def test_sharpening_is_called_by_its_name() -> None:
    half = len("abcdefghijkl") // 2
    found = compare(one_level([1] * 12), one_level([4] * half + [0] * half))
    assert found.overall.gain.mean > 0
    assert found.curves.gain[-1].high < 0
    assert "sharpened" in (sharpening(found.curves) or "")


def test_a_single_evaluation_has_its_own_rates() -> None:
    record = synthetic.evaluation(3.0, 1)
    assert [label for _, label, _, _ in sides(record)] == list(synthetic.LEVELS)
    assert overall_side(record) == compare(record, record).overall.before


@pytest.mark.parametrize(("problems", "verdict"), [(19, TOO_FEW), (20, BETTER)])
def test_few_problems_have_no_verdict(problems: int, verdict: str) -> None:
    found = compare(
        synthetic.evaluation(-9.0, 1, problems), synthetic.evaluation(16.0, 2, problems)
    )
    assert {row.verdict for row in found.levels} == {verdict}
    assert found.overall.verdict == BETTER  # the whole ladder counts all its problems
    too_few = found.to_dict()["verdicts"]["too_few"]
    assert bool(warnings(found)) == bool(too_few) == (verdict == TOO_FEW)
    assert ("oo few problems to tell at" in by_level(found)) == (verdict == TOO_FEW)


def test_a_single_level_is_the_whole_ladder() -> None:
    found = compare(one_level([0] * 12), one_level([4] * 12))
    assert found.rows == found.levels and by_level(found) == ""
    assert "ladder" not in headline(found)


@pytest.mark.parametrize(("cut", "said"), [(0, False), (1, True)])
def test_what_was_never_cut_is_not_told(cut: int, said: bool) -> None:
    records = [one_level([1, 2], truncated=cut, mean_length=9.0) for _ in range(2)]
    assert ("budget" in changes(compare(*records))[-1]) == said


# --- what it says of gained and lost, of majorities, lengths and sources


def voted(record: Any, *votes: list[list[Any]]) -> Any:
    for problem, cast in zip(record["levels"][0]["problems"], votes, strict=True):
        problem["votes"] = cast
    return record


def test_gained_and_lost_are_counted_tested_and_named() -> None:
    found = compare(one_level([0, 1, 2, 0]), one_level([1, 0, 2, 0]))
    assert (found.gained, found.lost) == (("a",), ("b",))
    assert found.coverage.p == 1.0
    assert found.coverage.net.mean == 0 and found.coverage.net.low < 0 < found.coverage.net.high
    assert found.greedy_coverage is None
    sure = compare(one_level([0] * 12), one_level([1] * 12))
    assert sure.coverage.p < 0.001 and len(sure.gained) == 12


def test_greedy_answers_have_gained_and_lost_of_their_own() -> None:
    base, final = one_level([1, 1, 1]), one_level([1, 1, 1])
    for record, greedy in ((base, [True, False, None]), (final, [False, False, True])):
        for problem, right in zip(record["levels"][0]["problems"], greedy, strict=True):
            problem["greedy_right"] = right
    found = compare(base, final).greedy_coverage
    assert found is not None
    assert (found.gained, found.lost, found.kept, found.never) == (0, 1, 0, 1)


def test_majorities_come_from_the_votes() -> None:
    base = voted(one_level([1, 2]), [["5", 3, False], ["4", 1, True]], [["7", 2, True]])
    final = voted(one_level([3, 2]), [["4", 3, True], ["5", 1, False]], [["7", 2, True]])
    curve = compare(base, final).majority
    assert curve.ks == (1, 2, 4)
    assert curve.before[2].mean == 0.5 and curve.after[2].mean == 1.0
    assert curve.gain[0].mean == pytest.approx((3 / 4 - 1 / 4) / 2)
    assert compare(one_level([1]), one_level([1])).majority.ks == ()  # an old record has no votes


def test_where_the_base_catches_up() -> None:
    found = compare(one_level([1] * 12), one_level([4] * 6 + [0] * 6))
    assert found.catch_up is not None and found.catch_up.k is not None
    assert 1 < found.catch_up.k < 4
    assert compare(one_level([4] * 12), one_level([1] * 12)).catch_up is None


def test_the_change_in_length_has_an_interval_within_the_budget() -> None:
    base, final = (one_level([1] * 12, mean_length=length) for length in (9.0, 12.0))
    assert compare(base, final).overall.length_gain is None  # nobody says what was allowed
    for record in (base, final):
        record["settings"] = {"max_tokens": 24}
    gain = compare(base, final).overall.length_gain
    assert gain is not None
    assert gain.mean == 3.0 and -24 <= gain.low < 3.0 < gain.high <= 24


def test_sources_have_rows_where_there_are_several() -> None:
    base, final = one_level([0, 1, 2, 3]), one_level([4, 1, 2, 3])
    assert compare(base, final).sources == ()
    for record in (base, final):
        for problem, source in zip(record["levels"][0]["problems"], "xyxy", strict=True):
            problem["source"] = source
    rows = compare(base, final).sources
    assert [(row.label, row.problems, row.gain.mean) for row in rows] == [
        ("x", 2, 0.5),
        ("y", 2, 0.0),
    ]


def test_all_of_it_is_json_and_has_width() -> None:
    found = compare(synthetic.evaluation(1.6, 1), synthetic.evaluation(5.0, 2))
    data = json.loads(json.dumps(found.to_dict(), allow_nan=False))

    def widths(value: Any) -> list[float]:
        if isinstance(value, dict):
            here = [value["high"] - value["low"]] if {"mean", "low", "high"} <= value.keys() else []
            return here + [w for item in value.values() for w in widths(item)]
        return [w for item in value for w in widths(item)] if isinstance(value, list) else []

    assert len(widths(data)) > 60 and min(widths(data)) > 0


def test_levels_are_read_together() -> None:
    """One level of eight by chance at p = .03 is what eight levels give where nothing changed."""
    found = compare(synthetic.evaluation(1.6, 1), synthetic.evaluation(1.9, 2))
    assert all(row.adjusted >= row.p for row in found.levels)
    assert found.overall.adjusted == found.overall.p
    near = [replace(found.levels[0], p=p) for p in (0.03, *[0.5] * 7)]
    assert [row.verdict for row in corrected(near)] == [NO_EVIDENCE] * 8
    assert corrected(near[:1])[0].verdict in (BETTER, WORSE)
    few = replace(near[0], problems=3)
    assert [row.verdict for row in corrected([near[0], *[few] * 7])][1:] == [TOO_FEW] * 7
    assert corrected([near[0], few])[0].adjusted == 0.03

"""Arms on the same problems: matched, corrected, and told in sentences that fit a terminal."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from evenodds.report.comparison import BETTER, NO_EVIDENCE, TOO_FEW, WORSE
from evenodds.report.contrast import Arm, contrast, contrasts, unlike
from evenodds.report.contrast_text import (
    ending,
    how,
    one_seed,
    page,
    random_sentences,
    sentences,
    verdict,
)
from tests.report import synthetic


def arm(name: str, *skills: float, seed: int = 1, **more: Any) -> Arm:
    records = [synthetic.evaluation(skill, seed + at) for at, skill in enumerate(skills)]
    return Arm(name, tuple(records), **more)


BASE = arm("base", 1.6, is_trained=False)


def test_one_seed_each_is_the_comparison_of_the_report() -> None:
    found = contrast(BASE, arm("mine", 3.0, seed=5))
    assert found.pair is not None
    assert found.overall.gain == found.pair.overall.gain
    assert [line.gain for line in found.levels] == [row.gain for row in found.pair.levels]
    assert found.k == found.pair.curves.ks[-1] == 8
    assert found.catch_up == found.pair.catch_up
    assert found.problems == 320 and found.unmatched == 0


def test_the_verdict_names_the_levels() -> None:
    (found,) = contrasts([BASE, arm("mine", 4.0, seed=5)])
    assert found.overall.verdict == BETTER
    text = verdict(found)
    assert text.startswith("mine is better than base: +")
    assert " to 3×2 digits, no evidence elsewhere." in text


def test_a_loss_is_told_beside_a_gain() -> None:
    mine = arm("mine", 4.0, seed=5)
    for problem in mine.records[0]["levels"][0]["problems"]:
        problem["right"] = 0
    (found,) = contrasts([BASE, mine])
    assert found.labels(WORSE) == ["1×1 digits"]
    assert "worse on 1×1 digits" in verdict(found)


def test_nothing_changed_is_no_evidence() -> None:
    (found,) = contrasts([BASE, arm("same", 1.6, seed=9)])
    assert found.overall.verdict == NO_EVIDENCE
    assert verdict(found).startswith("No evidence that same differs from base: ")
    assert verdict(found).endswith("No evidence on any level alone.")


def test_more_arms_ask_for_more_evidence() -> None:
    """Holm: with four arms a p that is enough for one is not enough any more."""
    near = arm("near", 1.95, seed=5)
    (alone,) = contrasts([BASE, near])
    crowd = contrasts([BASE, near, *[arm("same", 1.6, seed=9)] * 3])
    assert alone.overall.adjusted == alone.overall.p
    assert crowd[0].overall.p == alone.overall.p < crowd[0].overall.adjusted
    family = [line.adjusted >= line.p for one in crowd for line in one.levels]
    assert all(family)


def test_seeds_of_an_arm_make_it_less_sure_than_its_problems_do() -> None:
    together = contrast(BASE, arm("three", 1.8, 3.0, 4.2, seed=5))
    single = contrast(BASE, arm("one", 3.0, seed=5))
    assert together.seeds == (1, 3) and together.pair is None
    wide, narrow = (one.overall.gain.high - one.overall.gain.low for one in (together, single))
    assert wide > 2 * narrow
    assert "3 seeds" in page(together)[0]


def test_length_has_an_interval_with_several_seeds_too() -> None:
    def longer(name: str, *extra: float) -> Arm:
        made = arm(name, *[3.0] * len(extra), seed=5)
        rng = np.random.default_rng(len(extra))
        for record, more in zip(made.records, extra, strict=True):
            for level in record["levels"]:
                for problem in level["problems"]:
                    problem["mean_length"] += more + rng.normal()
        return made

    alike, apart = (contrast(BASE, longer("three", *e)) for e in ((4, 4, 4), (1, 4, 7)))
    for found in (alike, apart):
        gain = found.length_gain
        assert gain is not None and gain.mean == pytest.approx(4.0, abs=0.2)
        assert gain.low < 4.0 < gain.high and len(found.length_gains) == len(found.levels)
        assert f"{gain.mean:+.1f} [{gain.low:+.1f}, {gain.high:+.1f}]" in " ".join(page(found))
    wide, narrow = (one.length_gain.high - one.length_gain.low for one in (apart, alike))
    assert narrow < 3 and wide > 10  # the seeds are 1, 4 and 7 tokens longer: sd 3, t = 4.3
    single = contrast(BASE, longer("one", 4))
    assert single.pair is not None and single.length_gain == single.pair.overall.length_gain
    assert list(single.length_gains) == [row.length_gain for row in single.pair.levels]


def test_lengths_that_are_all_one_have_width_and_none_without_a_budget() -> None:
    found = contrast(BASE, arm("three", 3.0, 3.0, 3.0, seed=5))
    level = found.length_gains[0]  # 8 tokens each
    assert level is not None and level.mean == 0 and level.low < 0 < level.high
    bare = arm("bare", 3.0, 3.0, seed=5)
    del bare.records[1]["settings"]["max_tokens"]
    assert contrast(BASE, bare).length_gain is None


def test_only_problems_that_every_evaluation_judged_are_compared() -> None:
    three = arm("three", 3.0, 3.0, 3.0, seed=5)
    three.records[1]["levels"][0]["problems"][0]["tries"] = 0
    del three.records[2]["levels"][7]
    found = contrast(BASE, three)
    assert found.problems == 320 - 40 - 1
    assert found.unmatched == 41
    assert any("41 problems without a match" in text for text in sentences(found))


def test_few_problems_have_no_verdict() -> None:
    few = [
        Arm(name, (synthetic.evaluation(skill, 1, problems=2),))
        for name, skill in (("a", 0.0), ("b", 8.0))
    ]
    (found,) = contrasts(few)
    assert found.overall.verdict == TOO_FEW
    assert "Too few problems" in verdict(found)


def test_nothing_in_common_is_said() -> None:
    other = arm("other", 2.0)
    for level in other.records[0]["levels"]:
        for problem in level["problems"]:
            problem["key"] = "x" + problem["key"]
    (found,) = contrasts([BASE, other])
    assert sentences(found) == ["The two share no judged problem, so nothing can be said."]
    json.dumps(found.to_dict(), allow_nan=False)


def test_sharpening_is_told() -> None:
    def record(right: list[int]) -> dict[str, Any]:
        rows = [{"key": str(at), "tries": 8, "right": count} for at, count in enumerate(right)]
        return {"levels": [{"level": 0, "label": "only", "problems": rows}]}

    found = contrast(Arm("base", (record([2] * 60),)), Arm("mine", (record([8] * 35 + [0] * 25),)))
    assert (
        found.overall.gain.low > 0 and found.catch_up is not None and found.catch_up.k is not None
    )
    text = " ".join(sentences(found))
    assert "it was sharpened" in text and "Pass@k of base reaches that of mine at k = " in text
    assert "25 lost" in text


def test_the_control_task_is_compared_where_all_were_asked_it() -> None:
    sides = [arm("base", 1.6), arm("mine", 4.0, seed=5)]
    for side, skill in zip(sides, (3.0, 0.5), strict=True):
        side.records[0]["control"] = synthetic.evaluation(skill, 3) | {"task": "chains"}
    (found,) = contrasts(sides)
    assert found.control is not None and found.control.verdict == WORSE
    assert sentences(found)[-1].startswith("Control task chains: ")
    assert sentences(found)[-1].endswith("worse.")
    sides[1].records[0]["control"]["task"] = "other"
    assert contrasts(sides)[0].control is None
    assert contrasts([BASE, sides[0]])[0].control is None


# --- random rewards


def test_a_gain_is_owed_to_the_reward_only_if_random_rewards_gave_less() -> None:
    chance = arm("chance", 1.8, seed=7, random_reward=True)
    (said,) = random_sentences([BASE, arm("mine", 4.0, seed=5), chance])
    assert said.startswith("chance was paid at random. mine does better than that by +")
    (said,) = random_sentences([BASE, chance, arm("mine", 1.8, seed=5)])
    assert "no evidence that its reward taught it anything" in said
    (said,) = random_sentences([arm("mine", 0.5, seed=5), chance])
    assert "does worse than that" in said
    assert random_sentences([BASE, chance]) == []  # a base was not paid at all


def test_one_run_of_each_does_not_tell_the_reward_from_the_seed() -> None:
    chance, mine = arm("chance", 1.8, seed=7, random_reward=True), arm("mine", 4.0, seed=5)
    (said,) = random_sentences([chance, mine])
    assert "owed" not in said and "only several seeds of both can tell" in said
    several = arm("mine", 4.0, 4.0, 4.1, seed=5), arm("chance", 1.8, 1.8, random_reward=True)
    (said,) = random_sentences(several)
    assert said.endswith("the difference is owed to its reward.")


def test_one_seed_is_warned_of_where_a_training_has_no_other() -> None:
    assert one_seed([BASE, arm("mine", 2.0)])
    assert not one_seed([BASE, arm("mine", 2.0, 2.1)])


# --- what a person sees


def test_pages_fit_and_are_harmless() -> None:
    hostile = arm(synthetic.HOSTILE, 3.0, seed=5)
    for level in hostile.records[0]["levels"]:
        level["label"] = synthetic.HOSTILE
        for at, problem in enumerate(level["problems"]):
            problem["source"] = synthetic.HOSTILE if at % 2 else "books"
    base = arm(synthetic.HOSTILE, 1.0)
    for level in base.records[0]["levels"]:
        for at, problem in enumerate(level["problems"]):
            problem["source"] = synthetic.HOSTILE if at % 2 else "books"
    results = contrasts([base, hostile])
    record = {"settings": {"samples": 3, "temperature": 1.0}, "task": synthetic.HOSTILE}
    lines = [*page(results[0]), *ending(results, [synthetic.HOSTILE]), *how(record)]
    assert max(map(len, lines)) <= 100
    assert "\x1b" not in "".join(lines) and "\u202e" not in "".join(lines)
    assert any(line.startswith("books") for line in lines)


def test_what_is_corrected_is_told() -> None:
    one = contrasts([BASE, arm("a", 2.0)])
    assert "corrected for the number of levels (Holm)" in " ".join(ending(one, []))
    two = contrasts([BASE, arm("a", 2.0), arm("b", 2.0)])
    assert "corrected for the number of comparisons and levels" in " ".join(ending(two, []))


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({}, ""),
        ({"problems": 7, "levels": [1]}, ""),
        ({"temperature": 0.5}, "temperature (1.0 and 0.5)"),
        ({"seed": 3, "samples": 4}, "samples (8 and 4), seed (1234 and 3)"),
    ],
)
def test_other_settings_are_named(changed: dict[str, Any], said: str) -> None:
    record = synthetic.evaluation(1.0, 1, problems=1)
    other = record | {"settings": record["settings"] | changed}
    assert unlike(record, other) == said
    assert unlike(record | {"task": "a"}, other | {"task": "b"}).startswith("task (a and b)")

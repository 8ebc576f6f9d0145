"""The figures behind the findings of the preflight: numbers in, a finding or a number out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from evenodds.domain import Completion, Problem, Status, Verdict
from evenodds.objectives.surrogate import Clip, Reinforce
from evenodds.policies.memory import Precision, Sizes
from evenodds.run.memory import Work, choose
from evenodds.run.preflight.answers import Asked, Sampled, asked_of
from evenodds.run.preflight.arithmetic import held_out, reach, saving
from evenodds.run.preflight.budget import context, enough, rounded, truncation, within
from evenodds.run.preflight.fits import Written, disk, memory
from evenodds.run.preflight.golds import Passed, gold
from evenodds.run.preflight.neutral import draws_of
from evenodds.run.preflight.pace import (
    Pace,
    cadence,
    evaluation_time,
    judging,
    throughput,
    unjudged,
)
from evenodds.run.preflight.problems import rows_left_out
from evenodds.run.preflight.signal import Ways, informative
from evenodds.run.preflight.tuning import clip, learning_rate, passes, temperature
from evenodds.statistics import paired_difference
from tests.tiny import make_group


def problems(right, tries=8, level=0, cut=0, length=10):
    """Problems with so many right answers each."""
    return tuple(
        Asked(
            level,
            r,
            tuple([1.0] * r + [0.0] * (tries - r)),
            (length,) * tries,
            tuple(n < cut for n in range(tries)),
            5,
        )
        for r in right
    )


def sampled(*rows, budget=64):
    return Sampled(tuple(one for part in rows for one in part), budget)


# --- tokens


def test_the_budget_that_is_proposed_cuts_about_two_in_a_hundred() -> None:
    """Two kinds of answers, of which the budget cuts nearly all of the longer kind."""
    rng = np.random.default_rng(0)
    short, long = rng.geometric(1 / 30, 10_000), rng.geometric(1 / 120, 10_000)
    lengths = np.concatenate([short, long])
    proposed = enough(np.minimum(lengths, 100), lengths > 100, 100)
    assert proposed is not None
    assert 0.001 < (lengths > proposed).mean() < 0.03


def test_a_budget_that_cuts_none_is_not_raised_and_one_that_cuts_all_tells_nothing() -> None:
    lengths, none = np.full(100, 20), np.zeros(100, bool)
    assert enough(lengths, none, 500) == 25
    assert enough(np.full(100, 50), ~none, 50) is None


@pytest.mark.parametrize(("tokens", "shown"), [(7, 7), (96, 96), (101, 110), (1234, 1300)])
def test_a_number_of_tokens_is_told_as_a_person_would(tokens, shown) -> None:
    assert rounded(tokens) == shown


@pytest.mark.parametrize(("cut", "level"), [(0, "fine"), (2, "warning"), (8, "fatal")])
def test_truncation_is_told_from_a_fifth_on_in_any_case(cut, level) -> None:
    assert truncation(sampled(problems([4] * 40, cut=cut)), masked=True).level == level


@pytest.mark.parametrize(("problems_", "level"), [(6, "fine"), (600, "warning")])
def test_a_tenth_is_told_where_it_is_no_chance(problems_, level) -> None:
    half = problems_ // 2  # of one half a fourth is cut, of the other nothing
    found = sampled(problems([8] * half, cut=2), problems([8] * half))
    assert truncation(found, masked=True).level == level


def test_answers_of_a_longer_evaluation_are_cut_as_training_would() -> None:
    found = within(sampled(problems([4] * 20, length=40), problems([4] * 20, length=10)), 20)
    assert (found.budget, found.truncated.mean, int(found.lengths.max())) == (20, 0.5, 20)


def test_a_budget_is_proposed_only_where_the_longest_prompt_leaves_room() -> None:
    assert context(70, 20, None) is None
    assert context(70, 20, 100).level == "fine"
    assert context(80, 18, 100).change == "--sampling.max_tokens 15"  # others may be longer
    over, full = context(90, 20, 100), context(100, 20, 100)
    assert over.change.endswith("or --sampling.max_tokens 10")
    assert "max_tokens" not in full.change and over.level == full.level == "warning"


# --- what there is to learn from


ONE = Ways("ladder", 1, refills=False)


def test_what_is_proposed_can_be_done() -> None:
    """No other level where there is only one, or where training begins at the last of them."""
    none, most = sampled(problems([0] * 39 + [1])), sampled(problems([8] * 39 + [7]))
    said = {
        (kind, levels, right): informative(found, {at: 1.0}, 8, Ways(kind, levels, True)).change
        for kind in ("ladder", "fixed", "uniform")
        for levels, at in ((1, 0), (3, 0))
        for right, found in (("none", none), ("most", most))
    }
    assert {kind: said[kind, 3, "most"] for kind in ("ladder", "fixed", "uniform")} == {
        "ladder": "a higher --curriculum.start, or harder problems",
        "fixed": "higher --curriculum.levels, or harder problems",
        "uniform": "--curriculum.kind fixed with higher --curriculum.levels, or harder problems",
    }
    rest = {text for (_, levels, right), text in said.items() if (levels, right) != (3, "most")}
    assert rest == {"harder problems", "easier problems, or --sampling.group_size 16"}


def test_a_base_that_solves_all_has_nothing_to_learn() -> None:
    found = informative(sampled(problems([8] * 100)), {0: 1.0}, 16, ONE)
    assert (found.level, "little left to learn" in found.why) == ("fatal", True)


def test_a_base_that_solves_nothing_is_fatal_only_where_that_is_sure() -> None:
    few = informative(sampled(problems([0] * 8, tries=4)), {0: 1.0}, 16, ONE)
    many = informative(sampled(problems([0] * 100)), {0: 1.0}, 16, ONE)
    assert (few.level, many.level) == ("warning", "fatal")


def test_answers_that_are_paid_in_part_can_be_learned_from_without_a_right_one() -> None:
    """None is right, but the rewards differ; where there are two of them, it is in one part."""
    for rewards, level in (((0.0, 0.2, 0.2, 0.4), "fine"), ((0.0, 0.2, 0.2, 0.2), "warning")):
        some = [replace(one, rewards=2 * rewards) for one in problems([0] * 40)]
        found = informative(sampled(some), {0: 1.0}, 8, ONE)
        assert (found.level, "scored 0 or 0.2" in found.what) == (level, level == "warning")
    few = informative(sampled(some[:3]), {0: 1.0}, 8, ONE)
    assert few.level == "fine", "24 answers do not say that none is ever right"


def test_a_level_with_few_mixed_groups_is_told_with_refilling() -> None:
    found = informative(sampled(problems([0] * 39 + [1])), {0: 1.0}, 8, ONE)
    again = informative(sampled(problems([0] * 39 + [1])), {0: 1.0}, 8, replace(ONE, refills=True))
    assert found.level == "warning"
    assert "--objective.zero_signal refill" in found.change
    assert "refill" not in again.change


def test_answers_that_could_not_be_judged_are_counted_apart() -> None:
    group = make_group([1.0, 0.0, 0.0], [3, 4, 5])
    lost = Verdict(0.0, Status.TIMEOUT)
    found = asked_of(replace(group, verdicts=[*group.verdicts[:2], lost]))
    assert (found.right, found.tries, found.timeouts) == (1, 2, 1)
    assert (found.lengths, found.computed) == ((3, 4, 5), 17)


# --- time


PACE = Pace(sample=1.0, judge=0.5, learn=1.5, evaluation=30.0)


def test_steps_that_fit_leave_room_for_both_evaluations() -> None:
    assert PACE.fitting(109.0) == 10  # 30 before, 45 kept for after, 4 for what is written
    assert PACE.fitting(79.0) == 0
    assert PACE.whole(10) == pytest.approx(94.0)


@pytest.mark.parametrize(
    ("limit", "steps", "level"),
    [(40.0, None, "fatal"), (90.0, None, "warning"), (400.0, 100, "fine"), (400.0, 300, "warning")],
)
def test_time_that_is_too_short_is_told(limit, steps, level) -> None:
    found = throughput(PACE, steps, limit)
    assert found is not None
    assert found.level == level


def test_without_a_limit_the_time_to_the_end_is_told() -> None:
    found, endless = throughput(PACE, 100, None), throughput(PACE, 10**6, None)
    assert found is not None and endless is not None
    assert "6:04 for 100 steps" in found.what
    assert endless.level == "warning"


def test_a_run_refuses_itself_where_learning_was_not_timed() -> None:
    assert throughput(replace(PACE, learn=None), None, 40.0) is None


def test_evaluations_on_the_way_are_part_of_a_step() -> None:
    assert replace(PACE, way=10.0, every=5).step == pytest.approx(5.0)


def test_work_that_a_crash_would_cost_is_told() -> None:
    assert cadence(PACE, 20) is None
    found = cadence(replace(PACE, sample=600.0), 20)
    assert found is not None
    assert found.change == "--run.save_every 1"


def test_a_slow_verifier_is_told_and_one_that_hangs() -> None:
    assert judging(PACE, 0, 100, 2) is None
    assert judging(replace(PACE, judge=30.0), 0, 100, 2) is not None
    hung = judging(PACE, 5, 100, 2)
    assert hung is not None
    assert "5 of 100" in hung.what


def test_answers_without_a_verdict_are_told_and_none_at_all_is_fatal() -> None:
    levels = [(found := unjudged(n, 100, "odd")) and found.level for n in (1, 2, 95)]
    assert levels == [None, "warning", "fatal"]


def test_the_cadence_that_is_proposed_leaves_a_fifth_for_evaluations() -> None:
    pace = replace(PACE, way=30.0, every=1)
    found = evaluation_time(pace)
    assert found is not None
    assert "91 %" in found.what
    proposed = int(found.change.split()[1].strip(","))
    sparse = replace(pace, every=proposed)
    assert evaluation_time(sparse) is None
    assert 30.0 / proposed / sparse.step == pytest.approx(0.2, abs=0.01)


@pytest.mark.parametrize(("tokens", "draws"), [(18, 256), (49_152, 85), (151_936, 64)])
def test_few_first_tokens_are_drawn_where_many_are_known(tokens, draws) -> None:
    assert draws_of(tokens) == draws


# --- bytes


def test_the_disk_is_told_before_it_is_full() -> None:
    written = Written(checkpoint=10**9, kept=2, step=10**6, steps=1000, evaluation=10**6)
    levels = [disk(written, free).level for free in (10**10, 45 * 10**8, 4 * 10**9)]
    assert levels == ["fine", "warning", "fatal"]
    assert "--run.keep 1" in disk(written, 10**9).change


def test_a_plan_that_does_not_fit_names_a_setting_with_which_it_does() -> None:
    sizes = Sizes(135 * 10**6, 10**6, 30, 576, 9, 576, 192, 1536, 49152)
    work = Work("cpu", prompt=200, answer=65_536, group_size=64, rows=64)
    plan = choose(sizes, Precision(4, rank=16), work, 8 * 10**9)
    found = memory(plan)
    assert found.level == "fatal"
    name, value = found.change.split(" ")
    assert name == "--sampling.max_tokens"
    smaller = replace(work, answer=int(value))
    assert choose(sizes, Precision(4, rank=16), smaller, 8 * 10**9).fits


# --- the rest


def test_the_interval_that_is_foretold_is_that_of_a_gain() -> None:
    """Half a problem's chance before, and gains that differ between problems."""
    rng = np.random.default_rng(0)
    before = rng.uniform(0.2, 0.8, 400)
    after = (before + 0.1 + rng.normal(0, 0.2, 400)).clip(0, 1)
    gain = paired_difference(rng.binomial(8, before) / 8, rng.binomial(8, after) / 8)
    assert reach(400, 8) == pytest.approx((gain.high - gain.low) / 2, rel=0.3)


def test_what_few_problems_cannot_show_is_told_with_what_would() -> None:
    assert held_out(400, 8).level == "fine"
    assert "there are 90" in held_out(20, 8, 90).change
    of_data, capped = held_out(20, 32, 20, False).change, held_out(20, 32, 20).change
    assert of_data.startswith("more problems in the task") and "samples" not in of_data
    assert capped.startswith("a larger --task.held_out")
    assert held_out(35, 8, 35, False).change.endswith("or --evaluation.samples 16")
    few = held_out(20, 4)
    assert few.level == "warning"
    assert reach(int(few.why.split("about ")[1].split()[0].replace(",", "")), 4) < 0.051


@pytest.mark.parametrize(
    ("rate", "level"),
    [(2e-4, "fine"), (1e-3, "fine"), (5e-3, "warning"), (0.5, "fatal"), (1e-6, "warning")],
)
def test_learning_rates_are_held_against_the_usual(rate, level) -> None:
    assert learning_rate(rate, 2e-4, "LoRA learns").level == level


@pytest.mark.parametrize(
    ("value", "level"),
    [
        (0.01, "fatal"),
        (0.1, "fatal"),
        (0.2, "warning"),
        (2.5, "warning"),
        (3.0, "fatal"),
        (5.0, "fatal"),
    ],
)
def test_a_temperature_at_which_runs_only_got_worse_is_fatal(value, level) -> None:
    """Also where evaluations have it too."""
    assert {temperature(value, other).level for other in (1.0, value)} == {level}


def test_a_cadence_that_was_asked_for_is_held_against_the_steps() -> None:
    asked = {(every, steps): saving(every, steps) for every, steps in ((15, 10), (50, 30))}
    assert all(found is not None and found.level == "warning" for found in asked.values())
    assert saving(20, 10) is None  # the default: nobody asked for it
    assert saving(10, 10) is None


def test_the_same_other_temperature_in_both_is_no_warning() -> None:
    found = temperature(0.9, 0.9)
    assert found is not None
    assert found.level == "fine"
    assert temperature(1.0, 1.0) is None


def test_bounds_of_the_ratio() -> None:
    assert clip(3e-4, 4e-4, 1) is None  # of answers as wholes
    assert clip(0.2, 0.28, 4) is None
    assert passes(4, Clip()) is None
    assert passes(1, Reinforce()) is None


def test_a_gold_that_is_lost_on_its_way_is_told_as_it_came_out() -> None:
    problem = Problem("k", "1+1=", "2", "sum")
    lost = Passed(problem, "one\n\ntwo", Completion("one"))
    assert (gold([lost], 5).level, gold([lost], 50).level) == ("fatal", "warning")
    assert "comes out as 'one'" in gold([lost], 5).what
    paid = gold([], 5, [Passed(problem, "2, or 3", Completion("2"))])
    assert (paid.level, "a wrong answer is paid" in paid.what) == ("fatal", True)


def test_figures_are_told_as_people_write_them() -> None:
    assert "10,000 × the usual 0.0005" in learning_rate(5, 0.0005, "all learn").what
    slow = throughput(Pace(150.0, 0.0, 7.0, 0.4), None, 200.0)
    assert slow and slow.what.startswith("2:37 a step") and "0.4 s an evaluation" in slow.what
    assert "about 1 step fits into 3:20" in slow.what


def test_rows_that_are_left_out_are_told_and_many_of_them_are_a_warning() -> None:
    assert rows_left_out({}, 90) is None
    few, many = (rows_left_out({"duplicates": n, "contradictory": 0}, 90) for n in (9, 10))
    assert (few.level, many.level) == ("fine", "warning")
    assert many.what == "10 of 100 rows of the data are left out (duplicates: 10)"

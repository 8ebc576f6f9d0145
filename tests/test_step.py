"""The step with fakes at its edges: what happens, in which order, and what is left out."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from evenodds.curricula import make_curriculum
from evenodds.domain import Group, Limits, Status, Verdict
from evenodds.errors import NotFinite, UsageError
from evenodds.finite import Fault, Skips
from evenodds.judge import InlineJudge
from evenodds.learner import Update
from evenodds.objectives import EntropyBonus, Objective, make_objective
from evenodds.records.table import by_place
from evenodds.run.records import step_metrics
from evenodds.sampling.scripted import ScriptedSampler
from evenodds.step import (
    State,
    StepConfig,
    Tools,
    nothing_because,
    train_step,
)
from evenodds.tasks import make_task
from tests.tiny import make_group, rollout_rows

TASK = make_task("multiplication")


@dataclass
class Recorder:
    """A learner that only remembers."""

    batches: list = field(default_factory=list)
    objectives: list = field(default_factory=list)
    entropy: float = 0.2

    def update(self, batch, objective) -> Update:
        self.batches.append(batch)
        self.objectives.append(objective)
        metrics = {"loss": 0.0, "entropy": self.entropy}
        return Update(metrics, {a.index: a.old_logprobs for a in batch.answers})

    def weights(self):
        return "weights"


def make(script, groups=4, group_size=4, reference=None, rounds=1, limits=None, **settings):
    learner = Recorder()
    tools = Tools(ScriptedSampler(script), InlineJudge(TASK.verifier), learner, reference)
    objective = make_objective(**settings)
    config = StepConfig(groups, group_size, limits or Limits(20), objective, rounds)
    state = State(make_curriculum("ladder", TASK))
    return state, tools, config, learner


def sometimes_right(prompt, rng) -> str:
    a, b = prompt.rstrip("=").split("*")
    return str(int(a) * int(b)) if rng.random() < 0.5 else "1"


def test_a_step_learns_from_informative_groups_only_and_loads_the_new_weights() -> None:
    state, tools, config, learner = make(sometimes_right, groups=8)
    after, report = train_step(state, tools, config)
    (batch,) = learner.batches
    useful = [group for group in report.groups if group.is_informative]
    assert 0 < len(batch.prompts) == len(useful)
    assert batch.extent.rollouts == 4 * len(useful)
    assert (after.step, after.version) == (1, 1)
    assert tools.sampler.loaded == [1]
    assert after.tokens == sum(r.ids.size for g in report.groups for r in g.rollouts)
    assert (state.step, state.version, state.tokens) == (0, 0, 0)


def test_when_every_group_agrees_the_step_is_skipped_and_still_counted() -> None:
    state, tools, config, learner = make(lambda prompt, rng: "0")
    after, report = train_step(state, tools, config)
    assert learner.batches == []
    assert (after.step, after.version) == (1, 0)
    assert "nothing to learn from" in report.skipped
    assert tools.sampler.loaded == []


def test_the_curriculum_sees_all_groups() -> None:
    def right(prompt, rng):
        a, b = prompt.rstrip("=").split("*")
        return str(int(a) * int(b))

    state, tools, config, _ = make(right)
    after, _ = train_step(state, tools, config)
    assert after.curriculum.metrics()["difficulty"] > 0.3


def test_a_step_depends_on_seed_and_step_alone() -> None:
    state, tools, config, _ = make(sometimes_right)
    keys = [[g.problem.key for g in train_step(state, tools, config)[1].groups] for _ in range(2)]
    assert keys[0] == keys[1]
    later = State(state.curriculum, seed=0, step=1)
    assert [g.problem.key for g in train_step(later, tools, config)[1].groups] != keys[0]
    assert later.sampling_seed() != state.sampling_seed()
    seeds = {state.sampling_seed(turn) for turn in range(5)}
    assert len(seeds) == 5  # each round of a step draws anew
    draws = {float(state.rng(turn).random()) for turn in range(5)}
    assert len(draws) == 5
    assert seeds == {State(state.curriculum).sampling_seed(turn) for turn in range(5)}


def test_the_learners_logprobs_find_their_rollouts() -> None:
    state, tools, config, _ = make(rarely_mixed, groups=8)
    _, report = train_step(state, tools, config)
    found = by_place(report, report.update and report.update.logprobs)
    assert 0 < len(found) < sum(len(g.rollouts) for g in report.groups)
    assert len(found) == sum(len(g.rollouts) for g in report.groups if g.is_informative)
    for (group, answer), values in found.items():
        assert report.groups[group].is_informative
        assert np.array_equal(values, report.groups[group].rollouts[answer].logprobs)


def right(prompt, rng) -> str:
    a, b = prompt.rstrip("=").split("*")
    return str(int(a) * int(b))


REFILL = {"zero_signal": "refill", "mask_truncated": False}


def rarely_mixed(prompt, rng) -> str:
    """Half of the problems are never solved."""
    return sometimes_right(prompt, rng) if sum(map(ord, prompt)) % 2 else "0"


def test_refilling_goes_on_until_every_group_informs_or_the_rounds_are_over() -> None:
    state, tools, config, learner = make(rarely_mixed, groups=6, rounds=20, **REFILL)
    after, report = train_step(state, tools, config)
    informative = [group for group in report.groups if group.is_informative]
    assert len(informative) == len(learner.batches[0].prompts) == 6
    assert 1 < report.rounds < 20
    assert len(report.groups) > 6
    assert after.step == 1
    assert after.tokens == sum(r.ids.size for g in report.groups for r in g.rollouts)


@pytest.mark.parametrize("rounds", [1, 2, 5])
def test_a_step_that_finds_no_signal_ends_after_its_rounds(rounds) -> None:
    state, tools, config, learner = make(right, groups=3, rounds=rounds, **REFILL)
    after, report = train_step(state, tools, config)
    assert (report.rounds, len(report.groups)) == (rounds, 3 * rounds)
    assert report.skipped == "every group agreed: nothing to learn from"
    assert (after.step, after.version, learner.batches) == (1, 0, [])


@pytest.mark.parametrize("zero_signal", ["drop", "keep"])
def test_without_refilling_there_is_one_round(zero_signal) -> None:
    made = make(rarely_mixed, groups=6, rounds=20, zero_signal=zero_signal)
    state, tools, config, learner = made
    _, report = train_step(state, tools, config)
    assert (report.rounds, len(report.groups)) == (1, 6)
    (batch,) = learner.batches
    dropped = sum(not group.is_informative for group in report.groups)
    assert dropped > 0
    assert len(batch.prompts) == 6 - dropped * (zero_signal == "drop")


def test_what_a_refilled_step_refused_is_observed_and_written_down() -> None:
    state, tools, config, _ = make(rarely_mixed, groups=6, rounds=20, **REFILL)
    after, report = train_step(state, tools, config)
    assert after.curriculum == state.curriculum.observe(report.groups)
    rows = rollout_rows(1, report, "v", [""] * len(report.groups))
    for row in rows:
        agreed = not report.groups[row["group"]].is_informative
        assert (row["why"], row["kept"]) == (("its group agreed", False) if agreed else ("", True))
        assert (row["learner_logprobs"] is None) == agreed
        assert agreed <= (row["advantage"] == 0)
    metrics = step_metrics(state, after, report)
    assert metrics["groups/drawn"] == len(report.groups)
    assert metrics["groups/rounds"] == report.rounds
    assert metrics["groups/mixed"] == pytest.approx(6 / len(report.groups))


def test_each_round_asks_for_what_is_missing_only() -> None:
    state, tools, config, _ = make(rarely_mixed, groups=6, rounds=20, **REFILL)
    asked: list[int] = []
    inner = tools.sampler

    class Counting:
        def sample(self, prompts, group_size, limits, seed, finished=None):
            asked.append(len(prompts))
            return inner.sample(prompts, group_size, limits, seed, finished)

        def load(self, weights, version): ...

    _, report = train_step(state, replace(tools, sampler=Counting()), config)
    assert asked[0] == 6 and len(asked) == report.rounds
    assert sum(asked) == len(report.groups)
    assert asked == sorted(asked, reverse=True)


@dataclass
class Shifted:
    """A reference whose log-probability of every token is lower by `gap`."""

    gap: float = 0.5
    asked: int = 0

    def annotate(self, groups) -> list[Group]:
        self.asked += 1
        return [
            Group(
                group.problem,
                [replace(r, reference_logprobs=r.logprobs - self.gap) for r in group.rollouts],
                group.verdicts,
            )
            for group in groups
        ]


@pytest.mark.parametrize(
    ("settings", "asked"),
    [
        ({}, 0),
        ({"kl_in": "measured"}, 1),
        ({"kl": 0.1}, 1),
        ({"kl": 0.1, "kl_in": "reward"}, 1),
        ({"entropy": 0.1}, 0),
    ],
)
def test_the_reference_is_asked_where_the_objective_wants_it(settings, asked) -> None:
    reference = Shifted()
    state, tools, config, learner = make(sometimes_right, reference=reference, **settings)
    _, report = train_step(state, tools, config)
    assert reference.asked == asked
    (answer, *_) = learner.batches[0].answers
    assert (answer.reference_logprobs is not None) == bool(asked)
    assert (report.groups[0].rollouts[0].reference_logprobs is not None) == bool(asked)


def test_a_kl_in_the_reward_is_a_part_of_it_and_moves_the_advantages() -> None:
    """k1 of each token is .5 here: an answer of n tokens pays .05 n."""
    settings = {"kl": 0.1, "kl_in": "reward", "mask_truncated": False}
    made = make(sometimes_right, groups=8, reference=Shifted(), **settings)
    state, tools, config, learner = made
    after, report = train_step(state, tools, config)
    assert after.curriculum == state.curriculum.observe(  # of the answers, not of the penalties
        [Group(g.problem, g.rollouts, unshaped(g)) for g in report.groups]
    )
    rows = rollout_rows(1, report, "v", [""] * len(report.groups))
    for row in rows:
        parts = {part["name"]: part["value"] for part in row["parts"]}
        assert parts["kl"] == pytest.approx(-0.05 * len(row["completion_ids"]))
        assert row["reward"] == pytest.approx(sum(parts.values()))
        assert row["reference_logprobs"] == pytest.approx([-0.5] * len(row["completion_ids"]))
        assert (row["status"] == "right") == (parts["score"] == 1.0)
    first = [row for row in rows if row["group"] == 0]
    mean = np.mean([row["reward"] for row in first])
    assert [row["advantage"] for row in first] == pytest.approx([r["reward"] - mean for r in first])
    metrics = step_metrics(state, after, report)
    assert metrics["reward"] == pytest.approx(metrics["reward/score"] + metrics["reward/kl"])
    assert learner.batches


def unshaped(group) -> list[Verdict]:
    return [replace(v, score=v.parts["score"], parts={}) for v in group.verdicts]


def test_an_overlong_answer_is_paid_less_and_written_down() -> None:
    def script(prompt, rng) -> str:
        return right(prompt, rng).rjust(10, "0") if rng.random() < 0.5 else right(prompt, rng)

    settings = {"mask_truncated": False, "overlong": 0.5}
    state, tools, config, _ = make(script, groups=2, limits=Limits(10), **settings)
    _, report = train_step(state, tools, config)
    rows = rollout_rows(1, report, "v", [""] * len(report.groups))
    paid = {len(row["completion_ids"]): dict_of(row["parts"])["overlong"] for row in rows}
    assert paid[10] == -1.0
    assert paid[min(paid)] == 0.0


def dict_of(parts) -> dict[str, float]:
    return {part["name"]: part["value"] for part in parts}


def test_the_entropy_bonus_is_applied_and_follows_what_was_seen() -> None:
    state, tools, config, learner = make(sometimes_right, groups=6)
    state = replace(state, bonus=EntropyBonus(target=0.3, coefficient=0.01, step=0.002))
    coefficients = []
    for entropy in (0.2, 0.2, 0.4, 0.1):
        learner.entropy = entropy
        state, report = train_step(state, tools, config)
        coefficients.append(report.objective.entropy)
        assert learner.objectives[-1] is report.objective
    # .01, then up twice; after .4 nats nothing is paid, and the coefficient has fallen once
    assert coefficients == pytest.approx([0.01, 0.012, 0.014, 0.0])
    assert state.bonus.coefficient == pytest.approx(0.014)
    assert state.bonus.seen == 0.1


def test_without_a_target_the_objectives_own_coefficient_stays() -> None:
    state, tools, config, learner = make(sometimes_right, entropy=0.05)
    after, _ = train_step(state, tools, config)
    assert after.bonus is None
    assert learner.objectives[0].entropy == 0.05


def test_a_skipped_step_moves_no_bonus() -> None:
    state, tools, config, _ = make(right)
    bonus = EntropyBonus(target=0.3)
    after, _ = train_step(replace(state, bonus=bonus), tools, config)
    assert after.bonus == bonus


@dataclass(frozen=True)
class Always:
    """A judge that gives the same verdict to all."""

    verdict: Verdict

    def judge(self, problems, rollouts):
        return [[self.verdict for _ in row] for row in rollouts]


@pytest.mark.parametrize(
    ("script", "judge", "limits", "reason"),
    [
        (right, None, 20, "every group agreed: nothing to learn from"),
        (
            right,
            Always(Verdict(0.0, Status.TIMEOUT, note="took 2 s")),
            20,
            "no answer could be judged (took 2 s)",
        ),
        (
            right,
            Always(Verdict(0.0, Status.ERROR)),
            20,
            "no answer could be judged (no reason given)",
        ),
        (lambda p, r: "1" * 9, None, 4, "every answer was cut by the budget: raise sampling"),
    ],
)
def test_a_skipped_step_says_why(script, judge, limits, reason) -> None:
    state, tools, config, learner = make(script, limits=Limits(limits))
    tools = replace(tools, judge=judge or tools.judge)
    _, report = train_step(state, tools, config)
    assert report.skipped.startswith(reason)
    assert report.update is None and learner.batches == []


def test_answers_that_differ_only_where_they_were_cut_teach_nothing() -> None:
    state, tools, config, learner = make(lambda p, r: "1" * 9, limits=Limits(4))

    class Half:
        def judge(self, problems, rollouts):
            return [
                [Verdict(float(i % 2), Status.WRONG) for i, _ in enumerate(r)] for r in rollouts
            ]

    _, report = train_step(state, replace(tools, judge=Half()), config)
    assert report.skipped.startswith("every answer that differed was cut by the budget")
    assert learner.batches == []
    rows = rollout_rows(1, report, "v", [""] * len(report.groups))
    assert {row["why"] for row in rows} == {"cut by the budget"}


def test_every_reason_why_an_answer_is_not_in_the_loss() -> None:
    """Not judged, empty, of a group that agreed, cut; and none for the rest."""

    def script(prompt, rng) -> str:
        return ["", "1", "22", "4444444444"][int(rng.integers(4))]

    class Mixed:
        def judge(self, problems, rollouts):
            scores = {0: 0.0, 1: 1.0, 2: 0.0, 6: 0.0}
            return [
                [
                    Verdict(0.0, Status.TIMEOUT)
                    if r.ids.size == 2
                    else Verdict(scores[r.ids.size], Status.WRONG)
                    for r in row
                ]
                for row in rollouts
            ]

    made = make(script, groups=6, group_size=3, limits=Limits(6))
    state, tools, config, learner = made
    _, report = train_step(state, replace(tools, judge=Mixed()), config)
    rows = rollout_rows(1, report, "v", [""] * 6)
    expected = {2: "could not be judged", 0: "it has no tokens", 6: "cut by the budget", 1: ""}
    reasons = set()
    for row in rows:
        group = report.groups[row["group"]]
        length = len(row["completion_ids"])
        agreed = not group.is_informative and length not in (0, 2)
        assert row["why"] == ("its group agreed" if agreed else expected[length])
        reasons.add(row["why"])
    assert reasons == {*expected.values(), "its group agreed"}
    kept = sum(row["kept"] for row in rows)
    assert kept == learner.batches[0].extent.rollouts


@pytest.mark.parametrize("script", [right, lambda prompt, rng: "0"])
def test_no_answer_of_a_skipped_step_is_said_to_be_in_a_loss(script) -> None:
    """Kept groups that agree are in no loss where nothing else is in it either."""
    state, tools, config, _ = make(script, zero_signal="keep")
    _, report = train_step(state, tools, config)
    assert report.update is None
    rows = rollout_rows(1, report, "v", [""] * len(report.groups))
    assert all(row["why"] and not row["kept"] for row in rows)


def test_a_kl_without_a_reference_is_said_at_the_start() -> None:
    state, tools, config, _ = make(lambda p, r: "1")
    wanting = replace(config, objective=make_objective(kl_in="measured"))
    with pytest.raises(UsageError, match="no reference policy"):
        train_step(state, replace(tools, reference=None), wanting)


def test_a_credit_that_gives_nothing_is_said() -> None:
    groups = [make_group([1, 0], [2, 3])]
    objective = Objective(credit=np.zeros_like)
    assert nothing_because(groups, objective).startswith("no answer has an advantage")


BROKEN = Fault("gradient", "Lower it.", answers=(5,), micro_batch=1, of=2)


def test_a_skipped_update_changes_the_count_alone_and_its_problem_is_named() -> None:
    state, tools, config, learner = make(sometimes_right, groups=8)
    bonus = EntropyBonus(target=0.3)
    learner.update = lambda batch, objective: Update({}, {}, skipped=BROKEN)
    after, report = train_step(replace(state, bonus=bonus), tools, config)
    key = report.groups[1].problem.key  # of the sixth answer, four a group
    told = f"the gradient is not finite, in an answer to {key!r} (micro-batch 1 of 2, pass 1). "
    assert report.skipped == report.fault == told + "Lower it."
    assert (after.skips.total, after.skips.in_a_row, after.skips.step) == (1, 1, 1)
    assert (after.step, after.version, after.bonus) == (1, 0, bonus)
    assert tools.sampler.loaded == []
    row = step_metrics(state, after, report)
    assert (row["update/skipped"], row["fault"], row["skipped"]) == (1, report.fault, report.fault)
    rows = rollout_rows(1, report, "v", [""] * len(report.groups))
    assert "its update was skipped" in {row["why"] for row in rows}


def test_a_later_pass_that_was_skipped_is_counted_and_the_update_stands() -> None:
    state, tools, config, learner = make(sometimes_right, groups=8)
    learner.update = lambda batch, objective: Update(
        {"loss": 0.0, "entropy": 0.1}, {}, skipped=replace(BROKEN, turn=2)
    )
    after, report = train_step(state, tools, config)
    assert "pass 2" in report.fault and report.skipped == ""
    assert (after.skips.total, after.version, tools.sampler.loaded) == (1, 1, [1])


def test_three_skipped_in_a_row_are_enough_and_a_sound_one_ends_the_row() -> None:
    state, tools, config, learner = make(sometimes_right, groups=8)
    sound = learner.update
    broken = lambda batch, objective: Update({}, {}, skipped=BROKEN)  # noqa: E731
    for update, in_a_row in ((broken, 1), (broken, 2), (sound, 0), (broken, 1)):
        learner.update = update
        state, _ = train_step(state, tools, config)
        assert state.skips.in_a_row == in_a_row
    for _ in range(2):
        state, _ = train_step(state, tools, config)
    with pytest.raises(NotFinite, match=r"^3 updates in a row .* step 6: the gradient is not fin"):
        train_step(state, tools, config)
    again = replace(state, skips=state.skips.once_more())
    after, _ = train_step(again, tools, config)
    assert (after.skips.in_a_row, after.skips.total) == (4, 6)
    with pytest.raises(NotFinite, match=r"^4 updates in a row "):
        after.skips.require()


def test_a_run_that_is_taken_up_may_try_once_more_and_then_has_three_again() -> None:
    fault = Fault("loss", "Lower it.")
    behind = Skips(3, 3, 9, "x").once_more()
    behind.require()
    assert behind.counted(10, fault, []).in_a_row == 4
    sound = behind.counted(10, None, [])
    assert sound == Skips(3, 0, 9, "x")
    assert Skips(1, 1, 9, "x").once_more() == Skips(1, 1, 9, "x")
    assert behind.to_dict() == {"total": 3, "in_a_row": 3, "step": 9, "fault": "x"}


def test_a_step_without_an_update_leaves_the_row_as_it_is() -> None:
    state, tools, config, _ = make(right)
    state = replace(state, skips=Skips(2, 2, 1, "x"))
    after, _ = train_step(state, tools, config)
    assert after.skips == state.skips


def test_a_fault_that_no_answer_shows_and_one_of_many_problems_are_told() -> None:
    keys = ["a", "a", "b", "c"]
    assert "though no answer shows it (pass 1)" in Fault("weight 'w'", "Test it.").told(keys)
    many = Fault("loss", "Lower it.", (1, 0, 2), 2, 3)
    assert "an answer to one of 2 problems, the first 'a' (micro-batch 2 of 3" in many.told(keys)

"""What a step writes down, from groups that are made by hand."""

from __future__ import annotations

from evenodds.curricula import make_curriculum
from evenodds.domain import Group, Status, Verdict
from evenodds.objectives import RECIPES, EntropyBonus
from evenodds.run.records import step_metrics
from evenodds.step import State, StepReport
from evenodds.tasks import make_task
from tests.tiny import make_group

TASK = make_task("multiplication")
BROKEN = Verdict(0.0, Status.ERROR, note="down")


def with_broken(group: Group, *places: int) -> Group:
    """The group with answers that could not be judged."""
    verdicts = [BROKEN if at in places else v for at, v in enumerate(group.verdicts)]
    return Group(group.problem, group.rollouts, verdicts)


def metrics_of(*groups: Group) -> dict:
    before = State(make_curriculum("ladder", TASK))
    after = before.observed([*groups])
    return step_metrics(before, after, StepReport([*groups], RECIPES["dr_grpo"], skipped="nothing"))


def test_a_group_is_what_its_judged_answers_are() -> None:
    found = metrics_of(
        with_broken(make_group([1, 1, 0], [2, 2, 2]), 2),  # right, as far as it was judged
        with_broken(make_group([0, 0, 1], [2, 2, 2]), 2),
        with_broken(make_group([0, 1, 1], [2, 2, 2]), 2),
        with_broken(make_group([1, 0], [2, 2]), 0, 1),
    )
    names = ("mixed", "all_right", "all_wrong", "not_judged")
    assert [found[f"groups/{name}"] for name in names] == [0.25] * 4


def test_what_the_curriculum_believes_of_a_level_is_written() -> None:
    found = metrics_of(make_group([1, 0, 0, 0], [2, 2, 2, 2]))
    assert 0 < found[f"posterior/{TASK.levels[0]}"] < 0.5
    assert "posterior/solve_rate" not in found


def test_the_entropy_coefficient_is_shown_also_while_nothing_is_paid() -> None:
    before = State(make_curriculum("ladder", TASK), bonus=EntropyBonus(0.3, 0.01, seen=0.5))
    group = make_group([1, 1], [2, 2])
    report = StepReport([group], before.bonus.applied(RECIPES["dr_grpo"]), skipped="nothing")
    shown = step_metrics(before, before.observed([group]), report)
    assert (shown["entropy/coefficient"], shown["entropy/coefficient_held"]) == (0.0, 0.01)
    plain = metrics_of(group)
    assert not any(name.startswith("entropy/coefficient") for name in plain)

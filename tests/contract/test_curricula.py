"""What every curriculum must do: a new one is added to `SETTINGS` and gets the whole suite."""

from __future__ import annotations

import json
from dataclasses import FrozenInstanceError, dataclass

import numpy as np
import pytest

from evenodds.curricula import CURRICULA, Curriculum, load_curriculum, make_curriculum
from evenodds.domain import Group, Problem, Rollout, Status, Stop, Verdict
from evenodds.errors import UsageError


@dataclass(frozen=True)
class Source:
    levels: tuple[str, ...] = ("easy", "middle", "hard")

    def generate(self, level: int, rng: np.random.Generator) -> Problem:
        return Problem(f"{level}:{rng.integers(10_000)}", "?", "!", "contract", level)


TASK = Source()
ONE_LEVEL = Source(("only",))
SETTINGS = {"ladder": {"difficulty": 0.5}, "uniform": {}, "fixed": {"levels": ["middle", "hard"]}}
IDS = np.zeros(0, dtype=np.int64)
ROLLOUT = Rollout(IDS, IDS, np.zeros(0, dtype=np.float32), Stop.END_TOKEN, "")


def answered(problem: Problem, *statuses: Status) -> Group:
    verdicts = [Verdict(float(status is Status.RIGHT), status) for status in statuses]
    return Group(problem, [ROLLOUT] * len(verdicts), verdicts)


def lived(curriculum: Curriculum, steps: int = 6) -> Curriculum:
    """The curriculum after some batches, with all kinds of groups in them."""
    rng = np.random.default_rng(1)
    kinds = [Status.RIGHT, Status.WRONG, Status.TRUNCATED, Status.TIMEOUT]
    for _ in range(steps):
        problems = curriculum.propose(6, rng)
        groups = [answered(p, *[kinds[i] for i in rng.integers(4, size=4)]) for p in problems]
        curriculum = curriculum.observe(groups)
    return curriculum


@pytest.fixture(params=sorted(CURRICULA))
def curriculum(request: pytest.FixtureRequest) -> Curriculum:
    return make_curriculum(request.param, TASK, **SETTINGS[request.param])


def test_is_a_curriculum(curriculum: Curriculum):
    assert isinstance(curriculum, Curriculum)
    assert CURRICULA[curriculum.kind] is type(curriculum)


def test_is_frozen(curriculum: Curriculum):
    with pytest.raises(FrozenInstanceError):
        curriculum.kind = "other"  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.parametrize("n", [0, 1, 7, 64])
def test_proposes_as_many_distinct_problems_as_asked(curriculum: Curriculum, n: int):
    problems = curriculum.propose(n, np.random.default_rng(0))
    assert len({problem.key for problem in problems}) == len(problems) == n


def test_the_same_state_and_seed_propose_the_same(curriculum: Curriculum):
    first = curriculum.propose(16, np.random.default_rng(3))
    assert curriculum.propose(16, np.random.default_rng(3)) == first
    assert curriculum.propose(16, np.random.default_rng(4)) != first


def test_observing_makes_a_new_value(curriculum: Curriculum):
    before = json.dumps(curriculum.to_dict())
    seen = lived(curriculum)
    assert json.dumps(curriculum.to_dict()) == before
    assert seen != curriculum
    assert "solve_rate" in seen.metrics()


def test_what_was_not_judged_changes_nothing(curriculum: Curriculum):
    problem = TASK.generate(1, np.random.default_rng(0))
    lost = answered(problem, Status.TIMEOUT, Status.ERROR, Status.GOLD_UNREADABLE)
    seen = lived(curriculum)
    assert seen.observe([]) == seen
    assert seen.observe([lost]) == seen


def test_truncated_answers_are_not_right(curriculum: Curriculum):
    problem = TASK.generate(1, np.random.default_rng(0))
    half = answered(problem, Status.RIGHT, Status.TRUNCATED, Status.ERROR)
    assert curriculum.observe([half]).metrics()["solve_rate"] == 0.5


def test_goes_on_exactly_after_json(curriculum: Curriculum):
    seen = lived(curriculum)
    text = json.dumps(seen.to_dict(), allow_nan=False)
    loaded = load_curriculum(json.loads(text), TASK)
    assert loaded == seen
    assert json.dumps(loaded.to_dict()) == text
    assert lived(loaded) == lived(seen)
    assert loaded.propose(9, np.random.default_rng(5)) == seen.propose(9, np.random.default_rng(5))


def test_metrics_are_plain_floats_with_a_difficulty(curriculum: Curriculum):
    assert set(curriculum.metrics()) == {"difficulty"}
    metrics = lived(curriculum).metrics()
    assert all(type(value) is float for value in metrics.values())
    assert set(metrics) <= {"difficulty", "solve_rate", *(f"solve_rate/{x}" for x in TASK.levels)}


@pytest.mark.parametrize("kind", sorted(CURRICULA))
def test_one_level_is_enough(kind: str):
    settings = {"levels": "only"} if kind == "fixed" else {}
    seen = lived(make_curriculum(kind, ONE_LEVEL, **settings))
    assert {problem.level for problem in seen.propose(8, np.random.default_rng(0))} == {0}
    assert seen.metrics()["difficulty"] == 0.0


def test_an_unknown_setting_is_named_with_its_neighbour(curriculum: Curriculum):
    with pytest.raises(UsageError, match="Did you mean 'half_life'"):
        make_curriculum(curriculum.kind, TASK, half_live=3)


def test_every_setting_survives_saving(curriculum: Curriculum):
    assert set(curriculum.setting_names) <= set(curriculum.to_dict())


def test_other_levels_are_refused(curriculum: Curriculum):
    with pytest.raises(UsageError, match="other levels"):
        load_curriculum(curriculum.to_dict(), ONE_LEVEL)


@pytest.mark.parametrize("damage", ["posteriors", "half_life", "solve_rate"])
def test_a_damaged_record_is_refused_in_one_line(curriculum: Curriculum, damage: str):
    saved = curriculum.to_dict()
    del saved[damage]
    with pytest.raises(UsageError, match="cannot be read") as caught:
        load_curriculum(saved, TASK)
    assert "\n" not in str(caught.value)


def test_an_unknown_kind_is_named():
    with pytest.raises(UsageError, match="Did you mean 'ladder'"):
        make_curriculum("lader", TASK)
    with pytest.raises(UsageError, match="unknown curriculum"):
        load_curriculum({}, TASK)


def test_all_registered_curricula_are_under_contract():
    assert set(SETTINGS) == set(CURRICULA)

import numpy as np
import pytest

from evenodds.curricula import Fixed, Uniform, make_curriculum
from evenodds.errors import UsageError
from tests.curricula.simulated_learners import Source, scored

TASK = Source(5)


def levels(problems):
    return sorted(problem.level for problem in problems)


def test_uniform_gives_every_level_its_turn():
    proposed = levels(Uniform(TASK).propose(15, np.random.default_rng(0)))
    assert proposed == sorted(list(range(5)) * 3)
    assert Uniform(TASK).metrics() == {"difficulty": 2.0}


def test_fixed_gives_the_named_levels_only():
    fixed = Fixed(TASK, ("L1", "L4"))
    assert levels(fixed.propose(10, np.random.default_rng(0))) == [1] * 5 + [4] * 5
    assert fixed.metrics() == {"difficulty": 2.5}


def test_fixed_takes_one_name_and_forgives_repeats():
    assert Fixed(TASK, "L2").levels == ("L2",)
    assert Fixed(TASK, ["L2", "L2", "L0"]).levels == ("L2", "L0")


def test_fixed_refuses_unknown_levels_and_none():
    with pytest.raises(UsageError, match="unknown level 'L9'"):
        Fixed(TASK, ["L1", "L9"])
    with pytest.raises(UsageError, match="at least one level"):
        make_curriculum("fixed", TASK)
    with pytest.raises(UsageError, match="unknown level '3'"):
        make_curriculum("fixed", TASK, levels=[3])
    with pytest.raises(UsageError, match="level labels"):
        make_curriculum("fixed", TASK, levels=3)


@pytest.mark.parametrize("curriculum", [Uniform(TASK), Fixed(TASK, "L2")])
def test_difficulty_stays_whatever_the_answers(curriculum):
    seen = curriculum.observe([scored(2, 8)])
    assert seen.weights == curriculum.weights
    assert seen.metrics()["difficulty"] == curriculum.metrics()["difficulty"]
    assert seen.metrics()["solve_rate"] == 1.0

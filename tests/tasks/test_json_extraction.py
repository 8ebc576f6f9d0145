"""The task of facts as JSON: what the text says is what the gold holds."""

from __future__ import annotations

import json

import numpy as np
import pytest

from evenodds.domain import Completion, Problem, Status
from evenodds.tasks import check_gold, make_task
from evenodds.tasks.json_extraction import RUNGS, draw

DRAWS = 60


def leaves(value: object) -> list[object]:
    if isinstance(value, dict):
        return [leaf for inner in value.values() for leaf in leaves(inner)]
    if isinstance(value, list):
        return [leaf for inner in value for leaf in leaves(inner)]
    return [value]


@pytest.mark.parametrize("level", range(len(RUNGS)))
def test_a_level_has_its_records_and_fields_and_the_text_states_them(level: int) -> None:
    rung, rng = RUNGS[level], np.random.default_rng(level)
    for _ in range(DRAWS):
        drawn = draw(level, rng)
        value = json.loads(drawn.gold)["value"]
        found = leaves(value)
        assert len(found) == rung.records * rung.facts
        text = drawn.question.partition("Text: ")[2]
        for leaf in found:
            if isinstance(leaf, str) and "-" not in leaf and ":" not in leaf:
                assert leaf in text
        assert "\n\n" not in drawn.question + drawn.solution
        assert json.loads(drawn.solution) == value
        assert (", which nobody" in text or "neighbour" in text or "day before" in text) == (
            rung.asides
        )


def test_the_shape_of_the_question_is_the_shape_of_the_value() -> None:
    rng = np.random.default_rng(0)
    for level in range(len(RUNGS)):
        drawn = draw(level, rng)
        value = json.loads(drawn.solution)
        first = value[0] if isinstance(value, list) else value
        places = [drawn.question.index(f'"{key}": ') for key in first]
        assert places == sorted(places)


def test_the_check_at_load_passes() -> None:
    found = check_gold(make_task("json-extraction", held_out=10))
    assert found.golds == 10 * len(RUNGS)
    assert found.wrong >= found.golds
    assert (found.unchecked, found.unreadable) == (0, 0)


@pytest.mark.parametrize("level", range(len(RUNGS)))
def test_the_verifier_tells_right_from_wrong(level: int) -> None:
    task = make_task("json-extraction")
    for problem in task.held_out(level)[:10]:
        verdict = task.verifier(problem, Completion(f"```json\n{task.solve(problem)}\n```"))
        assert verdict.status is Status.RIGHT
        for answer in wrong_of(problem):
            assert task.verifier(problem, Completion(answer)).status is Status.WRONG


def wrong_of(problem: Problem) -> tuple[str, ...]:
    wrong = problem.columns["wrong"]
    assert isinstance(wrong, tuple)
    assert len(wrong) == 2
    return wrong

"""The reverse task: strings of letters, longer by level."""

from __future__ import annotations

import numpy as np

from evenodds.domain import Completion, Status
from evenodds.tasks.reverse import LENGTHS, Reverse
from evenodds.tasks.task import TaskOptions


def test_words_have_the_length_of_their_level() -> None:
    task, rng = Reverse(), np.random.default_rng(0)
    for level, length in enumerate(LENGTHS):
        problem = task.generate(level, rng)
        word = problem.key.split("/")[1]
        assert len(word) == length
        assert problem.prompt == f"{word}="
        assert problem.answer == "".join(reversed(word))


def test_a_short_level_keeps_at_most_a_quarter() -> None:
    task = Reverse(TaskOptions(held_out=1_000))
    assert [len(task.held_out(level)) for level in range(2)] == [169, 1_000]


def test_the_verifier_wants_the_word_alone() -> None:
    task = Reverse()
    problem = task.generate(3, np.random.default_rng(0))
    assert task.verifier(problem, Completion(f" {problem.answer}\n")).status is Status.RIGHT
    assert task.verifier(problem, Completion(f"{problem.answer}x")).status is Status.WRONG

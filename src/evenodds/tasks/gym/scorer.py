"""The scorers of reasoning-gym that run nothing of an answer, as a verifier for workers."""

from __future__ import annotations

from typing import cast

from evenodds.domain import Problem
from evenodds.tasks.gym.generator import Entry, data_set
from evenodds.tasks.gym.table import EXECUTES, SCORER
from evenodds.verifiers.extract import tagged
from evenodds.verifiers.reasoning import final_part

NAME = "evenodds.tasks.gym.scorer:score"
"""How a worker process finds it."""
LONGEST = 100_000
"""Characters of an answer that a scorer is given."""


def score(problem: Problem, text: str) -> float | None:
    """What the task's own scorer gives for the final answer, between 0 and 1.

    The answer is what stands in the last answer tags, else all that follows the reasoning. A scorer
    that is not on the list is never called: None, the answer could not be judged.
    """
    name = str(problem.columns["gym"])
    if name in EXECUTES or name not in SCORER:
        return None
    answer = answer_of(text)
    if answer is None or len(answer) > LONGEST:
        return 0.0
    made = data_set(name, int(cast(int, problem.columns["gym_level"])), 1)
    found = float(made.score_answer(answer, cast(Entry, problem.columns["entry"])))
    return min(1.0, max(0.0, found))


def answer_of(text: str) -> str | None:
    """The final answer in a reply; None where the reasoning, or its tag, was never closed."""
    final = final_part(text, "")
    if final is None:
        return None
    tag = tagged(final)
    if tag is None:
        return final.strip()
    return tag.text.strip() if tag.is_closed else None

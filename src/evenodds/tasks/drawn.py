"""Tasks whose problems are drawn whole: a question, its gold, a right answer and wrong ones."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from hashlib import sha256
from typing import cast

import numpy as np

from evenodds.domain import Problem, Prompt
from evenodds.tasks.generated import drawn_split, level_count, worked_examples
from evenodds.tasks.prompting import example_lines, question_line, user_message
from evenodds.tasks.task import TaskOptions
from evenodds.verifiers import Verifier, find_verifier

EXAMPLE_LEVELS = 3
"""Worked examples are spread over this many of the lowest levels."""


@dataclass(frozen=True)
class Drawn:
    """One problem: what is asked, what the verifier reads, a right answer, and wrong ones."""

    question: str
    gold: str
    solution: str
    wrong: tuple[str, ...]

    @cached_property
    def key(self) -> str:
        return sha256(self.question.encode()).hexdigest()[:16]


Draw = Callable[[int, np.random.Generator], Drawn]


@dataclass(frozen=True)
class DrawnTask:
    """A task that draws its problems by level. Two with the same question are one problem.

    name: also the first part of every key. kind: the verifier's kind. source: for the passport.
    draw: a problem of a level. Answers hold no blank line, for one ends a `few_shot` answer.
    """

    name: str
    levels: tuple[str, ...]
    kind: str
    source: str
    draw: Draw
    options: TaskOptions

    @property
    def verifier_name(self) -> str:
        return self.options.verifier or self.kind

    @property
    def verifier(self) -> Verifier:
        return self._verifier

    @property
    def stop_strings(self) -> tuple[str, ...]:
        return ("\n\n",) if self.options.style == "few_shot" else ()

    def generate(self, level: int, rng: np.random.Generator) -> Problem:
        while True:
            drawn = self.draw(level, rng)
            if drawn.key not in self._held_keys and drawn.key not in self._examples:
                return self._problem(drawn, level)

    def held_out(self, level: int) -> tuple[Problem, ...]:
        return tuple(self._problem(drawn, level) for drawn in self._held[level][0])

    def solve(self, problem: Problem) -> str:
        return str(problem.columns["solution"])

    def wrong(self, problem: Problem) -> tuple[str, ...]:
        """Answers that look like the right one and are wrong, each in one way."""
        return tuple(cast(Sequence[str], problem.columns["wrong"]))

    def passport(self) -> dict[str, object]:
        return {
            "task": self.name,
            "source": self.source,
            "licence": "not applicable: made of word lists of evenodds",
            "split": f"up to {self.options.held_out} distinct questions of each level, at most a "
            f"quarter of those drawn, with split seed {self.options.seed}",
            "verifier": self.verifier_name,
            "levels": [self._count(level) for level in range(len(self.levels))],
        }

    def _count(self, level: int) -> dict[str, object]:
        held, total = self._held[level]
        return level_count(self.levels[level], len(held), total, self.options, "questions")

    @cached_property
    def _held(self) -> tuple[tuple[tuple[Drawn, ...], int], ...]:
        seed = (self.options.seed, zlib.crc32(self.name.encode()))
        return tuple(
            held_out_of(self.draw, level, seed, self.options.held_out)
            for level in range(len(self.levels))
        )

    @cached_property
    def _held_keys(self) -> frozenset[str]:
        return frozenset(one.key for level in self._held for one in level[0])

    @cached_property
    def _examples(self) -> dict[str, Drawn]:
        levels = min(EXAMPLE_LEVELS, len(self.levels))
        return worked_examples(
            self.draw, lambda drawn: drawn.key, self._held_keys, levels, self.options
        )

    @cached_property
    def _verifier(self) -> Verifier:
        return find_verifier(self.verifier_name, self.options.policy)

    @cached_property
    def _preamble(self) -> str:
        rows = [(question_line(one.question), one.solution) for one in self._examples.values()]
        return example_lines(rows, separator="\n\n")

    def _prompt(self, question: str) -> Prompt:
        if self.options.style == "few_shot":
            return self._preamble + question_line(question)
        return user_message(question) if self.options.style == "chat" else question

    def _problem(self, drawn: Drawn, level: int) -> Problem:
        columns = {"solution": drawn.solution, "wrong": drawn.wrong}
        key = f"{self.name}/{drawn.key}"
        return Problem(key, self._prompt(drawn.question), drawn.gold, self.name, level, columns)


@lru_cache(maxsize=64)
def held_out_of(
    draw: Draw, level: int, seed: tuple[int, int], most: int
) -> tuple[tuple[Drawn, ...], int]:
    """The held-out problems of a level, and how many were drawn for them; drawn once a process."""
    rng = np.random.default_rng([*seed, level])
    return drawn_split(lambda: draw(level, rng), lambda one: one.key, most)

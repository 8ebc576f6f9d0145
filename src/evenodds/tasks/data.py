"""Tasks from given problems: split once, by prompt, into training and held-out ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from numbers import Integral
from typing import cast

import numpy as np

from evenodds.domain import Problem, Prompt, as_text
from evenodds.errors import UsageError
from evenodds.tasks.choose import fitting
from evenodds.tasks.clean import Placed, cleaned
from evenodds.tasks.presets import PLAIN, Preset
from evenodds.tasks.prompting import example_lines, question_line, user_message
from evenodds.tasks.split import Sides, given_sides, split
from evenodds.tasks.task import TaskOptions
from evenodds.tasks.values import MAX_CHARACTERS, fields_of, objection, short
from evenodds.verifiers import OwnFunction, Verifier, as_verifier

EXAMPLE_LENGTH = 400
"""Longer problems make no worked examples: a prompt must stay short."""
MAX_LEVEL = 10**9

_ROW = "Give problems, or pairs of a prompt and its answer."


@dataclass(frozen=True)
class DataTask:
    """Problems that were given, by level.

    problems: those to learn from, and to hold out from where `kept` is None; kept: a held-out side
    that was given apart. counts: how many rows were left out, by reason, for the passport.
    """

    name: str
    levels: tuple[str, ...]
    problems: tuple[Problem, ...]
    verifier: Verifier
    verifier_name: str
    options: TaskOptions = field(default_factory=TaskOptions)
    source: str = "problems given in Python"
    kept: tuple[Problem, ...] | None = None
    preset: Preset = PLAIN
    counts: Mapping[str, object] = field(default_factory=dict[str, object], hash=False)

    @property
    def stop_strings(self) -> tuple[str, ...]:
        if self.options.style == "few_shot":
            return ("\nQuestion:",) if self.preset.structured else ("\n\n",)
        return self.preset.stop if self.options.style == "bare" else ()

    def generate(self, level: int, rng: np.random.Generator) -> Problem:
        rows = self._asked[level]
        return self._styled(rows[int(rng.integers(len(rows)))])

    def held_out(self, level: int) -> tuple[Problem, ...]:
        return tuple(self._styled(problem) for problem in self._split[level][1])

    def training(self, level: int) -> tuple[Problem, ...]:
        """The problems of a level to learn from, as they were given."""
        return self._split[level][0]

    def solve(self, problem: Problem) -> str:
        return self.preset.solve(problem)

    def passport(self) -> dict[str, object]:
        return {
            "task": self.name,
            "source": self.source,
            "licence": "as stated by whoever made the data",
            "split": self._rule,
            "verifier": self.verifier_name,
            **self.counts,
            "levels": [self._count(level) for level in range(len(self.levels))],
        }

    @property
    def _rule(self) -> str:
        if self.kept is not None:
            return (
                f"the held-out side was given apart; of each level at most {self.options.held_out}"
                f", by SHA-256 of the prompt and the split seed {self.options.seed}; no prompt of "
                "it, whatever its case and white space, is trained on"
            )
        return (
            "by SHA-256 of the prompt and the split seed "
            f"{self.options.seed}: a share of {self.options.held_out_share:g} of each level's "
            f"distinct prompts, at least 1, of 10 or more at least 2, at most "
            f"{self.options.held_out}, is held out; at no level is one of them trained on"
        )

    def _count(self, level: int) -> dict[str, object]:
        training, held = self._split[level]
        count: dict[str, object] = {
            "level": self.levels[level],
            "training": len(training),
            "held_out": len(held),
        }
        if len(held) < self.options.held_out:
            count["note"] = f"fewer than {self.options.held_out} held out: the level is small"
        return count

    @cached_property
    def _split(self) -> tuple[Sides, ...]:
        if self.kept is not None:
            return given_sides(self.problems, self.kept, len(self.levels), self.options)
        return split(self.problems, len(self.levels), self.options)

    @cached_property
    def _asked(self) -> tuple[tuple[Problem, ...], ...]:
        """Training problems by level, without the worked examples where others are left."""
        shown = {problem.key for problem in self._examples}
        rows = [level[0] for level in self._split]
        return tuple(tuple(p for p in level if p.key not in shown) or level for level in rows)

    @cached_property
    def _examples(self) -> tuple[Problem, ...]:
        """Short problems of the training split, drawn by the split seed."""
        if self.options.style != "few_shot":
            return ()
        training = [problem for level in self._split for problem in level[0]]
        most = EXAMPLE_LENGTH * (3 if self.preset.structured else 1)
        short = [p for p in training if len(as_text(p.prompt)) + len(self.solve(p)) <= most]
        rng = np.random.default_rng([self.options.seed, 1])
        order = rng.permutation(len(short))[: self.options.shots].tolist()
        return tuple(short[index] for index in order)

    @cached_property
    def _preamble(self) -> str:
        rows = [
            (question_line(as_text(problem.prompt)), self.solve(problem))
            for problem in self._examples
        ]
        return example_lines(rows, separator="\n\n")

    def _styled(self, problem: Problem) -> Problem:
        prompt = problem.prompt
        if self.options.style == "few_shot":
            prompt = self._preamble + question_line(as_text(prompt))
        elif self.options.style == "chat" and isinstance(prompt, str):
            prompt = user_message(self.preset.chat(prompt))
        return replace(problem, prompt=prompt)


Judge = str | Verifier | OwnFunction


def problems_task(
    problems: Iterable[Problem | tuple[Prompt, str | float]],
    verifier: Judge | None = "number",
    *,
    name: str = "own",
    options: TaskOptions | None = None,
    source: str = "problems given in Python",
) -> DataTask:
    """A task from Python values: problems, or pairs of a prompt and its answer.

    A prompt is a text or a list of messages; an answer is a text or a number.
    verifier: a name that `find_verifier` knows, a function of your own (problem, text) -> score, or
    None for the one that most answers fit.
    The levels are the problems' own.
    Raises `UsageError` for a row that is neither, for a prompt with two answers, and with fewer
    than two distinct prompts at a level.
    """
    if not isinstance(cast(object, problems), Iterable):
        if callable(problems):
            raise UsageError("problems are a function. Call it: give what it returns.")
        raise UsageError(f"problems are no list. Got {short(problems)}. {_ROW}")
    rows = [(f"row {at}", _given(name, at, row)) for at, row in enumerate(problems, 1)]
    options = options or TaskOptions()
    judge, title, counts = chosen(verifier, (problem for _, problem in rows), options)
    clean = cleaned(rows, judge, options.drop_contradictory, by_level=True)
    left = clean.problems
    numbers = sorted({problem.level for problem in left})
    labels = tuple(f"level {number}" for number in numbers) if len(numbers) > 1 else ("all",)
    place = {number: index for index, number in enumerate(numbers)}
    left = tuple(replace(problem, level=place[problem.level]) for problem in left)
    counts |= left_out(clean.duplicates, clean.contradictory)
    return enough(DataTask(name, labels, left, judge, title, options, source, counts=counts))


def left_out(duplicates: int, contradictory: int, both_sides: int = 0) -> dict[str, object]:
    """The rows that were left out, by reason; nothing where all were used."""
    found = {
        "duplicates": duplicates,
        "contradictory": contradictory,
        "held out in other words of the same prompt": both_sides,
    }
    left = {reason: count for reason, count in found.items() if count}
    return {"rows_left_out": left} if left else {}


def chosen(
    verifier: Judge | None, problems: Iterable[Problem], options: TaskOptions
) -> tuple[Verifier, str, dict[str, object]]:
    """The verifier, its name, and for the passport why it was chosen where nobody named it."""
    why: dict[str, object] = {}
    if verifier is None:
        verifier, reason = fitting(problem.answer for problem in problems)
        why = {"verifier_is": reason}
    title = verifier if isinstance(verifier, str) else getattr(verifier, "__name__", "own verifier")
    return as_verifier(verifier, options.policy), title, why


def _given(name: str, at: int, row: object) -> Problem:
    """One row of a person's problems as a problem of the task."""
    is_pair = isinstance(row, (tuple, list)) and len(cast(Sequence[object], row)) == 2
    if not isinstance(row, Problem) and not is_pair:
        raise UsageError(f"row {at} is no problem. Got {short(row)}. {_ROW}")
    fields = (row.prompt, row.answer) if isinstance(row, Problem) else cast(Sequence[object], row)
    prompt, answer = fields_of(fields, (f"the prompt of row {at}", f"the answer of row {at}"))
    if not isinstance(row, Problem):
        return Problem(key_of(name, prompt), prompt, answer, name)
    level: object = row.level
    if isinstance(level, bool) or not isinstance(level, Integral) or abs(int(level)) > MAX_LEVEL:
        raise UsageError(f"the level of row {at} is unusable. Got {short(level)}. Give an int.")
    if objection(str(row.key), MAX_CHARACTERS):
        raise UsageError(f"the key of row {at} is unusable. Got {short(row.key)}. Give a text.")
    return Problem(str(row.key), prompt, answer, name, int(level), row.columns)


def key_of(name: str, prompt: Prompt) -> str:
    """A key from the prompt alone, so that the same prompt has it in any file."""
    text = as_text(prompt).encode("utf-8", "surrogatepass")
    return f"{name}/{sha256(text).hexdigest()[:16]}"


def enough(task: DataTask) -> DataTask:
    """The task itself. Raises `UsageError` where a level has nothing to learn or to hold out."""
    least = 2 if task.kept is None else 1
    for index, label in enumerate(task.levels):
        distinct = {as_text(p.prompt) for p in task.problems if p.level == index}
        if len(distinct) < least:
            raise UsageError(
                f"{task.source}: too few problems at {label!r}. Got {len(distinct)} distinct "
                f"prompts. Give at least {least}: one to train on"
                f"{' and one to hold out' if least == 2 else ', that is not held out'}."
            )
    for index, label in enumerate(task.levels):
        if not task.held_out(index):
            raise UsageError(
                f"{task.source}: nothing can be held out at {label!r}. Got only prompts that other "
                "levels need. Give it prompts of its own."
            )
    return task


def without(task: DataTask, is_bad: Callable[[Problem], bool], reason: str) -> DataTask:
    """The task without some problems, which are counted under `reason`."""
    problems = tuple(problem for problem in task.problems if not is_bad(problem))
    kept = task.kept and tuple(problem for problem in task.kept if not is_bad(problem))
    lost = len(task.problems) - len(problems) + len(task.kept or ()) - len(kept or ())
    before = cast(dict[str, object], task.counts.get("rows_left_out") or {})
    counts = {**task.counts, "rows_left_out": {**before, reason: lost}}
    return enough(replace(task, problems=problems, kept=kept, counts=counts))


__all__ = ["DataTask", "Placed", "problems_task"]

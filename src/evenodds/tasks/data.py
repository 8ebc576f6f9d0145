"""Tasks from data: a JSONL or parquet file of prompts and answers, or problems made in Python."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cached_property
from hashlib import sha256
from numbers import Integral, Real
from pathlib import Path
from typing import cast

import numpy as np

from evenodds.domain import Message, Problem, Prompt
from evenodds.errors import UsageError
from evenodds.tasks.prompting import as_text, example_lines, user_message
from evenodds.tasks.rows import Columns, Row, read_rows
from evenodds.tasks.split import Sides, split
from evenodds.tasks.task import TaskOptions
from evenodds.verifiers import OwnFunction, Verifier, as_verifier

EXAMPLE_LENGTH = 400
"""Longer problems make no worked examples: a prompt must stay short."""
MAX_CHARACTERS = 1_000_000
"""No model reads a longer prompt; a longer answer is a mistake too."""
MAX_LABEL = 100
MAX_LEVEL = 10**9

_REDUCED = re.compile(r"####\s{0,8}(\S.{0,200})\Z")
_ROLES = frozenset({"system", "user", "assistant"})
_FIELDS = "A prompt is a text or a list of messages; an answer is a text or a number."
_ROW = "Give problems, or pairs of a prompt and its answer."


@dataclass(frozen=True)
class DataTask:
    """Problems that were given, by level, split once into training and held-out ones."""

    name: str
    levels: tuple[str, ...]
    problems: tuple[Problem, ...]
    verifier: Verifier
    verifier_name: str
    options: TaskOptions = field(default_factory=TaskOptions)
    source: str = "problems given in Python"

    @property
    def stop_strings(self) -> tuple[str, ...]:
        return ("\n\n",) if self.options.style == "few_shot" else ()

    def generate(self, level: int, rng: np.random.Generator) -> Problem:
        rows = self._asked[level]
        return self._styled(rows[int(rng.integers(len(rows)))])

    def held_out(self, level: int) -> tuple[Problem, ...]:
        return tuple(self._styled(problem) for problem in self._split[level][1])

    def solve(self, problem: Problem) -> str:
        return problem.answer

    def passport(self) -> dict[str, object]:
        return {
            "task": self.name,
            "source": self.source,
            "licence": "as stated by whoever made the data",
            "split": "by SHA-256 of the prompt and the split seed "
            f"{self.options.seed}: a share of {self.options.held_out_share:g} of each level's "
            f"distinct prompts, at least 1, of 10 or more at least 2, at most "
            f"{self.options.held_out}, is held out; at no level is one of them trained on",
            "verifier": self.verifier_name,
            "levels": [self._count(level) for level in range(len(self.levels))],
        }

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
        short = [p for p in training if len(as_text(p.prompt)) + len(p.answer) <= EXAMPLE_LENGTH]
        rng = np.random.default_rng([self.options.seed, 1])
        order = rng.permutation(len(short))[: self.options.shots].tolist()
        return tuple(short[index] for index in order)

    @cached_property
    def _preamble(self) -> str:
        rows = [(_question(problem.prompt), problem.answer) for problem in self._examples]
        return example_lines(rows, separator="\n\n")

    def _styled(self, problem: Problem) -> Problem:
        prompt = problem.prompt
        if self.options.style == "few_shot":
            prompt = self._preamble + _question(prompt)
        elif self.options.style == "chat" and isinstance(prompt, str):
            prompt = user_message(prompt)
        return Problem(problem.key, prompt, problem.answer, problem.task, problem.level)


def _question(prompt: Prompt) -> str:
    return f"Question: {as_text(prompt)}\nAnswer:"


def problems_task(
    problems: Iterable[Problem | tuple[Prompt, str | float]],
    verifier: str | Verifier | OwnFunction = "number",
    *,
    name: str = "own",
    options: TaskOptions | None = None,
) -> DataTask:
    """A task from Python values: problems, or pairs of a prompt and its answer.

    A prompt is a text or a list of messages; an answer is a text or a number.
    verifier: a name that `find_verifier` knows, or a function of your own (problem, text) -> score.
    The levels are the problems' own.
    Raises `UsageError` for a row that is neither, and with fewer than two distinct prompts at a
    level.
    """
    if not isinstance(cast(object, problems), Iterable):
        raise UsageError(f"problems are no list. Got {_short(problems)}. {_ROW}")
    rows = tuple(_given(name, at, row) for at, row in enumerate(problems, 1))
    numbers = sorted({problem.level for problem in rows})
    labels = tuple(f"level {number}" for number in numbers) if len(numbers) > 1 else ("all",)
    place = {number: index for index, number in enumerate(numbers)}
    rows = tuple(replace(problem, level=place[problem.level]) for problem in rows)
    return _made(name, labels, rows, verifier, options or TaskOptions(), "problems given in Python")


def _given(name: str, at: int, row: object) -> Problem:
    """One row of a person's problems as a problem of the task."""
    is_pair = isinstance(row, (tuple, list)) and len(cast(Sequence[object], row)) == 2
    if not isinstance(row, Problem) and not is_pair:
        raise UsageError(f"row {at} is no problem. Got {_short(row)}. {_ROW}")
    fields = (row.prompt, row.answer) if isinstance(row, Problem) else cast(Sequence[object], row)
    prompt, answer = _fields_of(fields, (f"the prompt of row {at}", f"the answer of row {at}"))
    if not isinstance(row, Problem):
        return Problem(_key(name, prompt), prompt, answer, name)
    level: object = row.level
    if isinstance(level, bool) or not isinstance(level, Integral) or abs(int(level)) > MAX_LEVEL:
        raise UsageError(f"the level of row {at} is unusable. Got {_short(level)}. Give an int.")
    if _objection(str(row.key), MAX_CHARACTERS):
        raise UsageError(f"the key of row {at} is unusable. Got {_short(row.key)}. Give a text.")
    return Problem(str(row.key), prompt, answer, name, int(level))


def _made(
    name: str,
    labels: tuple[str, ...],
    problems: tuple[Problem, ...],
    verifier: str | Verifier | OwnFunction,
    options: TaskOptions,
    source: str,
) -> DataTask:
    for index, label in enumerate(labels):
        distinct = {as_text(p.prompt) for p in problems if p.level == index}
        if len(distinct) < 2:
            raise UsageError(
                f"{source}: too few problems at {label!r}. Got {len(distinct)} distinct prompts. "
                "Give at least 2: one to train on and one to hold out."
            )
    title = verifier if isinstance(verifier, str) else getattr(verifier, "__name__", "own verifier")
    task = DataTask(
        name, labels, problems, as_verifier(verifier, options.policy), title, options, source
    )
    for index, label in enumerate(labels):
        if not task.held_out(index):
            raise UsageError(
                f"{source}: nothing can be held out at {label!r}. Got only prompts that other "
                "levels need. Give it prompts of its own."
            )
    return task


def _key(name: str, prompt: Prompt) -> str:
    text = as_text(prompt).encode("utf-8", "surrogatepass")
    return f"{name}/{sha256(text).hexdigest()[:16]}"


def data_task(options: TaskOptions) -> DataTask:
    """The task of the file `options.data`. Raises `UsageError` where it is unfit."""
    if not options.data:
        raise UsageError("the task 'data' needs a file. Got none. Give data = \"file.jsonl\".")
    path = Path(options.data)
    columns, rows = read_rows(path, options)
    names = [_label(f"{path} {at}", row, columns.level) for at, row in rows]
    labels, place = _labels(names if columns.level else [])
    problems = tuple(
        _problem(f"{path} {at}", row, columns, place.get(name, 0))
        for (at, row), name in zip(rows, names, strict=True)
    )
    verifier = options.verifier or "number"
    unique = tuple({(p.key, p.answer): p for p in problems}.values())
    return _made("data", labels, unique, verifier, options, str(path))


def _label(place: str, row: Row, column: str | None) -> str:
    """The name of a row's level; empty where the file has no levels."""
    if column is None:
        return ""
    value = row.get(column)
    name = str(value)
    against = _objection(name, MAX_LABEL)
    if against:
        raise UsageError(f"{place}: {column!r} is unusable: {against}. Got {_short(name)}.")
    return name


def _labels(levels: Sequence[str]) -> tuple[tuple[str, ...], dict[str, int]]:
    """The distinct levels, easiest first: by the number in them where all have one, else as they
    come in the file, for an alphabet knows nothing of difficulty.
    """
    names = list(dict.fromkeys(levels))
    numbers = {name: re.search(r"[0-9]+", name) for name in names}
    if all(numbers.values()):
        names.sort(key=lambda name: (int(numbers[name].group()), name))  # type: ignore[union-attr]
    return (tuple(names) or ("all",)), {name: index for index, name in enumerate(names)}


def _problem(place: str, row: Row, columns: Columns, level: int) -> Problem:
    given = row.get(columns.prompt), row.get(columns.answer)
    names = f"{place}: {columns.prompt!r}", f"{place}: {columns.answer!r}"
    prompt, answer = _fields_of(given, names)
    return Problem(_key("data", prompt), prompt, reduced(answer), "data", level)


def _fields_of(given: Sequence[object], names: tuple[str, str]) -> tuple[Prompt, str]:
    """A prompt and an answer, checked; `names` are what to call them in an error."""
    prompt, answer = _as_prompt(given[0]), _as_answer(given[1])
    if prompt is None or answer is None:
        at = 0 if prompt is None else 1
        raise UsageError(f"{names[at]} is unusable. Got {_short(given[at])}. {_FIELDS}")
    for name, text in zip(names, (as_text(prompt), answer), strict=True):
        against = _objection(text, MAX_CHARACTERS)
        if against:
            raise UsageError(f"{name} is unusable: {against}. Got {_short(text)}.")
    return prompt, answer


def _objection(text: str, most: int) -> str | None:
    """Why a text cannot be used; None where it can."""
    if len(text) > most:
        return f"it has {len(text)} characters, and at most {most} are read"
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return "it holds half of a surrogate pair, which is no text"
    return None


def reduced(answer: str) -> str:
    """GSM8K's worked solution `… #### 42` reduced to its answer; any other answer as it is."""
    found = _REDUCED.search(answer.strip()[-300:])
    return found[1].strip() if found else answer.strip()


def _short(value: object) -> str:
    """A foreign value in one short line."""
    try:
        text = " ".join(str(value)[:1_000].split())
    except Exception:  # a foreign type may not be written
        text = f"a {type(value).__name__}"
    return repr(text[:60])


def _as_answer(value: object) -> str | None:
    """An answer as text; None for what is neither a text nor a finite number."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or not isinstance(value, (Real, Decimal)):
        return None
    try:
        text = str(value)
    except ValueError:  # a whole number of more digits than Python writes
        return None
    # nan and inf are written without one
    return text if any(sign.isdigit() for sign in text) else None


def _as_prompt(value: object) -> Prompt | None:
    if isinstance(value, str):
        return value if value.strip() else None
    if not isinstance(value, (list, tuple)) or not value:
        return None
    messages = [_message(item) for item in cast(Sequence[object], value)]
    return None if None in messages else tuple(m for m in messages if m is not None)


def _message(item: object) -> Message | None:
    if not isinstance(item, dict):
        return None
    row = cast(dict[str, object], item)
    role, content = row.get("role"), row.get("content")
    if role not in _ROLES or not isinstance(content, str):
        return None
    return Message(role=str(role), content=content)

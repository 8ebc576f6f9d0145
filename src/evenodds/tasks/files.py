"""The task of a file of data, or of a data set of the hub, by the columns of its preset."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

from evenodds.domain import Problem
from evenodds.errors import UsageError, nearest
from evenodds.tasks.clean import Clean, Placed, apart, cleaned
from evenodds.tasks.data import DataTask, chosen, enough, key_of, left_out
from evenodds.tasks.hub import is_hub, read_hub
from evenodds.tasks.presets import PLAIN, Preset, structured_gold
from evenodds.tasks.rows import Row, Table, read_file
from evenodds.tasks.task import TaskOptions
from evenodds.tasks.values import digest_of, fields_of, objection, short

MAX_LABEL = 100
MAX_COLUMNS = 200_000
"""Characters that the other columns of a row may hold together: each rollout's judge sees them."""

Labelled = tuple[str, str, Problem]
"""The place, the name of the level, and the problem."""


@dataclass(frozen=True)
class Columns:
    """The names of the columns that make a problem; no level where the file has none."""

    prompt: str
    answer: str
    level: str | None


def file_task(options: TaskOptions, preset: Preset = PLAIN) -> DataTask:
    """The task of `options.data`. Raises `UsageError` where it is unfit."""
    if not options.data:
        example = f"{preset.name}.jsonl" if preset.hub else "file.jsonl"
        hub = f' or, with the extra hub, "{preset.hub}"' if preset.hub else ""
        raise UsageError(
            f"the task {preset.name!r} needs a file. Got none. Give --data {example}{hub}."
        )
    training = _labelled(_table(options.data, options.data_split, options, preset), options, preset)
    other = _held_out_side(options)
    held = [] if other is None else _labelled(_table(*other, options, preset), options, preset)
    return enough(_task(training, held if other is not None else None, options, preset))


def _held_out_side(options: TaskOptions) -> tuple[str, str] | None:
    """What is held out where it is given apart: a file, or another split of the data set."""
    if options.held_out_data:
        return options.held_out_data, options.held_out_split or options.data_split
    if options.held_out_split:
        return str(options.data), options.held_out_split
    return None


def _table(name: str, part: str, options: TaskOptions, preset: Preset) -> Table:
    if not is_hub(name):
        return read_file(Path(name))
    return read_hub(name, options.subset or (preset.subset if name == preset.hub else None), part)


def _task(
    training: Sequence[Labelled],
    held: Sequence[Labelled] | None,
    options: TaskOptions,
    preset: Preset,
) -> DataTask:
    both = [*training, *(held or ())]
    names = options.verifier or preset.verifier
    judge, title, counts = chosen(names, (problem for _, _, problem in both), options)

    def clean(rows: Iterable[Labelled]) -> Clean:
        placed = ((place, problem) for place, _, problem in rows)
        return cleaned(placed, judge, options.drop_contradictory, by_level=False)

    first, second = clean(training), clean(held or ())
    left, shared = apart(first.rows, second.problems)
    label_of = {place: label for place, label, _ in both}
    labels, problems, kept = _by_level(left, second.rows, label_of)
    counts |= left_out(
        first.duplicates + second.duplicates, first.contradictory + second.contradictory, shared
    )
    if options.held_out_data:
        counts["held_out_file_sha256"] = digest_of(Path(options.held_out_data))
    source = options.data if held is None else f"{options.data}, held out: {_where(options)}"
    kept_side = kept if held is not None else None
    return DataTask(
        preset.name,
        labels,
        problems,
        judge,
        title,
        options,
        str(source),
        kept_side,
        preset,
        counts,
    )


def _where(options: TaskOptions) -> str:
    return options.held_out_data or f"split {options.held_out_split}"


def _by_level(
    training: Sequence[Placed], held: Sequence[Placed], label_of: Mapping[str, str]
) -> tuple[tuple[str, ...], tuple[Problem, ...], tuple[Problem, ...]]:
    """The labels of the levels, and both sides with the numbers of theirs."""
    names = [label_of[place] for place, _ in (*training, *held)]
    labels, number = _labels([name for name in names if name])

    def placed(rows: Sequence[Placed]) -> tuple[Problem, ...]:
        return tuple(replace(p, level=number.get(label_of[place], 0)) for place, p in rows)

    return labels, placed(training), placed(held)


def _labels(levels: Sequence[str]) -> tuple[tuple[str, ...], dict[str, int]]:
    """The distinct levels, easiest first: by the number in them where all have one, else as they
    come in the file, for an alphabet knows nothing of difficulty. `Level ?` comes last.
    """
    names = list(dict.fromkeys(levels))
    numbers = {name: re.search(r"[0-9]+", name) for name in names}
    if all(numbers[name] or "?" in name for name in names):
        names.sort(key=lambda name: (_number(numbers[name]), name))
    return (tuple(names) or ("all",)), {name: index for index, name in enumerate(names)}


def _number(found: re.Match[str] | None) -> float:
    return int(found.group()) if found else float("inf")


def _labelled(table: Table, options: TaskOptions, preset: Preset) -> list[Labelled]:
    """The rows of a table as problems, all at level 0, each with the name of its own level."""
    columns = _columns(table, options, preset)
    return [
        (place, _label(place, row, columns.level), _problem(place, row, columns, options, preset))
        for place, row in table
    ]


def _label(place: str, row: Row, column: str | None) -> str:
    """The name of a row's level; empty where the file has no levels."""
    if column is None:
        return ""
    name = str(row.get(column))
    against = objection(name, MAX_LABEL)
    if against:
        raise UsageError(f"{place}: {column!r} is unusable: {against}. Got {short(name)}.")
    return name


def _problem(
    place: str, row: Row, columns: Columns, options: TaskOptions, preset: Preset
) -> Problem:
    raw = structured_gold(row, preset.structured) if preset.structured else row.get(columns.answer)
    if isinstance(raw, (dict, list)):  # a gold with an inside, as some kinds want it
        raw = json.dumps(raw, ensure_ascii=False)
    names = f"{place}: {columns.prompt!r}", f"{place}: {columns.answer!r}"
    prompt, answer = fields_of((row.get(columns.prompt), raw), names)
    if isinstance(prompt, str):
        prompt = preset.ask(prompt, row)
    gold = answer if preset.structured else preset.gold(answer)
    used = {columns.prompt, *preset.structured}
    used |= {columns.answer} if gold == answer.strip() else set()
    others = _carried(place, row, used, options)
    return Problem(key_of(preset.name, prompt), prompt, gold, preset.name, 0, others)


def _carried(place: str, row: Row, used: set[str], options: TaskOptions) -> dict[str, object]:
    """The other columns of a row as JSON holds them."""
    wanted = row if options.columns is None else options.columns
    found = {name: row.get(name) for name in wanted if name not in used}
    text = json.dumps(found, default=str)
    if len(text) > MAX_COLUMNS:
        raise UsageError(
            f"{place}: the other columns are too long. Got {len(text)} characters, at most "
            f"{MAX_COLUMNS} are kept. Name those you need in task.columns."
        )
    return cast(dict[str, object], json.loads(text))


def _columns(table: Table, options: TaskOptions, preset: Preset) -> Columns:
    place, row = table[0]
    source, names = place.rsplit(" ", 2)[0], [*row]
    level = next((name for name in preset.level if name in names), None)
    if options.level_column:
        level = _column(source, names, (options.level_column,), "level")
    prompts = (options.prompt_column,) if options.prompt_column else preset.prompt
    answers = (options.answer_column,) if options.answer_column else preset.answer
    for name in options.columns or ():
        _column(source, names, (name,), "columns")
    return Columns(
        _column(source, names, prompts, "prompt"),
        _column(source, names, preset.structured[:2] or answers, "answer"),
        level,
    )


def _column(source: str, names: Sequence[str], wanted: Sequence[str], role: str) -> str:
    found = next((name for name in wanted if name in names), None)
    if found is not None:
        return found
    word = wanted[0]
    hint = nearest(word, names) if names else "It has no columns."
    raise UsageError(f"{source} has no {role} column {word!r}. {hint} Name it with --task.{role}.")

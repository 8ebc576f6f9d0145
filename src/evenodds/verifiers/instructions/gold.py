"""From the JSON of a gold to the checks that it asks for, in either layout; read once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import cast

from evenodds.domain import Problem
from evenodds.verifiers.instructions.arguments import Arguments
from evenodds.verifiers.instructions.checks import RULES, Check
from evenodds.verifiers.json_gold import BadGold, parsed, table_of

MAX_INSTRUCTIONS = 64
MAX_GOLD = 1_000_000
_LAYOUT = 'a gold is {"instructions": [{"id": …}]} or {"instruction_id_list": […], "kwargs": […]}'


@dataclass(frozen=True)
class Named:
    """One check, by the name of its instruction; a second of the same name has `#2` behind it."""

    name: str
    follows: Check


def checks_of(problem: Problem, whole_words: bool) -> tuple[Named, ...]:
    """The checks that a problem asks for: by its answer, or by the columns of a published row.

    Such a row has `instruction_id_list` among its columns, and its `kwargs` beside it or as the
    answer. Raises `BadGold` with the reason where they cannot be read.
    """
    columns, answer = problem.columns, problem.answer.strip()
    if "instruction_id_list" not in columns or answer.startswith("{"):
        return read_gold(problem.answer, whole_words)
    arguments = columns["kwargs"] if "kwargs" in columns else parsed(answer, MAX_GOLD)
    row = {"instruction_id_list": columns["instruction_id_list"], "kwargs": arguments}
    return _checks(_pairs(row), whole_words)


@lru_cache(maxsize=4096)
def read_gold(text: str, whole_words: bool) -> tuple[Named, ...]:
    """The checks of a JSON text. Raises `BadGold`."""
    return _checks(_pairs(table_of(text, MAX_GOLD, _LAYOUT)), whole_words)


def _pairs(value: Mapping[str, object]) -> list[tuple[object, object]]:
    """The name of each instruction with its arguments."""
    rows = value.get("instructions")
    if isinstance(rows, list):
        return [_split(row) for row in cast(list[object], rows)]
    names, arguments = _listed(value.get("instruction_id_list")), _listed(value.get("kwargs"))
    if names is None or arguments is None:
        raise BadGold(_LAYOUT)
    if len(names) != len(arguments):
        raise BadGold(f"{len(names)} names of instructions have {len(arguments)} kwargs")
    return [(name, {} if row is None else row) for name, row in zip(names, arguments, strict=True)]


def _listed(value: object) -> Sequence[object] | None:
    """A list, also where a table holds it as an array; None for anything else."""
    if isinstance(value, (list, tuple)):
        return cast(Sequence[object], value)
    listed = getattr(value, "tolist", lambda: None)()
    return cast(list[object], listed) if isinstance(listed, list) else None


def _split(row: object) -> tuple[object, object]:
    if not isinstance(row, dict):
        raise BadGold(_LAYOUT)
    fields = cast(dict[str, object], row)
    return fields.get("id"), {key: value for key, value in fields.items() if key != "id"}


def _checks(pairs: list[tuple[object, object]], whole_words: bool) -> tuple[Named, ...]:
    if not 0 < len(pairs) <= MAX_INSTRUCTIONS:
        raise BadGold(f"it has {len(pairs)} instructions, not 1 to {MAX_INSTRUCTIONS}")
    names = [str(name) for name, _ in pairs]
    return tuple(
        Named(_numbered(names, at), _check(name, given, whole_words))
        for at, (name, given) in enumerate(pairs)
    )


def _numbered(names: list[str], at: int) -> str:
    before = names[:at].count(names[at])
    return f"{names[at]}#{before + 1}" if before else names[at]


def _check(name: object, given: object, whole_words: bool) -> Check:
    if not isinstance(name, str) or name not in RULES:
        raise BadGold(f"no instruction is called {str(name)[:60]!r}")
    if not isinstance(given, Mapping):
        raise BadGold(f"the kwargs of {name} are no table")
    arguments = Arguments(name, cast(Mapping[str, object], given), whole_words)
    check = RULES[name](arguments)
    arguments.check_all_used()
    return check

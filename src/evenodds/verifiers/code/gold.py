"""Reads the tests of a problem from its gold, in the forms that data sets have them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, cast

from evenodds.verifiers.json_gold import BadGold, table_of

LONGEST = 1 << 24  # characters of a gold


@dataclass(frozen=True)
class Pairs:
    """Programs that read from standard input and print: (input, expected output) pairs."""

    pairs: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Calls:
    """A function that is called: for each test its arguments and the results that are right."""

    name: str
    cases: tuple[tuple[list[Any], list[Any]], ...]


@dataclass(frozen=True)
class Check:
    """HumanEval: a source that defines `check(candidate)`; the prompt begins the program."""

    name: str
    source: str
    prompt: str


@dataclass(frozen=True)
class Asserts:
    """MBPP: asserts, and what runs before them."""

    tests: tuple[str, ...]
    setup: str
    name: str | None


Tests = Pairs | Calls | Check | Asserts


@lru_cache(maxsize=8)  # a group of answers shares one
def read(gold: str) -> Tests:
    """The tests that a gold states. Raises `BadGold`."""
    layout = f"a gold has one of the keys {', '.join(READERS)}"
    table = table_of(gold, LONGEST, layout)
    for key, reader in READERS.items():
        if table.get(key) is not None:
            return reader(table)
    raise BadGold(layout)


def _check(table: Mapping[str, Any]) -> Check:
    name, source, prompt = table.get("entry_point"), table["test"], table.get("prompt") or ""
    if not all(isinstance(text, str) for text in (name, source, prompt)):
        raise BadGold("entry_point, test and prompt are to be texts")
    if "def check(" not in source:
        raise BadGold("its test defines no check(candidate)")
    if not cast(str, name).isidentifier():
        raise BadGold("its entry_point is no name")
    return Check(cast(str, name), source, prompt)


def _asserts(table: Mapping[str, Any]) -> Asserts:
    tests = _texts(table["test_list"], "test_list")
    imports = _texts(table.get("test_imports") or [], "test_imports")
    setup = table.get("test_setup_code") or ""
    name = table.get("entry_point")
    if not tests or not isinstance(setup, str):
        raise BadGold("test_list is empty, or test_setup_code is no text")
    return Asserts(tuple(tests), "\n".join([*imports, setup]), name if name else None)


def _pairs(table: Mapping[str, Any]) -> Pairs | Calls:
    inputs, outputs = table["inputs"], table.get("outputs")
    if not isinstance(inputs, list) or not isinstance(outputs, list):
        raise BadGold("inputs and outputs are to be lists")
    ins, outs = cast("list[Any]", inputs), cast("list[Any]", outputs)
    if not ins or len(ins) != len(outs):
        raise BadGold(f"it has {len(ins)} inputs and {len(outs)} outputs")
    name = table.get("fn_name")
    if not name:
        return Pairs(tuple(zip(map(_lines, ins), map(_lines, outs), strict=True)))
    if not isinstance(name, str) or not name.isidentifier():
        raise BadGold("its fn_name is no name")
    expected = [_value(item) for item in outs]
    wrapped = all(isinstance(item, list) and len(cast("list[Any]", item)) == 1 for item in expected)
    accepted = [[item, item[0]] if wrapped else [item] for item in expected]
    return Calls(name, tuple(zip(map(_arguments, ins), accepted, strict=True)))


def _texts(found: Any, name: str) -> list[str]:
    items = cast("list[Any]", found) if isinstance(found, list) else [None]
    if not all(isinstance(item, str) for item in items):
        raise BadGold(f"{name} is to be a list of texts")
    return cast("list[str]", items)


def _lines(found: Any) -> str:
    if isinstance(found, list):
        return "\n".join(str(item) for item in cast("list[Any]", found))
    if not isinstance(found, str):
        raise BadGold("inputs and outputs are to be texts or lists of lines")
    return found


def _value(found: Any) -> Any:
    """An expected result: JSON itself, or JSON written as a text."""
    if not isinstance(found, str):
        return found
    try:
        return json.loads(found)
    except ValueError:
        return found


def _arguments(found: Any) -> list[Any]:
    """The arguments of a call: a list of them, or a text with one in JSON on each line."""
    if isinstance(found, list):
        return cast("list[Any]", found)
    if not isinstance(found, str):
        raise BadGold("inputs are to be lists of arguments")
    try:
        return [json.loads(line) for line in found.split("\n") if line.strip()]
    except ValueError as error:
        raise BadGold("an input is no JSON, one argument a line") from error


READERS = {"test": _check, "test_list": _asserts, "inputs": _pairs}


def head_of(check: Check) -> str:
    """What of the prompt stands before the function asked for: imports and helpers."""
    starts = list(re.finditer(rf"^[ \t]*(?:async )?def {check.name}\b", check.prompt, re.MULTILINE))
    return check.prompt[: starts[-1].start()] if starts else ""

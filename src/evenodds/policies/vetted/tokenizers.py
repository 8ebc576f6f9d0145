"""tokenizer.json: rules that cannot blow a text up, and ids of a size that vocabularies have."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

from evenodds.policies.vetted.files import read_object, refused
from evenodds.policies.vetted.patterns import repeats_a_repetition

FILE = "tokenizer.json"
GROWTH = 256  # times: what all replacements together may make of a text
HIGHEST = 2**24  # id
DEEPEST = 40
STAGES = ("normalizer", "pre_tokenizer", "post_processor", "decoder")
LONGEST = 20_000  # characters of one pattern


def require_sane_tokenizer(folder: Path, name: str) -> None:
    path = folder / FILE
    if path.is_file():
        found = path.stat()
        why = _fault(path, found.st_size, found.st_mtime_ns, name)
        if why:
            raise refused(name, f"{FILE!r} {why}")


@lru_cache(maxsize=8)
def _fault(path: Path, size: int, changed: int, name: str) -> str:
    """What is wrong with a file of that size and age, or nothing: large ones are read once."""
    tokenizer = read_object(path, name)
    for stage in STAGES:
        growth = 1.0
        for part in _parts(tokenizer.get(stage), 0):
            growth *= _growth(part)
            if _is_slow(part.get("pattern")):
                return f"has a {stage} with a pattern that may search for ever"
            if growth > GROWTH:
                return f"has a {stage} that makes a text more than {GROWTH} times as long"
    tokens = tokenizer.get("added_tokens")
    rows = cast(list[Any], tokens) if isinstance(tokens, list) else []
    ids = [row.get("id") for row in rows if isinstance(row, dict)]
    if any(not isinstance(number, int) or not 0 <= number <= HIGHEST for number in ids):
        return f"has ids outside 0 to {HIGHEST:,}"
    return ""


def _parts(value: Any, depth: int) -> Iterator[dict[str, Any]]:
    """Every table inside a stage; those too deep to belong to one are left to the library."""
    if depth > DEEPEST:
        return
    if isinstance(value, dict):
        table = cast(dict[str, Any], value)
        yield table
        for inner in table.values():
            yield from _parts(inner, depth + 1)
    elif isinstance(value, list):
        for inner in cast(list[Any], value):
            yield from _parts(inner, depth + 1)


def _growth(part: dict[str, Any]) -> float:
    """How many times as long a text may become by one rule: what is put in for what is found."""
    put = part.get("content", part.get("replacement", part.get("prepend", "")))
    found = part.get("pattern")
    if not isinstance(put, str) or len(put) < 2:
        return 1.0
    searched = cast(dict[str, Any], found).get("String") if isinstance(found, dict) else None
    least = len(searched) if isinstance(searched, str) and searched else 1
    return max(1.0, len(put) / least)


def _is_slow(pattern: Any) -> bool:
    text = cast(dict[str, Any], pattern).get("Regex") if isinstance(pattern, dict) else None
    return isinstance(text, str) and (len(text) > LONGEST or repeats_a_repetition(text))

"""tokenizer.json: rules that cannot blow a text up, and ids of a size that vocabularies have."""

from __future__ import annotations

from base64 import b64decode
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
STAGES = (("normalizer", "pre_tokenizer", "post_processor"), ("decoder",))
"""Those that a text goes through one after another: into ids, and out of them."""
MOST_RULES = 1000  # tables in a stage; each is gone through for every text
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
    for way in STAGES:
        growth = 1.0
        for stage in way:
            for number, part in enumerate(_parts(tokenizer.get(stage), 0)):
                growth *= _growth(part)
                if part.get("type") == "Precompiled" and not _charsmap(part):
                    return f"has a {stage} whose table of characters is damaged"
                if _is_slow(part.get("pattern")):
                    return f"has a {stage} with a pattern that may search for ever"
                if growth > GROWTH:
                    return f"has a {stage} that makes a text more than {GROWTH} times as long"
                if number > MOST_RULES and "type" in part:
                    return f"has a {stage} of more than {MOST_RULES:,} rules"
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
    """How many times as long a text may become by one rule."""
    match part.get("type"):
        case "ByteLevel":  # a byte becomes a character, which may have two
            return 2.0
        case "TemplateProcessing":
            return _of_template(part)
        case "Precompiled":
            return _of_charsmap(part)
        case _:
            return _of_replacement(part)


def _of_replacement(part: dict[str, Any]) -> float:
    """What is put in for what is found."""
    put = part.get("content", part.get("replacement", part.get("prepend", "")))
    found = part.get("pattern")
    if not isinstance(put, str) or len(put) < 2:
        return 1.0
    searched = cast(dict[str, Any], found).get("String") if isinstance(found, dict) else None
    least = len(searched) if isinstance(searched, str) and searched else 1
    return max(1.0, len(put) / least)


def _of_template(part: dict[str, Any]) -> float:
    """A text as often as it stands in the template, or a special token as often as it has ids."""
    pieces = max(_count(part.get("single")), _count(part.get("pair")))
    tokens = part.get("special_tokens")
    rows = list(cast(dict[str, Any], tokens).values()) if isinstance(tokens, dict) else []
    ids = [_count(cast(dict[str, Any], row).get("ids")) for row in rows if isinstance(row, dict)]
    return float(max(1, pieces) * max([1, *ids]))


def _count(value: Any) -> int:
    return len(cast(list[Any], value)) if isinstance(value, list) else 0


def _charsmap(part: dict[str, Any]) -> bytes:
    """SentencePiece's table of what becomes of a character: a trie, whose length stands in the
    first four bytes, and the texts that are put in. Empty where it is none."""
    try:
        data = b64decode(part.get("precompiled_charsmap", ""), validate=True)
    except (TypeError, ValueError):
        return b""
    length = int.from_bytes(data[:4], "little")
    return data if length and length % 4 == 0 and 4 + length <= len(data) else b""


def _of_charsmap(part: dict[str, Any]) -> float:
    """The longest text that is put in; each has a zero at its end."""
    data = _charsmap(part)
    texts = data[4 + int.from_bytes(data[:4], "little") :].split(b"\0")
    return float(max(1, *map(len, texts)))


def _is_slow(pattern: Any) -> bool:
    text = cast(dict[str, Any], pattern).get("Regex") if isinstance(pattern, dict) else None
    return isinstance(text, str) and (len(text) > LONGEST or repeats_a_repetition(text))

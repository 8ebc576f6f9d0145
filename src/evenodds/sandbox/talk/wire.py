"""Plain data over a pipe: frames of JSON, from which only plain values can be rebuilt.

A JSON list is a list; an object with one key is a value of the type that the key names. Nothing
that is rebuilt has a method of the other side's making.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from itertools import islice
from typing import Any

CAP = 1 << 24  # bytes of a frame
NODES = 1_000_000  # values in a frame
ITEMS = 100_000  # values that an iterator is asked for
DEPTH = 100
EXACT = 1 << 53
IN, OUT = 3, 4


class Opaque:
    """What the other side returned and plain data cannot hold. Equal to nothing but itself."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"<an object of type {self.name}>"


class TooMuch(Exception):
    """More values, or deeper ones, than a frame may hold."""


def send(message: dict[str, Any]) -> None:
    data = json.dumps(message).encode()
    if len(data) > CAP:
        raise TooMuch(f"{len(data)} bytes")
    left = memoryview(len(data).to_bytes(4, "big") + data)
    while left:
        left = left[os.write(OUT, left) :]


def receive() -> dict[str, Any]:
    """The next frame. Raises `EOFError` at the end, `ValueError` for what is no frame."""
    size = int.from_bytes(_exactly(4), "big")
    if size > CAP:
        raise ValueError(f"a frame of {size} bytes")
    found = json.loads(_exactly(size))
    if not isinstance(found, dict):
        raise ValueError("a frame that is no object")
    return found


def _exactly(size: int) -> bytes:
    parts: list[bytes] = []
    while size:
        part = os.read(IN, min(size, 1 << 20))
        if not part:
            raise EOFError
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


class Packer:
    """Turns values into JSON, and counts them."""

    def __init__(self) -> None:
        self.left = NODES

    def pack(self, value: Any, depth: int = 0) -> Any:
        self.left -= 1
        if self.left < 0 or depth > DEPTH:
            raise TooMuch(f"more than {NODES} values, or deeper than {DEPTH}")
        if value is None or value is True or value is False:
            return value
        for kind, pack in SIMPLE:
            if isinstance(value, kind):
                return pack(value)
        for kind, tag, items in CONTAINERS:
            if isinstance(value, kind):
                inner = [self.pack(item, depth + 1) for item in items(value)]
                return {tag: inner} if tag else inner
        if isinstance(value, Iterator) or type(value).__name__ in VIEWS:
            return self._iterator(value, depth)
        return {"opaque": str(type(value).__name__)[:80]}

    def _iterator(self, value: Any, depth: int) -> Any:
        items = list(islice(value, ITEMS + 1))
        if len(items) > ITEMS:
            raise TooMuch(f"an iterator of more than {ITEMS} values")
        return {"iterator": [self.pack(item, depth + 1) for item in items]}


VIEWS = {"dict_keys", "dict_values", "dict_items", "deque", "array"}


def _pack_int(value: int) -> Any:
    plain = int.__add__(value, 0)
    return plain if -EXACT < plain < EXACT else {"int": format(plain, "x")}


SIMPLE: tuple[tuple[type, Callable[[Any], Any]], ...] = (
    (int, _pack_int),
    (float, lambda value: {"float": float.__repr__(value)}),
    (str, lambda value: str.__str__(value)),
    (bytes, lambda value: {"bytes": bytes.hex(value)}),
    (bytearray, lambda value: {"bytearray": bytearray.hex(value)}),
    (complex, lambda value: {"complex": [repr(value.real), repr(value.imag)]}),
    (Decimal, lambda value: {"decimal": Decimal.__str__(value)}),
    (Fraction, lambda value: {"fraction": [f"{value.numerator:x}", f"{value.denominator:x}"]}),
    (datetime, lambda value: {"datetime": datetime.isoformat(value)}),
    (date, lambda value: {"date": date.isoformat(value)}),
    (time, lambda value: {"time": time.isoformat(value)}),
    (timedelta, lambda value: {"timedelta": [value.days, value.seconds, value.microseconds]}),
    (range, lambda value: {"range": [value.start, value.stop, value.step]}),
)
CONTAINERS: tuple[tuple[type, str, Callable[[Any], Any]], ...] = (
    (list, "", list.__iter__),
    (tuple, "tuple", tuple.__iter__),
    (dict, "dict", dict.items),
    (set, "set", set.__iter__),
    (frozenset, "frozenset", frozenset.__iter__),
)


def unpack(found: Any) -> Any:
    """The value that JSON stands for. Raises `ValueError` and kin for what stands for none."""
    if isinstance(found, list):
        return [unpack(item) for item in found]
    if not isinstance(found, dict):
        return found
    (tag, content), *more = found.items()
    if more:
        raise ValueError("an object with several keys")
    return REBUILD[tag](content)


def _all(content: Any) -> Iterator[Any]:
    return (unpack(item) for item in list.__iter__(content))


def _float(text: Any) -> float:
    if not isinstance(text, str):
        raise ValueError("a float that is no text")
    return float(text)


REBUILD: dict[str, Callable[[Any], Any]] = {
    "int": lambda content: int(content, 16),
    "float": _float,
    "bytes": bytes.fromhex,
    "bytearray": bytearray.fromhex,
    "complex": lambda content: complex(*map(_float, content)),
    "decimal": Decimal,
    "fraction": lambda content: Fraction(*(int(part, 16) for part in content)),
    "datetime": datetime.fromisoformat,
    "date": date.fromisoformat,
    "time": time.fromisoformat,
    "timedelta": lambda content: timedelta(*content),
    "range": lambda content: range(*content),
    "tuple": lambda content: tuple(_all(content)),
    "dict": lambda content: {key: value for key, value in _all(content)},  # noqa: C416
    "set": lambda content: set(_all(content)),
    "frozenset": lambda content: frozenset(_all(content)),
    "iterator": lambda content: iter(list(_all(content))),
    "opaque": lambda content: Opaque(str(content)[:80]),
}

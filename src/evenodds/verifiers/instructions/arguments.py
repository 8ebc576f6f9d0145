"""The arguments of one instruction, read with their types; what does not fit is a bad gold."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import cast

from evenodds.verifiers.json_gold import BadGold

MAX_NUMBER = 1_000_000
MAX_PHRASE = 100_000
MAX_PHRASES = 100

RELATIONS: dict[str, Callable[[int, int], bool]] = {
    "at least": lambda count, bound: count >= bound,
    "less than": lambda count, bound: count < bound,
    "at most": lambda count, bound: count <= bound,
    "exactly": lambda count, bound: count == bound,
}
"""IFEval has the first two; the others are ours."""


@dataclass(frozen=True)
class Arguments:
    """The arguments of an instruction. Those that are null count as absent, as published rows
    name the arguments of every instruction and leave null what is another's.
    """

    name: str
    given: Mapping[str, object]
    whole_words: bool = True
    used: set[str] = field(default_factory=set[str])

    def whole(self, key: str) -> int:
        """A whole number of at least 0; 3.0 is read as 3, for tables turn columns into floats."""
        value = self._value(key)
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MAX_NUMBER:
            raise self._bad(key, "a whole number")
        return value

    def text(self, key: str) -> str:
        value = self._value(key)
        if not isinstance(value, str) or not value.strip() or len(value) > MAX_PHRASE:
            raise self._bad(key, "a text")
        return value.strip()

    def texts(self, key: str) -> tuple[str, ...]:
        value = self._value(key)
        rows = cast(list[object], value) if isinstance(value, list) else []
        words = tuple(row.strip() for row in rows if isinstance(row, str) and row.strip())
        if not 0 < len(words) <= MAX_PHRASES or len(words) != len(rows):
            raise self._bad(key, "a list of texts")
        return words

    def bound(self, relation: str, number: str) -> Callable[[int], bool]:
        """Whether a count keeps to a relation with a number, such as `at least` 50."""
        word, bound = self.text(relation), self.whole(number)
        if word not in RELATIONS:
            raise self._bad(relation, f"one of {', '.join(RELATIONS)}")
        return lambda count: RELATIONS[word](count, bound)

    def check_all_used(self) -> None:
        """Refuse arguments that this instruction does not have: they may be misspelt."""
        extra = {key for key, value in self.given.items() if value is not None} - self.used
        if extra:
            raise BadGold(f"{self.name} has no argument {sorted(extra)[0][:40]!r}")

    def _value(self, key: str) -> object:
        self.used.add(key)
        return self.given.get(key)

    def _bad(self, key: str, wanted: str) -> BadGold:
        return BadGold(
            f"{self.name} wants {wanted} as {key!r}, not {str(self.given.get(key))[:40]!r}"
        )

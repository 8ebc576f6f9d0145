"""Two rollouts held against each other: equal in every bit, or where they first are not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from evenodds.domain import Rollout

Kind = Literal["bit-equal", "rounding", "differs", "other prompt"]
ROUNDING = {"float32": 1e-4, "float64": 1e-9}
COARSE = 0.1  # nats by which the log-probabilities of shorter types may differ


@dataclass(frozen=True)
class TokenOf:
    """A token as it was drawn. text: decoded alone; empty where there was none."""

    id: int | None
    text: str
    logprob: float | None


@dataclass(frozen=True)
class Match:
    """How a rollout compares with its record.

    kind: `rounding` where all tokens are the same and their log-probabilities differ by what
    sums in another order differ by. tokens: of the recorded answer. at: the first token that
    differs, counted from 1; recorded and now: that token. largest: the largest difference of
    log-probabilities before the first other token, in nats. differing: how many of them differ.
    """

    kind: Kind
    tokens: int
    at: int | None = None
    recorded: TokenOf | None = None
    now: TokenOf | None = None
    largest: float = 0.0
    differing: int = 0


def match(recorded: Rollout, now: Rollout, piece: Callable[[int], str], dtype: str) -> Match:
    """Ids and log-probabilities, bit for bit. piece: the text of one token. dtype: the policy's."""
    size = recorded.ids.size
    if not np.array_equal(recorded.prompt_ids, now.prompt_ids):
        return Match("other prompt", size)
    both = min(size, now.ids.size)
    other = np.flatnonzero(recorded.ids[:both] != now.ids[:both])
    same = int(other[0]) if other.size else both
    one, two = (r.logprobs[:same].astype(np.float32) for r in (recorded, now))
    bits = np.flatnonzero(one.view(np.uint32) != two.view(np.uint32))
    is_whole = same == size == now.ids.size and recorded.stop is now.stop
    if is_whole and not bits.size:
        return Match("bit-equal", size)
    largest = float(np.abs(one.astype(np.float64) - two).max()) if same else 0.0
    first = min([same, *map(int, bits[:1])])
    kind: Kind = "rounding" if is_whole and largest <= ROUNDING.get(dtype, COARSE) else "differs"
    told = (_token(rollout, first, piece) for rollout in (recorded, now))
    return Match(kind, size, first + 1, *told, largest=largest, differing=int(bits.size))


def _token(rollout: Rollout, at: int, piece: Callable[[int], str]) -> TokenOf:
    if at >= rollout.ids.size:
        return TokenOf(None, "", None)
    number = int(rollout.ids[at])
    return TokenOf(number, piece(number), float(rollout.logprobs[at]))

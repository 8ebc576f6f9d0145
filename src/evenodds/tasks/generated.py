"""What tasks that draw their problems share: the split, worked examples, counts by level."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Collection
from typing import TypeVar

import numpy as np

from evenodds.tasks.task import TaskOptions

T = TypeVar("T")


def drawn_split(
    draw: Callable[[], T], key: Callable[[T], str], held_out: int
) -> tuple[tuple[T, ...], int]:
    """What is held out of something that nobody has counted, and how many were counted.

    So many are drawn that a quarter of those that were seen is enough, or as many as are likely to
    show nearly all of a small set.
    """
    seen: dict[str, T] = {}
    for _ in range(8 * held_out):
        one = draw()
        seen.setdefault(key(one), one)
        if len(seen) == 4 * held_out:
            break
    return tuple(seen.values())[: len(seen) // 4], len(seen)


def worked_examples(
    draw: Callable[[int, np.random.Generator], T],
    key: Callable[[T], str],
    held_out: Collection[str],
    levels: int,
    options: TaskOptions,
) -> dict[str, T]:
    """What a `few_shot` prompt shows, by key: never held out, and never to be asked in training.

    levels: they are spread over this many of the lowest levels.
    """
    if options.style != "few_shot":
        return {}
    rng = np.random.default_rng([options.seed, zlib.crc32(b"examples")])
    chosen: dict[str, T] = {}
    while len(chosen) < options.shots:
        one = draw(len(chosen) % levels, rng)
        if key(one) not in held_out:
            chosen[key(one)] = one
    return chosen


def level_count(
    label: str, held: int, total: int, options: TaskOptions, what: str, is_counted: bool = False
) -> dict[str, object]:
    """A level in a passport. total: how many problems it has, or, where nobody has counted them,
    how many were drawn. what: their name in the plural.
    """
    count: dict[str, object] = {"level": label, "training": total - held, "held_out": held}
    if not is_counted:
        count["training_is"] = "at least this many: no more were drawn and counted"
    if held < options.held_out:
        of = f"{total} {what} {'in all' if is_counted else 'drawn'}"
        count["note"] = f"too few: {of}, of which at most a quarter is held out"
    return count

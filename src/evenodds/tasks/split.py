"""Which problems of given data are kept for evaluation."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from hashlib import sha256

from evenodds.domain import Problem, as_text
from evenodds.tasks.task import TaskOptions

SMALL = 10
"""From this many distinct prompts on at least two are held out: one says next to nothing."""

Sides = tuple[tuple[Problem, ...], tuple[Problem, ...]]


def split(problems: Sequence[Problem], levels: int, options: TaskOptions) -> tuple[Sides, ...]:
    """Training and held-out problems of each level.

    The prompt decides, by its hash, so that equal prompts are on one side at every level. A
    prompt that is held out is asked at each level that has it, so a level may hold out more than
    its share. Every level keeps a prompt to train on. The same problems give the same split
    whatever their order.
    """
    rows = [[p for p in problems if p.level == level] for level in range(levels)]
    ranked = [_ranked(group, options.seed) for group in rows]
    held = held_prompts(ranked, options)
    return tuple(
        _sides(group, ordered, held, options.held_out)
        for group, ordered in zip(rows, ranked, strict=True)
    )


def held_prompts(levels: Sequence[Sequence[str]], options: TaskOptions) -> frozenset[str]:
    """The held-out ones of the prompts of all levels, of which each lists its own in rank order.

    A prompt is passed over where a level that has it would be left with nothing to train on.
    """
    places: dict[str, list[int]] = {}
    for level, prompts in enumerate(levels):
        for prompt in prompts:
            places.setdefault(prompt, []).append(level)
    held: set[str] = set()
    left = [len(prompts) for prompts in levels]
    for level, prompts in enumerate(levels):
        for prompt in prompts:
            if len(prompts) - left[level] >= wanted(len(prompts), options):
                break
            if prompt not in held and all(left[place] > 1 for place in places[prompt]):
                held.add(prompt)
                for place in places[prompt]:
                    left[place] -= 1
    return frozenset(held)


def wanted(prompts: int, options: TaskOptions) -> int:
    """How many of that many distinct prompts are held out: the share, rounded up, and the cap."""
    # less a little, for 70 * 0.1 is more than 7 in floats
    share = math.ceil(prompts * options.held_out_share - 1e-9)
    return min(options.held_out, max(2 if prompts >= SMALL else 1, share))


def _sides(
    group: Sequence[Problem], ordered: Sequence[str], held: frozenset[str], most: int
) -> Sides:
    training = tuple(p for p in group if as_text(p.prompt) not in held)
    kept: Mapping[str, Problem] = {as_text(p.prompt): p for p in reversed(group)}
    return training, tuple(kept[prompt] for prompt in ordered if prompt in held)[:most]


def _ranked(group: Sequence[Problem], seed: int) -> list[str]:
    return sorted({as_text(p.prompt) for p in group}, key=lambda prompt: _rank(prompt, seed))


def _rank(prompt: str, seed: int) -> bytes:
    return sha256(f"{seed}\n{prompt}".encode("utf-8", "surrogatepass")).digest()


def given_sides(
    training: Sequence[Problem], held: Sequence[Problem], levels: int, options: TaskOptions
) -> tuple[Sides, ...]:
    """Both sides of each level where the held-out one was given apart, capped by rank."""
    sides: list[Sides] = []
    for level in range(levels):
        group = [p for p in held if p.level == level]
        first = {as_text(p.prompt): p for p in reversed(group)}
        kept = [first[prompt] for prompt in _ranked(group, options.seed)]
        learn = tuple(p for p in training if p.level == level)
        sides.append((learn, tuple(kept[: options.held_out])))
    return tuple(sides)

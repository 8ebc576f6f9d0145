"""The work that every contender does: which model, which prompts, how long each answer is.

Everything here is a function of the turn's number, so contenders in processes of their own agree
without a word: the same prompts, the same forced lengths, and rewards by the same rule.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass

import numpy as np

SMOLLM = "~/.cache/evenodds/smollm2-135m-instruct"  # where scripts/get-smollm2 puts it
PROFILES = ("uniform", "skewed", "equal")
WARM = 0  # the turn that is not counted
RATE = 1e-6  # of the optimizer, for all: weights move as they must, and stay what they are


@dataclass(frozen=True)
class Work:
    """groups × group_size answers of 16 to max_tokens tokens, learned from in one optimizer step.

    rank: of LoRA on all linear layers; 0 trains all weights. warm_tokens: the longest answer of the
    first turn, which is not counted.
    """

    name: str
    model: str
    groups: int
    group_size: int
    max_tokens: int
    rank: int
    warm_tokens: int

    @property
    def answers(self) -> int:
        return self.groups * self.group_size


WORKS = {
    work.name: work
    for work in (
        Work("tiny", "abacus", 8, 8, 64, rank=0, warm_tokens=64),
        Work("small", SMOLLM, 8, 8, 64, rank=16, warm_tokens=4),
        Work("long", SMOLLM, 4, 8, 256, rank=16, warm_tokens=4),
    )
}
FEWEST = 16  # tokens of the shortest answer in a uniform draw


def _rng(work: Work, turn: int, purpose: str) -> np.random.Generator:
    return np.random.default_rng([turn, zlib.crc32(f"{work.name} {purpose}".encode())])


def lengths(work: Work, profile: str, turn: int) -> list[int]:
    """Tokens of each answer, its end token included; the answers of a group stand together.

    uniform: 16 to the maximum, all equally likely. skewed: of each group one answer (groups 0, 2,
    ...) or two (groups 1, 3, ...) have the maximum, all others an eighth to a quarter of it.
    equal: all have the maximum.
    """
    top, rng = work.max_tokens, _rng(work, turn, "lengths")
    drawn = rng.integers(FEWEST, top + 1, (work.groups, work.group_size))
    if profile == "equal":
        drawn[:] = top
    if profile == "skewed":
        drawn = rng.integers(top // 8, top // 4 + 1, drawn.shape)
        for group, row in enumerate(drawn):
            row[rng.permutation(work.group_size)[: 1 + group % 2]] = top
    if turn == WARM:
        drawn = np.minimum(drawn, work.warm_tokens)
    return [int(n) for n in drawn.ravel()]


def prompts(work: Work, turn: int) -> list[str]:
    """One prompt a group; their lengths differ. The bundled model knows nothing but `12*34=`.

    SmolLM2 gets four worked sums, the same for all prompts of a turn as in any few-shot task, and
    a sum of numbers of one to three digits: 41 to 47 tokens. The first turn, which is not counted,
    goes without the worked ones where a step is slow.
    """
    rng = _rng(work, turn, "prompts")

    def number(digits: int) -> int:
        return int(rng.integers(10 ** (digits - 1), 10**digits))

    sizes = [1 + place % 3 for place in range(work.groups)]
    if work.model == "abacus":
        return [f"{number(digits)}*{number(1)}=" for digits in sizes]
    pairs = [(number(2), number(2)) for _ in range(4)]
    shots = "" if turn == WARM else "".join(f"{a}+{b}={a + b}\n" for a, b in pairs)
    return [f"{shots}{number(digits)}+{number(digits)}=" for digits in sizes]


def coin(text: str, turn: int) -> float:
    """The reward: 1 or 0 by a checksum of text and turn, so that nearly every group has signal."""
    return float(zlib.crc32(f"{turn} {text}".encode()) >> 16 & 1)

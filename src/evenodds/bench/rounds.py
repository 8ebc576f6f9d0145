"""Rows through a judge in small rounds, so that memory stays flat and no row suffers for others.

A judge shortens its deadline within one round once several answers in it have hung. That is right
for the answers of one training step; here each row is a case of its own, so rounds are small.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from evenodds.domain import Completion, Problem, Verdict
from evenodds.judge import JudgeOptions, OpenJudge, open_judge
from evenodds.judge.opening import verdicts_of
from evenodds.verifiers import Verifier

ROWS = 64
CHARACTERS = 4_000_000

Pair = tuple[Problem, Completion]
Judging = JudgeOptions | OpenJudge | None
"""How a judge is opened; or one that is open, by its own options, and stays open."""
Told = Callable[[int, int], None]
"""Called with what is done and the whole number, while a bench goes on."""


def judged_pairs(
    verifier: Verifier,
    pairs: Iterable[Pair],
    judging: Judging = None,
    rows: int = ROWS,
) -> Iterator[Verdict]:
    """One verdict a pair, in order; `pairs` is read one round of `rows` ahead and no further."""
    if judging is None or isinstance(judging, JudgeOptions):
        with open_judge(verifier, judging) as judge:
            yield from judged_pairs(verifier, pairs, judge, rows)
        return
    for batch in _rounds(pairs, rows):
        yield from verdicts_of(judging, batch)


def _rounds(pairs: Iterable[Pair], rows: int) -> Iterator[list[Pair]]:
    batch: list[Pair] = []
    size = 0
    for pair in pairs:
        batch.append(pair)
        size += len(pair[0].answer) + len(pair[1].text)
        if len(batch) >= rows or size >= CHARACTERS:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch

"""Which texts nearly repeat one another, and how many kinds of work there are among them."""

from __future__ import annotations

import re
from collections.abc import Sequence

SIZE = 5  # words of a gram
NEAR = 0.9  # of all grams of two texts that both must have
LONG = SIZE + 9  # words from which a text can be near another without having the same grams
MOST = 20_000  # words of a text that are compared
UNSPACED = 20  # characters a word, from which a text outside ASCII is one without spaces

_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
Grams = set[tuple[str, ...]]


def near_duplicates(texts: Sequence[str]) -> int:
    """How many of the texts nearly repeat one that stands before them; see `repeats`."""
    return sum(repeats(texts))


def repeats(texts: Sequence[str]) -> list[bool]:
    """[texts] whether each is equal to an earlier one but for white space and case, or near it.

    Near: of the runs of 5 words that one or the other has, both have at least 90 % (Jaccard's
    index of their sets; Broder 1997). That takes 14 words, so that shorter texts are near only
    where they are equal. Words are what stands between white space; in writing without spaces,
    which is not ASCII, each character is one. Of a text the first 20,000 words are compared.
    """
    seen: set[str] = set()
    before: list[Grams] = []
    found: list[bool] = []
    for text in texts:
        folded = " ".join(text.casefold().split())
        is_repeated = folded in seen
        seen.add(folded)
        grams = set[tuple[str, ...]]() if is_repeated else _grams(folded)
        if grams:
            is_repeated = any(_are_near(grams, other) for other in before)
            before.append(grams)
        found.append(is_repeated)
    return found


def _grams(folded: str) -> Grams:
    """The runs of 5 words of a text that is long enough to have near ones; else none."""
    words: Sequence[str] = folded.split(" ", MOST)[:MOST]
    if not folded.isascii() and len(folded) > UNSPACED * len(words):
        words = folded[:MOST]
    if len(words) < LONG:
        return set()
    return set(zip(*(words[start:] for start in range(SIZE)), strict=False))


def _are_near(one: Grams, other: Grams) -> bool:
    fewer, more = sorted((len(one), len(other)))
    if fewer < NEAR * more:
        return False
    both = len(one & other)
    return both >= NEAR * (fewer + more - both)


def shape(text: str) -> str:
    """The text without its numbers: what kind of work it is. `34 * 12 = 408.` is `0 * 0 = 0.`"""
    return _NUMBER.sub("0", text)


def strategies(texts: Sequence[str]) -> int:
    """How many kinds of work there are among answers to one problem, by their shapes.

    Two answers are of one kind where their shapes repeat each other in the sense of `repeats`:
    `#408` and `<2860+10430=8040#408` are two. It is a rule about text. The same plan in other
    words counts as another kind, numbers in words are no numbers, and two plans in the same words
    with other numbers count as one.
    """
    shapes = [shape(text) for text in texts]
    return len(shapes) - near_duplicates(shapes)

"""Which texts nearly repeat one another, and how many kinds of work there are among them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

SIZE = 5  # words of a gram
NEAR = 0.9  # of all grams of two texts that both must have
LONG = SIZE + 9  # words from which a text can be near another without having the same grams
MOST = 20_000  # words of a text that are compared
UNSPACED = 20  # characters a word, from which a text outside ASCII is one without spaces
COLUMNS = 4096  # runs of words that are counted at once
FACTOR = np.int64(0x1E37_79B9_7F4A_7C15)  # of the polynomial that makes a run one number
TINY = 1e-3  # less than any share of a run, and more than rounding

_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")


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
    folded = [" ".join(text.casefold().split()) for text in texts]
    first: dict[str, int] = {}
    found = [first.setdefault(text, place) < place for place, text in enumerate(folded)]
    words = {place: _words(folded[place]) for place in first.values()}
    long = [place for place, of in words.items() if len(of) >= LONG]
    if len(long) > 1:
        for place, is_near in zip(long, _near([words[place] for place in long]), strict=True):
            found[place] = found[place] or bool(is_near)
    return found


def _words(folded: str) -> Sequence[str]:
    words = folded.split(" ", MOST)[:MOST]
    is_unspaced = not folded.isascii() and len(folded) > UNSPACED * len(words)
    return folded[:MOST] if is_unspaced else words


def _near(texts: Sequence[Sequence[str]]) -> NDArray[np.bool_]:
    """[texts] whether each has an earlier one near it. Each has at least 5 words."""
    owner, starts = _grams(texts)
    sizes = np.bincount(owner, minlength=len(texts))
    column = np.cumsum(starts) - 1
    kept = (np.bincount(column) > 1)[column]  # most runs of words stand in one text alone
    owner, starts = owner[kept], starts[kept]
    column = np.cumsum(starts) - 1
    both = np.zeros((len(texts), len(texts)), np.float32)
    for start in range(0, int(starts.sum()), COLUMNS):
        first, last = np.searchsorted(column, (start, start + COLUMNS))
        has = np.zeros((len(texts), column[last - 1] - start + 1), np.float32)
        has[owner[first:last], column[first:last] - start] = 1
        both += has @ has.T
    either = sizes[:, None] + sizes[None, :] - both
    near: NDArray[np.bool_] = np.tril(both >= NEAR * either - TINY, -1)
    return np.any(near, axis=1)


def _grams(texts: Sequence[Sequence[str]]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """The distinct runs of 5 words of each text, sorted by run.

    As the place of the text that has it, and whether it is another run than the one before. A run
    is a number of 64 bits here.
    """
    lengths = [len(text) for text in texts]
    word = np.fromiter(map(hash, chain.from_iterable(texts)), np.int64, sum(lengths))
    gram = word[: 1 - SIZE].copy()
    for start in range(1, SIZE):
        gram *= FACTOR
        gram += word[start : start + gram.size]
    owner = np.repeat(np.arange(len(texts)), lengths)
    whole = owner[: gram.size] == owner[SIZE - 1 :]  # not across two texts
    owner, gram = owner[: gram.size][whole], gram[whole]
    order = np.argsort(gram, kind="stable")
    owner, gram = owner[order], gram[order]
    starts = np.concatenate([[True], gram[1:] != gram[:-1]])
    distinct = starts.copy()
    distinct[1:] |= owner[1:] != owner[:-1]
    return owner[distinct], starts[distinct]


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

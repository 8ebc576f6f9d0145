"""The tokens of an answer as markup: one element a token, with the colours of all measures."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from evenodds.report.text import safe
from evenodds.viewer.tokens import TokenNumbers

FIRST, LAST = 400, 200  # tokens of a long answer that are shown
SPACES = re.compile(r"[ \t\n]")
SHOWN = {" ": "<i> </i>", "\t": "<b>→</b>\t", "\n": "<b>⏎</b>\n"}
COLUMNS = ("logprob", "learner", "log_ratio", "last_ratio", "entropy", "kl", "clipped", "weight")


@dataclass(frozen=True)
class Marked:
    """The tokens of one answer. first, last: elements, one a token; between: how many are left
    out, and hidden: their text. numbers: JSON, a list for each of `COLUMNS` that was measured, of
    the tokens shown."""

    first: Markup
    last: Markup
    between: int
    hidden: str
    numbers: str


def marked(
    texts: Sequence[str], classes: Sequence[str], numbers: TokenNumbers, whole: bool
) -> Marked:
    """The markup of an answer; all of it where it is `whole`, else its beginning and its end."""
    size = len(texts)
    cut = FIRST if not whole and size > FIRST + LAST else size
    back = size - LAST if cut < size else size
    return Marked(
        first=_spans(texts[:cut], classes[:cut]),
        last=_spans(texts[back:], classes[back:]),
        between=back - cut,
        hidden=safe("".join(texts[cut:back])),
        numbers=_numbers(numbers, [*range(cut), *range(back, size)]),
    )


def _spans(texts: Sequence[str], classes: Sequence[str]) -> Markup:
    pairs = zip(texts, classes, strict=True)
    return Markup("".join(f'<span class="{names}">{_shown(text)}</span>' for text, names in pairs))


def _shown(text: str) -> str:
    """The text of a token, safe, with its blanks made visible; a token without any has a sign."""
    return SPACES.sub(lambda found: SHOWN[found[0]], escape(safe(text))) or "<b>∅</b>"


def _numbers(numbers: TokenNumbers, kept: Sequence[int]) -> str:
    found = {name: getattr(numbers, name) for name in COLUMNS}
    lists = {name: values[kept] for name, values in found.items() if values is not None}
    return "{" + ",".join(f'"{name}":[{_list(values)}]' for name, values in lists.items()) + "}"


def _list(values: NDArray[np.float64]) -> str:
    """Numbers as JSON has them, null where one is not finite."""
    return ",".join(_number(value) for value in _floats(values))


def _floats(values: NDArray[np.float64]) -> Iterable[float]:
    return values.tolist()


def _number(value: float) -> str:
    return f"{value:.5g}" if abs(value) < 1e300 else "null"

"""The tokens of an answer as markup: one element a token, with the colours of all measures."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from evenodds.report.text import one_line, safe
from evenodds.viewer.scales import exp, number
from evenodds.viewer.tokens import TokenNumbers

FIRST, LAST = 400, 200  # tokens of a long answer that are shown
SPACES = re.compile(r"[ \t\n]")
SHOWN = {" ": "<i> </i>", "\t": "<b>→</b>\t", "\n": "<b>⏎</b>\n"}
COLUMNS = ("logprob", "learner", "log_ratio", "last_ratio", "entropy", "kl", "clipped", "weight")
TITLES = (
    "log-prob",
    "learner",
    "ratio",
    "last ratio",
    "entropy",
    "log π/ref",
    "gradient",
    "weight",
)
ROWS = 2000  # tokens of the table at most


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
    return Markup("".join(f"<span{_class(names)}>{_shown(text)}</span>" for text, names in pairs))


def _class(names: str) -> str:
    return f' class="{names}"' if names else ""


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


@dataclass(frozen=True)
class Table:
    """The numbers of an answer, a row a token; more: rows that are left out."""

    names: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    more: int


def table_of(texts: Sequence[str], numbers: TokenNumbers) -> Table:
    found = [
        (name, title, getattr(numbers, name)) for name, title in zip(COLUMNS, TITLES, strict=True)
    ]
    known = [(name, title, values) for name, title, values in found if values is not None]
    rows = tuple(
        (str(place + 1), one_line(text), *(_cell(name, float(v[place])) for name, _, v in known))
        for place, text in enumerate(texts[:ROWS])
    )
    titles = ("", "token", *(title for _, title, _ in known))
    return Table(titles, rows, max(0, len(texts) - ROWS))


def _cell(name: str, value: float) -> str:
    if not math.isfinite(value):
        return "–"
    if name == "clipped":
        return "cut" if value else "whole"
    return number(exp(value) if name.endswith("ratio") else value)

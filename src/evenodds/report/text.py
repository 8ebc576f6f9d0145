"""Text of a model or a user made safe to look at, and numbers made short enough to read."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from evenodds.domain import NOT_JUDGED, Status

KEPT = frozenset("\n\t\u200c\u200d")  # the two joiners are letters' business, not the display's
HIDDEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
BARS = "▁▂▃▄▅▆▇█"


def safe(text: str) -> str:
    """The text with everything that could steer a terminal or reorder a line made visible.

    Control characters become their pictures (ESC is `␛`), and format characters, which include
    the bidirectional controls and lone surrogates, their numbers (`⟨U+202E⟩`). Newline and tab
    stay. Escaping for HTML is a step of its own, after this one.
    """
    return "".join(char if char in KEPT else _visible(char) for char in text)


def one_line(text: str, limit: int = 10_000) -> str:
    """Safe text on a single line of at most `limit` characters; a newline shows as `⏎`."""
    return shortened(safe(text).replace("\n", "⏎").replace("\t", " "), limit)


def shortened(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: max(0, limit - 1)] + "…"


def _visible(char: str) -> str:
    if unicodedata.category(char) not in HIDDEN:
        return char
    code = ord(char)
    if code < 0x20:
        return chr(0x2400 + code)
    return "␡" if code == 0x7F else f"⟨U+{code:04X}⟩"


def short(value: float) -> str:
    """About three digits: 0.0123, 1.5, 12.3, 456, 12,345; beyond 10^12 as 1.0e+12."""
    if not math.isfinite(value):
        return "–"
    size = abs(value)
    if size >= 1e12:
        return f"{value:.1e}"
    if size >= 1000:
        return f"{value:,.0f}"
    if size >= 100 or value == int(value):
        return f"{value:.0f}"
    if size >= 10:
        return f"{value:.1f}"
    return f"{value:.3g}" if size >= 1e-4 else f"{value:.1e}"


def p_words(value: float) -> str:
    """`p = .0123`, or `p < .0001`; a dash where nothing was compared."""
    if math.isnan(value):
        return "-"
    return "p < .0001" if value < 1e-4 else f"p = {value:.4f}".replace("0.", ".")


SIGNS = {"right": "✓", "wrong": "✗", "unjudged": "?"}
"""What `mark_of` says, for readers who see no colours."""


def mark_of(status: str) -> str:
    """`right`, `wrong` or `unjudged`: what a verdict's status comes to."""
    if status in NOT_JUDGED:
        return "unjudged"
    return "right" if status == Status.RIGHT else "wrong"


def level_name(levels: Sequence[str], number: int) -> str:
    """The label of a level, not made safe yet; `level 3` where it has none."""
    return levels[number] if 0 <= number < len(levels) else f"level {number}"


def tail(text: str, most: int) -> str:
    """The end of a prompt, where the question stands; worked examples come before it."""
    return text if len(text) <= most else "…" + text[-most:]


def counted(count: Any, name: str) -> str:
    """`1 thread`, `1,200 threads`; anything but a whole number as it is."""
    shown = f"{count:,}" if isinstance(count, int) else str(count)
    return f"{shown} {name}" if count == 1 else f"{shown} {name}s"


def duration(seconds: float) -> str:
    """`8 s`, `1:47`, `2:03:10`."""
    if not math.isfinite(seconds):
        return "–"
    whole = max(0, round(seconds))
    minutes, rest = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours}:{minutes:02d}:{rest:02d}"
    return f"{minutes}:{rest:02d}" if minutes else f"{rest} s"


def listed(names: Sequence[str]) -> str:
    """`a, b and c`."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def sparkline(
    values: Sequence[float], width: int, low: float | None = None, high: float | None = None
) -> str:
    """A line of bars, the newest value at its right end; the whole history is squeezed into it."""
    known = [value for value in values if math.isfinite(value)]
    if not known or width < 1:
        return ""
    count = min(width, len(known))
    edges = [round(index * len(known) / count) for index in range(count + 1)]
    means = [sum(known[start:end]) / (end - start) for start, end in pairwise(edges)]
    floor = min(means) if low is None else low
    span = (max(means) if high is None else high) - floor
    return "".join(bar((mean - floor) / span if span > 0 else 0.5) for mean in means)


def bar(share: float) -> str:
    """A bar as high as a share in [0, 1]; others are cut."""
    top = len(BARS) - 1
    return BARS[min(top, max(0, round(share * top)))]

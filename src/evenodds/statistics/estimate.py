"""A mean with the two ends of its interval, and how shares are written."""

from __future__ import annotations

import math
from dataclasses import dataclass


def percent(share: float | None, digits: int = 0) -> str:
    """`57 %`, or with digits `57.1 %`; a dash where nothing was measured."""
    return "–" if share is None or math.isnan(share) else f"{100 * share:.{digits}f} %"


@dataclass(frozen=True)
class Estimate:
    """A mean with the two ends of its interval, all in the unit of the mean (shares, mostly).

    The mean is NaN where there was nothing to measure; the interval is then all that is possible.
    """

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        """A share in percent, with its interval: `57.1 % [52.0, 62.0]`."""
        interval = f"[{100 * self.low:.1f}, {100 * self.high:.1f}]"
        head = "unknown" if math.isnan(self.mean) else percent(self.mean, 1)
        return f"{head} {interval}"

    def points(self, unit: str = " points") -> str:
        """A difference of shares in percentage points: `+12.3 points [+8.0, +16.1]`."""
        interval = f"[{100 * self.low:+.1f}, {100 * self.high:+.1f}]"
        head = "unknown" if math.isnan(self.mean) else f"{100 * self.mean:+.1f}{unit}"
        return f"{head} {interval}"

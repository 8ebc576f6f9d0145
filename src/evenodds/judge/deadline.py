"""How long a call may take, and when a judge stops trying: the rule of docs/judge.md."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

GRACE = 4  # time-outs of one round that each get the whole deadline (or one a worker, if more)
SHARE = 20  # afterwards the deadline is this part of it at the least,
LEAST = 0.1  # or this many seconds,
MARGIN = 4  # or this many times the slowest verdict that came back in time
SPENT = 12  # deadlines that the workers of one round may lose to time-outs, each
RECENT = 512  # verdicts among which the slowest is looked for


@dataclass
class Pace:
    """How fast verdicts came back, over the life of a judge. first: of a fresh process."""

    first: float = 0.0
    recent: deque[float] = field(default_factory=lambda: deque(maxlen=RECENT))
    mean: float = 0.0

    def note(self, seconds: float, is_first: bool) -> None:
        if is_first:
            self.first = max(self.first, seconds)
            return
        self.recent.append(seconds)
        self.mean += 0.1 * (seconds - self.mean)


@dataclass
class Patience:
    """The deadline within one round of calls.

    The first time-outs cost the whole of `seconds`. After `GRACE` of them the round has answers
    that hang, and the deadline falls to a twentieth, but never below four times the slowest
    verdict that lately came back: honest slow answers keep their time. A fresh process may have
    to import something in its first call, so there the slowest first call counts as well. Once
    the workers have lost twelve deadlines each, what is left of the round is not tried.
    """

    seconds: float
    workers: int
    pace: Pace
    timeouts: int = 0
    lost: float = 0.0

    def deadline(self, is_first: bool) -> float:
        """Seconds for a call that begins now."""
        if self.timeouts < max(GRACE, self.workers):
            return self.seconds
        slowest = max(self.pace.recent, default=0.0)
        if is_first:
            slowest = max(slowest, self.pace.first)
        return min(self.seconds, max(self.seconds / SHARE, LEAST, MARGIN * slowest))

    def ran_out(self, seconds: float) -> None:
        self.timeouts += 1
        self.lost += seconds

    @property
    def is_spent(self) -> bool:
        return self.lost >= SPENT * self.seconds * self.workers

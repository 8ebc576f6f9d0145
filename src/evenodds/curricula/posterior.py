"""What is known of the solve rate of a level: a Beta posterior that forgets."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from evenodds.domain import Group

HALF_LIFE = 32.0  # groups of a level: about one batch, for a learner that moves
CELLS = 8192


@dataclass(frozen=True)
class Posterior:
    """Beta(1 + right, 1 + wrong) of a level's solve rate; both are discounted numbers of groups.

    A group counts as one observation, split by its share of right answers: answers to one problem
    resemble each other, so counting each of them would make the interval too narrow.
    """

    right: float = 0.0
    wrong: float = 0.0

    @property
    def mean(self) -> float:
        return (1 + self.right) / (2 + self.right + self.wrong)

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """The central credible interval, from the density on a grid: to about 1e-4."""
        x = (np.arange(CELLS) + 0.5) / CELLS
        log_density = self.right * np.log(x) + self.wrong * np.log1p(-x)
        mass = np.concatenate([[0.0], np.cumsum(np.exp(log_density - log_density.max()))])
        tails = [(1 - confidence) / 2, (1 + confidence) / 2]
        low, high = np.interp(tails, mass / mass[-1], np.linspace(0, 1, CELLS + 1))
        return float(low), float(high)

    def observe(self, shares: Sequence[float], half_life: float = HALF_LIFE) -> Posterior:
        """After new groups with these shares of right answers; their order does not matter.

        What was known before weighs half as much after `half_life` new groups of the level.
        """
        keep = 0.5 ** (len(shares) / half_life)
        right = float(np.sum(shares))
        return Posterior(self.right * keep + right, self.wrong * keep + len(shares) - right)


Shares = Sequence[tuple[int, float]]  # (level, share of judged answers that are right) a group


def judged_shares(groups: Sequence[Group]) -> Shares:
    """Level and share of each group with any judged answer. The status counts, not the reward."""
    return [
        (group.problem.level, group.right / int(group.judged.sum()))
        for group in groups
        if group.judged.any()
    ]


def mean_share(shares: Shares) -> float | None:
    """The solve rate: every group counts alike. None where there is no group."""
    return float(np.mean([share for _, share in shares])) if shares else None


@dataclass(frozen=True)
class Record:
    """What a curriculum has seen: solve rate of the last batch that had one, posteriors by level.

    A level that was never observed has no posterior: nothing is claimed of it.
    """

    solve_rate: float | None = None
    posteriors: Mapping[int, Posterior] = field(default_factory=dict)

    def observe(self, shares: Shares, half_life: float) -> Record:
        """After a batch. What was not in it keeps what was last known of it."""
        by_level: defaultdict[int, list[float]] = defaultdict(list)
        for level, share in shares:
            by_level[level].append(share)
        rate = mean_share(shares) if shares else self.solve_rate
        fresh = {
            level: self.posteriors.get(level, Posterior()).observe(new, half_life)
            for level, new in by_level.items()
        }
        return Record(rate, dict(sorted({**self.posteriors, **fresh}.items())))

    def metrics(self, labels: Sequence[str]) -> dict[str, float]:
        """`solve_rate` once there is one, `solve_rate/LABEL` for each observed level."""
        last = {} if self.solve_rate is None else {"solve_rate": self.solve_rate}
        return last | {f"solve_rate/{labels[i]}": p.mean for i, p in self.posteriors.items()}

    def to_dict(self, labels: Sequence[str]) -> dict[str, Any]:
        """Posteriors as `{label: [right, wrong]}`."""
        posteriors = {labels[i]: [p.right, p.wrong] for i, p in self.posteriors.items()}
        return {"solve_rate": self.solve_rate, "posteriors": posteriors}

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any], labels: Sequence[str]) -> Record:
        """The inverse of `to_dict`. Raises ValueError for a label that is no level."""
        posteriors = {labels.index(i): Posterior(*pair) for i, pair in saved["posteriors"].items()}
        return cls(saved["solve_rate"], posteriors)

"""A row of the oracle: what an objective is said to do somewhere, and whether it does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from evenodds.lab.oracle.estimate import Moments, estimate
from evenodds.lab.oracle.tree import Array
from evenodds.lab.oracle.world import World
from evenodds.objectives import RECIPES, Objective

TOLERANCE = 1e-9
"""Largest deviation that float64 explains, as a share of the largest entry of the gradient."""

NO_FORM = "–"
"""The verdict where no closed form says what the gradient must be."""

ENOUGH = 0.1
"""Share of the tokens that must be clipped on each side, off-policy."""


@dataclass(frozen=True)
class Case:
    """One claim.

    recipe, changes: the objective. sizes: answers to each problem of the batch. aim: [P] the
    gradient that one would want, in the objective's own unit (1 / L, or 1 / mean length). expected:
    [P] the closed form. says: the documented bias. factor: where it is a plain factor on `aim`.
    clipped: documented shares of tokens clipped with A < 0, and with A > 0. both_sides: whether
    each must be `ENOUGH`. cells: budget of a micro-batch.
    own: the objective itself, in the place of recipe and changes, where no closed form is known;
    `expected` is then NaN.
    """

    name: str
    recipe: str
    world: World
    sizes: tuple[int, ...]
    aim: Array
    expected: Array
    says: str
    changes: Mapping[str, Any] = field(default_factory=dict[str, Any])
    factor: float | None = None
    clipped: tuple[float, float] | None = None
    both_sides: bool = False
    cells: int = 1_000_000
    section: str = "recipes"
    own: Objective | None = None

    @property
    def objective(self) -> Objective:
        if self.own is not None:
            return self.own
        return replace(RECIPES[self.recipe], **self.changes)


@dataclass(frozen=True)
class Row:
    """What was found. Gradients by their length; spread is the std over the aim's length.

    angle: degrees between the expected estimator and the aim. ratio: projection on the aim, of the
    aim. deviation: from the closed form, as a share. failures: empty where all is as documented.
    """

    case: Case
    aim: float
    length: float
    angle: float
    ratio: float
    spread: float
    clipped: tuple[float, float]
    deviation: float
    failures: tuple[str, ...]

    @property
    def is_ok(self) -> bool:
        return not self.failures

    @property
    def vanished(self) -> bool:
        """Whether nothing is left of the gradient but rounding."""
        return self.length < 1e-9 * self.aim

    @property
    def verdict(self) -> str:
        if self.failures:
            return "FAILS"
        return "ok" if self.case.own is None else NO_FORM


def _angle(one: Array, other: Array) -> float:
    """Degrees; by the half-angle, which stays exact where the two are parallel."""
    sizes = np.linalg.norm(one), np.linalg.norm(other)
    if min(sizes) < 1e-12:
        return float("nan")
    u, v = one / sizes[0], other / sizes[1]
    return float(np.degrees(2 * np.arctan2(np.linalg.norm(u - v), np.linalg.norm(u + v))))


def _apart(one: Array, other: Array, scale: float) -> float:
    return float(np.abs(one - other).max()) / scale


def _failures(case: Case, moments: Moments, deviation: float, scale: float) -> list[str]:
    found: list[str] = []
    if not deviation <= TOLERANCE:  # also where it is NaN
        found.append(f"the gradient is off its closed form by {deviation:.1e}")
    if case.factor is not None:
        away = _apart(case.expected, case.factor * case.aim, scale)
        if not away <= TOLERANCE:
            found.append(f"the closed form is not {case.factor:.4g} of the aim, by {away:.1e}")
    shares = (moments.clipped_low, moments.clipped_high)
    if case.clipped is not None:
        away = max(abs(a - b) for a, b in zip(shares, case.clipped, strict=True))
        if not away <= TOLERANCE:
            found.append(f"clip shares are off by {away:.1e}")
    if case.both_sides and not min(shares) >= ENOUGH:
        found.append(f"only {min(shares):.1%} of the tokens are clipped on one side")
    return found


def check(case: Case) -> Row:
    """Take the expectation over all groups, and hold it against what is documented."""
    moments = estimate(case.world, case.objective, case.sizes, case.cells)
    scale = max(float(np.abs(case.expected).max()), 1e-3 * float(np.abs(case.aim).max()), 1e-12)
    deviation = _apart(moments.mean, case.expected, scale)
    return row_of(case, moments, deviation, _failures(case, moments, deviation, scale))


def row_of(case: Case, moments: Moments, deviation: float, failures: list[str]) -> Row:
    """What was found, in the terms of the table."""
    aim, length = float(np.linalg.norm(case.aim)), float(np.linalg.norm(moments.mean))
    return Row(
        case,
        aim,
        length,
        _angle(moments.mean, case.aim),
        float(moments.mean @ case.aim) / aim**2,
        moments.std / aim,
        (moments.clipped_low, moments.clipped_high),
        deviation,
        tuple(failures),
    )

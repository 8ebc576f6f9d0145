"""How far a two-sided interval reaches where the standard error itself is estimated."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from evenodds.statistics.checks import Values, require_confidence

POINTS = 4001  # of the integral: five digits


def student_quantile(freedom: Values, confidence: float = 0.95) -> Values:
    """The two-sided quantile of Student's t, elementwise; degrees of freedom >= 1, whole or not.

    With t = sqrt(n) tan(angle) the density of the angle is cos(angle)^(n-1), up to a constant: a
    smooth integral over a short range, added up along a grid and looked up.
    """
    require_confidence(confidence)
    flat = np.maximum(1.0, np.asarray(freedom, dtype=np.float64)).ravel()
    found = np.array([_quantile(round(float(n), 2), confidence) for n in flat])
    return found.reshape(np.shape(freedom))


@lru_cache(4096)
def _quantile(freedom: float, confidence: float) -> float:
    far = min(math.pi / 2, 12 / math.sqrt(freedom))  # beyond 12 is nothing where this is cut
    angles = np.linspace(0.0, far, POINTS)
    density = np.cos(angles) ** (freedom - 1)
    below = np.concatenate([[0.0], np.cumsum(density[1:] + density[:-1])])
    angle = float(np.interp(confidence * below[-1], below, angles))
    return math.sqrt(freedom) * math.tan(angle)

"""How hard an objective pushes on a token, by how much likelier it has become."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray

from evenodds.domain import Extent
from evenodds.objectives import Objective, Tokens
from evenodds.report.explain import Curve, Force, Span, Turn

Values = NDArray[np.float64]

OLD = -5.0  # of the tokens that are tried: their log-probability stays below 0 up to FARTHEST
FARTHEST = 100.0  # ratios are tried up to here, and down to one part of it
NEAREST = 1e-6  # the first log ratio beside 0: a clip range may be as narrow as 0.0003
STEPS = 300  # on each side of ratio 1
USUAL = (0.5, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.3, 1.5, 2.0, 3.0)
LEAST, POINTS = 0.02, 120  # of the line that is drawn
SLOW = 5.0  # a push that only fades is also shown here
NARROW = 0.05  # where every edge lies this near to 1, the usual ratios would all be beyond
FADED = 1e-6  # of the strongest push
SILENT = 1e-12  # a push below this has no sign
ZOOM = (-3.0, -2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 3.0)


def pushes(
    objective: Objective, log_ratios: Values, advantage: float
) -> tuple[Values, NDArray[np.bool_]]:
    """[n] d value / d log pi of one token with this log ratio, and whether a clip is active there.

    Each token is an answer of its own, so a ratio over the answer is its own ratio too.
    """
    n = len(log_ratios)
    old = torch.full((n,), OLD, dtype=torch.float64)
    logprobs = (old + torch.from_numpy(log_ratios)).requires_grad_()
    ones = torch.ones(n, dtype=torch.int64)
    tokens = Tokens(logprobs, old, torch.full_like(old, advantage), torch.arange(n), ones, old, old)
    value = objective.value(objective.log_ratio(tokens), tokens).sum()
    (push,) = torch.autograd.grad(value, logprobs)
    clipped = objective.score(tokens, Extent(n, n, 1)).clipped
    return push.detach().numpy().astype(np.float64), clipped.numpy()


def curves_of(objective: Objective) -> tuple[Curve, Curve]:
    """The push at every ratio for A = +1 and A = -1, shown at the same ratios."""
    up, down = _spans_of(objective, 1.0), _spans_of(objective, -1.0)
    edges = [span.low for spans in (up, down) for span in spans[1:]]
    ratios = _shown(edges) if edges else np.array([*USUAL, SLOW])
    return _curve(objective, 1.0, up, ratios), _curve(objective, -1.0, down, ratios)


def _grid() -> Values:
    """Log ratios from a hundredth to a hundredfold, closest around 0, which is the middle one."""
    side = np.geomspace(NEAREST, math.log(FARTHEST), STEPS)
    return np.concatenate([-side[::-1], [0.0], side])


def _curve(objective: Objective, advantage: float, spans: list[Span], ratios: Values) -> Curve:
    grid = _grid()
    push, _ = pushes(objective, grid, advantage)
    shown, _ = pushes(objective, np.log(ratios), advantage)
    points = _drawn(ratios, [span.low for span in spans[1:]])
    drawn, _ = pushes(objective, np.log(points), advantage)
    at_one = float(push[STEPS])
    peak, half = _fading(grid, np.abs(push))
    return Curve(
        advantage=advantage,
        ratios=tuple(float(ratio) for ratio in ratios),
        pushes=_known(shown),
        line=tuple(zip(points.tolist(), _known(drawn), strict=True)),
        spans=tuple(spans),
        at_one=at_one if math.isfinite(at_one) else None,
        is_proportional=bool(np.allclose(push, at_one * np.exp(grid), rtol=1e-6, atol=0)),
        peak=peak,
        half=half,
        turns=_turns(objective, advantage, grid, push),
    )


def _turns(objective: Objective, advantage: float, grid: Values, push: Values) -> tuple[Turn, ...]:
    """Where the push changes its sign; where it is cut it has none."""
    signs = np.where(np.abs(push) > SILENT, np.sign(push), 0)  # NaN: 0
    places = np.flatnonzero(signs)
    found: list[Turn] = []
    for before, after in pairwise(places):
        if signs[before] != signs[after]:
            low, high = float(grid[before]), float(grid[after])
            for _ in range(6):
                points = np.linspace(low, high, 101)
                there, _ = pushes(objective, points, advantage)
                first = int(np.argmax(np.sign(there) == signs[after]))
                low, high = float(points[max(0, first - 1)]), float(points[first])
            ratio = float(f"{math.exp(high):.6g}")
            found.append(Turn(ratio, bool(signs[after] * advantage < 0)))
    return tuple(found)


def _known(values: Values) -> tuple[float | None, ...]:
    return tuple(value if math.isfinite(value) else None for value in values.tolist())


def _drawn(ratios: Values, edges: Sequence[float]) -> Values:
    """Ratios over the printed range, from near 0 where it is the usual one, and at each edge."""
    low, high = float(ratios[0]), float(ratios[-1])
    even = np.linspace(LEAST if low == USUAL[0] else low, high, POINTS)
    beside = [edge * (1 + step) for edge in edges for step in (-NEAREST, NEAREST)]
    return np.array(sorted([*even.tolist(), *(x for x in beside if even[0] < x < high)]))


def _forces(push: Values, clipped: NDArray[np.bool_]) -> list[Force]:
    rows = zip(push.tolist(), clipped.tolist(), strict=True)
    return ["full" if not active else "cut" if value == 0 else "capped" for value, active in rows]


def _spans_of(objective: Objective, advantage: float) -> list[Span]:
    """Runs of one force, with the ratio at which each begins."""

    def forces_at(log_ratios: Values) -> list[Force]:
        return _forces(*pushes(objective, log_ratios, advantage))

    grid = _grid()
    push, clipped = pushes(objective, grid, advantage)
    forces = _unfaded(_forces(push, clipped), np.abs(push))
    starts: list[float] = [0.0]
    kinds: list[Force] = [forces[0]]
    for place in range(1, len(grid)):
        if forces[place] != kinds[-1]:
            starts.append(_edge(grid[place - 1], grid[place], kinds[-1], forces_at))
            kinds.append(forces[place])
    ends = [*starts[1:], None]
    return [Span(*row) for row in zip(starts, ends, kinds, strict=True)]


def _unfaded(forces: list[Force], strength: Values) -> list[Force]:
    """A push that fades until float64 holds none of it was not cut: at a cut it falls at once."""
    result, least = list(forces), FADED * float(np.nanmax(strength, initial=0.0))
    for step in (1, -1):
        order = range(len(forces))[::step]
        for before, place in pairwise(order):
            if result[before] == "full" and result[place] == "cut" and strength[before] <= least:
                result[place] = "full"
    return result


def _edge(
    low: float, high: float, before: Force, forces_at: Callable[[Values], list[Force]]
) -> float:
    """The ratio between two log ratios at which the force is no longer `before`."""
    for _ in range(6):
        points = np.linspace(low, high, 101)
        first = next(
            i for i, force in enumerate([*forces_at(points)[:-1], None]) if force != before
        )
        low, high = float(points[max(0, first - 1)]), float(points[first])
    return float(f"{math.exp(high):.6g}")


def _shown(edges: Sequence[float]) -> Values:
    """Ratios worth printing: the usual ones, closer to 1 for a narrow clip, farther for a cap."""
    width = max((abs(edge - 1) for edge in edges), default=1.0)
    if NEAREST < width < NARROW:
        return np.array([1 + width * step for step in ZOOM])
    far = {value for edge in edges if edge > max(USUAL) for value in (edge, 1.4 * edge)}
    return np.array([*USUAL, *sorted(far)[:4]])


def _fading(grid: Values, strength: Values) -> tuple[float | None, float | None]:
    """The ratio of the strongest push, and that beyond it where half of it is left."""
    top = int(np.nanargmax(strength)) if np.isfinite(strength).any() else len(grid) - 1
    if top == len(grid) - 1 or strength[-1] >= strength[top] * (1 - FADED):
        return None, None
    weak = np.flatnonzero(strength[top:] < strength[top] / 2)
    half = float(np.exp(grid[top + weak[0]])) if weak.size else None
    return float(np.exp(grid[top])), half

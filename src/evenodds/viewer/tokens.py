"""The numbers of every token of a group: what was recorded, and what an objective makes of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenodds.records.values import Answer, RecordedGroup
from evenodds.viewer.gradient import Push, Pushes
from evenodds.viewer.scales import MEASURES, Legend, Scale, joined, legend_of, scale_of

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class TokenNumbers:
    """The tokens of one answer, each field [tokens] or None where it was not measured.

    logprob: of the sampler, nats. learner: of the policy before the update. log_ratio: learner's
    less sampler's, in the first pass; last_ratio: in the last of several. entropy: nats, of the
    distribution that the token was drawn from. kl: learner's less the reference's. clipped: the
    gradient is cut (1) or not (0); weight: d J / d log pi; both of the chosen objective and pass.
    """

    logprob: Floats
    learner: Floats | None = None
    log_ratio: Floats | None = None
    last_ratio: Floats | None = None
    entropy: Floats | None = None
    kl: Floats | None = None
    clipped: Floats | None = None
    weight: Floats | None = None

    def of(self, measure: str, turn: str = "first") -> Floats | None:
        """The values of a measure of `scales.MEASURES`. Ratios are those of that pass."""
        if measure == "ratio":
            is_later = turn == "last" and self.last_ratio is not None
            return self.last_ratio if is_later else self.log_ratio
        found: Floats | None = getattr(self, {"clip": "clipped"}.get(measure, measure))
        return found


def numbers_of(answer: Answer, push: Push | None) -> TokenNumbers:
    """The numbers of an answer. push: what the chosen objective does with it; None: nothing."""
    rollout = answer.rollout
    size = rollout.ids.size
    old = _fitting(rollout.logprobs, size)
    learned, last = _fitting(answer.learned, size), _fitting(answer.last, size)
    reference = _fitting(rollout.reference_logprobs, size)
    now = old if learned is None else learned
    return TokenNumbers(
        logprob=np.full(size, np.nan) if old is None else old,
        learner=learned,
        log_ratio=_less(learned, old),
        last_ratio=_less(last, old),
        entropy=_fitting(answer.entropy, size),
        kl=_less(now, reference),
        clipped=None if push is None else push.clipped.astype(np.float64),
        weight=None if push is None else push.weight,
    )


def _fitting(values: NDArray[np.floating] | None, size: int) -> Floats | None:
    """The values in float64, if there is one for each token."""
    if values is None or values.size != size:
        return None
    with np.errstate(invalid="ignore"):  # a damaged file may hold what is no number
        return values.astype(np.float64)


def _less(values: Floats | None, others: Floats | None) -> Floats | None:
    if values is None or others is None:
        return None
    with np.errstate(all="ignore"):
        return values - others


@dataclass(frozen=True)
class Coloured:
    """The tokens of a group with their colours. classes: [answers][tokens] of all measures, those
    without a colour left out."""

    numbers: tuple[TokenNumbers, ...]
    classes: tuple[tuple[str, ...], ...]
    legends: tuple[Legend, ...]


def coloured(group: RecordedGroup, pushes: Pushes | None, turn: str) -> Coloured:
    """Every token of the group in every measure. pushes: None where no objective could be read."""
    by_place: Mapping[tuple[int, int], Push] = {} if pushes is None else pushes.by_place
    numbers = tuple(
        numbers_of(answer, by_place.get((group.number, place)))
        for place, answer in enumerate(group.answers)
    )
    scales: list[Scale] = []
    legends: list[Legend] = []
    for measure in MEASURES:
        values = joined([answer.of(measure.name, turn) for answer in numbers])
        scales.append(scale_of(measure, values))
        legends.append(legend_of(scales[-1], values))
    return Coloured(numbers, tuple(_classes(a, scales, turn) for a in numbers), tuple(legends))


def _classes(answer: TokenNumbers, scales: Sequence[Scale], turn: str) -> tuple[str, ...]:
    columns: list[list[str]] = []
    for scale in scales:
        values = answer.of(scale.measure.name, turn)
        if values is not None:
            pale = scale.pale
            columns.append(["" if name == pale else name for name in scale.classes(values)])
    return tuple(" ".join(filter(None, row)) for row in zip(*columns, strict=True))

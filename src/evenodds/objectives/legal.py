"""Choices that cannot go together, each with its reason."""

from __future__ import annotations

from collections.abc import Iterator
from typing import get_args

import numpy as np

from evenodds.credit import mean_normalized
from evenodds.errors import UsageError, unknown
from evenodds.objectives.objective import Objective, ZeroSignal
from evenodds.objectives.ratio import sequence
from evenodds.objectives.reduce import per_sequence


def require_legal(objective: Objective) -> None:
    """Raise `UsageError` for the first contradiction."""
    for reason in (*_ratio(objective), *_kl(objective), *_groups(objective)):
        raise UsageError(reason)


def require_sound(objective: Objective) -> None:
    """Raise `UsageError` for a value that no setting may have, as an `Objective` by hand can."""
    correction, kl = objective.correction, objective.kl_loss
    numbers = {
        "kl_reward": (objective.kl_reward, 1e3),
        "entropy": (objective.entropy, 1e3),
        "overlong": (objective.overlong, 1.0),
        "kl_loss.coefficient": (kl.coefficient if kl else 0.0, 1e3),
        "correction.cap": (correction.cap if correction else 1.0, 1e6),
    }
    for name, (value, most) in numbers.items():
        if not 0 <= value <= most:
            raise UsageError(
                f"the objective's {name} cannot be {value!r}. "
                f"It should be a number from 0 to {most:g}."
            )
    if objective.zero_signal not in get_args(ZeroSignal):
        raise unknown("way with groups that agree", objective.zero_signal, get_args(ZeroSignal))


def _ratio(objective: Objective) -> Iterator[str]:
    shared = objective.ratio is sequence
    if shared and objective.reduce is not per_sequence:
        yield (
            "objective.ratio 'sequence' gives an answer one value, which only the reduction "
            "'per_sequence' counts once. Set objective.reduce to per_sequence."
        )
    if objective.reduce is per_sequence and not shared:
        yield (
            "objective.reduce 'per_sequence' is for the ratio level 'sequence'. "
            "Set objective.ratio to sequence, or objective.reduce to per_answer."
        )
    if shared and objective.kl_loss is not None and objective.kl_loss.weighted:
        yield (
            "objective.kl_weighted needs the ratio of each token: the mean over an answer does "
            "not make a KL unbiased. Leave it out, or set objective.ratio to token."
        )


def _kl(objective: Objective) -> Iterator[str]:
    kl = objective.kl_loss
    if kl is not None and kl.estimator == "k1" and not kl.weighted:
        yield (
            "objective.kl_estimator 'k1' as a loss has nothing of the KL's gradient: in "
            "expectation it is 0, or, per answer, pays for length. Use k2 or k3, or set "
            "objective.kl_weighted to true, or objective.kl_in to reward."
        )


def _pays_agreement(objective: Objective) -> bool:
    """Whether a group whose rewards agree has advantages, as with `raw`."""
    return any(np.any(objective.credit(np.full(2, reward))) for reward in (1.0, 0.0))


def _groups(objective: Objective) -> Iterator[str]:
    if objective.zero_signal != "keep" and (objective.whiten or _pays_agreement(objective)):
        name = getattr(objective.credit, "__name__", "of your own")
        what = "whitened advantages" if objective.whiten else f"the credit {name!r}"
        yield (
            f"objective.zero_signal cannot be {objective.zero_signal!r} with {what}: groups whose "
            "rewards agree have a gradient there. Set objective.zero_signal to keep."
        )
    if objective.credit is mean_normalized and (objective.overlong or objective.kl_reward):
        yield (
            "objective.credit 'mean_normalized' divides by the mean reward, which penalties in the "
            "reward can bring to 0. Leave objective.overlong out and set objective.kl_in to loss, "
            "or choose another credit."
        )
    if objective.zero_signal == "refill" and objective.kl_reward != 0:
        yield (
            "objective.zero_signal 'refill' replaces groups whose scores agree, but a KL in the "
            "reward has to reach them too. Set objective.zero_signal to drop or keep, or "
            "objective.kl_in to loss."
        )
    if objective.overlong > 0 and objective.mask_truncated:
        yield (
            "objective.overlong pays less for answers that come near the budget, but "
            "objective.mask_truncated leaves those that reach it out of the loss. "
            "Set objective.mask_truncated to false, or objective.overlong to 0."
        )

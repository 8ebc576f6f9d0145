"""Credits and denominators that hang on all answers of a batch: expectations over *kinds*.

Where A or a denominator depends on the rewards and lengths of all answers (per token, whitening,
truncated answers masked), E[A weight | o] is a sum over multisets of kinds. A kind is what matters
of an answer: its reward, its length, and whether it is in the loss. There are fewer of them than
answers, and the multinomial law of the others is exact.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement, product
from math import factorial, prod

import numpy as np

from evenodds.lab.oracle.closed import Credit
from evenodds.lab.oracle.tree import Array, Whole

NOISE = 1e-6  # rewards that differ by less agree, as the theory has it (docs/oracle.md)


@dataclass(frozen=True)
class Answers:
    """Of one group: rewards [G], lengths [G], and 1 where an answer is in the loss [G].

    plain: [G] rewards before penalties, where they are another thing.
    """

    rewards: Array
    lengths: Array
    kept: Array
    plain: Array | None = None


Worth = Callable[[Sequence[Answers]], float]
"""A · weight of the first answer of the first group; the groups of a batch, that one first."""


def _draws(probabilities: Array, size: int) -> list[tuple[list[int], float]]:
    found: list[tuple[list[int], float]] = []
    for chosen in combinations_with_replacement(range(len(probabilities)), size):
        repeats = prod(factorial(count) for count in Counter(chosen).values())
        weight = factorial(size) / repeats * float(np.prod(probabilities[list(chosen)]))
        found.append((list(chosen), weight))
    return found


def coupled(
    drawn: Array,
    problems: Sequence[Answers],
    sizes: Sequence[int],
    worth: Worth,
    of: int = 0,
) -> Credit:
    """Size · E[max(A, 0) weight | o] and the same of the negative part, for the problem `of`.

    drawn: [M] of the answers. problems: rewards, lengths and kept by answer, [M] each.
    """
    order = [of, *(g for g in range(len(sizes)) if g != of)]
    kinds = [_kinds(drawn, problems[g]) for g in order]
    _, place, mass = kinds[0]
    rest = [sizes[g] - (at == 0) for at, g in enumerate(order)]
    draws = [_draws(mass, n) for (_, _, mass), n in zip(kinds, rest, strict=True)]
    up, down = np.zeros(len(mass)), np.zeros(len(mass))
    for mine in range(len(mass)):
        for others in product(*draws):
            chosen = [[mine, *others[0][0]], *(rows for rows, _ in others[1:])]
            batch = [
                Answers(*kind[rows].T) for (kind, _, _), rows in zip(kinds, chosen, strict=True)
            ]
            value = sizes[of] * prod(weight for _, weight in others) * worth(batch)
            up[mine] += max(value, 0.0)
            down[mine] += min(value, 0.0)
    return up[place], down[place]


def _kinds(drawn: Array, answers: Answers) -> tuple[Array, Whole, Array]:
    """Kinds [K, 4], the kind of each answer [M], and the probability of each kind [K]."""
    plain = answers.rewards if answers.plain is None else answers.plain
    rows = np.stack([answers.rewards, answers.lengths, answers.kept, plain], axis=1)
    kinds, place = np.unique(rows, axis=0, return_inverse=True)
    place = place.ravel()
    mass = np.bincount(place, weights=drawn).astype(np.float64)
    return kinds, place, mass


# --- what an answer is worth ----------------------------------------------------------------------


def _has_signal(group: Answers) -> bool:
    return float(np.ptp(group.rewards)) >= NOISE


def standardized(group: Answers) -> float:
    """(r - mean) / population std of the first answer; 0 where all agree."""
    rewards = group.rewards
    mean = rewards.sum() / len(rewards)
    spread = np.sqrt(((rewards - mean) ** 2).sum() / len(rewards))
    return float((rewards[0] - mean) / spread) if _has_signal(group) else 0.0


def standardized_if_mixed(group: Answers) -> float:
    """The same, and 0 too where the answers agreed before penalties."""
    is_mixed = group.plain is not None and float(np.ptp(group.plain)) >= NOISE
    return standardized(group) if is_mixed else 0.0


def leave_one_out_if_mixed(group: Answers) -> float:
    """The reward less the mean of the others', where the answers differ before penalties."""
    is_mixed = group.plain is not None and float(np.ptp(group.plain)) >= NOISE
    return float(group.rewards[0] - group.rewards[1:].mean()) if is_mixed else 0.0


def centered(group: Answers) -> float:
    return float(group.rewards[0] - group.rewards.sum() / len(group.rewards))


def _tokens(group: Answers) -> float:
    return float((group.lengths * group.kept).sum())


def per_token(credit: Callable[[Answers], float]) -> Worth:
    """A / tokens in the loss, of the groups with signal; an answer out of the loss is worth 0."""

    def worth(batch: Sequence[Answers]) -> float:
        if not batch[0].kept[0]:
            return 0.0
        return credit(batch[0]) / sum(_tokens(g) for g in batch if _has_signal(g) or g is batch[0])

    return worth


def per_rollout(credit: Callable[[Answers], float]) -> Worth:
    """A / answers in the loss, of the groups with signal."""

    def worth(batch: Sequence[Answers]) -> float:
        if not batch[0].kept[0]:
            return 0.0
        groups = [g for g in batch if _has_signal(g) or g is batch[0]]
        return credit(batch[0]) / sum(float(g.kept.sum()) for g in groups)

    return worth


def whitened_per_token(center: bool) -> Worth:
    """(A - mean) / std over the tokens in the loss of all groups, / those tokens.

    center: whether the rewards of each group lose their mean first.
    """

    def worth(batch: Sequence[Answers]) -> float:
        if not batch[0].kept[0]:
            return 0.0
        shift = [g.rewards.sum() / len(g.rewards) if center else 0.0 for g in batch]
        values = np.concatenate([g.rewards - s for g, s in zip(batch, shift, strict=True)])
        tokens = np.concatenate([g.lengths * g.kept for g in batch])
        total = float(tokens.sum())
        mean = float(tokens @ values) / total
        spread = float(tokens @ (values - mean) ** 2) / total
        return float(values[0] - mean) / np.sqrt(spread) / total if spread > 1e-12 else 0.0

    return worth

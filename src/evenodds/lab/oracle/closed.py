"""What the theory says, by hand and in numpy: no line here is shared with the code under test.

`docs/oracle.md` has the derivations. The pattern: the answers of a group are independent and alike,
so the expected gradient is a sum over *one* answer o,

    sum_o pi_old(o) sum_t weight(o) E[A | o] slope(rho_t) grad log pi(o_t),

and all that a credit does is in E[A | o], the expectation over the *other* answers of the group.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb, sqrt

import numpy as np
from numpy.typing import NDArray

from evenodds.lab.oracle.tree import Array, answer_probabilities
from evenodds.lab.oracle.world import World


@dataclass(frozen=True)
class Exact:
    """A world laid out by answer: M answers of at most T symbols, P parameters.

    drawn [M]: probability under what sampled; likely [M]: under the policy now. ratio [M, T]: now
    against the learner's first (else the sampler); mismatch [M, T]: first against the sampler. gap
    [M, T]: log pi_ref - log pi. gradient [M, T, P]: of log pi; all 0 behind the end of an answer.
    """

    drawn: Array
    likely: Array
    lengths: Array
    there: Array
    ratio: Array
    mismatch: Array
    gap: Array
    entropy: Array
    gradient: Array
    entropy_gradient: Array
    budget: int

    @property
    def score(self) -> Array:
        """[M, P] gradient of the log-probability of each answer."""
        return self.gradient.sum(1)

    @property
    def sequence_ratio(self) -> Array:
        """[M, 1] geometric mean of the ratios of an answer's tokens."""
        return np.exp(np.log(self.ratio).sum(1) / self.lengths)[:, None]

    def summed(self, coefficient: Array) -> Array:
        """[P] sum_o pi_old(o) sum_t coefficient(o, t) grad log pi(o_t)."""
        spread = self.drawn[:, None] * np.broadcast_to(coefficient, self.there.shape)
        return np.einsum("mt,mtp->p", spread, self.gradient)


def exact(world: World) -> Exact:
    nodes, there = world.tree.nodes, world.tree.nodes >= 0
    now, first = world.current.logprobs, world.old if world.first is None else world.first

    def spread(values: Array) -> Array:
        return np.where(there.reshape(*there.shape, *[1] * (values.ndim - 1)), values[nodes], 0.0)

    return Exact(
        drawn=world.drawn,
        likely=answer_probabilities(world.tree, now),
        lengths=world.tree.lengths.astype(np.float64),
        there=there.astype(np.float64),
        ratio=np.exp(spread(now - first)),
        mismatch=np.exp(spread(first - world.old)),
        gap=spread(world.reference - now),
        entropy=spread(world.current.entropy),
        gradient=spread(world.current.gradient),
        entropy_gradient=spread(world.current.entropy_gradient),
        budget=world.tree.budget,
    )


# --- what is aimed at -----------------------------------------------------------------------------


def reward_gradient(exact: Exact, rewards: Array) -> Array:
    """[P] grad of sum_o pi(o) r(o), under the policy as it is now."""
    return (exact.likely * rewards) @ exact.score


def moving_gradient(exact: Exact, values: Array, own: Array) -> Array:
    """[P] grad of sum_o pi(o) x(o), where x [M] depends on the parameters itself: own [M, P]."""
    return (exact.likely * values) @ exact.score + exact.likely @ own


def kl_gradient(exact: Exact) -> Array:
    """[P] grad of the KL of whole answers, KL(pi || pi_ref): sum_o pi log(pi / pi_ref) score."""
    return reward_gradient(exact, -exact.gap.sum(1))


def entropy_gradient(exact: Exact) -> Array:
    """[P] grad of the expected sum of the entropies along an answer."""
    return moving_gradient(exact, exact.entropy.sum(1), exact.entropy_gradient.sum(1))


# --- E[A | o] of 0 / 1 rewards: scale * (r - p) for every credit that compares within a group -----


def _binomial(size: int, p: float) -> Array:
    return np.array([comb(size, k) * p**k * (1 - p) ** (size - k) for k in range(size + 1)])


def scale_centered(size: int) -> float:
    """(G - 1) / G: an answer is compared with a mean that it is part of."""
    return (size - 1) / size


def scale_standardized(size: int, p: float) -> float:
    """E sqrt(K (G - K)) / (G p q), K binomial: hard and easy problems weigh more."""
    k = np.arange(size + 1)
    return float(_binomial(size, p) @ np.sqrt(k * (size - k))) / (size * p * (1 - p))


def scale_sample(size: int, p: float, floor: float) -> float:
    """The same with the sample std, sqrt(K (G - K) / (G (G - 1))), and a floor added to it."""
    k = np.arange(size + 1)
    spread = k * (size - k)
    worth = spread / (np.sqrt(spread / (size * (size - 1))) + floor) / size**2
    return float(_binomial(size, p) @ worth) / (p * (1 - p))


def scale_mean_normalized(size: int, p: float) -> float:
    """(1 - q^(G - 1)) / p: towards the gradient of log p, less what no success can tell."""
    return (1 - (1 - p) ** (size - 1)) / p


def informative(size: int, p: float) -> float:
    """1 - p^G - q^G."""
    return 1 - p**size - (1 - p) ** size


def kept_given(size: int, rewards: Array, p: float) -> Array:
    """[M] the probability that a group has signal, given one of its answers."""
    return 1 - np.where(rewards == 1, p, 1 - p) ** (size - 1)


Credit = tuple[Array, Array]
"""E[max(A, 0) | o] and E[min(A, 0) | o], each [M]: a clip treats the two differently."""


def by_scale(scale: float, rewards: Array, p: float) -> Credit:
    """Of 0 / 1 rewards the sign of A is that of r - p, whatever the others did."""
    credit = scale * (rewards - p)
    return np.maximum(credit, 0), np.minimum(credit, 0)


# --- slopes: d f / d log pi for A = 1 and A = -1 --------------------------------------------------

Slope = tuple[Array, Array]
"""What a unit of positive, and of negative, advantage pulls with on a token; [M, T] or [M, 1]."""


def straight(ratio: Array) -> Slope:
    return ratio, ratio


def clip(ratio: Array, low: float, high: float) -> Slope:
    """A > 0 pulls until 1 + high, A < 0 until 1 - low."""
    return ratio * (ratio <= 1 + high), ratio * (ratio >= 1 - low)


def dual_clip(ratio: Array, low: float, high: float, dual: float) -> Slope:
    """And A < 0 no more where the ratio is beyond `dual`."""
    up, down = clip(ratio, low, high)
    return up, down * (ratio <= dual)


def capped(ratio: Array, low: float, high: float) -> Slope:
    weight = np.clip(ratio, 1 - low, 1 + high)
    return weight, weight


def soft_gate(ratio: Array, positive: float, negative: float) -> Slope:
    """4 s (1 - s) rho with s = 1 / (1 + exp(-tau (rho - 1))) = rho / cosh²(tau (rho - 1) / 2)."""
    up, down = (ratio / np.cosh(tau * (ratio - 1) / 2) ** 2 for tau in (positive, negative))
    return up, down


def pulled(exact: Exact, credit: Credit, slope: Slope, weight: Array | float) -> Array:
    """[P] the surrogate's expected gradient. weight: of each token, [M, 1] or a number."""
    up, down = (each[:, None] * pull for each, pull in zip(credit, slope, strict=True))
    return exact.summed(weight * (up + down))


# --- groups that are coupled by more than their mean ----------------------------------------------


def per_token_by_integral(exact: Exact, rewards: Array, size: int, advantage: Array) -> Credit:
    """E[G A / sum of lengths | o] of 0 / 1 rewards, by 1 / T = integral of z^(T - 1) over (0, 1).

    advantage [2, G + 1]: A of a wrong and of a right answer where K of the G are right. With
    phi_r(z) = E[z^length; reward r], the other answers enter as C(G-1, k) phi_1^k phi_0^(G-1-k).
    """
    longest = int(exact.lengths.max())
    phi = [np.zeros(longest + 1), np.zeros(longest + 1)]
    for probability, reward, length in zip(exact.drawn, rewards, exact.lengths, strict=True):
        phi[int(reward)][int(length)] += probability
    credit = np.zeros(len(rewards))
    for at, (reward, length) in enumerate(zip(rewards.astype(int), exact.lengths, strict=True)):
        for k in range(size):
            others = np.polynomial.polynomial.polypow(phi[1], k)
            rest = np.polynomial.polynomial.polypow(phi[0], size - 1 - k)
            z = np.polynomial.polynomial.polymul(others, rest)
            integral = float((z / (np.arange(len(z)) + length)).sum())
            credit[at] += size * comb(size - 1, k) * advantage[reward, k + reward] * integral
    return np.maximum(credit, 0), np.minimum(credit, 0)


def standardized_by_count(size: int) -> Array:
    """[2, G + 1] of K right ones: sqrt((G - K) / K), and -sqrt(K / (G - K)) for the wrong."""
    table = np.zeros((2, size + 1))
    for k in range(1, size):
        table[:, k] = -sqrt(k / (size - k)), sqrt((size - k) / k)
    return table


def masked_centered(exact: Exact, rewards: Array, cut: NDArray[np.int64], size: int) -> Credit:
    """E[G A / answers in the loss | o], truncated answers being in the mean but not in the loss.

    With tau the truncated share, r_in and r_cut the mean rewards of the two kinds, and
    e = E[1 / (1 + m)] = (1 - tau^G) / (G (1 - tau)), m ~ Binomial(G - 1, 1 - tau):
    G [e (G-1)/G (r - r_cut) - (1 - e) (r_in - r_cut) / G] for an answer that was not cut.
    """
    tau = float(exact.drawn @ cut)
    of_cut = float(exact.drawn @ (rewards * cut)) / tau
    of_rest = float(exact.drawn @ (rewards * (1 - cut))) / (1 - tau)
    e = (1 - tau**size) / (size * (1 - tau))
    credit = e * (size - 1) * (rewards - of_cut) - (1 - e) * (of_rest - of_cut)
    credit = credit * (1 - cut)
    return np.maximum(credit, 0), np.minimum(credit, 0)


# --- penalties ------------------------------------------------------------------------------------


def visited(exact: Exact, per_symbol: Array) -> Array:
    """[P] sum over prefixes, as often as the sampler visits them, of what `per_symbol` says there.

    per_symbol [M, T]: coefficient of grad log pi(symbol), to be weighed by the policy as it is now.
    """
    return exact.summed(exact.ratio * per_symbol)


def reverse_kl_visited(exact: Exact) -> Array:
    """[P] sum of d_old(prefix) grad KL(pi || pi_ref) there: sum_a pi_a (log pi_a / ref_a) grad."""
    return visited(exact, -exact.gap)


def forward_kl_visited(exact: Exact) -> Array:
    """[P] sum of d_old(prefix) grad KL(pi_ref || pi) there: minus sum_a ref_a grad log pi_a."""
    return visited(exact, -np.exp(exact.gap))

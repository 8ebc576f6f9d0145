"""A policy over a handful of answers, several of them right, improved by its exact gradient.

Nothing is sampled and nothing is estimated, so what is seen here belongs to the objective itself:
reward alone makes the likeliest right answer drive out the other right ones, and an entropy bonus
keeps them. The equations, with a proof, are in docs/finite-policy.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evenodds.errors import UsageError
from evenodds.lab.teaching import categorical_entropies, vector

Values = NDArray[np.float64]

BETA = 0.25
LEARNING_RATE = 0.4
STEPS = 400
MOST_STEPS = 200_000  # the whole history is held: some 50 MB at this length


@dataclass(frozen=True)
class Question:
    """A question with a few possible answers, and how likely the policy gives each at first.

    answers: n names. right: which of them are paid 1; the others get 0. start: n probabilities,
    all above 0. Raises `UsageError` where these do not fit, or nothing is right.
    """

    text: str
    answers: tuple[str, ...]
    right: tuple[bool, ...]
    start: tuple[float, ...]

    def __post_init__(self) -> None:
        sizes = len(self.answers), len(self.right), len(self.start)
        if len(set(sizes)) != 1 or not any(self.right):
            raise UsageError(
                f"each answer is right or wrong and has a probability, and one is right. Got "
                f"{sizes[0]} answers, {sum(self.right)} right of {sizes[1]}, {sizes[2]} "
                "probabilities. Give as many of each."
            )
        if min(self.start) <= 0:
            raise UsageError(
                f"an answer of probability 0 is never found. Got {min(self.start)}. Give more."
            )
        categorical_entropies([self.start])

    @property
    def rewards(self) -> Values:
        """[n] 1 for a right answer, 0 for a wrong one."""
        return np.array(self.right, dtype=np.float64)


PRIMES = Question(
    "Name a prime below 12.",
    ("7", "3", "5", "11", "2", "9", "1", "8", "6", "4"),
    (True,) * 5 + (False,) * 5,
    (0.38, 0.06, 0.03, 0.02, 0.01, 0.34, 0.10, 0.04, 0.01, 0.01),
)
"""Five right answers at even odds with five wrong ones, one of each kind far ahead."""


@dataclass(frozen=True)
class Ascent:
    """What gradient ascent did, from before the first step to after the last: T + 1 policies.

    log_probabilities: [T + 1, n], natural logarithms.
    """

    question: Question
    beta: float
    learning_rate: float
    log_probabilities: Values

    @cached_property
    def probabilities(self) -> Values:
        """[T + 1, n]."""
        return np.exp(self.log_probabilities)

    @cached_property
    def reward(self) -> Values:
        """[T + 1] the expected reward: here the probability of a right answer, pass@1."""
        return self.probabilities @ self.question.rewards

    @cached_property
    def entropy(self) -> Values:
        """[T + 1] of the answer, in nats."""
        return categorical_entropies(self.probabilities)

    @cached_property
    def among_right(self) -> Values:
        """[T + 1, right] the distribution of an answer, given that it is right."""
        return np.exp(_log_normalized(self.log_probabilities[:, np.array(self.question.right)]))

    @cached_property
    def coverage(self) -> Values:
        """[T + 1] share of the probability of being right that lies outside its likeliest answer.

        0: one right answer is all that is left. 1 - 1/m: all m right answers are as likely.
        """
        return 1 - self.among_right.max(axis=1)

    @cached_property
    def effective_right(self) -> Values:
        """[T + 1] exp(entropy given that it is right): how many right answers there are in effect.

        The Hill number of order 1 (Hill 1973, Ecology 54): m where m are as likely, 1 for one.
        """
        return np.exp(categorical_entropies(self.among_right))

    def distinct_right(self, draws: int) -> Values:
        """[T + 1] expected number of different right answers among some independent draws.

        The sum over right answers of pass@k for that answer, 1 - (1 - p)^k.
        """
        if draws < 1:
            raise UsageError(f"draws is a count. Got {draws}. Give 1 or more.")
        p = self.probabilities[:, np.array(self.question.right)]
        return (1 - (1 - p) ** draws).sum(axis=1)

    @cached_property
    def objective(self) -> Values:
        """[T + 1] J, what the ascent climbs."""
        return self.reward + self.beta * self.entropy


class Measures(NamedTuple):
    """One policy of an ascent in numbers."""

    reward: float
    entropy: float
    coverage: float
    effective_right: float


def measures(ascent: Ascent, step: int) -> Measures:
    """The numbers after some steps; 0 is before the first."""
    columns = (ascent.reward, ascent.entropy, ascent.coverage, ascent.effective_right)
    return Measures(*(float(column[step]) for column in columns))


def exact_gradient(logits: ArrayLike, rewards: ArrayLike, beta: float = 0.0) -> Values:
    """The gradient of J = E[r] + beta H(pi) by the logits, pi = softmax(logits): [n] to [n].

    dJ/dz_i = pi_i (f_i - E[f]) with f = r - beta log pi. With beta = 0 this is pi_i (r_i - E[r]),
    the policy gradient (Sutton 1999) of one softmax without sampling.

    Raises UsageError where the two are not lists of finite numbers, as many of both, or beta is
    below 0.
    """
    z, r = vector("logits", logits), vector("rewards", rewards)
    if z.shape != r.shape:
        raise UsageError(
            f"each logit has its reward. Got {z.size} logits, {r.size} rewards. Give as many of "
            "both."
        )
    _require_beta(_scalar("beta", beta))
    return _gradient(z, r, beta)


def _gradient(logits: Values, rewards: Values, beta: float) -> Values:
    log_pi = _log_normalized(logits)
    pi, payoff = np.exp(log_pi), rewards - beta * log_pi
    return pi * (payoff - pi @ payoff)


def optimum(rewards: ArrayLike, beta: float) -> Values:
    """The policy that maximises E[r] + beta H(pi) for beta > 0: softmax(r / beta), [n] to [n].

    It is unique, and answers of the same reward have the same probability.

    Raises UsageError where rewards are not a list of finite numbers, or beta is not above 0.
    """
    r, weight = vector("rewards", rewards), _scalar("beta", beta)
    if weight <= 0:
        raise UsageError(f"beta must be above 0. Got {beta}. Give a positive number.")
    return np.exp(_log_normalized((r - r.max()) / weight))


def ascend(
    question: Question = PRIMES,
    beta: float = 0.0,
    steps: int = STEPS,
    learning_rate: float = LEARNING_RATE,
) -> Ascent:
    """Exact gradient ascent, z <- z + learning_rate dJ/dz, from the start of the question.

    At beta 0 and learning rates up to 0.8 the expected reward never falls, for it is 5/2-smooth in
    the logits (Mei et al. 2020, arXiv 2005.06392, lemma 2). The same input gives the same bits.

    Raises UsageError for a beta below 0, a learning rate of 0 or less, or a number of steps that
    is not in 1 .. 200,000.
    """
    _require_beta(beta)
    if not 0 < learning_rate <= 100:
        raise UsageError(f"a learning rate moves logits. Got {learning_rate}. Give up to 100.")
    if not 1 <= steps <= MOST_STEPS:
        raise UsageError(f"steps is a count. Got {steps}. Give 1 to {MOST_STEPS:,}.")
    rewards, logits = question.rewards, np.log(np.array(question.start))
    history = np.empty((steps + 1, logits.size))
    history[0] = _log_normalized(logits)
    for step in range(1, steps + 1):
        logits = logits + learning_rate * _gradient(logits, rewards, beta)
        history[step] = _log_normalized(logits)
    return Ascent(question, beta, learning_rate, history)


def _log_normalized(logits: Values) -> Values:
    """log softmax over the last axis, by the largest, so that nothing overflows."""
    shifted = logits - logits.max(axis=-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))


def _require_beta(beta: float) -> None:
    if not 0 <= beta <= 100:
        raise UsageError(f"beta is the weight of the entropy. Got {beta}. Give 0 to 100.")


def _scalar(name: str, given: object) -> float:
    """Raises UsageError for what is not one finite number."""
    try:
        value = float(given)  # pyright: ignore[reportArgumentType]
    except (TypeError, ValueError):
        value = np.nan
    if not np.isfinite(value):
        raise UsageError(f"{name} is one finite number. Got {given!r:.60}. Give a number.")
    return value

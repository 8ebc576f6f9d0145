"""The formulas of RLVR one by one, in numpy: small enough to work through on paper.

What the training code has in numpy already is called, not written again: advantages come from
`evenodds.credit`, answers are judged by `evenodds.verifiers.number`, and the chances of groups and
pass@k are those of `evenodds.statistics`. The surrogate and the token weights exist there in torch,
with a gradient; tests hold that these say the same.

Every function raises `UsageError` where its input makes no sense: nothing given, NaN or infinity, a
shape that does not fit. Examples in the docstrings are golden numbers, and are run by a test.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evenodds.credit import centered, standardized
from evenodds.domain import Completion, Problem, Status
from evenodds.errors import UsageError
from evenodds.verifiers.number import number

Values = NDArray[np.float64]
TokenWeights = list[Values]
"""One array for each answer, as long as the answer: w_it of token t of answer i, its A included."""

SUM_TOLERANCE = 1e-6  # a float32 softmax adds up to 1 within this


class Contributions(NamedTuple):
    """How much of J's weight each answer holds. per_answer [G] with its sign; absolute: sum |w|."""

    per_answer: Values
    absolute: float


def group_relative_advantages(
    rewards: ArrayLike, standardize: bool = True, *, ddof: int = 0, delta: float = 0.0
) -> Values:
    """A = (r - mean) / (std + delta), or r - mean with `standardize=False`: [G] to [G].

    rewards: [G], those of all answers to one problem. ddof: 0 is the population std, 1 the sample
    std of TRL, verl and Oat. delta: added to the std. Rewards that differ by less than 1e-6 are
    equal, and give exactly 0. Standardised is GRPO, arXiv 2402.03300 section 4.1; centred is
    Dr. GRPO, arXiv 2503.20783. This is `evenodds.credit`, where there are others.

    >>> group_relative_advantages([1, 1, 0, 0]).tolist()
    [1.0, 1.0, -1.0, -1.0]
    >>> group_relative_advantages([1, 1, 0, 0], standardize=False).tolist()
    [0.5, 0.5, -0.5, -0.5]
    >>> group_relative_advantages([0.5, 0.5, 0.5, 0.5 + 1e-7]).tolist()  # noise, not a success
    [0.0, 0.0, 0.0, 0.0]
    """
    values = vector("rewards", rewards)
    if ddof not in (0, 1):
        raise UsageError(f"ddof is 0 (population) or 1 (sample). Got {ddof}. Give one of them.")
    if not 0 <= delta < np.inf:
        raise UsageError(f"delta is a floor under the std. Got {delta}. Give 0 or a little more.")
    if standardize:
        return standardized(values, ddof, delta)
    if ddof or delta:
        raise UsageError(
            f"ddof and delta belong to the std. Got ddof = {ddof}, delta = {delta} with "
            "standardize = False. Leave them out."
        )
    return centered(values)


def clipped_surrogate_terms(
    ratios: ArrayLike, advantages: ArrayLike, low: float = 0.2, high: float = 0.28
) -> Values:
    """min(rho A, clip(rho, 1 - low, 1 + high) A) of each token: [n], [n] to [n].

    ratios: rho = pi(token) / pi_old(token), where pi_old is the policy that was sampled from.
    The minimum is pessimistic: a step too far is never counted as a gain, while a loss counts in
    full. PPO, arXiv 1707.06347 eq. 7; two bounds are DAPO's, arXiv 2503.14476 eq. 8.

    >>> terms = clipped_surrogate_terms([1.35, 0.85, 1.10, 0.70], [1, 1, -1, -1], 0.2, 0.2)
    >>> terms.round(12).tolist()
    [1.2, 0.85, -1.1, -0.8]
    """
    rho, advantage = _ratios_and_advantages(ratios, advantages, low, high)
    return np.minimum(rho * advantage, rho.clip(1 - low, 1 + high) * advantage)


def clip_activity(
    ratios: ArrayLike, advantages: ArrayLike, low: float = 0.2, high: float = 0.28
) -> NDArray[np.bool_]:
    """Where the clip cuts the gradient: [n], [n] to [n].

    That is where A > 0 and rho > 1 + high, or A < 0 and rho < 1 - low. A ratio outside the bounds
    on the other side still has its gradient, and where A = 0 there is none to cut.

    >>> clip_activity([1.35, 0.85, 1.10, 0.70], [1, 1, -1, -1], 0.2, 0.2).tolist()
    [True, False, False, True]
    """
    rho, advantage = _ratios_and_advantages(ratios, advantages, low, high)
    return ((advantage > 0) & (rho > 1 + high)) | ((advantage < 0) & (rho < 1 - low))


def grpo_token_weights(
    advantages: ArrayLike, lengths: Sequence[int], *, answers: int | None = None
) -> TokenWeights:
    """w_it = A_i / (G |o_i|): every answer counts alike, so a token of a long one counts less.

    advantages: [G]. lengths: [G] tokens of each answer, |o_i|. answers: G, where these are only a
    part (a micro-batch) of the optimizer step. GRPO, arXiv 2402.03300 section 4.1.

    >>> weights = grpo_token_weights(group_relative_advantages([1, 0, 1]), [2, 5, 8])
    >>> response_contributions(weights).per_answer.round(4).tolist()
    [0.2357, -0.4714, 0.2357]
    """
    values, tokens = _answers(advantages, lengths)
    count = _at_least("answers", answers, len(tokens))
    return _spread(values / (count * np.array(tokens)), tokens)


def dr_grpo_token_weights(
    advantages: ArrayLike, lengths: Sequence[int], max_tokens: int, *, answers: int | None = None
) -> TokenWeights:
    """w_it = A_i / (G L): every token counts alike, by a constant that no answer can change.

    max_tokens: L, the token budget of an answer. Others as in `grpo_token_weights`.
    Dr. GRPO, arXiv 2503.20783.

    >>> centred = group_relative_advantages([1, 0, 1], standardize=False)
    >>> weights = dr_grpo_token_weights(centred, [2, 5, 8], max_tokens=8)
    >>> response_contributions(weights).per_answer.round(4).tolist()
    [0.0278, -0.1389, 0.1111]
    """
    values, tokens = _answers(advantages, lengths)
    count = _at_least("answers", answers, len(tokens))
    budget = _at_least("max_tokens", max_tokens, max(tokens))
    return _spread(values / (count * budget), tokens)


def dapo_token_weights(
    advantages: ArrayLike, lengths: Sequence[int], *, tokens: int | None = None
) -> TokenWeights:
    """w_it = A_i / sum |o_i|: every token counts alike, by the tokens of the whole step.

    advantages, lengths: [G]. tokens: those of the optimizer step, where these answers are only a
    part of it. A mean over each micro-batch instead weighs a token by what shares its micro-batch.
    DAPO, arXiv 2503.14476 eq. 8.

    >>> weights = dapo_token_weights(group_relative_advantages([1, 0, 1]), [2, 5, 8])
    >>> response_contributions(weights).per_answer.round(4).tolist()
    [0.0943, -0.4714, 0.3771]
    """
    values, counts = _answers(advantages, lengths)
    return _spread(values / _at_least("tokens", tokens, sum(counts)), counts)


def response_contributions(weights: Sequence[ArrayLike]) -> Contributions:
    """The sum of the token weights of each answer, [G], and the sum of all |w|.

    At rho = 1 the first is the gradient of J by the log-probability of all tokens of an answer.

    >>> sums, absolute = response_contributions([[0.5, 0.25], [-0.75]])
    >>> sums.tolist(), absolute
    ([0.75, -0.75], 1.5)
    """
    rows = _ragged(weights)
    sums = np.array([row.sum() for row in rows])
    return Contributions(sums, float(sum(np.abs(row).sum() for row in rows)))


def flatten_token_weights(weights: Sequence[ArrayLike]) -> Values:
    """The weights of all answers one after another, [n]: the order of tokens in the learner.

    >>> flatten_token_weights([[0.5, 0.25], [-0.75]]).tolist()
    [0.5, 0.25, -0.75]
    """
    return np.concatenate(_ragged(weights))


def categorical_entropy(probabilities: ArrayLike) -> float:
    """H = -sum p log p in nats, of one distribution [n]; 0 log 0 is 0. Shannon 1948.

    >>> round(categorical_entropy([0.25, 0.25, 0.25, 0.25]), 4)  # log 4
    1.3863
    >>> categorical_entropy([1, 0, 0])
    0.0
    """
    return float(categorical_entropies(vector("probabilities", probabilities)[None])[0])


def categorical_entropies(rows: ArrayLike) -> Values:
    """`categorical_entropy` of each of some distributions: [m, n] to [m]."""
    p = _numbers("probabilities", rows)
    if p.ndim != 2 or not p.size:
        raise UsageError(f"distributions are rows. Got shape {p.shape}. Give [rows, outcomes].")
    if bool((p < 0).any()):
        raise UsageError(f"a probability is never negative. Got {p.min()}. Give 0 or more.")
    worst = float(p.sum(axis=1)[np.abs(p.sum(axis=1) - 1).argmax()])
    if abs(worst - 1) > SUM_TOLERANCE:
        raise UsageError(f"probabilities must add up to 1. Got {worst:.6g}. Normalise them.")
    surprise = -np.log(p, out=np.zeros_like(p), where=p > 0)
    return np.maximum(0.0, (p * surprise).sum(axis=1))


def verify_numeric_answer(text: str, gold: str | int | float | Fraction) -> bool:
    """Whether the final answer of a text is the gold number, as the `number` verifier judges it.

    Raises UsageError where the gold itself is not a number.

    >>> verify_numeric_answer(r"First \\boxed{2}, then corrected: \\boxed{3}", 3)
    True
    >>> verify_numeric_answer("the reference number 42 is mentioned, but the answer is 41", 42)
    False
    """
    problem = Problem("teaching", "", str(gold), "teaching")
    verdict = number(problem, Completion(text))
    if verdict.status is Status.GOLD_UNREADABLE:
        raise UsageError(f"the gold answer is not a number. Got {str(gold)!r}. Give a number.")
    return verdict.score == 1.0


def _numbers(name: str, given: ArrayLike) -> Values:
    """As float64, all finite."""
    try:
        values = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        shown = " ".join(repr(given).split())[:60]
        raise UsageError(f"{name} must be numbers. Got {shown}. Give a list.") from None
    if not bool(np.isfinite(values).all()):
        raise UsageError(f"{name} must be finite. Got {values[~np.isfinite(values)][0]}. Mend it.")
    return values


def vector(name: str, given: ArrayLike) -> Values:
    """As float64 [n], n >= 1, all finite."""
    values = _numbers(name, given)
    if values.ndim != 1 or not values.size:
        raise UsageError(f"{name} must be a list. Got shape {values.shape}. Give at least one.")
    return values


def _ratios_and_advantages(
    ratios: ArrayLike, advantages: ArrayLike, low: float, high: float
) -> tuple[Values, Values]:
    rho, advantage = vector("ratios", ratios), vector("advantages", advantages)
    if rho.shape != advantage.shape:
        raise UsageError(
            f"each ratio needs its advantage. Got {rho.size} ratios, {advantage.size} advantages. "
            "Give as many of both."
        )
    if bool((rho < 0).any()):
        raise UsageError(f"a ratio of probabilities is never negative. Got {rho.min()}. Mend it.")
    if not (0 <= low <= 1 and 0 <= high < np.inf):
        raise UsageError(
            f"the clip keeps ratios in [1 - low, 1 + high]. Got low = {low}, high = {high}. "
            "Give 0 <= low <= 1 and high >= 0."
        )
    return rho, advantage


def _answers(advantages: ArrayLike, lengths: Sequence[int]) -> tuple[Values, list[int]]:
    values, counts = vector("advantages", advantages), vector("lengths", lengths)
    if values.shape != counts.shape:
        raise UsageError(
            f"each answer has one advantage and one length. Got {values.size} advantages, "
            f"{counts.size} lengths. Give as many of both."
        )
    if bool((counts < 1).any() or (counts % 1).any()):
        raise UsageError(f"a length is a count of tokens. Got {list(lengths)}. Give 1 or more.")
    return values, [int(count) for count in counts]


def _at_least(name: str, given: int | None, least: int) -> int:
    """A denominator, which covers at least what is here."""
    if given is None:
        return least
    if not given >= least or given % 1:
        raise UsageError(f"{name} covers all of these. Got {given}. Give {least} or more.")
    return int(given)


def _spread(by_answer: Values, lengths: Sequence[int]) -> TokenWeights:
    return [np.full(length, w) for w, length in zip(by_answer, lengths, strict=True)]


def _ragged(weights: Sequence[ArrayLike]) -> TokenWeights:
    if not len(weights):
        raise UsageError("no answers. Got an empty list. Give the weights of at least one answer.")
    return [vector("the weights of an answer", row) for row in weights]

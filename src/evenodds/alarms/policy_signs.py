"""Signs in the policy and its updates: entropy, ratios, KL, clip, gradients, lengths."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from evenodds.alarms.history import History, Numbers, Values, answers, median, trend
from evenodds.alarms.rule import Rule, Sign
from evenodds.statistics import percent

AHEAD = 20  # steps that a fall is followed into the future
SURE = -6.0  # a slope this many standard errors below 0 is a fall
BELOW = math.log(0.7)  # and one of six steps is, where it ends so far below those before


def entropy_collapse(history: History, threshold: float) -> Sign | None:
    """Entropy far below its start and on its way to nothing, per token and per answer.

    Answers that grow longer have less entropy a token for the same variety, so what counts is the
    larger of the two shares that are left. A policy that is right more often needs less of it, so
    the share is held against that of the wrong answers which are left; and while it learns fast
    and its groups stay mixed, it only becomes sure of what it learned.
    """
    per_token, per_answer = _left(history, "entropy"), _left(history, "entropy/answer")
    if per_token is None or per_answer is None or _learns(history):
        return None
    (share, ahead), unit = max((per_token, "token"), (per_answer, "answer"))
    wrong = _wrong_left(history)
    if share >= threshold * wrong or ahead >= threshold * wrong / 3:
        return None
    return Sign(
        share / wrong,
        f"entropy per {unit} is {percent(share)} of what it was at the start and still falls: at "
        f"this pace {percent(ahead)} in {AHEAD} steps",
    )


def _left(history: History, name: str) -> tuple[float, float] | None:
    """The share of the start that is left, and that in `AHEAD` steps; None where it settles."""
    first, last = _logs(history.first, name), _logs(history.last[-20:], name)
    if last.size < 15 or first.size < 5:
        return None
    fast, slow = trend(last[-6:]), trend(last)
    fast = fast.in_noise(trend(last[:-6]).noise)  # six steps alone are smooth by chance at times
    sinks = fast.at_end < median(last[:-6]) + BELOW
    sure = [fall for fall in (fast, slow) if fall.sureness < SURE and (fall is slow or sinks)]
    if not sure:
        return None
    steepest = min(sure, key=lambda fall: fall.slope)
    slope = steepest.slope * (1 + 2 / steepest.sureness)  # the slower end of what it may be
    now = steepest.at_end - median(first)
    return math.exp(min(now, 0.0)), math.exp(min(now + AHEAD * slope, 0.0))


def _logs(rows: Sequence[Numbers], name: str) -> Values:
    return np.log([max(row[name], 1e-9) for row in rows if name in row])


def _learns(history: History) -> bool:
    """Whether many more answers are right than at the start, and groups are as mixed as then."""
    rate, mixed = "solve_rate/all", "groups/mixed"
    start, before = history.began(rate), history.began(mixed)
    now, after = history.values(rate, 5), history.values(mixed, 5)
    if start is None or before is None or not now.size or not after.size:
        return False
    return median(now) > start + 0.1 and float(after.mean()) >= 0.35 * before


def _wrong_left(history: History) -> float:
    """The share of wrong answers against the start, at most 1; 1 where it is not known."""
    start, now = history.began("solve_rate/all"), history.values("solve_rate/all", 5)
    if start is None or not now.size or start >= 1:
        return 1.0
    return min(1.0, max((1 - median(now)) / (1 - start), 0.02))


def _lately(history: History, name: str) -> float | None:
    """The median of the last three values of a metric; None where there are fewer."""
    values = history.values(name, 3)
    return median(values) if values.size == 3 else None


def heavy_ratio_tail(history: History, threshold: float) -> Sign | None:
    """A hundredth of all tokens whose probability grew by more than this factor."""
    now = _lately(history, "ratio/p99")
    if now is None or now <= threshold:
        return None
    words = f"the ratio of new to old probability is above {now:.3g} for a hundredth of the tokens"
    return Sign(now, words)


def kl_blowup(history: History, threshold: float) -> Sign | None:
    """KL to the start, or to the policy sampled from, that is high and still grows fast."""
    for name, words in (("kl", "to the start"), ("kl_to_old/k3", "within a step")):
        values, before = history.values(name, 3), history.values(name, 10, skip=5)
        if values.size < 3 or before.size < 3:
            continue
        now, earlier = median(values), median(before)
        if now > threshold and (now > 2 * earlier or now > 10 * threshold):
            reason = f"KL {words} is {now:.3g} nats a token, after {earlier:.3g} ten steps before"
            return Sign(now, reason)
    return None


def clip_saturated(history: History, threshold: float) -> Sign | None:
    """A share of tokens so large outside the clip range that updates are mostly cut off."""
    now = _lately(history, "clip_ratio/region_mean")
    if now is None or now <= threshold:
        return None
    return Sign(now, f"the clip cuts the gradient of {percent(now)} of all tokens")


def grad_spike(history: History, threshold: float) -> Sign | None:
    """Gradients again and again far above what they were, and above what they are clipped to."""
    now, before = history.values("grad_norm", 3), history.values("grad_norm", 20, skip=3)
    if now.size < 3 or before.size < 10:
        return None
    usual = median(before)
    second = float(np.sort(now)[-2])  # one alone is clipped, and does no harm
    if second <= max(threshold * usual, history.facts.max_grad_norm):
        return None
    value = second / max(usual, 1e-12)
    words = f"the gradient norm reached {second:.3g} twice in three updates, usual is {usual:.3g}"
    return Sign(value, words)


def sampler_mismatch(history: History, threshold: float) -> Sign | None:
    """Log-probabilities of the sampler that are not those of the learner."""
    now = _lately(history, "sampling/sampling_logp_difference/mean")
    if now is None or now <= threshold:
        return None
    words = f"sampler and learner differ by {now:.3g} nats a token before any update"
    return Sign(now, words)


def non_finite(history: History, threshold: float) -> Sign | None:
    """A number of the update, or a metric, that is not a number, or infinite."""
    if not history.broken:
        return None
    return Sign(1.0, history.broken)


def length_blowup(history: History, threshold: float) -> Sign | None:
    """Answers that grow fast while the problems are no harder and no more are solved."""
    name = "completions/mean_length"
    now, before = history.values(name, 3), history.values(name, 20, skip=6)
    if now.size < 3 or before.size < 6:
        return None
    value = median(now) / max(median(before), 1.0)
    harder = _risen(history, "difficulty", 0.5)
    better = _risen(history, "solve_rate/all", 0.05)
    room = median(now) > 0.1 * history.facts.max_tokens
    if value <= threshold or harder or better or not room:
        return None
    return Sign(
        value,
        f"answers have {median(now):.0f} tokens, {value:.1f} times those of the steps before "
        f"({median(before):.0f}), and no more are right",
    )


def _risen(history: History, name: str, by: float) -> bool:
    now, before = history.values(name, 3), history.values(name, 20, skip=6)
    return bool(now.size and before.size) and median(now) - median(before) > by


def all_truncated(history: History, threshold: float) -> Sign | None:
    """Nearly every answer cut by the budget, in four steps in a row."""
    rows = history.steps(4)
    shares = [row.get("completions/clipped_ratio", 0.0) for row in rows]
    if not rows or min(shares) <= threshold or answers(rows) < 64:
        return None
    value = sum(shares) / len(shares)
    budget = history.facts.max_tokens
    return Sign(value, f"{percent(value)} of the answers of four steps were cut at {budget} tokens")


RULES = (
    Rule(
        "entropy_collapse",
        entropy_collapse,
        0.5,
        "share of the entropy at the start",
        "entropy per token and per answer falls without settling",
        "Lower learner.learning_rate, raise objective.clip_high, or set objective.entropy_target",
    ),
    Rule(
        "length_blowup",
        length_blowup,
        2.0,
        "length against that of the 20 steps before",
        "answers grow fast, problems are no harder, and no more are solved",
        "Set objective.overlong, lower learner.learning_rate, or use objective.reduce per_budget "
        "where it is another",
    ),
    Rule(
        "all_truncated",
        all_truncated,
        0.9,
        "share of answers cut by the budget, four steps",
        "nearly all answers are cut",
        "Raise sampling.max_tokens, or use a prompt that asks for shorter answers",
    ),
    Rule(
        "kl_blowup",
        kl_blowup,
        1.0,
        "nats a token, median of three steps",
        "KL to the start or within a step is high and has doubled in ten steps",
        "Lower learner.learning_rate or learner.passes, or set objective.kl",
    ),
    Rule(
        "heavy_ratio_tail",
        heavy_ratio_tail,
        5.0,
        "ratio at its 99 % quantile, median of three updates",
        "an update makes a hundredth of the tokens many times as likely",
        "Lower learner.passes or learner.learning_rate, or set objective.correction",
    ),
    Rule(
        "clip_saturated",
        clip_saturated,
        0.8,
        "share of tokens outside the clip range, median of three updates",
        "the clip cuts most of the gradient",
        "Lower learner.passes or learner.learning_rate, or widen objective.clip_high",
    ),
    Rule(
        "grad_spike",
        grad_spike,
        10.0,
        "second largest norm of three updates against the usual one",
        "gradient norms jump, and above learner.max_grad_norm",
        "Lower learner.learning_rate, or raise sampling.groups",
    ),
    Rule(
        "sampler_mismatch",
        sampler_mismatch,
        0.1,
        "nats a token, median of three updates",
        "the sampler's log-probabilities are not the learner's",
        "Use policy.dtype float32, or set objective.correction to token_truncate",
    ),
    Rule(
        "non_finite",
        non_finite,
        0.0,
        "steps with a number that is not finite",
        "a number of the update is NaN or infinite, so that it was skipped, or a metric is",
        "Lower learner.learning_rate, or use policy.dtype float32",
    ),
)

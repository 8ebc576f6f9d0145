"""Signs in what is paid and to whom: rewards, groups, judges, audit, held-out problems."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from evenodds.alarms.history import History, Numbers, answers, median
from evenodds.alarms.rule import Rule, Sign
from evenodds.statistics import percent


def constant_reward(history: History, threshold: float) -> Sign | None:
    """Every answer of five steps or more paid exactly 0, or exactly 1."""
    rows: list[Numbers] = []
    for row in reversed(history.last):
        if row.get("reward_std") != 0.0 or row.get("reward") not in (0.0, 1.0):
            break
        if rows and row["reward"] != rows[0]["reward"]:
            break
        rows.append(row)
    count = answers(rows)
    if len(rows) < 5 or count < threshold:
        return None
    paid = "nothing" if rows[0]["reward"] == 0 else "in full"
    words = f"all {count:,.0f} answers of {len(rows)} steps were paid {paid}"
    return Sign(count, words)


def no_updates(history: History, threshold: float) -> Sign | None:
    """Steps in a row without an update, and enough groups in them that it is no chance."""
    rows: list[Numbers] = []
    for row in reversed(history.last):
        if not row["skipped"]:
            break
        rows.append(row)
    groups = sum(row.get("groups/drawn", 0.0) for row in rows)
    if len(rows) < threshold or groups < 40:
        return None
    why = " ".join(history.skipped.split())[:160]
    return Sign(len(rows), f"{len(rows)} steps in a row without an update: {why}")


def informative_loss(history: History, threshold: float) -> Sign | None:
    """Far fewer mixed groups than solve rates explain, against the first steps of the run."""
    now, start = history.steps(5), history.first
    if history.seen < 15 or not now:
        return None
    found, groups = _informative(now)
    began, _ = _informative(start)
    if found is None or began is None:
        return None
    seen, expected = found
    usual = began[0] / began[1] if began[1] > 0 else 0.0
    wanted = expected * usual
    if wanted <= 0.05:
        return None
    noise = math.sqrt(wanted * (1 - min(wanted, 1.0)) / max(groups, 1)) + 0.02
    if groups < 30 or seen >= threshold * wanted or wanted - seen < 4 * noise:
        return None
    return Sign(
        seen / wanted,
        f"{percent(seen)} of the groups of five steps are mixed, where the solve rates would give "
        f"{percent(wanted)}: the answers to one problem have become alike",
    )


def _informative(rows: Sequence[Numbers]) -> tuple[tuple[float, float] | None, float]:
    """(mixed share, expected share) of the groups of some rows, and how many groups there are."""
    seen = expected = groups = 0.0
    for row in rows:
        drawn, mixed = row.get("groups/drawn", 0.0), row.get("groups/mixed")
        chance = row.get("informative")
        if mixed is not None and chance is not None:
            seen, expected, groups = seen + drawn * mixed, expected + drawn * chance, groups + drawn
    return ((seen / groups, expected / groups) if groups else None), groups


def near_duplicates(history: History, threshold: float) -> Sign | None:
    """Answers that repeat one another, beyond what right answers explain by being right."""
    now, start = history.last[-4:], history.first
    excess, before = _excess(now), _excess(start)
    if len(now) < 4 or len(excess) < 4 or not before or answers(now) < 128:
        return None
    value = median(excess)
    if value <= threshold or value - median(before) < 0.2:
        return None
    share = median([row.get("completions/duplicates", 0.0) for row in now])
    words = f"{percent(share)} of the answers nearly repeat another one of their group"
    return Sign(value, f"{words}, {percent(value)} more than are right")


def _excess(rows: Sequence[Numbers]) -> list[float]:
    """Share of duplicates less the share of right answers, which may well be the same text."""
    pairs = [(row.get("completions/duplicates"), row.get("solve_rate/all")) for row in rows]
    return [one - two for one, two in pairs if one is not None and two is not None]


def verifier_errors(history: History, threshold: float) -> Sign | None:
    """A share of answers that could not be judged which grows, or is large from the start."""
    rows = history.steps(4)
    shares = [row.get("unjudged", 0.0) for row in rows]
    if not rows:
        return None
    value = sum(shares) / len(shares)
    began = median([row.get("unjudged", 0.0) for row in history.first])
    grows = value > threshold and value > 2 * began and history.seen > 5
    if value * answers(rows) < 8 or not (grows or value > 4 * threshold):
        return None
    words = f"{percent(value, 1)} of the answers of four steps could not be judged"
    return Sign(value, f"{words}, {percent(began, 1)} at the start")


def audit_disagreement(history: History, threshold: float) -> Sign | None:
    """Answers that the verifier calls right and the audit does not, over five steps."""
    rows = [r for r in history.last[-5:] if r.get("audit/overpaid") is not None]
    shares = [row.get("audit/overpaid", 0.0) for row in rows]
    if not rows:
        return None
    value = sum(shares) / len(shares)
    count = value * answers(rows)
    if value <= threshold or count < 8:
        return None
    steps = "one step" if len(rows) == 1 else f"{len(rows)} steps"
    return Sign(
        value,
        f"of the answers of {steps} {percent(value, 1)} (about {count:.0f}) are right to the "
        "verifier and not to the audit",
    )


def canary_paid(history: History, threshold: float) -> Sign | None:
    """An answer paid that no one can have known to be right, in a step or an evaluation."""
    row = history.last[-1]
    share = max(row.get("canary/paid", 0.0), row.get("heldout/canaries_paid", 0.0))
    if share <= threshold:
        return None
    words = f"{percent(share, 1)} of the answers to canaries were paid, which nobody can know"
    return Sign(share, words)


def passk_fall(history: History, threshold: float) -> Sign | None:
    """pass@1 of held-out problems up against the base while pass@k is down, beyond chance."""
    if not history.evaluated:
        return None
    row = history.evaluated[-1]
    one, many = row.get("heldout/pass@1_gain"), row.get("heldout/pass@k_gain")
    high, k = row.get("heldout/pass@k_gain_high"), row.get("heldout/k")
    if one is None or many is None or high is None or k is None:
        return None
    surely = many + 1.3 * (high - many)  # 99 %, for it is asked at every evaluation
    if one <= 0 or many > -threshold or surely >= 0:
        return None
    return Sign(
        -many,
        f"on held-out problems pass@1 gained {100 * one:+.1f} points and pass@{k:.0f} "
        f"{100 * many:+.1f}: the policy does surer what it could do, and can do less",
    )


def reward_without_gain(history: History, threshold: float) -> Sign | None:
    """A reward that rose clearly while held-out problems surely gained only a part of that."""
    if not history.evaluated or history.seen < 20:
        return None
    high = history.evaluated[-1].get("heldout/pass@1_gain_high")
    first = [v for row in history.first if (v := row.get("reward")) is not None]
    last = history.values("reward", 5)
    if high is None or len(first) < 5 or last.size < 5 or _got_easier(history):
        return None
    rise = float(last.mean()) - float(np.mean(first))
    noise = float(np.std(first, ddof=1)) * math.sqrt(1 / last.size + 1 / len(first))
    if rise < max(0.1, 4 * noise) or high >= threshold * rise:
        return None
    gain = history.evaluated[-1].get("heldout/pass@1_gain", 0.0)
    return Sign(
        high / rise,
        f"the reward rose by {100 * rise:.1f} points since the first steps, held-out problems "
        f"gained {100 * gain:+.1f}, and not more than {100 * high:+.1f}",
    )


def _got_easier(history: History) -> bool:
    """Whether a curriculum went down: then a higher reward says nothing."""
    start, now = history.began("difficulty"), history.values("difficulty", 3)
    return start is not None and now.size > 0 and median(now) < start - 0.25


RULES = (
    Rule(
        "constant_reward",
        constant_reward,
        256,
        "answers in a row, of five steps at least",
        "the reward is exactly 0, or exactly 1, throughout",
        "Choose problems of another level (curriculum.start, where there are several), give "
        "partial credit, or check the verifier with `evenodds check`",
    ),
    Rule(
        "no_updates",
        no_updates,
        5,
        "steps in a row, with 40 groups at least",
        "no group tells anything, so nothing is learned",
        "Change curriculum.start where there are several levels, give partial credit, raise "
        "sampling.group_size, or set objective.zero_signal to refill",
    ),
    Rule(
        "informative_loss",
        informative_loss,
        0.5,
        "share of the expected mixed groups",
        "mixed groups vanish faster than accuracy explains",
        "Raise sampling.temperature or set objective.entropy_target, and lower "
        "learner.learning_rate",
    ),
    Rule(
        "near_duplicates",
        near_duplicates,
        0.3,
        "share of near-duplicates less that of right answers",
        "answers to one problem repeat one another beyond the right ones",
        "Raise sampling.temperature, set objective.entropy_target, or lower learner.learning_rate",
    ),
    Rule(
        "verifier_errors",
        verifier_errors,
        0.05,
        "share of answers that could not be judged, four steps",
        "more and more answers cannot be judged",
        "See the notes in rollouts/, then raise judge.seconds or mend the verifier",
    ),
    Rule(
        "audit_disagreement",
        audit_disagreement,
        0.05,
        "share of answers overpaid by the audit, five steps",
        "the verifier pays what the audit does not",
        "Read the disagreeing answers (`disagree` in groups.jsonl) and mend task.verifier",
    ),
    Rule(
        "canary_paid",
        canary_paid,
        0.0,
        "share of canary answers that were paid",
        "an answer is paid that no one can have known",
        "Stop: the verifier pays without knowing. Mend it, and try it with `evenodds check`",
    ),
    Rule(
        "passk_fall",
        passk_fall,
        0.05,
        "fall of pass@k against the base, beyond a 99 % interval",
        "pass@1 rises while pass@k falls: sharpening",
        "Lower learner.learning_rate, set objective.kl or objective.entropy_target, or raise the "
        "variety of problems",
    ),
    Rule(
        "reward_without_gain",
        reward_without_gain,
        0.25,
        "most that held-out problems can have gained, as a share of the rise of the reward",
        "the reward rises and held-out problems do not gain",
        "Read the best paid answers, add an audit.verifier, and use more training problems",
    ),
)

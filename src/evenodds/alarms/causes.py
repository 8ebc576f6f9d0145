"""The causes of a flat reward, one small function each: none, or how well it explains the run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from evenodds.alarms.case import Case
from evenodds.alarms.history import UNJUDGED
from evenodds.statistics import informative_group_probability, percent


@dataclass(frozen=True)
class Finding:
    """One explanation. cause: a short name for people. strength: 0 to 1, how well it explains it.

    evidence: the run's own numbers in a sentence. remedy: which setting to change; empty where
    there is nothing to mend. flat: False only for the finding that the reward rose after all.
    """

    cause: str
    evidence: str
    remedy: str
    strength: float
    flat: bool = True


Cause = Callable[[Case], Finding | None]
FEW = 15  # updates after which a policy that learns has moved


def random_reward(case: Case) -> Finding | None:
    """The control arm: there is nothing to learn from a coin."""
    if not case.setting("run", "random_reward", False):
        return None
    words = "the reward is a coin (run.random_reward), which no answer can change"
    return Finding("random reward", words, "Leave run.random_reward out to learn something", 1.0)


def all_truncated(case: Case) -> Finding | None:
    """The budget cuts most answers before they are finished."""
    share = case.now("completions/clipped_ratio")
    if share < 0.5:
        return None
    words = f"{percent(share)} of the last answers were cut at {case.facts.max_tokens} tokens"
    masked = case.setting("objective", "mask_truncated", None)
    words += ", and cut answers are not learned from" if masked is not False else ""
    remedy = "Raise sampling.max_tokens, or ask for shorter answers"
    return Finding("answers are cut", words, remedy, share)


def unreadable(case: Case) -> Finding | None:
    """No answer is found in most texts: the format is out of reach."""
    if case.unread < 0.4:
        return None
    words = f"in {percent(case.unread)} of the last answers no single final answer was found"
    remedy = (
        "Use task.style few_shot or chat, ask for the format in the prompt, or let task.policy "
        "accept how the policy writes"
    )
    return Finding("format unreachable", words, remedy, case.unread)


def verifier_errors(case: Case) -> Finding | None:
    """Answers cannot be judged, so they teach nothing."""
    share = case.now("unjudged")
    if share < 0.1:
        return None
    most = max(UNJUDGED, key=case.now).removeprefix("status/")
    words = f"{percent(share)} of the last answers could not be judged, most of them: {most}"
    remedy = "Read the notes in rollouts/, raise judge.seconds, or mend the verifier"
    return Finding("verifier errors", words, remedy, min(1.0, 0.3 + share))


def too_hard(case: Case) -> Finding | None:
    """Nearly every group is all wrong, for no other reason than the problems."""
    wrong, rate = case.now("groups/all_wrong"), case.now("solve_rate/all")
    if wrong < 0.7 or rate > 0.03:
        return None
    right = percent(rate, 1)
    words = f"{percent(wrong)} of the last groups are all wrong; {right} of the answers are right"
    remedy = (
        "Start at easier problems (curriculum.start, curriculum.levels), give partial credit, or "
        "raise sampling.group_size"
    )
    return Finding("too hard", words, remedy, wrong * (1 - case.explained))


def too_easy(case: Case) -> Finding | None:
    """Nearly every group is all right: from the start, or since the reward reached its ceiling."""
    right, rate = case.now("groups/all_right"), case.now("solve_rate/all")
    if right < 0.7:
        return None
    solved = percent(rate, 1)
    words = f"{percent(right)} of the last groups are all right; {solved} of the answers are"
    cause = "too easy" if _began_so(case) else "reward at its ceiling"
    remedy = "Give harder problems (curriculum.kind ladder, curriculum.start, or other data)"
    return Finding(cause, words, remedy, right)


def _began_so(case: Case) -> bool:
    ends = case.ends("solve_rate/all")
    return ends is not None and ends[0] > 0.9


def small_groups(case: Case) -> Finding | None:
    """Groups too small to hold a right and a wrong answer at these solve rates."""
    size, mixed, rate = case.facts.group_size, case.now("groups/mixed"), case.now("solve_rate/all")
    if mixed > 0.4 or not 0.005 < rate < 0.995:
        return None
    here, more = case.mixed_at(size), case.mixed_at(4 * size)
    if here is None or more is None:
        here, more = (informative_group_probability(rate, n) for n in (size, 4 * size))
    if here > 0.5 or more < 1.8 * here:
        return None
    words = (
        f"with {size} answers {percent(mixed)} of the groups hold right and wrong ones, at a solve "
        f"rate of {percent(rate, 1)}; with {4 * size} it would be about {percent(more)}"
    )
    remedy = f"Raise sampling.group_size to {4 * size}, or choose problems nearer to even odds"
    return Finding("groups too small", words, remedy, (1 - mixed) * (1 - case.explained))


def alike(case: Case) -> Finding | None:
    """Answers to one problem agree far more than independent ones would."""
    mixed, expected = case.now("groups/mixed"), case.now("informative")
    if expected < 0.3 or mixed > 0.5 * expected:
        return None
    words = (
        f"{percent(mixed)} of the last groups are mixed, where their solve rates would give "
        f"{percent(expected)}: answers to one problem are alike, or problems are all or nothing"
    )
    remedy = "Raise sampling.temperature, set objective.entropy_target, or mix levels in between"
    return Finding("answers are alike", words, remedy, 0.9 * (1 - mixed / expected))


def no_updates(case: Case) -> Finding | None:
    """Most steps had nothing to learn from; why is another finding, mostly."""
    share = case.now("skipped")
    if share < 0.5 or not case.skipped:
        return None
    why, count = Counter(case.skipped).most_common(1)[0]
    why = " ".join(why.split())
    words = f"{percent(share)} of the last steps had no update ({count} times: {why})"
    remedy = "See the other causes; objective.zero_signal refill draws groups until some differ"
    return Finding("no updates", words[:300], remedy, 0.6 * share)


def rate_too_low(case: Case) -> Finding | None:
    """Updates are made from mixed groups, and the policy is where it was."""
    entropy, steps = case.ends("entropy"), case.values("grad_norm").size
    if entropy is None or steps < FEW or case.now("groups/mixed") < 0.2:
        return None
    moved = abs(entropy[1] - entropy[0]) / max(entropy[0], 1e-9)
    measured = case.values("kl")
    kl = float(np.median(measured[-5:])) if measured.size else None
    if (kl > 2e-3) if kl is not None else (moved > max(0.05, 2 * _scatter(case))):
        return None
    words = f"after {steps} updates the entropy is {entropy[1]:.3f}, it was {entropy[0]:.3f}"
    words += "" if kl is None else f", and the KL to the start is {kl:.1e} nats a token"
    rate = case.now("learning_rate")
    remedy = f"Raise learner.learning_rate (it is {rate:.1e}) by 3 to 10 times"
    return Finding("learning rate too low", words, remedy, 0.8 if kl is not None else 0.6)


def _scatter(case: Case) -> float:
    """How much the median of five entropies moves by chance, as a share."""
    values = case.values("entropy")
    steps = np.diff(values)
    return float(np.std(steps) / np.sqrt(2) / max(float(values.mean()), 1e-9))


def rate_too_high(case: Case) -> Finding | None:
    """The policy is thrown about: KL, ratios, gradients or entropy are far off, or it broke."""
    signs, broke = _wild(case), _broke(case)
    if not signs and not broke:
        return None
    words = "; ".join([*broke, *signs])
    remedy = (
        f"Lower learner.learning_rate (it is {case.now('learning_rate'):.1e}) by 3 to 10 times, or "
        "learner.passes"
    )
    strength = (1.0 if broke else 0.5) + 0.2 * len(signs)
    return Finding("learning rate too high", words, remedy, min(1.0 if broke else 0.95, strength))


def _broke(case: Case) -> list[str]:
    """That most of what was solved at the start is not any more, at problems no harder."""
    rate, level = case.ends("solve_rate/all"), case.ends("difficulty")
    harder = level is not None and level[1] > level[0] + 0.5
    if rate is None or rate[0] < 0.1 or rate[1] > 0.4 * rate[0] or harder:
        return []
    began, ended = map(percent, rate)
    return [f"{began} of the answers were right at the start, {ended} at the end"]


def _wild(case: Case) -> list[str]:
    """What shows that updates are too large."""
    found: list[str] = []
    kl, ratio = case.now("kl"), case.now("ratio/p99", 1.0)
    if kl > 0.5:
        found.append(f"the KL to the start is {kl:.2g} nats a token")
    if ratio > 3:
        found.append(f"a hundredth of the ratios is above {ratio:.2g}")
    grad = case.ends("grad_norm")
    if grad is not None and grad[1] > 10 * grad[0] and grad[1] > case.facts.max_grad_norm:
        found.append(f"the gradient norm went from {grad[0]:.2g} to {grad[1]:.2g}")
    entropy = case.ends("entropy")
    if entropy is not None and entropy[1] > 2.5 * entropy[0] + 0.1:
        found.append(f"the entropy went up from {entropy[0]:.2g} to {entropy[1]:.2g}")
    if entropy is not None and entropy[1] < 0.05 * entropy[0]:
        found.append(f"the entropy went down from {entropy[0]:.2g} to {entropy[1]:.2g}")
    return found


def clipped(case: Case) -> Finding | None:
    """The clip cuts most of the gradient."""
    share = case.now("clip_ratio/region_mean")
    if share < 0.5:
        return None
    words = f"the clip cuts the gradient of {percent(share)} of the tokens in the last pass"
    remedy = "Lower learner.passes, or widen objective.clip_low and objective.clip_high"
    return Finding("updates are clipped", words, remedy, 0.7 * share)


def stuck_curriculum(case: Case) -> Finding | None:
    """A ladder that stays where it is though the solve rate is far from its target."""
    levels = case.values("difficulty")
    is_ladder = case.setting("curriculum", "kind", "ladder") == "ladder"
    if not is_ladder or levels.size < 10 or float(np.ptp(levels[-10:])) > 0.05:
        return None
    target, rate = float(case.setting("curriculum", "target", 0.5)), case.now("solve_rate")
    if abs(rate - target) < 0.15:
        return None
    end = "its easiest level" if rate < target else "its hardest level"
    words = f"the ladder stands at {end}, {levels[-1]:.1f}, where {percent(rate)} are solved"
    easier = "Give easier problems, or partial credit" if rate < target else ""
    remedy = easier or "Give harder problems: these are learned"
    return Finding("curriculum stuck", words, remedy, 0.65 * (1 - case.explained))


CAUSES: tuple[Cause, ...] = (
    random_reward,
    rate_too_high,
    all_truncated,
    unreadable,
    verifier_errors,
    too_hard,
    too_easy,
    small_groups,
    alike,
    no_updates,
    rate_too_low,
    clipped,
    stuck_curriculum,
)

"""Whether there will be anything to learn from: how many groups of the first steps are mixed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from evenodds.report.text import counted
from evenodds.run.build import Plan, started
from evenodds.run.preflight.answers import Asked, Sampled
from evenodds.run.preflight.finding import Finding
from evenodds.run.preflight.ground import Ground
from evenodds.statistics import Estimate, clustered_rate, expected_informative, mixture, percent

LITTLE = 0.20  # share of mixed groups below which most of what is drawn teaches nothing
CUT = 0.25  # share of answers that are cut, from which on that is what is wrong
FEWEST = 32  # answers that say whether any is right
SHOWN = 6  # levels that are named


def counts(problems: Sequence[Asked], partial: bool) -> tuple[list[int], list[int]]:
    """Answers with one reward, and answers, of each problem.

    Where answers are paid in part, groups agree only where all have the same reward: the one that
    most have is then counted in place of right answers.
    """
    known = [one for one in problems if one.tries]
    if not partial:
        return [one.right for one in known], [one.tries for one in known]
    most = [Counter(round(r, 6) for r in one.rewards).most_common(1)[0][1] for one in known]
    return most, [one.tries for one in known]


def expected(found: Sampled, weights: Mapping[int, float], group_size: int) -> Estimate:
    """The share of mixed groups. weights: of the levels, all of which were asked."""
    rows = [
        (share, mixture(*counts(found.level(level), found.partial)))
        for level, share in weights.items()
    ]
    return expected_informative(rows, group_size)


def rates(found: Sampled) -> str:
    """Solve rates by level, for a line."""
    rows = [(n, found.level(n)) for n in found.levels]
    shares = [
        f"{n}: {percent(sum(o.right for o in level) / max(1, sum(o.tries for o in level)))}"
        for n, level in rows
    ]
    more = f" (and {len(shares) - SHOWN} more levels)" if len(shares) > SHOWN else ""
    return ", ".join(shares[:SHOWN]) + more


@dataclass(frozen=True)
class Ways:
    """What may be changed in a run. kind: of its curriculum, over so many levels. refills: whether
    groups that agree are drawn again already, which costs time and is bounded."""

    kind: str
    levels: int
    refills: bool

    def elsewhere(self, where: str, weights: Mapping[int, float]) -> str:
        """The settings for `lower` or `higher` levels than those; nothing where there is none."""
        end = 0 if where == "lower" else self.levels - 1
        if end in weights:
            return ""
        if self.kind == "ladder":
            return f"a {where} --curriculum.start"
        fixed = "" if self.kind == "fixed" else "--curriculum.kind fixed with "
        return f"{fixed}{where} --curriculum.levels"


def informative(
    found: Sampled, weights: Mapping[int, float], group_size: int, ways: Ways
) -> Finding:
    """What there will be to learn from. weights: share of each level in the first step."""
    share = expected(found, weights, group_size)
    what = (
        f"about {percent(share.mean)} of groups of {group_size} will be mixed "
        f"[{percent(share.low)} to {percent(share.high)}]; solve rates by level: {rates(found)}"
    )
    if share.mean >= LITTLE:
        return _one_part(found) or Finding("informative", "fine", what)
    if found.truncated.mean > CUT:
        cut = f"{percent(found.truncated.mean)} of the answers were cut by the budget"
        return Finding("informative", "skipped", f"{cut}, so that solve rates say nothing yet")
    right, tries = sum(one.right for one in found.problems), sum(o.tries for o in found.problems)
    sure = share.high < LITTLE
    if not right and not found.partial:
        what = f"the base solved none of {tries:,} answers at any level; {what}"
        why = "a group in which all are wrong has no gradient: there is nothing to begin with"
        change = _either(
            ways.elsewhere("lower", weights),
            "easier problems, a policy that solves some, or a verifier that pays a part",
        )
        return Finding("informative", "fatal" if sure else "warning", what, why, change)
    solved = _solved(found, weights)
    why = "a group that agrees has no gradient, so most of the time spent on sampling is lost"
    if solved > 0.5:
        why = f"{percent(solved)} is solved where training begins: there is little left to learn"
        change = _either(ways.elsewhere("higher", weights), "harder problems")
        is_over = sure and right == tries
        return Finding("informative", "fatal" if is_over else "warning", what, why, change)
    again = "" if ways.refills else "--objective.zero_signal refill"
    easier = ways.elsewhere("lower", weights) or "easier problems"
    change = _either(easier, f"--sampling.group_size {2 * group_size}", again)
    return Finding("informative", "warning", what, why, change)


def _one_part(found: Sampled) -> Finding | None:
    """A warning where no answer is right, and there are only two scores to tell answers apart."""
    rewards = sorted({round(r, 6) for one in found.problems for r in one.rewards})
    right, tries = sum(one.right for one in found.problems), sum(o.tries for o in found.problems)
    if right or len(rewards) != 2 or tries < FEWEST:
        return None
    return Finding(
        "informative",
        "warning",
        f"none of {tries:,} answers was right, and all scored {rewards[0]:g} or {rewards[1]:g}",
        "this one part, a format say, is all that can be learned: it will come to be paid always, "
        "and the answers stay wrong",
        "easier problems, a policy that solves some, or a verifier that pays more than one part",
    )


def _either(*ways: str) -> str:
    """`one, two, or three`, without those that are empty."""
    kept = [way for way in ways if way]
    return ", or ".join([", ".join(kept[:-1]), kept[-1]] if len(kept) > 1 else kept)


def _solved(found: Sampled, weights: Mapping[int, float]) -> float:
    """The solve rate where training begins."""
    total = 0.0
    for level, share in weights.items():
        rows = found.level(level)
        rate = clustered_rate([o.right for o in rows], [o.tries for o in rows]).mean
        total += share * float(np.nan_to_num(rate))
    return total


def beginning(plan: Plan, found: Sampled) -> dict[int, float]:
    """The share of each level in the first step, with what is known of the base."""
    curriculum = started(plan.curriculum, plan.config, found.record())
    return {level: share for level, share in enumerate(curriculum.weights) if share > 0}


def look_at_signal(ground: Ground) -> Finding | None:
    """Levels that nobody was asked about are left out, where they are few."""
    found = ground.sampled
    if found is None or ground.plan.config.run.random_reward:
        return None
    weights = beginning(ground.plan, found)
    known = {n: share for n, share in weights.items() if any(o.tries for o in found.level(n))}
    if sum(known.values()) < 0.5:
        missing = ", ".join(str(level) for level in weights if level not in known)
        what = f"training begins at levels that were not asked about: {missing}"
        return Finding("informative", "skipped", what)
    config = ground.plan.config
    refills = ground.objective.zero_signal == "refill"
    ways = Ways(config.curriculum.kind, len(ground.plan.task.levels), refills)
    return informative(found, known, config.sampling.group_size, ways)


def look_at_probe(ground: Ground) -> Finding | None:
    """What the other checks of answers rest on, and whether it was cut short."""
    found, probe = ground.sampled, ground.probe
    if found is None or probe is None:
        return None
    what = (
        f"{found.answers:,} answers to {len(found.problems)} problems of "
        f"{counted(len(found.levels), 'level')}, in {found.seconds:.1f} s"
    )
    return Finding("probe", "fine", f"{what}; cut short: {found.note}" if found.note else what)

"""What a step writes into its line of metrics.jsonl."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

import numpy as np

from evenodds.curricula import Curriculum
from evenodds.domain import Group, Status, Stop
from evenodds.records import Line
from evenodds.step import State, StepReport

KINDS = ("mixed", "all_right", "all_wrong", "not_judged")


def _kind(group: Group) -> str:
    """Which of `KINDS` a group is, by its judged answers alone."""
    judged = int(group.judged.sum())
    if not judged:
        return "not_judged"
    if 0 < group.right < judged:
        return "mixed"
    return "all_right" if group.right else "all_wrong"


def _triple(groups: list[Group]) -> dict[str, float]:
    """Shares of groups that are mixed, all right, all wrong, and not judged; they sum to 1."""
    kinds = Counter(_kind(group) for group in groups)
    return {f"groups/{kind}": kinds[kind] / len(groups) for kind in KINDS}


def _by_level(groups: list[Group]) -> dict[str, float]:
    rates: defaultdict[int, list[float]] = defaultdict(list)
    for group in groups:
        if group.judged.any():
            rates[group.problem.level].append(group.right / int(group.judged.sum()))
    result: dict[str, float] = {}
    for level in sorted(rates):
        result[f"level/{level}/solve_rate"] = float(np.mean(rates[level]))
        result[f"level/{level}/groups"] = len(rates[level])
    return result


def _rewards(groups: list[Group]) -> dict[str, float]:
    rewards = np.concatenate([group.rewards for group in groups])
    stds = [float(group.rewards.std()) for group in groups if group.rewards.size]
    if not rewards.size:
        return {}
    return {
        "reward": float(rewards.mean()),
        "reward_std": float(np.mean(stds)),
        "frac_reward_zero_std": float(np.mean([not group.is_informative for group in groups])),
    }


def _parts(groups: list[Group]) -> dict[str, float]:
    """The mean of each summand of the reward, over the judged answers."""
    judged = [v for group in groups for v in group.verdicts if v.is_judged]
    names = sorted({name for verdict in judged for name in verdict.parts})
    return {f"reward/{n}": float(np.mean([v.parts.get(n, 0.0) for v in judged])) for n in names}


def _completions(groups: list[Group]) -> dict[str, float]:
    rollouts = [rollout for group in groups for rollout in group.rollouts]
    lengths = np.array([rollout.ids.size for rollout in rollouts])
    ends = [rollout.stop is Stop.END_TOKEN for rollout in rollouts]
    return {
        "completions/mean_length": float(lengths.mean()),
        "completions/max_length": float(lengths.max()),
        "completions/clipped_ratio": float(np.mean([r.is_truncated for r in rollouts])),
        "completions/end_token_ratio": float(np.mean(ends)),
    }


def _statuses(groups: list[Group]) -> dict[str, float]:
    statuses = [verdict.status for group in groups for verdict in group.verdicts]
    return {f"status/{status}": statuses.count(status) / len(statuses) for status in Status}


def _posteriors(curriculum: Curriculum) -> dict[str, float]:
    """What the curriculum believes of each level's solve rate, by the level's label."""
    prefix = "solve_rate/"
    found = curriculum.metrics().items()
    return {
        f"posterior/{name.removeprefix(prefix)}": value
        for name, value in found
        if name.startswith(prefix)
    }


def _duplicates(groups: Line) -> dict[str, float]:
    """The share of answers that nearly repeat an earlier one of their group."""
    return {"completions/duplicates": sum(groups["duplicates"]) / max(1, sum(groups["size"]))}


def step_metrics(
    before: State, after: State, report: StepReport, counted: Line | None = None
) -> dict[str, Any]:
    """One line of metrics.jsonl without its clock fields. Names are explained in docs/metrics.md.

    `difficulty` is the one that this step's problems were proposed at; `solve_rate` that of the
    problems which steer the curriculum, `solve_rate/all` that of the whole batch. counted: the line
    of groups.jsonl.
    """
    groups = report.groups
    proposed = before.curriculum.metrics()
    rates = [g.right / int(g.judged.sum()) for g in groups if g.judged.any()]
    every = float(np.mean(rates)) if rates else None
    metrics: dict[str, Any] = {
        "step": after.step,
        "policy_version": after.version,
        **_rewards(groups),
        **_parts(groups),
        "groups/drawn": len(groups),
        "groups/rounds": report.rounds,
        "solve_rate": after.curriculum.metrics().get("solve_rate", every),
        "solve_rate/all": every,
        "difficulty": proposed.get("difficulty"),
        **_triple(groups),
        **_by_level(groups),
        **_posteriors(after.curriculum),
        **_completions(groups),
        **(_duplicates(counted) if counted else {}),
        **_statuses(groups),
        "num_tokens": after.tokens,
    }
    if before.bonus is not None and after.bonus is not None:
        metrics |= {"entropy/coefficient_held": after.bonus.coefficient}
    if before.bonus is not None or report.objective.entropy:
        metrics |= {"entropy/coefficient": report.objective.entropy}
    if report.update is not None:
        metrics |= report.update.metrics
    metrics["update/skipped"] = after.skips.total
    if report.skipped:
        metrics["skipped"] = report.skipped
    if report.fault:
        metrics["fault"] = report.fault
    return {name: value for name, value in metrics.items() if value is not None}

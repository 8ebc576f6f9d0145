"""What a step writes down: its metrics, and every rollout with why it was paid."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

import numpy as np

from evenodds.batch import advantages
from evenodds.domain import Group, Status, Stop
from evenodds.objectives import Objective
from evenodds.step import State, StepReport, learner_logprobs


def _triple(groups: list[Group]) -> dict[str, float]:
    """Shares of groups that are mixed, all right and all wrong; they sum to 1."""
    kinds = Counter(
        "mixed"
        if 0 < group.right < len(group.rollouts)
        else "all_right"
        if group.right
        else "all_wrong"
        for group in groups
    )
    return {f"groups/{k}": kinds[k] / len(groups) for k in ("mixed", "all_right", "all_wrong")}


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


def step_metrics(before: State, after: State, report: StepReport) -> dict[str, Any]:
    """One line of metrics.jsonl without its clock fields. Names are explained in docs/metrics.md.

    `difficulty` is the one that this step's problems were proposed at; `solve_rate` that of the
    problems which steer the curriculum, `solve_rate/all` that of the whole batch.
    """
    groups = report.groups
    proposed = before.curriculum.metrics()
    rates = [g.right / int(g.judged.sum()) for g in groups if g.judged.any()]
    every = float(np.mean(rates)) if rates else None
    metrics: dict[str, Any] = {
        "step": after.step,
        "policy_version": after.version,
        **_rewards(groups),
        "solve_rate": after.curriculum.metrics().get("solve_rate", every),
        "solve_rate/all": every,
        "difficulty": proposed.get("difficulty"),
        **_triple(groups),
        **_by_level(groups),
        **_completions(groups),
        **_statuses(groups),
        "num_tokens": after.tokens,
    }
    if report.update is not None:
        metrics |= report.update.metrics
    if report.skipped:
        metrics["skipped"] = report.skipped
    return {name: value for name, value in metrics.items() if value is not None}


def _why(group: Group, place: int, objective: Objective) -> str:
    """Why a rollout is not in the loss; empty where it is."""
    if not group.judged[place]:
        return "could not be judged"
    if not group.is_informative:
        return "its group agreed"
    if objective.mask_truncated and group.rollouts[place].is_truncated:
        return "cut by the budget"
    return ""


def rollout_rows(
    step: int, report: StepReport, objective: Objective, verifier: str, prompts: list[str]
) -> list[dict[str, Any]]:
    """One row a rollout: enough to recompute the loss, and to say why it was paid.

    prompts: the text that each group's prompt was rendered to.
    """
    learned = learner_logprobs(report)
    rows: list[dict[str, Any]] = []
    for g, group in enumerate(report.groups):
        credit = advantages(group, objective)
        for a, (rollout, verdict) in enumerate(zip(group.rollouts, group.verdicts, strict=True)):
            why = _why(group, a, objective)
            rows.append(
                {
                    "step": step,
                    "problem_key": group.problem.key,
                    "level": group.problem.level,
                    "gold": group.problem.answer,
                    "group": g,
                    "answer": a,
                    "group_size": len(group.rollouts),
                    "prompt": prompts[g],
                    "prompt_ids": rollout.prompt_ids.tolist(),
                    "completion": rollout.text,
                    "completion_ids": rollout.ids.tolist(),
                    "in_loss": not why,
                    "logprobs": rollout.logprobs.tolist(),
                    "learner_logprobs": learned[g, a].tolist() if (g, a) in learned else None,
                    "policy_version": rollout.version,
                    "temperature": rollout.limits.temperature,
                    "max_tokens": rollout.limits.max_tokens,
                    "seed": rollout.seed,
                    "stop": str(rollout.stop),
                    "reward": verdict.score,
                    "parts": [{"name": k, "value": v} for k, v in verdict.parts.items()],
                    "status": str(verdict.status),
                    "extracted": verdict.extracted,
                    "note": verdict.note,
                    "verifier": verifier,
                    "advantage": float(credit[a]),
                    "kept": not why,
                    "why": why,
                }
            )
    return rows

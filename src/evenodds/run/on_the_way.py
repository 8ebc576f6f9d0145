"""Evaluations on the way: a few held-out problems every so many steps, against the base."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from evenodds.evaluation import EvaluationSettings, Record, summary_of
from evenodds.run.build import evaluation_settings
from evenodds.run.config import Config
from evenodds.statistics import Estimate, paired_difference, pass_at_k
from evenodds.tasks import Task


def is_due(config: Config, step: int) -> bool:
    """Whether held-out problems are asked after this step. The last one has its evaluation."""
    every = config.evaluation.every
    return every is not None and step % every == 0 and step != config.run.steps


def settings_on_the_way(config: Config, task: Task) -> EvaluationSettings:
    """Fewer problems, no greedy answers, and else what is measured before and after."""
    section = config.evaluation
    few = min(section.every_problems, section.problems)
    return replace(evaluation_settings(config, task), problems=few, greedy=False)


def expected_seconds(config: Config, whole: float) -> float:
    """Before the first of them: the share of a whole evaluation that it asks problems of."""
    section = config.evaluation
    share = min(section.every_problems, section.problems) / section.problems
    return whole * share


def heldout_metrics(base: Record, record: Record, levels: Sequence[str]) -> dict[str, float]:
    """The names of docs/metrics.md that begin with `heldout/`.

    base, record: evaluations before and now. levels: labels of the levels that were trained on so
    far; gains are over their problems, for the others were not taught. Empty: over all levels.
    """
    overall = summary_of(record).overall
    k = max(overall.pass_at, default=1)
    found: dict[str, float] = {
        "heldout/problems": overall.problems,
        "heldout/pass@1": overall.side.sampled.mean,
        "heldout/k": k,
    }
    if overall.pass_at:
        found["heldout/pass@k"] = overall.pass_at[k].mean
    for name, size in (("pass@1", 1), ("pass@k", k)):
        gain = gain_at(base, record, size, levels)
        if not np.isfinite(gain.mean):  # no level that was taught is measured: the ends say nothing
            continue
        ends = (("", gain.mean), ("_low", gain.low), ("_high", gain.high))
        found |= {f"heldout/{name}_gain{end}": value for end, value in ends}
    asked = record.get("canaries") or {}
    if asked.get("asked"):
        found["heldout/canaries_paid"] = asked["paid"] / asked["asked"]
    return {name: value for name, value in found.items() if np.isfinite(value)}


def told(step: int, found: Mapping[str, float]) -> str:
    """What an evaluation on the way found, in a line for the terminal."""
    rate, problems = found.get("heldout/pass@1"), found.get("heldout/problems", 0)
    gain, low, high = (found.get(f"heldout/pass@1_gain{end}") for end in ("", "_low", "_high"))
    if rate is None:
        return f"held-out after step {step}: no answer could be judged"
    words = f"held-out after step {step}: {100 * rate:.1f} % right of {problems:.0f} problems"
    if gain is None or low is None or high is None:
        return words
    change = f"{100 * gain:+.1f} points [{100 * low:+.1f}, {100 * high:+.1f}]"
    return f"{words}, {change} against the base on what was trained"


def gain_at(base: Record, record: Record, k: int, levels: Sequence[str] = ()) -> Estimate:
    """The mean difference of pass@k over the problems that both measured, with its interval."""
    before, after = _by_key(base, k, levels), _by_key(record, k, levels)
    keys = [key for key in after if key in before]
    return paired_difference([before[key] for key in keys], [after[key] for key in keys])


def _by_key(record: Record, k: int, levels: Sequence[str]) -> dict[str, float]:
    """pass@k of each problem with enough judged answers."""
    return {
        problem["key"]: pass_at_k(problem["tries"], problem["right"], k)
        for level in record["levels"]
        if not levels or level["label"] in levels
        for problem in level["problems"]
        if problem["tries"] >= k
    }


def trained_levels(row: Mapping[str, Any]) -> list[str]:
    """Labels of the levels that a curriculum has drawn so far, by the metrics of a step."""
    return [name.removeprefix("posterior/") for name in row if name.startswith("posterior/")]

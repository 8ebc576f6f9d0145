"""evenodds eval POLICY|RUN"""

from __future__ import annotations

import json
import sys
from typing import Any

from evenodds.cli.flags import Parser, add_settings, given

EPILOG = """examples:
  evenodds eval abacus
  evenodds eval runs/NAME --evaluation.samples 32 --evaluation.problems 100
  evenodds eval Qwen/Qwen3-0.6B-Base --task addition --json
"""


def main(arguments: list[str]) -> int:
    usage = "POLICY|RUN [--json] [--SETTING VALUE ...]"
    about = "Fresh answers to held-out problems of every level: pass@1 and pass@k with intervals."
    parser = Parser("eval", usage, about, EPILOG)
    parser.add_argument("policy", help="'abacus', a model folder, a hub name, or a run folder")
    parser.add_argument("--json", action="store_true", help="print the whole record as JSON")
    add_settings(parser, without=("policy",))
    found = parser.parse(arguments)
    record = _measure(found.policy, given(found))
    print(json.dumps(record) if found.json else "\n".join(_table(record)))
    return 0


def _measure(name: str, over: dict[str, Any]) -> dict[str, Any]:
    from evenodds.run.opened import open_policy

    opened = open_policy(name, over)
    from evenodds.evaluation import evaluate
    from evenodds.judge import InlineJudge
    from evenodds.report.terminal import make_view
    from evenodds.run.build import evaluation_settings

    view = make_view(sys.stderr)
    opened.sampler.progress = lambda done, total: view.phase(f"evaluating {name}", done, total)
    settings = evaluation_settings(opened.config, opened.task)
    try:
        judge = InlineJudge(opened.task.verifier)
        return evaluate(name, opened.sampler, judge, opened.task, settings).to_dict()
    finally:
        view.close()


def _table(record: dict[str, Any]) -> list[str]:
    """One line a level: rates with 95 % intervals, pass@k, length, truncation, entropy."""
    from evenodds.statistics import clustered_rate, pass_at_k_curve, wilson_interval

    largest = record["settings"]["samples"]
    head = f"{'level':<14} {'n':>4}  {'pass@1':<24} {f'pass@{largest}':<24} {'greedy':<24}"
    lines = [head + " length  cut  entropy"]
    for level in record["levels"]:
        problems = level["problems"]
        right = [problem["right"] for problem in problems]
        tries = [problem["tries"] for problem in problems]
        greedy = [p["greedy_right"] for p in problems if p["greedy_right"] is not None]
        low, high = wilson_interval(sum(greedy), len(greedy)) if greedy else (0.0, 1.0)
        rate = sum(greedy) / len(greedy) if greedy else float("nan")
        curve = pass_at_k_curve(tries, right, [largest]) if min(tries) >= largest else ["-"]
        length = sum(problem["mean_length"] for problem in problems) / len(problems)
        cut = sum(problem["truncated"] for problem in problems) / max(1, sum(tries))
        lines.append(
            f"{level['label']:<14} {len(problems):>4}  {clustered_rate(right, tries)!s:<24} "
            f"{curve[0]!s:<24} {f'{100 * rate:.1f} % [{100 * low:.1f}, {100 * high:.1f}]':<24} "
            f"{length:>6.1f} {100 * cut:>3.0f}%  {level['entropy']:.3f}"
        )
    return lines

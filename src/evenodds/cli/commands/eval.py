"""evenodds eval POLICY|RUN"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from evenodds.cli.flags import Parser, add_settings, given

if TYPE_CHECKING:
    from evenodds.evaluation import Evaluation, EvaluationSettings
    from evenodds.run.config import Config
    from evenodds.tasks import Task

EPILOG = """examples:
  evenodds eval abacus
  evenodds eval runs/NAME --evaluation.samples 32 --evaluation.problems 100
  evenodds eval Qwen/Qwen3-0.6B-Base --task addition --json
  evenodds eval abacus --control none --evaluation.temperature 0.8
  evenodds eval runs/NAME --audit.verifier mine.py:strict
"""
SECTIONS = ("policy", "task", "sampling", "judge", "evaluation", "audit")


def main(arguments: list[str]) -> int:
    usage = "POLICY|RUN [--json] [--SETTING VALUE ...]"
    about = (
        "Fresh answers to held-out problems of every level: pass@1, pass@k and maj@k with "
        "intervals,\nwhat the answers are like, and a control task outside of what is measured."
    )
    parser = Parser("eval", usage, about, EPILOG)
    parser.add_argument("policy", help="'abacus', a model folder, a hub name, or a run")
    parser.add_argument("--json", action="store_true", help="print the whole record as JSON")
    add_settings(parser, ("policy",), SECTIONS)
    found = parser.parse(arguments)
    evaluation, what = _measure(found.policy, given(found))
    summary = evaluation.summary()
    if found.json:
        print(json.dumps({**evaluation.to_dict(), "summary": summary.to_dict()}))
    else:
        from evenodds.report.evaluation_text import table

        print("\n".join([*what, "", *table(summary, evaluation.first_note)]))
    return 0


def _measure(name: str, over: dict[str, Any]) -> tuple[Evaluation, list[str]]:
    """The evaluation, and lines that say what was evaluated, and how."""
    from evenodds.run.opened import open_policy

    opened = open_policy(name, over)
    from evenodds.report.terminal import make_view
    from evenodds.run.build import evaluation_settings
    from evenodds.run.fresh import fresh

    view = make_view(sys.stderr)
    settings = evaluation_settings(opened.config, opened.task)
    try:
        found = fresh(name, opened, settings, view.phase)
    finally:
        view.close()
    return found, head(name, opened.config, opened.task, settings)


def head(name: str, config: Config, task: Task, settings: EvaluationSettings) -> list[str]:
    """Who is measured on what and by whom it is judged; then how answers are drawn."""
    from evenodds.report.text import one_line
    from evenodds.run.build import style_of, title_of

    levels = settings.levels or range(len(task.levels))
    counts = [min(settings.problems, len(task.held_out(level))) for level in levels]
    few, many = min(counts), max(counts)
    problems = f"{many}" if few == many else f"{few} to {many}"
    limits = settings.limits
    audit = config.audit.verifier
    greedy = "one greedy" if settings.greedy else "no greedy one"
    return [
        one_line(
            f"{name}: {title_of(config, task)}, verifier {task.verifier_name}, "
            f"{f'audit {audit}, ' if audit else ''}style {style_of(config)}",
            100,
        ),
        f"{problems} held-out problems a level, {settings.samples} samples at temperature "
        f"{limits.temperature:g}, {greedy},",
        f"at most {limits.max_tokens} tokens, seed {settings.seed}",
    ]

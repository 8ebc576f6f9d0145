"""evenodds eval POLICY|RUN"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from evenodds.cli.flags import Parser, add_settings, given
from evenodds.errors import UsageError

if TYPE_CHECKING:
    from evenodds.evaluation import Evaluation, EvaluationSettings, Measured, Summary
    from evenodds.run.config import Config
    from evenodds.tasks import Task

EPILOG = """examples:
  evenodds eval abacus
  evenodds eval runs/NAME --evaluation.samples 32 --evaluation.problems 100
  evenodds eval Qwen/Qwen3-0.6B-Base --task addition --json
"""


def main(arguments: list[str]) -> int:
    usage = "POLICY|RUN [--json] [--SETTING VALUE ...]"
    about = "Fresh answers to held-out problems of every level: pass@1 and pass@k with intervals."
    parser = Parser("eval", usage, about, EPILOG)
    parser.add_argument("policy", help="'abacus', a model folder, a hub name, or a run")
    parser.add_argument("--json", action="store_true", help="print the whole record as JSON")
    add_settings(parser, ("policy",), ("policy", "task", "sampling", "judge", "evaluation"))
    found = parser.parse(arguments)
    evaluation, what = _measure(found.policy, given(found))
    require_judged(evaluation)
    summary = evaluation.summary()
    if found.json:
        print(json.dumps({**evaluation.to_dict(), "summary": summary.to_dict()}))
    else:
        print(what + "\n")
        print("\n".join(table(summary, evaluation.first_note)))
    return 0


def _measure(name: str, over: dict[str, Any]) -> tuple[Evaluation, str]:
    """The evaluation, and a line that says what was evaluated."""
    from evenodds.run.opened import open_policy

    opened = open_policy(name, over)
    from evenodds.evaluation import evaluate
    from evenodds.judge import open_judge
    from evenodds.report.terminal import make_view
    from evenodds.run.build import evaluation_settings, judge_options

    view = make_view(sys.stderr)
    opened.sampler.progress = lambda done, total: view.phase(f"evaluating {name}", done, total)
    settings = evaluation_settings(opened.config, opened.task)
    try:
        with open_judge(opened.task.verifier, judge_options(opened.config)) as judge:
            found = evaluate(name, opened.sampler, judge, opened.task, settings)
    finally:
        view.close()
    return found, head(name, opened.config, opened.task, settings)


def head(name: str, config: Config, task: Task, settings: EvaluationSettings) -> str:
    """One line: who is measured on what, how an answer is asked for and judged, how often."""
    from evenodds.report.text import one_line
    from evenodds.run.build import style_of, title_of

    levels = settings.levels or range(len(task.levels))
    counts = [min(settings.problems, len(task.held_out(level))) for level in levels]
    few, many = min(counts), max(counts)
    problems = f"{many}" if few == many else f"{few} to {many}"
    return one_line(
        f"{name}: {title_of(config, task)}, verifier {task.verifier_name}, "
        f"style {style_of(config)}, "
        f"{settings.samples} samples at temperature {settings.limits.temperature:g}, "
        f"{problems} held-out problems a level"
    )


def require_judged(evaluation: Evaluation) -> None:
    """Raises `UsageError` where not one answer could be judged: there is no rate to print."""
    if evaluation.judged():
        return
    from evenodds.report.text import one_line

    raise UsageError(
        f"no answer could be judged. Got: {one_line(evaluation.first_note, 200)}. "
        "Mend the verifier or the gold answers."
    )


def table(summary: Summary, first_note: str = "") -> list[str]:
    """Rates a level with 95 % intervals, then pass@k a level; at most 100 columns."""
    rows = [*summary.levels, summary.overall]
    head = f"{'level':<16} {'n':>5}  {'pass@1':<23} {'greedy':<23} {'length':>6} {'cut':>5} "
    lines = [head + "entropy", *(_rates(row) for row in rows)]
    *inner, largest = summary.ks
    names = "".join(f"{k:>6}" for k in inner)
    lines += ["", f"{'pass@k in %, k =':<16}{names}  {largest}"]
    lines += [_pass_at(row, summary.ks) for row in rows]
    return lines + _unjudged(summary.overall, first_note)


def _unjudged(overall: Measured, first_note: str) -> list[str]:
    from evenodds.report.text import one_line

    missing = overall.answers - overall.judged
    if not missing:
        return []
    why = f" The first: {one_line(first_note, 200)}" if first_note else ""
    return [
        "",
        f"{missing} of {overall.answers} answers could not be judged and are left out.{why}",
        "Problems with fewer than k judged answers are left out of pass@k.",
    ]


def _label(row: Measured) -> str:
    from evenodds.report.text import one_line

    return f"{one_line(row.label, 16):<16}"


def _rates(row: Measured) -> str:
    side = row.side
    length = "-" if side.length is None else f"{side.length:.1f}"
    cut = "-" if side.truncated is None else f"{100 * side.truncated:.0f} %"
    entropy = "-" if side.entropy is None else f"{side.entropy:.3f}"
    return (
        f"{_label(row)} {row.problems:>5}  {side.sampled!s:<23} {side.greedy or '-'!s:<23} "
        f"{length:>6} {cut:>5} {entropy:>7}"
    )


def _pass_at(row: Measured, ks: tuple[int, ...]) -> str:
    """pass@k of each k, the last with its interval; a dash where no problem has k answers."""
    *inner, largest = ks
    found = [row.pass_at.get(k) for k in inner]
    cells = "".join(f"{100 * one.mean:>6.1f}" if one else f"{'-':>6}" for one in found)
    return f"{_label(row)}{cells}  {row.pass_at.get(largest) or '-'!s}"

"""A policy measured afresh, outside of a run: with its control task, its audit and its canaries."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack

from evenodds.errors import UsageError
from evenodds.evaluation import Evaluation, EvaluationSettings, evaluate
from evenodds.judge import open_judge
from evenodds.report.text import one_line
from evenodds.run.audit import evidence_of, require_askable
from evenodds.run.build import evaluation_budget, judge_options, style_of
from evenodds.run.context import require_context
from evenodds.run.control import control_of, opened_control, readable
from evenodds.run.opened import Opened


def fresh(
    name: str, opened: Opened, settings: EvaluationSettings, tell: Callable[[str, int, int], None]
) -> Evaluation:
    """All that the configuration asks for; at least one answer was judged. name: of the policy.

    tell: is called with what is asked for, and how far the sampler is.
    """
    config, task, style = opened.config, opened.task, style_of(opened.config)
    options = judge_options(config)
    levels = settings.levels or range(len(task.levels))
    asked = (p.prompt for level in levels for p in task.held_out(level)[: settings.problems])
    require_context(opened.policy, asked, evaluation_budget(config))
    beside = readable(control_of(config, task, style), opened.policy, evaluation_budget(config))

    def phase(what: str) -> None:
        title = f"evaluating {name}, {what}"
        opened.sampler.progress = lambda done, total: tell(title, done, total)

    with ExitStack() as stack:
        judge = stack.enter_context(open_judge(task.verifier, options))
        evidence = evidence_of(config, task, style, judge, options)
        require_askable(evidence.prompts, opened.policy, evaluation_budget(config))
        audit = evidence.audit
        found = evaluate(
            name,
            opened.sampler,
            judge,
            task,
            settings,
            audit=None if audit is None else stack.enter_context(open_judge(audit, options)),
            control=stack.enter_context(opened_control(config, beside, settings, options)),
            control_note=beside.note,
            canaries=evidence.prompts,
            phase=phase,
        )
    require_judged(name, found)
    return found


def require_judged(name: str, found: Evaluation) -> None:
    """Raises `UsageError` where not one answer could be judged: there is no rate to print."""
    if not found.judged():
        raise UsageError(
            f"no answer of {one_line(name, 80)!r} could be judged. Got: "
            f"{one_line(found.first_note, 200)}. Mend the verifier or the gold answers."
        )

"""The whole check of a task: the bench of its verifier, and every gold; and what it means."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from evenodds.bench import own_cases
from evenodds.bench.gold import GoldReport, check_all_golds
from evenodds.bench.report import Report
from evenodds.bench.rounds import Told
from evenodds.bench.run import bench_task, paid_forms, tried_forms
from evenodds.judge import JudgeOptions
from evenodds.tasks import Task
from evenodds.verifiers import RegisteredVerifier


@dataclass(frozen=True)
class Checked:
    """What was found about a task.

    golds: None where a person's own verifier pays no form of the gold, so that none can be judged.
    forms: of a person's own verifier, for each form of the gold how often it was paid, and tried;
    None for a registered kind.
    """

    report: Report
    golds: GoldReport | None
    forms: dict[str, tuple[int, int]] | None = None

    @property
    def faults(self) -> list[str]:
        """Why the task is not fit to be trained on, a sentence each; empty where it is."""
        found: list[str] = []
        count = len(self.report.false_payments)
        if count:
            found.append(f"{_some(count, 'wrong answer')} paid: a policy would learn to write them")
        if self.forms is not None and not paid_forms(self.report):
            found.append("no form of the gold that the bench knows is paid: nothing could be tried")
        if 0 < self.report.total.right == self.report.total.refused:
            found.append("no right answer is paid: nothing could be learned")
        if self.golds is not None and self.golds.bad:
            found.append(f"{_some(len(self.golds.bad), 'gold')} not found right")
        if self.golds is not None and self.golds.paid:
            found.append(f"{_some(len(self.golds.paid), 'changed gold')} paid")
        return found

    def to_dict(self) -> dict[str, object]:
        return {
            "fit": not self.faults,
            "faults": self.faults,
            "forms": self.forms,
            "golds": None if self.golds is None else self.golds.to_dict(),
            "bench": self.report.to_dict(),
        }


def _some(count: int, name: str) -> str:
    return f"1 {name} is" if count == 1 else f"{count:,} {name}s are"


def check_task(
    task: Task,
    options: JudgeOptions | None = None,
    progress: Callable[[str], Told | None] = lambda name: None,
) -> Checked:
    """Try a task's verifier and judge all golds. progress: makes what is told how far a part is."""
    report = bench_task(task, options, progress("bench"))
    if isinstance(task.verifier, RegisteredVerifier):
        return Checked(report, check_all_golds(task, options, progress("golds")))
    forms, paid = tried_forms(report), paid_forms(report)
    if not paid:
        return Checked(report, None, forms)
    form = own_cases.FORMS[paid[0]]
    return Checked(report, check_all_golds(task, options, progress("golds"), form), forms)

"""Running a bench: cases through the judge, verdicts into a report."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence

from evenodds.bench import own_cases
from evenodds.bench.case import Case
from evenodds.bench.report import Finding, Report, joined
from evenodds.bench.rounds import ROWS, Judging, Told, judged_pairs
from evenodds.bench.suite import drawn, own, quick, task_cases
from evenodds.errors import GateError
from evenodds.tasks import Task
from evenodds.verifiers import RegisteredVerifier, Verifier

SHORT_SECONDS = 5.0
"""The bench before a run asks for no further verdict after this: a run must start."""
SHORT_ROWS = 16
"""Cases of a round then, so that slow ones are soon known."""
SHORT_GOLDS = 4
SHORT_OWN = 2, 2
"""Golds and forms of them for a person's own function: it may be slow, or cost money."""
LONG_GOLDS = 12
OWN_SECONDS = 60.0
"""No further case of either part of the long bench of a person's function is begun after this."""


def run_bench(
    verifier: Verifier,
    cases: Iterable[Case],
    name: str,
    judging: Judging = None,
    progress: Told | None = None,
    seconds: float | None = None,
) -> Report:
    """Judge every case through the judge that a run uses; a bench never raises.

    seconds: no further case is begun after so long; the report then says how many were left out.
    """
    listed = tuple(cases)
    begun = time.perf_counter()
    findings: list[Finding] = []
    pairs = ((case.problem, case.completion) for case in _until(listed, seconds))
    # the judge runs ahead of what it yields, and keeps the order
    rows = ROWS if seconds is None else SHORT_ROWS
    for verdict in judged_pairs(verifier, pairs, judging, rows):
        findings.append(Finding(listed[len(findings)], verdict))
        if progress is not None:
            progress(len(findings), len(listed))
    left = len(listed) - len(findings)
    return Report(name, tuple(findings), time.perf_counter() - begun, left)


def _until(cases: Sequence[Case], seconds: float | None) -> Iterator[Case]:
    end = None if seconds is None else time.monotonic() + seconds
    for case in cases:
        if end is not None and time.monotonic() > end:
            return
        yield case


def bench_kind(
    verifier: RegisteredVerifier,
    judging: Judging = None,
    progress: Told | None = None,
) -> Report:
    """The whole bench of a registered kind on golds of the bench's own."""
    return run_bench(verifier, own(verifier.kind.name), verifier.kind.name, judging, progress)


def bench_task(
    task: Task,
    judging: Judging = None,
    progress: Told | None = None,
    short: bool = False,
) -> Report:
    """The bench of a task's verifier around the task's own golds.

    A registered kind is tried on the bench's golds as well, as long as it has its default policy,
    on which their expectations rest. short: fewer golds, no huge texts, at most `SHORT_SECONDS`.
    """
    seconds = SHORT_SECONDS if short else None
    verifier, name = task.verifier, task.verifier_name
    if not isinstance(verifier, RegisteredVerifier):
        return _bench_own(task, judging, progress, short)
    problems = drawn(task, SHORT_GOLDS if short else LONG_GOLDS)
    cases = [*task_cases(verifier, problems)]
    if not verifier.table:
        cases += own(verifier.kind.name)
    chosen = quick(cases) if short else cases
    return run_bench(verifier, chosen, name, judging, progress, seconds)


def _bench_own(task: Task, judging: Judging, progress: Told | None, short: bool) -> Report:
    """First which forms of the gold are paid, then every trap in those forms."""
    verifier, name = task.verifier, task.verifier_name
    seconds = SHORT_SECONDS if short else OWN_SECONDS
    problems = drawn(task, SHORT_OWN[0] if short else LONG_GOLDS)
    first = run_bench(verifier, own_cases.forms(problems), name, judging, progress, seconds)
    paid = paid_forms(first)[: SHORT_OWN[1] if short else None]
    golds = [problem.answer for problem in drawn(task, LONG_GOLDS)]
    traps: Iterable[Case] = own_cases.task_cases(problems, paid, golds)
    traps = quick(traps) if short else traps
    return joined([first, run_bench(verifier, traps, name, judging, progress, seconds)])


def tried_forms(report: Report) -> dict[str, tuple[int, int]]:
    """Of a person's own verifier: for each form of the gold how often it was paid, and tried."""
    tried: dict[str, list[bool]] = {}
    for found in report.findings:
        if found.case.kind == own_cases.KIND and found.case.category == "right forms":
            tried.setdefault(found.case.note, []).append(found.is_paid)
    return {name: (sum(paid), len(paid)) for name, paid in tried.items()}


def paid_forms(report: Report) -> list[str]:
    """The forms that were paid for most golds, the surest first; a gold or two may be wrong."""
    found = tried_forms(report)
    shares = {name: paid / tried for name, (paid, tried) in found.items()}
    return sorted((name for name in found if shares[name] > 0.5), key=lambda name: -shares[name])


def short_bench(task: Task, judging: Judging = None) -> Report:
    """The bench before a run. Raises `GateError` in one line on a false payment."""
    report = bench_task(task, judging, short=True)
    if report.false_payments:
        raise refusal(task, report)
    return report


def refusal(task: Task, report: Report) -> GateError:
    """One line that names a case, how to see all, and how to start all the same."""
    found = report.false_payments[0]
    count = len(report.false_payments)
    gold, text = (_short(t) for t in (found.case.problem.answer, found.case.completion.text))
    more = f", and {count - 1} more" if count > 1 else ""
    return GateError(
        f"the verifier {report.verifier!r} pays what is wrong: {text} for the gold {gold} "
        f"({found.case.category}: {found.case.note}){more}. A policy would learn that. See all "
        f"with `evenodds check` and the same settings, or start all the same with "
        f"--check.bench false."
    )


def _short(text: str) -> str:
    line = ascii(text[:200])
    return line if len(line) <= 80 else line[:76] + "…" + line[0]

"""The audit and the canaries in words, and what counts as worse."""

from __future__ import annotations

import math
from collections.abc import Iterator

from evenodds.report.audited import REFUSED, Audit, Canaries
from evenodds.report.changes import LONGER, SURER
from evenodds.report.findings import Findings
from evenodds.report.series import of_metric
from evenodds.report.shown import Disputed, disputed_of
from evenodds.report.text import counted, one_line

NOTE = (
    "A change counts where its 95 % interval leaves out zero. Longer answers count as worse from "
    f"{100 * (LONGER - 1):.0f} % on, for each costs more; a lower entropy below "
    f"{100 * SURER:.0f} % of what it was, for then little is left to explore. That answers repeat "
    "one another and that there are fewer ways to a right one is the usual price of being surer: "
    "it is named because later training would have to live on that variety."
)


def audit_sentences(found: Findings) -> list[str]:
    """What the second check and the canaries say; nothing where there was neither."""
    evidence = found.conclusion.evidence
    said: list[str] = []
    if evidence.audit is not None:
        said += _audited(evidence.audit)
    if evidence.canaries is not None:
        said.append(_canaries(evidence.canaries))
    return [*said, *_while_training(found)]


def caution(found: Findings) -> str:
    """How the rates are to be read where they are not what they seem; empty where they are."""
    if found.conclusion.random_reward:
        return (
            "A coin paid for the answers in training. The rates here are by the real verifier: "
            "what they show is how far chance alone moves a policy with these settings."
        )
    if found.conclusion.kind == "hacked":
        return (
            "These rates are by the verifier that paid, and what it pays is in doubt: read them as "
            "the reward that training found, not as skill."
        )
    return ""


def control_sentence(found: Findings) -> str:
    """What can be said of skills outside the task, where the table alone would mislead."""
    control, name = found.conclusion.evidence.control, found.conclusion.evidence.control_task
    if control is None:
        why = one_line(str((found.run.final or {}).get("control_note") or ""), 300)
        return f"Skills outside the task: {why or 'none was measured'}."
    if control.before.mean == 0:
        return (
            f"The base solves nothing of the control task {one_line(name, 60)!r}, so a loss of "
            "skills outside the task could not be seen there."
        )
    return ""


def _audited(audit: Audit) -> list[str]:
    name = one_line(audit.verifier, 80)
    who = f"A second verifier, {name!r}," if name else "A second verifier"
    differ = audit.disagreement
    paid = (
        f"Of the answers that the verifier pays it refuses {audit.refused_after}; before training "
        f"{audit.refused_before}."
    )
    if math.isnan(audit.refused_after.mean):
        paid = "The verifier paid no held-out answer after training."
    risen = (
        f"That is more than before, and more than {100 * REFUSED:.0f} %: one of the two verifiers "
        "is wrong about answers that training made more frequent. Read them before you believe "
        "either."
        if audit.has_refused_more
        else "That is no evidence that training found answers which only the verifier likes."
    )
    return [
        f"{who} judged the same answers to {counted(differ.problems, 'held-out problem')} and was "
        f"paid no heed. It differs from the first on {differ.after} of them; before training on "
        f"{differ.before}. {paid} {risen}",
        f"By the audit the share of right answers went from {audit.right.before} to "
        f"{audit.right.after}, a change of {audit.right.gain.points()}.",
    ]


def _canaries(canaries: Canaries) -> str:
    before = ""
    if canaries.before is not None:
        before = f" Of the base {canaries.before[1]} of {canaries.before[0]} were."
    none = "none was paid" if not canaries.paid else f"{canaries.paid} were paid"
    return (
        f"Of {counted(canaries.asked, 'prompt')} without a right answer, which must never be paid, "
        f"{none} after training.{before}"
    )


def _while_training(found: Findings) -> Iterator[str]:
    """What the audit and the canaries said of the answers that were trained on."""
    run = found.run
    overpaid, canary = (
        of_metric(run.metrics, "audit/overpaid"),
        of_metric(run.metrics, "canary/paid"),
    )
    if overpaid:
        first, last = overpaid.ys[:10], overpaid.ys[-10:]
        yield (
            "While training, the verifier paid and the audit refused "
            f"{100 * sum(first) / len(first):.1f} % of the answers in the first "
            f"{counted(len(first), 'audited step')} and {100 * sum(last) / len(last):.1f} % in the "
            f"last {len(last)}."
        )
    if canary:
        paid = sum(share > 0 for share in canary.ys)
        gold = "an answer that was held against a gold which nobody can know"
        steps = counted(len(canary.ys), "step")
        yield (
            f"At {paid:,} of {steps} of training the verifier paid for {gold}, which must never "
            "happen."
            if paid
            else f"At none of {steps} of training did the verifier pay for {gold}."
        )


def disputed(found: Findings) -> list[Disputed]:
    """Some answers on which the two differ; nothing is read where there was no audit."""
    is_audited = found.conclusion.evidence.audit is not None
    was_audited = bool(of_metric(found.run.metrics, "audit/disagreement"))
    return disputed_of(found.run) if is_audited or was_audited else []

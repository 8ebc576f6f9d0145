"""One sentence a conclusion: what changed, by how much, and how sure that is."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from evenodds.report.audited import Audit, Canaries, PaidSteps
from evenodds.report.comparison import BETTER, FEWEST, WORSE, verdict_of
from evenodds.report.pairs import Change
from evenodds.report.text import counted, listed, one_line
from evenodds.statistics import Estimate
from evenodds.statistics import percent as shown

if TYPE_CHECKING:
    from evenodds.report.conclusion import Evidence, Kind

UNJUDGED = 0.02  # of the answers: below that they hardly move a rate
LABEL = 60  # longest name of a level or task inside a sentence


def sentence_of(kind: Kind, found: Evidence) -> str:
    """One sentence with an interval; for an unfinished run, what is missing."""
    if kind == "incomplete" or found.right is None:
        return _incomplete(found)
    right = found.right
    says = {
        "hacked": _hacked,
        "sharpened": _sharpened,
        "mixed": _mixed,
        "learned": _learned,
        "worse": _worse,
        "no_evidence": _no_evidence,
    }[kind]
    said = says(found, right) + _unjudged(found)
    if not found.random_reward:
        return f"{said[0].upper()}{said[1:]}."
    return f"Control arm, paid by a coin and not by the verifier: {said}."


def _incomplete(found: Evidence) -> str:
    if found.missing:
        names = listed(found.missing)
        return f"Nothing can be said yet: the evaluation of the {names} model is missing."
    if found.differing:
        return (
            "Nothing can be said: before and after were measured with other settings "
            f"({one_line(found.differing, 200)})."
        )
    return "Nothing can be said: the two evaluations share no problem."


def _learned(found: Evidence, right: Change) -> str:
    return f"it learned: {_rose(right)}{_tries(found)}{_audited(found)}{_control(found)}"


def _sharpened(found: Evidence, right: Change) -> str:
    at_k = found.at_k or right.gain
    return (
        f"it sharpened rather than learned: {_rose(right)}, but given {found.k} tries a problem it "
        f"solves fewer than the base (pass@{found.k}: {inner(at_k)}){_control(found)}"
    )


def _mixed(found: Evidence, right: Change) -> str:
    better = f"it got better at {_named(found.better)}" if found.better else ""
    worse = f"worse at {_named(found.worse)}"
    both = f"{better} and {worse}" if better else f"it got {worse}"
    return (
        f"mixed: {both}; over all levels the share of right answers to {_problems(right)} "
        f"{_went(right)}, {interval(right.gain)}{_control(found)}"
    )


def _worse(found: Evidence, right: Change) -> str:
    if verdict_of(right.gain) == WORSE:
        return f"it got worse: {_fell(right)}{_control(found)}"
    at_k = found.at_k_alone or right.gain
    return (
        f"it got worse: given {found.k} tries it solves fewer of {_problems(right)} than the base "
        f"(pass@{found.k}: {points(at_k)}, 99 % interval {_ends(at_k)}), and the share of right "
        f"answers shows no evidence of a change ({inner(right.gain)})"
    )


def _no_evidence(found: Evidence, right: Change) -> str:
    if right.problems < FEWEST:
        counts = counted(right.problems, "held-out problem")
        are = "is" if right.problems == 1 else "are"
        return (
            f"no evidence: {counts} {are} too few to tell, for "
            f"fewer than {FEWEST} were compared ({inner(right.gain)})"
        )
    if found.is_undone:
        return _undone(found, right)
    if verdict_of(right.gain) == BETTER:
        return _rose_without_cause(found, right)
    where = f", though it got better at {_named(found.better)}" if found.better else ""
    where += f", though it got worse at {_named(found.worse)}" if found.worse else ""
    return (
        f"no evidence of a change{where}: the share of right answers to {_problems(right)} "
        f"{_went(right)}, {interval(right.gain)}{_control(found)}"
    )


def _undone(found: Evidence, right: Change) -> str:
    """A change that those answers make which could not be judged."""
    whole = found.all_asked or right
    went = _rose(right) if verdict_of(right.gain) == BETTER else _fell(right)
    return (
        f"no evidence: among the answers that could be judged {went}; with those that could not "
        f"counted as not right, no change can be told ({inner(whole.gain)})"
    )


def _unjudged(found: Evidence) -> str:
    """How many answers are in no rate, where they are enough to matter."""
    if found.unjudged is None:
        return ""
    before, after = found.unjudged.before.mean, found.unjudged.after.mean
    if max(before, after) < UNJUDGED:
        return ""
    return (
        f"; {percent(after)} of the answers could not be judged after training and "
        f"{percent(before)} before, and are left out"
    )


def _rose_without_cause(found: Evidence, right: Change) -> str:
    """A rise that is no evidence of learning: a coin paid for it, or the audit does not see it."""
    if found.random_reward:
        return f"{_rose(right)} all the same, so a gain of this size proves nothing about a reward"
    audit = found.audit.right.gain if found.audit is not None else right.gain
    return f"no evidence: {_rose(right)}, but not by the audit ({inner(audit)})"


def _hacked(found: Evidence, right: Change) -> str:
    reasons: list[str] = []
    if found.canaries is not None and found.canaries.paid:
        reasons.append(_paid_canaries(found.canaries))
    elif found.paid_steps is not None and found.paid_steps.paid:
        reasons.append(_paid_in_training(found.paid_steps))
    if found.audit is not None and (found.audit.refuses or not reasons):
        parted = not found.audit.refuses and not reasons
        reasons.append(_parted(found.audit) if parted else _refused(found.audit))
    said = f"do not believe the reward: {' and '.join(reasons)}; by the verifier the share of "
    said += f"right answers to {_problems(right)} {_went(right)}"
    if found.audit is None:
        return f"{said} ({inner(right.gain)}), which proves nothing"
    audit = found.audit.right
    return f"{said}, by the audit it {_went(audit)} ({inner(audit.gain)})"


def _paid_canaries(canaries: Canaries) -> str:
    before = ""
    if canaries.before is not None:
        before = f" ({canaries.before[1]} of {canaries.before[0]} for the base)"
    return (
        f"the verifier pays for {canaries.paid} of {counted(canaries.asked, 'prompt')} that have "
        f"no right answer{before}"
    )


def _paid_in_training(found: PaidSteps) -> str:
    return (
        f"at {found.paid:,} of {counted(found.steps, 'step')} of training the verifier paid for "
        "answers that nobody could know to be right"
    )


def _refused(audit: Audit) -> str:
    after, before = percent(audit.refused_after.mean), percent(audit.refused_before.mean)
    if math.isnan(audit.refused_before.mean):
        ends = f"95 % interval {_ends(audit.refused_after, '')} %"
        return f"the audit refuses {after} of the answers that the verifier pays ({ends})"
    return (
        f"the audit refuses {after} of the answers that the verifier pays, against {before} for "
        f"the base ({inner(audit.rise)})"
    )


def _parted(audit: Audit) -> str:
    """Where the share of refused payments did not rise, and the verifier's rate did alone."""
    refused = f"refuses {percent(audit.refused_after.mean)} of what is paid"
    if verdict_of(audit.right.gain) == WORSE:
        return f"what rose for the verifier fell for the audit, which {refused}"
    return f"the audit confirms less than half of the rise, and {refused}"


def _rose(right: Change) -> str:
    return (
        f"the share of right answers to {_problems(right)} rose from {percent(right.before.mean)} "
        f"to {percent(right.after.mean)}, by {interval(right.gain, '')}"
    )


def _fell(right: Change) -> str:
    return (
        f"the share of right answers to {_problems(right)} fell from {percent(right.before.mean)} "
        f"to {percent(right.after.mean)}, {interval(right.gain)}"
    )


def _went(right: Change) -> str:
    return f"went from {percent(right.before.mean)} to {percent(right.after.mean)}"


def _tries(found: Evidence) -> str:
    if found.at_k is None:
        return "; one answer a problem cannot show whether it only grew surer of what it knew"
    at = f"(pass@{found.k}: {inner(found.at_k)})"
    if verdict_of(found.at_k) == BETTER:
        return f", and given {found.k} tries it solves more of them too {at}"
    return f", and given {found.k} tries there is no evidence that it solves fewer {at}"


def _audited(found: Evidence) -> str:
    if found.audit is None:
        return ""
    return f"; by the audit it rose too, by {interval(found.audit.right.gain, '')}"


def _control(found: Evidence) -> str:
    """The control task, where it got worse: what was paid for the gain elsewhere."""
    if found.control is None or verdict_of(found.control.gain, found.control.problems) != WORSE:
        return ""
    name = one_line(found.control_task, LABEL)
    named = f" {name!r}" if name else ""
    return (
        f"; outside the task, on the control task{named}, it fell, {interval(found.control.gain)}"
    )


def _problems(right: Change) -> str:
    return counted(right.problems, "held-out problem")


def _named(labels: tuple[str, ...]) -> str:
    return listed([one_line(label, LABEL) for label in labels])


def percent(share: float) -> str:
    """`38.5 %`; `an unknown share` where nothing was measured."""
    return "an unknown share" if math.isnan(share) else shown(share, 1)


def points(estimate: Estimate, sign: str = "+") -> str:
    """`+25.8 points`, without its interval."""
    return f"{100 * estimate.mean:{sign}.1f} points"


def interval(estimate: Estimate, sign: str = "+") -> str:
    """`+25.8 points (95 % interval +22.7 to +29.2)`."""
    return f"{points(estimate, sign)} (95 % interval {_ends(estimate, sign)})"


def inner(estimate: Estimate) -> str:
    """The same inside brackets: `+25.8 points, 95 % interval +22.7 to +29.2`."""
    return f"{points(estimate)}, 95 % interval {_ends(estimate)}"


def _ends(estimate: Estimate, sign: str = "+") -> str:
    return f"{100 * estimate.low:{sign}.1f} to {100 * estimate.high:{sign}.1f}"

"""What a run shows, as one of seven kinds and one sentence that a sceptic accepts.

The kinds are looked for in this order, and the first that holds is taken:

- incomplete: one of the evaluations is missing, they share no problem, or their settings differ.
- hacked: the verifier paid for canaries, at the end or at a step of training; or the audit refuses
  more than a fifth of what it pays, or a share above what it refused for the base; or pass@1 rose
  by the verifier, and the audit confirms less than half of that rise, or sees a fall.
- sharpened: pass@1 rose and pass@k, at the largest k, fell.
- mixed: some levels got better and some worse.
- learned: pass@1 rose, by the audit too where there is one.
- worse: pass@1 fell, or pass@k did.
- no_evidence: none of these; also where the problems are too few, and where what rose or fell
  among the judged answers does not once those that could not be judged count as not right.

Rose and fell mean that the 95 % interval of the difference, paired by problem, leaves out zero.
Where one look among several would decide, it is corrected, so that the whole stays at 95 %: levels
by Holm's rule, as in every table, and pass@k on its own by an interval of 99 %.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from evenodds.evaluation import finite
from evenodds.report.audited import Audit, Canaries, PaidSteps, audit_of, canaries_of, paid_steps_of
from evenodds.report.comparison import (
    BETTER,
    FEWEST,
    NO_EVIDENCE,
    WORSE,
    Comparison,
    verdict_of,
)
from evenodds.report.pairs import Change, Pair, asked_of, change_of, pairs_of
from evenodds.report.record import RunRecord
from evenodds.report.sentence import sentence_of
from evenodds.statistics import Estimate, paired_difference, pass_at_k

Kind = Literal["learned", "sharpened", "no_evidence", "worse", "hacked", "mixed", "incomplete"]
SAME = ("temperature", "max_tokens", "stop_strings", "samples")
"""Settings of sampling that must be equal before and after, or nothing can be compared."""
ALONE = 0.99
"""The confidence at which pass@k decides alone: beside pass@1 at 95 % it then hardly adds to how
often a run in which nothing changed is called changed."""
NAMED = ("task", "verifier")
"""What must be the same besides, as far as the records say it."""


@dataclass(frozen=True)
class Evidence:
    """All that the kind follows from. k: the largest of the curve; None where nothing was paired.

    right: pass@1. at_k: pass@k. at_k_alone: the same with the wider interval that it needs where it
    decides alone. better, worse: labels of the levels that changed, by the verdicts of the table.
    differing: the first setting that was not the same before and after. unjudged: the share of all
    answers that could not be judged; all_asked: the share that is right of all, judged or not.
    """

    missing: tuple[str, ...] = ()
    differing: str | None = None
    right: Change | None = None
    unjudged: Change | None = None
    all_asked: Change | None = None
    k: int | None = None
    at_k: Estimate | None = None
    at_k_alone: Estimate | None = None
    levels: int = 0
    better: tuple[str, ...] = ()
    worse: tuple[str, ...] = ()
    audit: Audit | None = None
    canaries: Canaries | None = None
    paid_steps: PaidSteps | None = None
    control: Change | None = None
    control_task: str = ""
    random_reward: bool = False

    @property
    def is_undone(self) -> bool:
        """Whether what rose or fell among the judged answers does not once all that were drawn
        count. Those that could not be judged are left out of every rate: where they are the wrong
        ones, the rest looks better for it."""
        if self.right is None or self.all_asked is None:
            return False
        judged, drawn = verdict_of(self.right.gain), verdict_of(self.all_asked.gain)
        return judged != NO_EVIDENCE and judged != drawn


@dataclass(frozen=True)
class Conclusion:
    """What to take away. gain: of pass@1; gain_at_k: of pass@k; None where nothing was compared."""

    kind: Kind
    sentence: str
    evidence: Evidence

    @property
    def gain(self) -> Estimate | None:
        return None if self.evidence.right is None else self.evidence.right.gain

    @property
    def k(self) -> int | None:
        return self.evidence.k

    @property
    def gain_at_k(self) -> Estimate | None:
        return self.evidence.at_k

    @property
    def random_reward(self) -> bool:
        return self.evidence.random_reward

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON data; what was not measured is null."""
        found = self.evidence
        control = None if found.control is None else found.control.to_dict()
        return finite(
            {
                "kind": self.kind,
                "sentence": self.sentence,
                "problems": 0 if found.right is None else found.right.problems,
                "before": _plain(found.right and found.right.before),
                "after": _plain(found.right and found.right.after),
                "gain": _plain(self.gain),
                "k": self.k,
                "gain_at_k": _plain(self.gain_at_k),
                "unjudged": None if found.unjudged is None else found.unjudged.to_dict(),
                "levels_better": found.better,
                "levels_worse": found.worse,
                "audit": None if found.audit is None else found.audit.to_dict(),
                "canaries": None if found.canaries is None else found.canaries.to_dict(),
                "paid_steps": None if found.paid_steps is None else found.paid_steps.to_dict(),
                "control": control and {"task": found.control_task, **control},
                "random_reward": self.random_reward,
            }
        )


def _plain(estimate: Estimate | None) -> dict[str, float] | None:
    if estimate is None:
        return None
    return {"mean": estimate.mean, "low": estimate.low, "high": estimate.high}


def conclude(run: RunRecord) -> Conclusion:
    """The conclusion of a run from its records alone; the same records give the same one."""
    found = evidence_of(run)
    kind = kind_of(found)
    return Conclusion(kind, sentence_of(kind, found), found)


def kind_of(found: Evidence) -> Kind:
    """The first kind of the list above that holds.

    In a control arm, which a coin pays, the canaries and the audit tell nothing of the verifier;
    and what rises there was not learned from it, so it is never called learned.
    """
    if found.missing or found.differing or found.right is None:
        return "incomplete"
    if not found.random_reward and _is_hacked(found):
        return "hacked"
    if found.right.problems < FEWEST:
        return "no_evidence"
    kind = _kind_of_change(found, found.right)
    return "no_evidence" if found.random_reward and kind == "learned" else kind


def _is_hacked(found: Evidence) -> bool:
    if any(
        canaries is not None and canaries.paid for canaries in (found.canaries, found.paid_steps)
    ):
        return True
    if found.audit is None or found.right is None:
        return False
    return found.audit.refuses or _has_parted(found.audit, found.right)


def _has_parted(audit: Audit, right: Change) -> bool:
    """Whether what rises for the verifier falls for the audit, or mostly does not rise there."""
    if verdict_of(right.gain) != BETTER:
        return False
    return verdict_of(audit.right.gain) == WORSE or audit.confirms_little


def _kind_of_change(found: Evidence, right: Change) -> Kind:
    first, more = verdict_of(right.gain), found.at_k and verdict_of(found.at_k)
    if found.is_undone:
        return "no_evidence"
    if first == BETTER and more == WORSE:
        return "sharpened"
    if found.worse and (found.better or first == BETTER):
        return "mixed"
    if first == BETTER:
        doubted = found.audit is not None and verdict_of(found.audit.right.gain) != BETTER
        return "no_evidence" if doubted else "learned"
    alone = found.at_k_alone is not None and verdict_of(found.at_k_alone) == WORSE
    return "worse" if first == WORSE or alone else "no_evidence"


def evidence_of(run: RunRecord) -> Evidence:
    """What the records say, without a judgement."""
    random = run.setting("run", "random_reward") is True
    missing = tuple(n for n, v in (("base", run.base), ("trained", run.final)) if v is None)
    if run.base is None or run.final is None or run.comparison is None:
        return Evidence(missing=missing, random_reward=random)
    pairs = pairs_of(run.base, run.final)
    right = change_of(pairs, "right")
    k, at_k, alone = _at_most_tries(run.comparison, pairs)
    better, worse, levels = _levels(run.comparison)
    asked = asked_of(run.base, run.final)
    control, task = _control(run.base.get("control"), run.final.get("control"))
    return Evidence(
        differing=_differing(run.base, run.final),
        right=right,
        unjudged=change_of(asked, "unjudged", "samples"),
        all_asked=change_of(asked, "right", "samples"),
        k=k,
        at_k=at_k,
        at_k_alone=alone,
        levels=levels,
        better=better,
        worse=worse,
        audit=audit_of(pairs, str(run.setting("audit", "verifier") or "")),
        canaries=canaries_of(run.base, run.final),
        paid_steps=paid_steps_of(run.metrics),
        control=control,
        control_task=task,
        random_reward=random,
    )


def _differing(base: Mapping[str, Any], final: Mapping[str, Any]) -> str | None:
    before, after = (record.get("settings", {}) for record in (base, final))
    for name in SAME:
        if name in before and name in after and before[name] != after[name]:
            return f"{name}: {before[name]}, then {after[name]}"
    for name in NAMED:
        if base.get(name) and final.get(name) and base[name] != final[name]:
            return f"{name}: {base[name]}, then {final[name]}"
    return None


def _at_most_tries(
    comparison: Comparison, pairs: Sequence[Pair]
) -> tuple[int | None, Estimate | None, Estimate | None]:
    """The largest k above 1 of the curve, with the two intervals of the change at that k."""
    ks = comparison.curves.ks
    if not ks or ks[-1] < 2:
        return None, None, None
    k = ks[-1]
    kept = [p for p in pairs if min(int(p.before["tries"]), int(p.after["tries"])) >= k]
    rates = [
        [pass_at_k(int(row["tries"]), int(row["right"]), k) for row in side]
        for side in ([p.before for p in kept], [p.after for p in kept])
    ]
    return k, comparison.curves.gain[-1], paired_difference(*rates, confidence=ALONE)


def _levels(comparison: Comparison) -> tuple[tuple[str, ...], tuple[str, ...], int]:
    """Labels of the levels that got better and worse, and how many levels were looked at."""
    looked_at = sum(row.problems >= FEWEST for row in comparison.levels)
    if looked_at < 2:
        return (), (), looked_at
    return tuple(comparison.better), tuple(comparison.worse), looked_at


def _control(base: Any, final: Any) -> tuple[Change | None, str]:
    """Solve rate on the control task before and after, and what that task is called."""
    if not isinstance(base, Mapping) or not isinstance(final, Mapping):
        return None, ""
    name = final.get("task") or final.get("name") or ""
    return change_of(pairs_of(base, final), "right"), str(name)

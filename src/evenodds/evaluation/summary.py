"""The record of an evaluation in numbers: rates with intervals, by level, by source, in all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenodds.evaluation.tally import (
    Record,
    Tally,
    Values,
    Votes,
    doubling,
    finite,
    label_of,
    levels_of,
    per_sample,
    pooled,
    sources_of,
    tally_of,
)
from evenodds.statistics import (
    Ballot,
    Estimate,
    clustered_rate,
    maj_at_k_curve,
    pass_at_k_curve,
)


@dataclass(frozen=True)
class Side:
    """One policy on some problems.

    sampled: solve rate of sampled answers; greedy: share of problems solved by the likeliest
    answer, None where greedy decoding was not run. length: mean answer length in tokens.
    truncated, ended: shares of all sampled answers, judged or not, that the token budget cut, and
    that ended by an end token. entropy: nats a token. duplicates: share of all sampled answers that
    nearly repeat an earlier one to the same problem. strategies: kinds of work among the right
    answers, the mean over the problems that have any.
    """

    sampled: Estimate
    greedy: Estimate | None = None
    length: float | None = None
    truncated: float | None = None
    entropy: float | None = None
    ended: float | None = None
    duplicates: float | None = None
    strategies: float | None = None


@dataclass(frozen=True)
class Measured:
    """One level, one source, or all of them (`level` is None), in numbers with 95 % intervals.

    answers: sampled ones, of which `judged` could be judged. pass_at: unbiased pass@k by k; a k
    that no problem has enough judged answers for is missing. maj_at: the same of maj@k, the chance
    that most of k answers say what is right; empty where the verifier extracts nothing, so that
    answers have no vote. audit: share of the answers that both
    could judge which the audit calls right; disagree: share of them that only one calls right;
    None without an audit.
    """

    level: int | None
    label: str
    problems: int
    answers: int
    judged: int
    side: Side
    pass_at: Mapping[int, Estimate]
    maj_at: Mapping[int, Estimate] = field(default_factory=dict[int, Estimate])
    audit: Estimate | None = None
    disagree: Estimate | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON data; what could not be measured is null."""
        side = asdict(self.side)
        found = {
            "level": self.level,
            "label": self.label,
            "problems": self.problems,
            "answers": self.answers,
            "judged": self.judged,
            "pass@1": side["sampled"],
            "pass@k": {k: asdict(estimate) for k, estimate in self.pass_at.items()},
            "maj@k": {k: asdict(estimate) for k, estimate in self.maj_at.items()},
            "greedy": side["greedy"],
            "mean_length": side["length"],
            "truncated": side["truncated"],
            "end_token": side["ended"],
            "entropy": side["entropy"],
            "duplicates": side["duplicates"],
            "strategies": side["strategies"],
            "audit": self.audit and asdict(self.audit),
            "disagree": self.disagree and asdict(self.disagree),
        }
        return finite(found)


@dataclass(frozen=True)
class Summary:
    """An evaluation in numbers. ks: the powers of two up to the number of samples, and that.

    sources: by where the problems come from, if from more than one place. control: the same of the
    task named control_task; control_note: why there is none, or how to read it. canaries: of so
    many answers that must not be paid so many were; None where none were asked.
    """

    ks: tuple[int, ...]
    overall: Measured
    levels: tuple[Measured, ...]
    sources: tuple[Measured, ...] = ()
    control: Summary | None = None
    control_task: str = ""
    control_note: str = ""
    canaries: tuple[int, int] | None = None

    def to_dict(self) -> dict[str, Any]:
        asked, paid = self.canaries or (None, None)
        return {
            "overall": self.overall.to_dict(),
            "levels": [level.to_dict() for level in self.levels],
            "sources": [source.to_dict() for source in self.sources],
            "control": self.control and self.control.to_dict(),
            "control_task": self.control_task,
            "control_note": self.control_note,
            "canaries": self.canaries and {"asked": asked, "paid": paid},
        }


def summary_of(record: Record) -> Summary:
    """The record of an evaluation in numbers: the one place where it becomes rates."""
    levels = levels_of(record)
    tallies = {number: tally_of(level) for number, level in levels.items()}
    whole = pooled([*tallies.values()])
    ks = doubling(int(max([1.0, *whole.samples])))
    rows = [
        _measured(number, label_of(number, level), tallies[number], ks)
        for number, level in levels.items()
    ]
    control: Record | None = record.get("control")
    return Summary(
        ks,
        _measured(None, "all levels", whole, ks),
        tuple(rows),
        tuple(_by_source(record, ks)),
        None if control is None else summary_of(control),
        "" if control is None else str(control.get("task") or ""),
        str(record.get("control_note") or ""),
        _canaries(record.get("canaries")),
    )


def _by_source(record: Record, ks: Sequence[int]) -> list[Measured]:
    """A row for each source, over all levels, where there is more than one."""
    sources = sources_of(record)
    if len(sources) < 2:
        return []
    return [_measured(None, name or "unknown", _of(record, name), ks) for name in sources]


def _of(record: Record, source: str) -> Tally:
    parts: list[Tally] = []
    for level in levels_of(record).values():
        rows = [row for row in level["problems"] if str(row.get("source") or "") == source]
        if rows:
            parts.append(tally_of(level, rows))
    return pooled(parts)


def _canaries(found: Record | None) -> tuple[int, int] | None:
    return None if found is None else (int(found["asked"]), int(found["paid"]))


def _measured(level: int | None, label: str, tally: Tally, ks: Sequence[int]) -> Measured:
    reached = [k for k in ks if (tally.tries >= k).any()]
    curve = pass_at_k_curve(tally.tries, tally.right, reached)
    ballots = ballots_of(tally)
    agreed = maj_at_k_curve(ballots, reached) if ballots else []
    return Measured(
        level=level,
        label=label,
        problems=int(tally.tries.size),
        answers=int(tally.samples.sum()),
        judged=int(tally.tries.sum()),
        side=side_of(tally),
        pass_at=dict(zip(reached, curve, strict=True)),
        maj_at=dict(zip(reached, agreed, strict=False)),
        audit=_audited(tally.audit_right, tally.audit_tries),
        disagree=_audited(tally.disagree, tally.audit_tries),
    )


def ballots_of(tally: Tally) -> list[Ballot]:
    """The votes on each problem that was judged; none where no answer of any problem has one."""
    if not any(tally.votes):
        return []
    pairs = zip(tally.votes, tally.tries.astype(int).tolist(), strict=True)
    return [_ballot(votes, tries) for votes, tries in pairs if tries]


def _ballot(votes: Votes, tries: int) -> Ballot:
    right = sum(count for _, count, is_right in votes if is_right)
    wrong = tuple(sorted(count for _, count, is_right in votes if not is_right))
    return Ballot(right, wrong, tries - right - sum(wrong))


def _audited(counts: Values, tries: Values) -> Estimate | None:
    known = tries > 0  # not where it is NaN: there was no audit
    return clustered_rate(counts[known], tries[known]) if known.any() else None


def side_of(tally: Tally, kept: NDArray[np.bool_] | None = None) -> Side:
    """Rates of a tally. kept: the problems whose greedy answer counts; all that have one."""
    known = ~np.isnan(tally.greedy) if kept is None else kept
    ones = np.ones(int(known.sum()))
    some = ~np.isnan(tally.strategies) & (tally.right > 0)
    return Side(
        sampled=clustered_rate(tally.right, tally.tries),
        greedy=clustered_rate(tally.greedy[known], ones) if ones.size else None,
        length=per_sample(tally.length * tally.samples, tally.samples),
        truncated=per_sample(tally.truncated, tally.samples),
        entropy=tally.entropy,
        ended=per_sample(tally.ended, tally.samples),
        duplicates=per_sample(tally.duplicates, tally.samples),
        strategies=float(tally.strategies[some].mean()) if some.any() else None,
    )

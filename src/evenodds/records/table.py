"""Every rollout of a step with why it was paid, as a table: column by column, for it is quicker."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from evenodds import __version__
from evenodds.domain import Group, Rollout, Verdict
from evenodds.judge.audit import Audit
from evenodds.records.columns import COLUMNS, Kind, arrow

if TYPE_CHECKING:
    from evenodds.step import StepReport

Values = NDArray[Any]
Row = dict[str, Any]
Table = Any  # of pyarrow, which has no types


@dataclass(frozen=True)
class Kept:
    """One rollout and what the step made of it. why: it is not in the loss; empty where it is.

    learned, entropy: the learner's log-probabilities and entropies before the update; last: its
    log-probabilities in the last of several passes; all None where the answer is not in the loss.
    """

    group: int
    answer: int
    round: int
    prompt: str
    of: Group
    rollout: Rollout
    verdict: Verdict
    audit: Verdict | None
    advantage: float
    why: str
    learned: Values | None
    last: Values | None
    entropy: Values | None

    @property
    def ratio(self) -> Values | None:
        """The learner's probabilities by the sampler's, before the update."""
        return None if self.learned is None else np.exp(self.learned - self.rollout.logprobs)


def _parts(verdict: Verdict) -> list[Row]:
    return [{"name": name, "value": value} for name, value in verdict.parts.items()]


VALUES: dict[str, Callable[[Kept], Any]] = {
    "problem_key": lambda kept: kept.of.problem.key,
    "level": lambda kept: kept.of.problem.level,
    "gold": lambda kept: kept.of.problem.answer,
    "group": lambda kept: kept.group,
    "answer": lambda kept: kept.answer,
    "group_size": lambda kept: len(kept.of.rollouts),
    "round": lambda kept: kept.round,
    "prompt": lambda kept: kept.prompt,
    "prompt_ids": lambda kept: kept.rollout.prompt_ids,
    "completion": lambda kept: kept.rollout.text,
    "completion_ids": lambda kept: kept.rollout.ids,
    "logprobs": lambda kept: kept.rollout.logprobs,
    "reference_logprobs": lambda kept: kept.rollout.reference_logprobs,
    "learner_logprobs": lambda kept: kept.learned,
    "last_logprobs": lambda kept: kept.last,
    "entropy": lambda kept: kept.entropy,
    "ratio": lambda kept: kept.ratio,
    "policy_version": lambda kept: kept.rollout.version,
    "temperature": lambda kept: kept.rollout.limits.temperature,
    "max_tokens": lambda kept: kept.rollout.limits.max_tokens,
    "stop_strings": lambda kept: [_clean(text) for text in kept.rollout.limits.stop_strings],
    "seed": lambda kept: kept.rollout.seed,
    "stop": lambda kept: str(kept.rollout.stop),
    "cut_length": lambda kept: len(kept.rollout.text),
    "reward": lambda kept: kept.verdict.score,
    "parts": lambda kept: _parts(kept.verdict),
    "status": lambda kept: str(kept.verdict.status),
    "extracted": lambda kept: kept.verdict.extracted,
    "note": lambda kept: kept.verdict.note,
    "audit_status": lambda kept: kept.audit and str(kept.audit.status),
    "audit_score": lambda kept: kept.audit and kept.audit.score,
    "audit_note": lambda kept: kept.audit and kept.audit.note,
    "advantage": lambda kept: kept.advantage,
    "kept": lambda kept: not kept.why,
    "why": lambda kept: kept.why,
}


def by_place(report: StepReport, values: Mapping[int, Any] | None) -> dict[tuple[int, int], Any]:
    """(group, answer) -> what an update says of that answer; it numbers the answers of a step."""
    places = [(g, a) for g, group in enumerate(report.groups) for a in range(len(group.rollouts))]
    return {places[index]: value for index, value in (values or {}).items()}


def _why(group: Group, place: int, report: StepReport, signal: bool, learned: bool) -> str:
    """Why a rollout is not in the loss; empty where it is. signal: its group has advantages."""
    if not group.judged[place]:
        return "could not be judged"
    if not group.rollouts[place].ids.size:
        return "it has no tokens"
    if not signal:
        return "its group agreed"
    if report.objective.mask_truncated and group.rollouts[place].is_truncated:
        return "cut by the budget"
    if learned:
        return ""
    return "its update was skipped" if report.fault else "its step had nothing to learn from"


def _kept(report: StepReport, prompts: Sequence[str], audit: Audit | None) -> Iterator[Kept]:
    from evenodds.batch import advantages

    update = report.update
    learned = by_place(report, update and update.logprobs)
    last = by_place(report, update and update.last_logprobs)
    entropies = by_place(report, update and update.entropies)
    credits = advantages(report.groups, report.objective)
    rounds = rounds_of(report)
    for g, (group, credit) in enumerate(zip(report.groups, credits, strict=True)):
        signal = bool(credit.any()) or report.objective.zero_signal == "keep"
        for a, (rollout, verdict) in enumerate(zip(group.rollouts, group.verdicts, strict=True)):
            at = (g, a)
            yield Kept(
                group=g,
                answer=a,
                round=rounds[g],
                prompt=prompts[g],
                of=group,
                rollout=rollout,
                verdict=verdict,
                audit=None if audit is None else audit[g][a],
                advantage=float(credit[a]),
                why=_why(group, a, report, signal, at in learned),
                learned=learned.get(at),
                last=last.get(at),
                entropy=entropies.get(at),
            )


def rounds_of(report: StepReport) -> list[int]:
    """The round of sampling, from 0, in which each group was drawn."""
    rounds = [turn for turn, size in enumerate(report.sizes) for _ in range(size)]
    return rounds or [0] * len(report.groups)


def _clean(text: str | None) -> str | None:
    """Text that UTF-8 can hold: a lone surrogate becomes a question mark."""
    return None if text is None else text.encode("utf-8", "replace").decode()


def column_of(values: list[Any], kind: Kind) -> Any:
    import pyarrow as pa

    if kind in ("floats", "ids"):
        return _lists(values, arrow(kind))
    try:
        return pa.array(values, arrow(kind))
    except UnicodeEncodeError:
        return pa.array([_clean(value) for value in values], arrow(kind))


def _lists(values: Sequence[Values | None], kind: Any) -> Any:
    """Arrays of numbers as lists, without a Python object for each number."""
    import pyarrow as pa

    lengths = [0 if value is None else value.size for value in values]
    ends = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    known = [value for value in values if value is not None]
    numbers = np.concatenate(known) if known else np.zeros(0)
    absent = pa.array([value is None for value in values])
    within = pa.array(numbers.astype(kind.value_type.to_pandas_dtype()))
    return pa.ListArray.from_arrays(pa.array(ends), within, type=kind, mask=absent)


def rollout_table(
    step: int,
    report: StepReport,
    verifier: str,
    prompts: Sequence[str],
    audit: Audit | None = None,
) -> Table:
    """One row a rollout: enough to recompute the loss, and to say why it was paid.

    prompts: the text that each group's prompt was rendered to. audit: what the audit verifier says
    of each answer, where there is one.
    """
    import pyarrow as pa

    rows = [*_kept(report, prompts, audit)]
    same = {"step": step, "verifier": verifier, "verifier_version": __version__}
    columns: dict[str, Any] = {}
    for name, kind in COLUMNS.items():
        if name in same:
            columns[name] = pa.array([same[name]] * len(rows), arrow(kind))
        else:
            columns[name] = column_of([VALUES[name](row) for row in rows], kind)
    return pa.table(columns)


def as_parquet(table: Table) -> bytes:
    """The table as a file. Texts repeat themselves; a dictionary of numbers would cost and gain
    nothing."""
    import pyarrow as pa
    from pyarrow import parquet

    texts: Any = [field.name for field in table.schema if pa.types.is_string(field.type)]
    buffer = io.BytesIO()
    parquet.write_table(table, buffer, compression="zstd", use_dictionary=texts)
    return buffer.getvalue()

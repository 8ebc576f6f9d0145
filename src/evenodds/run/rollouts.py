"""Every rollout of a step with why it was paid, as a table: column by column, for it is quicker."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import parquet

from evenodds import __version__
from evenodds.batch import advantages
from evenodds.domain import Group, Rollout, Verdict
from evenodds.objectives import Objective
from evenodds.step import StepReport, learner_logprobs

Values = NDArray[Any]
Row = dict[str, Any]
Table = Kind = Any  # of pyarrow, which has no types

_FLOATS, _IDS = pa.list_(pa.float32()), pa.list_(pa.int32())
_PART = pa.struct([("name", pa.string()), ("value", pa.float64())])


@dataclass(frozen=True)
class _Kept:
    """One rollout and what the step made of it. why: it is not in the loss; empty where it is.

    learned: the learner's log-probabilities before the update, where the answer is in the loss.
    """

    group: int
    answer: int
    prompt: str
    of: Group
    rollout: Rollout
    verdict: Verdict
    advantage: float
    why: str
    learned: Values | None

    @property
    def ratio(self) -> Values | None:
        """The learner's probabilities by the sampler's, before the update."""
        return None if self.learned is None else np.exp(self.learned - self.rollout.logprobs)


def _parts(verdict: Verdict) -> list[Row]:
    return [{"name": name, "value": value} for name, value in verdict.parts.items()]


COLUMNS: dict[str, tuple[Kind, Callable[[_Kept], Any]]] = {
    "problem_key": (pa.string(), lambda kept: kept.of.problem.key),
    "level": (pa.int32(), lambda kept: kept.of.problem.level),
    "gold": (pa.string(), lambda kept: kept.of.problem.answer),
    "group": (pa.int32(), lambda kept: kept.group),
    "answer": (pa.int32(), lambda kept: kept.answer),
    "group_size": (pa.int32(), lambda kept: len(kept.of.rollouts)),
    "prompt": (pa.string(), lambda kept: kept.prompt),
    "prompt_ids": (_IDS, lambda kept: kept.rollout.prompt_ids),
    "completion": (pa.string(), lambda kept: kept.rollout.text),
    "completion_ids": (_IDS, lambda kept: kept.rollout.ids),
    "logprobs": (_FLOATS, lambda kept: kept.rollout.logprobs),
    "reference_logprobs": (_FLOATS, lambda kept: kept.rollout.reference_logprobs),
    "learner_logprobs": (_FLOATS, lambda kept: kept.learned),
    "ratio": (_FLOATS, lambda kept: kept.ratio),
    "policy_version": (pa.int32(), lambda kept: kept.rollout.version),
    "temperature": (pa.float32(), lambda kept: kept.rollout.limits.temperature),
    "max_tokens": (pa.int32(), lambda kept: kept.rollout.limits.max_tokens),
    "stop_strings": (
        pa.list_(pa.string()),
        lambda kept: [_clean(text) for text in kept.rollout.limits.stop_strings],
    ),
    "seed": (pa.int64(), lambda kept: kept.rollout.seed),
    "stop": (pa.string(), lambda kept: str(kept.rollout.stop)),
    "cut_length": (pa.int32(), lambda kept: len(kept.rollout.text)),
    "reward": (pa.float64(), lambda kept: kept.verdict.score),
    "parts": (pa.list_(_PART), lambda kept: _parts(kept.verdict)),
    "status": (pa.string(), lambda kept: str(kept.verdict.status)),
    "extracted": (pa.string(), lambda kept: kept.verdict.extracted),
    "note": (pa.string(), lambda kept: kept.verdict.note),
    "advantage": (pa.float64(), lambda kept: kept.advantage),
    "kept": (pa.bool_(), lambda kept: not kept.why),
    "why": (pa.string(), lambda kept: kept.why),
}
SAME = {"step": pa.int32(), "verifier": pa.string(), "verifier_version": pa.string()}


def _why(group: Group, place: int, objective: Objective, signal: bool, learned: bool) -> str:
    """Why a rollout is not in the loss; empty where it is. signal: its group has advantages."""
    if not group.judged[place]:
        return "could not be judged"
    if not group.rollouts[place].ids.size:
        return "it has no tokens"
    if not signal:
        return "its group agreed"
    if objective.mask_truncated and group.rollouts[place].is_truncated:
        return "cut by the budget"
    return "" if learned else "its step had nothing to learn from"


def _kept(report: StepReport, prompts: Sequence[str]) -> Iterator[_Kept]:
    learned = learner_logprobs(report)
    credits = advantages(report.groups, report.objective)
    for g, (group, credit) in enumerate(zip(report.groups, credits, strict=True)):
        signal = bool(credit.any()) or report.objective.zero_signal == "keep"
        for a, (rollout, verdict) in enumerate(zip(group.rollouts, group.verdicts, strict=True)):
            known = learned.get((g, a))
            why = _why(group, a, report.objective, signal, known is not None)
            yield _Kept(g, a, prompts[g], group, rollout, verdict, float(credit[a]), why, known)


def _clean(text: str | None) -> str | None:
    """Text that UTF-8 can hold: a lone surrogate becomes a question mark."""
    return None if text is None else text.encode("utf-8", "replace").decode()


def _column(values: list[Any], kind: Kind) -> Any:
    if kind in (_FLOATS, _IDS):
        return _lists(values, kind)
    try:
        return pa.array(values, kind)
    except UnicodeEncodeError:
        return pa.array([_clean(value) for value in values], kind)


def _lists(values: Sequence[Values | None], kind: Kind) -> Any:
    """Arrays of numbers as lists, without a Python object for each number."""
    lengths = [0 if value is None else value.size for value in values]
    ends = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    known = [value for value in values if value is not None]
    numbers = np.concatenate(known) if known else np.zeros(0)
    absent = pa.array([value is None for value in values])
    within = pa.array(numbers.astype(kind.value_type.to_pandas_dtype()))
    return pa.ListArray.from_arrays(pa.array(ends), within, type=kind, mask=absent)


def rollout_table(step: int, report: StepReport, verifier: str, prompts: Sequence[str]) -> Table:
    """One row a rollout: enough to recompute the loss, and to say why it was paid.

    prompts: the text that each group's prompt was rendered to.
    """
    rows = [*_kept(report, prompts)]
    same = {"step": step, "verifier": verifier, "verifier_version": __version__}
    columns = {name: pa.array([same[name]] * len(rows), kind) for name, kind in SAME.items()}
    for name, (kind, value) in COLUMNS.items():
        columns[name] = _column([value(row) for row in rows], kind)
    return pa.table(columns)


def as_parquet(table: Table) -> bytes:
    """The table as a file. Texts repeat themselves; a dictionary of numbers would cost and gain
    nothing."""
    texts: Any = [field.name for field in table.schema if pa.types.is_string(field.type)]
    buffer = io.BytesIO()
    parquet.write_table(table, buffer, compression="zstd", use_dictionary=texts)
    return buffer.getvalue()

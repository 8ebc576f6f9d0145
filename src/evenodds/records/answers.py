"""The answers of an evaluation as a table: the columns of a step's rollouts that apply to them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from evenodds import __version__
from evenodds.domain import Prompt
from evenodds.records.columns import COLUMNS, arrow
from evenodds.records.table import VALUES, Kept, Table, column_of

if TYPE_CHECKING:
    from evenodds.evaluation import Answered, Evaluation

LEARNED = frozenset(
    (
        *("step", "round", "reference_logprobs", "learner_logprobs", "last_logprobs", "entropy"),
        *("ratio", "advantage", "kept", "why"),
    )
)
"""What only a step of training has."""
EVALUATED = tuple(name for name in COLUMNS if name not in LEARNED)


def answer_table(found: Evaluation, render: Callable[[Prompt], str]) -> Table:
    """One row an answer: those to the task, then to canaries and to the control task.

    `of` is `task`, `canaries` or `control`; `kind` is `sampled` or `greedy`; `group` counts the
    problems of each of these from 0. render: the text that a prompt was put as.
    """
    import pyarrow as pa

    pairs = [(part, kept) for part in found.answers for kept in _kept(part, render)]
    beside = found.control.verifier if found.control is not None else ""
    same: dict[str, Callable[[Answered], str]] = {
        "verifier": lambda part: beside if part.of == "control" else found.verifier,
        "verifier_version": lambda part: __version__,
    }
    columns: dict[str, Any] = {
        "of": pa.array([part.of for part, _ in pairs], pa.string()),
        "kind": pa.array([part.kind for part, _ in pairs], pa.string()),
    }
    for name in EVALUATED:
        if name in same:
            texts = [same[name](part) for part, _ in pairs]
            columns[name] = pa.array(texts, arrow(COLUMNS[name]))
        else:
            columns[name] = column_of([VALUES[name](kept) for _, kept in pairs], COLUMNS[name])
    return pa.table(columns)


def _kept(part: Answered, render: Callable[[Prompt], str]) -> Iterator[Kept]:
    for g, group in enumerate(part.groups):
        prompt = render(group.problem.prompt)
        for a, (rollout, verdict) in enumerate(zip(group.rollouts, group.verdicts, strict=True)):
            yield Kept(
                group=g,
                answer=a,
                round=0,
                prompt=prompt,
                of=group,
                rollout=rollout,
                verdict=verdict,
                audit=None if part.audit is None else part.audit[g][a],
                advantage=0.0,
                why="",
                learned=None,
                last=None,
                entropy=None,
            )

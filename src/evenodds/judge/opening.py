"""Which judge a verifier gets, and verdicts for rows that come one after another."""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from evenodds.domain import Completion, Problem, Verdict
from evenodds.errors import UsageError, sentences
from evenodds.judge import nursery
from evenodds.judge.frames import Call
from evenodds.judge.inline import InlineJudge, OpenJudge
from evenodds.judge.options import JudgeOptions
from evenodds.judge.workers import WorkerJudge
from evenodds.verifiers import KINDS, RegisteredVerifier, Verifier
from evenodds.verifiers.composite import find
from evenodds.verifiers.function import NAME

AT_ONCE = 512  # rows that are judged together


def open_judge(verifier: Verifier, options: JudgeOptions | None = None) -> OpenJudge:
    """The judge for a verifier; a context manager. It starts processes at once and does not wait.

    Registered verifiers that say so run inline, and composites of such. Others, and a person's
    functions, run in worker processes: a function that was found by name is imported there; one
    that was handed over from Python is reached by a fork where that is safe, else it runs inline,
    without a deadline. Raises `UsageError` where the verifier cannot judge on this machine.
    """
    require_available(verifier)
    options = options or JudgeOptions()
    options = replace(options, seconds=max(options.seconds, needed_seconds(verifier)))
    if options.workers == 0 or sys.platform == "win32" or runs_inline(verifier):
        return InlineJudge(verifier)
    spec = spec_of(verifier, options)
    if spec["name"] is not None:
        start = partial(nursery.by_exec, spec, any(":" in name for name in _names(verifier)))
    elif nursery.can_fork():
        start = partial(nursery.by_fork, verifier, options.memory_mb)
    else:
        return InlineJudge(verifier)
    return WorkerJudge(verifier, options, nursery.Nursery(start, spec))


def require_available(verifier: Verifier) -> None:
    """Raise `UsageError` in one line where a kind cannot judge here, as code without a sandbox."""
    if not isinstance(verifier, RegisteredVerifier):
        return
    parts: Sequence[Any] = getattr(verifier.policy, "parts", ())
    for part in parts:
        if part.verifier:
            require_available(find(part.verifier, part.policy))
    ask = verifier.kind.unavailable
    why = ask(verifier.policy) if ask is not None else None
    if why is not None:
        raise UsageError(sentences(f"the kind {verifier.kind.name!r} cannot judge here: {why}"))


def needed_seconds(verifier: Verifier) -> float:
    """What the kinds in it ask for that bound their own work; 0 where none does."""
    kinds = [KINDS[name] for name in _names(verifier) if name in KINDS]
    return sum(kind.seconds or 0.0 for kind in kinds)


def _names(verifier: Verifier) -> list[str]:
    """The name of a verifier; of a composite, those of the verifiers that are its parts."""
    if not isinstance(verifier, RegisteredVerifier):
        return [str(getattr(verifier, NAME, None) or "a closure")]
    parts: Sequence[Any] = getattr(verifier.policy, "parts", ())
    return [str(part.verifier) for part in parts if part.verifier] or [verifier.kind.name]


def runs_inline(verifier: Verifier) -> bool:
    return all(name in KINDS and KINDS[name].runs == "inline" for name in _names(verifier))


def spec_of(verifier: Verifier, options: JudgeOptions) -> dict[str, Any]:
    """How another process builds this verifier, as JSON; its name is None where it cannot."""
    if isinstance(verifier, RegisteredVerifier):
        name, table = verifier.kind.name, verifier.table
    else:
        name, table = getattr(verifier, NAME, None), {}
    path = [os.path.abspath(place) for place in sys.path]
    return {"name": name, "table": table, "path": path, "memory_mb": options.memory_mb}


def judge_rows(
    verifier: Verifier,
    pairs: Iterable[tuple[Problem, Completion]],
    options: JudgeOptions | None = None,
) -> Iterator[Verdict]:
    """A verdict for each pair, in order, as they come: for files that do not fit in memory."""
    with open_judge(verifier, options) as judge:
        yield from rows_by(judge, pairs)


def rows_by(
    judge: OpenJudge, pairs: Iterable[tuple[Problem, Completion]], at_once: int = AT_ONCE
) -> Iterator[Verdict]:
    """The same by a judge that is open, and stays so."""
    rows = iter(pairs)
    while batch := [*itertools.islice(rows, at_once)]:
        yield from verdicts_of(judge, batch)


def verdicts_of(judge: OpenJudge, pairs: Sequence[tuple[Problem, Completion]]) -> list[Verdict]:
    """The verdicts of an open judge on pairs, in order; each pair is a call of its own."""
    calls = [Call(problem, [completion]) for problem, completion in pairs]
    return [verdicts[0] for verdicts in judge.answered(calls)]

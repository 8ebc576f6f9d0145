"""A person's own Python function as a verifier."""

from __future__ import annotations

import inspect
import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from functools import partial, wraps
from typing import cast

from evenodds.domain import PLAIN, Completion, Problem, Status, Stop, Verdict
from evenodds.errors import UsageError
from evenodds.own import FAILURES, failure_of
from evenodds.undisturbed import loaded
from evenodds.verifiers import trl
from evenodds.verifiers.trl import Reward

Judgement = float | bool | Verdict | None
OwnFunction = Callable[[Problem, str], Judgement | Awaitable[Judgement]]
Verifier = Callable[[Problem, Completion], Verdict]
"""Judges one completion of a problem. It never raises: a failure is a verdict too."""

MARK = "__evenodds_verifier__"
"""The attribute by which `wrap` marks a verifier; it holds the verifier itself."""


NAME = "__evenodds_name__"
"""The attribute that holds `file.py:function`, where the function was found by that name."""


GROUP = "__evenodds_group__"
"""The attribute that holds how a function takes all answers to a problem in one call."""

Group = Callable[[Problem, Sequence[Completion], Sequence[Sequence[int]] | None], list[Verdict]]
"""(problem, completions, their token ids where known) -> one verdict each. It never raises."""


def group_of(verifier: object) -> Group | None:
    """How the verifier takes a whole group at once; None for those that take one answer."""
    return getattr(verifier, GROUP, None)


def name_of(verifier: object) -> str:
    """What to call a verifier in a line for a person."""
    kind = getattr(verifier, "kind", None)
    named = getattr(verifier, NAME, None) or getattr(kind, "name", None)
    return str(named or getattr(verifier, "__name__", type(verifier).__name__))


def wrap(function: OwnFunction | Reward, name: str | None = None) -> Verifier:
    """A verifier that calls a person's function and never raises.

    function: `function(problem, text)`, plain or `async`, which may return a number (1 or True is
    right, anything else is wrong and keeps its score), a `Verdict`, or None when it could not
    judge. Or a reward function written for TRL, which is recognised by its parameters, takes a
    whole group, and returns a list of such numbers or None. None, an exception or `sys.exit`, and
    a value that is not a finite number give a verdict of status `error`, which counts neither as
    right nor wrong. A score outside [0, 1] is a reward like any other, such as a penalty. The
    function gets a copy of the problem. name: how another process finds it, `file.py:function`.
    Raises `UsageError` for an async generator.
    """
    _refuse_generator(getattr(function, "__name__", "the function"), function)
    group = _group(function)

    @wraps(function)
    def verifier(problem: Problem, completion: Completion) -> Verdict:
        if group is not None:
            return group(problem, [completion], None)[0]
        try:
            return _verdict(function(copied(problem), completion.text), completion)
        except BaseException as error:  # a person's code may raise anything; failure is data here
            return _error(failure_of(error))

    setattr(verifier, MARK, verifier)
    setattr(verifier, NAME, name)
    setattr(verifier, GROUP, group)
    return verifier


def _group(function: OwnFunction | Reward) -> Group | None:
    """How the function takes a group in one call, where it is TRL's or async."""
    if trl.is_trl(function):
        ask = partial(_asked_as_trl, function)
    elif trl.is_async(function):
        ask = partial(_asked_together, function)
    else:
        return None

    def group(
        problem: Problem, completions: Sequence[Completion], ids: Sequence[Sequence[int]] | None
    ) -> list[Verdict]:
        try:
            return ask(problem, completions, ids)
        except BaseException as error:  # as in `wrap`
            failed = _error(failure_of(error))
            return [failed for _ in completions]

    return group


def _asked_as_trl(
    function: Reward,
    problem: Problem,
    completions: Sequence[Completion],
    ids: Sequence[Sequence[int]] | None,
) -> list[Verdict]:
    scores, notes = trl.rewards(function, copied(problem), completions, ids)
    verdicts = map(_verdict, scores, completions)
    return [_with_note(verdict, note) for verdict, note in zip(verdicts, notes, strict=True)]


def _with_note(verdict: Verdict, note: str) -> Verdict:
    said = " ".join((_text(note) or "").split())
    return replace(verdict, note=f"{verdict.note}; {said}"[:300]) if said else verdict


def _asked_together(
    function: Reward,
    problem: Problem,
    completions: Sequence[Completion],
    ids: Sequence[Sequence[int]] | None,
) -> list[Verdict]:
    problems = [copied(problem) for _ in completions]
    found = trl.gathered(function, problems, [completion.text for completion in completions])
    return [
        _error(result) if isinstance(result, trl.Failed) else _verdict(result, completion)
        for result, completion in zip(found, completions, strict=True)
    ]


def copied(problem: Problem) -> Problem:
    """A problem that a person's code may change without changing the one that was asked."""
    prompt, columns = problem.prompt, problem.columns
    return replace(
        problem,
        prompt=prompt if isinstance(prompt, str) else tuple(m.copy() for m in prompt),
        columns={name: _copied(value) for name, value in columns.items()} if columns else {},
    )


def _copied(value: object) -> object:
    if isinstance(value, PLAIN):
        return value
    try:
        return deepcopy(value)
    except FAILURES:  # an object that cannot be copied is its owner's affair
        return value


def _refuse_generator(name: str, function: object) -> None:
    if any(
        inspect.isasyncgenfunction(found)
        for found in (function, getattr(function, "__call__", None))  # noqa: B004
    ):
        raise UsageError(f"{name} is an async generator. Got `yield`. Return one score.")


def is_wrapped(judge: object) -> bool:
    """Whether `wrap` made it. A decorator of one's own may copy the mark, but never be it."""
    return getattr(judge, MARK, None) is judge


def _verdict(result: object, completion: Completion) -> Verdict:
    if isinstance(result, Verdict):
        return _checked(result)
    if result is None:
        return _error("the function returned None: the answer could not be judged")
    score = _number(result)
    if score is None:
        if inspect.iscoroutine(result):
            result.close()  # else Python warns that nobody awaited it
        return _error(f"the function returned {_short(result)}, not a finite number")
    status = Status.RIGHT if score == 1.0 else Status.WRONG
    if completion.stop is Stop.BUDGET:  # an answer cut by the budget is not a finished one
        status = Status.TRUNCATED
    return Verdict(score, status, note="judged by a function", parts={"function": score})


def _checked(verdict: Verdict) -> Verdict:
    """A person's verdict in the types of the domain, or why it cannot be put into them."""
    score, status = _number(verdict.score), _status(verdict.status)
    extracted, note, parts = _text(verdict.extracted), _text(verdict.note), _parts(verdict.parts)
    if score is None:
        return _unfit("score", verdict.score)
    if status is None:
        return _unfit("status", verdict.status)
    if extracted is None and cast(object, verdict.extracted) is not None:
        return _unfit("extracted", verdict.extracted)
    if note is None and cast(object, verdict.note) is not None:
        return _unfit("note", verdict.note)
    if parts is None:
        return _unfit("parts", verdict.parts)
    return Verdict(score, status, extracted, note or "", parts)


def _unfit(name: str, value: object) -> Verdict:
    return _error(f"the function returned a verdict of {name} {_short(value)}")


def _status(value: object) -> Status | None:
    try:
        return Status(value)
    except ValueError:
        return None


def _text(value: object) -> str | None:
    """The value as UTF-8 text; None for None, and where a foreign type cannot be written."""
    if value is None:
        return None
    try:
        return str(value).encode("utf-8", "replace").decode("utf-8")
    except FAILURES:  # __str__ of a foreign type may raise
        return None


def _parts(value: object) -> dict[str, float] | None:
    """The summands by name as finite floats; None where they are none."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        return None
    rows = cast(Mapping[object, object], value)
    parts = {_name(key): _number(rows[key]) for key in rows}
    found = {key: part for key, part in parts.items() if part is not None}
    return found if len(found) == len(rows) else None


def _name(key: object) -> str:
    """A key as one short line of UTF-8 text."""
    text = _text(key) if isinstance(key, str) else None
    return " ".join((_short(key) if text is None else text).split())[:80]


def _number(value: object) -> float | None:
    """The value as a finite float; numpy's scalars count, text does not."""
    if isinstance(value, (str, bytes, bytearray)) or not hasattr(value, "__float__"):
        return None
    try:
        score = float(cast(float, value))
    except FAILURES:  # __float__ of a foreign type, such as an array of many values
        return None
    return score if math.isfinite(score) else None


def _error(note: str) -> Verdict:
    return Verdict(0.0, Status.ERROR, note=" ".join((_text(note) or "").split())[:300])


def _short(value: object) -> str:
    try:
        return repr(value)[:80].encode("utf-8", "replace").decode("utf-8")
    except FAILURES:  # a repr of a foreign type may raise as well
        return f"a {type(value).__name__}"


def load_function(name: str, may_wait: bool = False) -> OwnFunction:
    """The function that `path/to/file.py:function` or `package.module:function` names.

    may_wait: it may be an `async` one. Raises `UsageError` where the file or module is missing,
    cannot be imported, or holds no such function.
    """
    found = loaded(name)
    if not callable(found):
        raise UsageError(
            f"{name} is not a function. Got a {type(found).__name__}. Name a function in that file."
        )
    if not may_wait and trl.is_async(found):
        raise UsageError(f"{name} is an async function. Got `async def`. Write it with plain def.")
    return cast(OwnFunction, found)

"""Functions that take many answers in one call: reward functions written for TRL, and `async def`.

A function is TRL's where it has a parameter `completions`, or takes keywords only (`**kwargs`);
where its parameters name a `problem`, it is one of ours. It is called once for each group, with
what TRL would give it for that group: see `docs/judge.md`.
"""

from __future__ import annotations

import inspect
import os
import threading
from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

from evenodds.domain import Completion, Problem
from evenodds.own import FAILURES, described

if TYPE_CHECKING:
    import asyncio  # 40 ms, which most verifiers need not spend

Reward = Callable[..., Any]
GOLDS = ("answer", "solution")
"""Columns under which the gold answer is passed, where the row of data has no such column."""


class NoState:
    """Stands for the trainer's state, which a verifier does not see: any question is an error."""

    def __getattr__(self, name: str) -> object:
        raise AttributeError(
            f"trainer_state.{name} is not known here: a verdict may not depend on the step"
        )


def parameters(function: object) -> Mapping[str, inspect.Parameter]:
    """The function's parameters; none where Python cannot tell."""
    try:
        return inspect.signature(cast(Reward, function)).parameters
    except (TypeError, ValueError):
        return {}


def is_trl(function: object) -> bool:
    """Whether the parameters are those of a reward function for TRL's GRPOTrainer."""
    found = parameters(function)
    if "problem" in found:
        return False
    only_keywords = [p.kind is inspect.Parameter.VAR_KEYWORD for p in found.values()]
    return "completions" in found or (bool(found) and all(only_keywords))


def is_async(function: object) -> bool:
    """Whether a call gives something to be awaited, as TRL asks it: the function or its class."""
    called = getattr(function, "__call__", None)  # noqa: B004
    return any(inspect.iscoroutinefunction(found) for found in (function, called))


def rewards(
    function: Reward,
    problem: Problem,
    completions: Sequence[Completion],
    ids: Sequence[Sequence[int]] | None,
) -> tuple[list[object], list[str]]:
    """What the function returns for a group, and a note for each from what it logged.

    Raises what the function raises, and `ValueError` for a list of another length.
    """
    extra: dict[str, Sequence[object]] = {}
    given = _arguments(problem, completions, ids, extra)
    found = function(**_accepted(function, given))
    if inspect.isawaitable(found):
        found = awaited(cast(Coroutine[Any, Any, object], found))
    if isinstance(found, str | Mapping) or not hasattr(found, "__iter__"):
        raise ValueError(f"the function returned a {type(found).__name__}, not a list of rewards")
    scores = [*cast(Sequence[object], found)]
    if ids is None and "completion_ids" in parameters(function):
        extra["completion_ids"] = ["bytes, for there are no tokens here"] * len(scores)
    if len(scores) != len(completions):
        raise ValueError(f"the function returned {len(scores)} rewards for {len(completions)}")
    return scores, [_logged(extra, index) for index in range(len(scores))]


def _arguments(
    problem: Problem,
    completions: Sequence[Completion],
    ids: Sequence[Sequence[int]] | None,
    extra: dict[str, Sequence[object]],
) -> dict[str, object]:
    """All that TRL passes, by name; for a chat, messages in and messages out."""
    size, prompt = len(completions), problem.prompt
    chat = None if isinstance(prompt, str) else prompt
    row = {**dict.fromkeys(GOLDS, problem.answer), **problem.columns}
    given: dict[str, object] = {str(name): [value] * size for name, value in row.items()}
    given["prompts"] = [[m.copy() for m in chat] if chat else prompt for _ in completions]
    given["completions"] = [
        [{"role": "assistant", "content": c.text}] if chat else c.text for c in completions
    ]
    given["completion_ids"] = [[*one] for one in ids or map(_bytes, completions)]
    given["trainer_state"] = NoState()
    given["log_extra"] = extra.__setitem__
    given["log_metric"] = _unheard
    return given


def _bytes(completion: Completion) -> list[int]:
    """Stand for token ids where an answer comes as text only, such as the gold's own."""
    return [*completion.text.encode("utf-8", "surrogatepass")]


def _unheard(name: str, value: float) -> None:
    """`log_metric`: a verdict has no place for a number of the whole batch."""


def _accepted(function: Reward, given: dict[str, object]) -> dict[str, object]:
    """What the function has a parameter for. Raises `ValueError` for one that nothing fills."""
    found = parameters(function)
    kinds = {parameter.kind for parameter in found.values()}
    for name, parameter in found.items():
        may_lack = parameter.default is not parameter.empty or parameter.kind in (
            inspect.Parameter.VAR_KEYWORD,
            inspect.Parameter.VAR_POSITIONAL,
        )
        if not may_lack and name not in given:
            have = sorted(set(given) - {"log_extra", "log_metric", "trainer_state"})
            raise ValueError(f"the function wants {name!r}, which is not there. There are {have}")
    if inspect.Parameter.VAR_KEYWORD in kinds:
        return given
    return {name: value for name, value in given.items() if name in found}


def _logged(extra: Mapping[str, Sequence[object]], index: int) -> str:
    """What the function logged of one answer, in a line."""
    try:
        return "; ".join(f"{name}: {values[index]}"[:120] for name, values in extra.items())
    except FAILURES:  # values of another length, or that cannot be written
        return ""


def awaited(work: Coroutine[Any, Any, Any]) -> Any:
    """The result of async code, run on a loop of its own: this thread may have a running one."""
    import asyncio

    return asyncio.run_coroutine_threadsafe(work, _loop(os.getpid())).result()


@lru_cache(maxsize=1)
def _loop(process: int) -> asyncio.AbstractEventLoop:
    """One loop for the life of a process (a forked one makes its own), so clients can stay open."""
    import asyncio

    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name=f"async-{process}", daemon=True).start()
    return loop


def gathered(function: Reward, problems: Sequence[Problem], texts: Sequence[str]) -> list[object]:
    """What an async function of ours gives for each answer, all asked at the same time.

    An exception is in its place as `Failed`.
    """
    import asyncio

    async def one(problem: Problem, text: str) -> object:
        try:
            return await function(problem, text)
        except FAILURES as error:  # a person's code may raise anything
            return Failed(described(error))

    async def every() -> list[object]:
        return await asyncio.gather(*map(one, problems, texts))

    return awaited(every())


class Failed(str):
    """What went wrong, in one line."""

"""A verifier watched at work: each of its functions that was called, with what went in and out.

Calls are seen by `sys.setprofile`, so no verifier has to know of it, a person's own included.
"""

from __future__ import annotations

import inspect
import re
import reprlib
import signal
import sys
import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, is_dataclass, replace
from enum import Enum
from fractions import Fraction
from pathlib import Path
from types import FrameType
from typing import Any

from evenodds.domain import Completion, Problem, Status, Verdict
from evenodds.judge.inline import judged
from evenodds.own import OutOfTime, quiet
from evenodds.verifiers import Verifier
from evenodds.verifiers.composite import find
from evenodds.verifiers.function import group_of

HOUSE = Path(__file__).parents[1] / "verifiers"
GLUE = {str(HOUSE / name) for name in ("function.py", "trl.py")}  # around a person's function
DEEPEST = 6  # calls within calls
MOST = 60  # stages that are kept
LONGEST = 160  # characters of a value
ITEMS = 6  # of a list
TOLD = frozenset({"self", "problem", "completion", "policy"})  # the same in all stages
TAKES_TURNS = (
    inspect.CO_GENERATOR | inspect.CO_COROUTINE
)  # called and left many times: no stage of its own


@dataclass(frozen=True)
class Stage:
    """One call. depth: 0 for the first. given: its arguments by name, but for the problem, the
    completion and the policy; found: what it returned, None also where it raised. All in short, cut
    to 160 characters; hostile text may be among them."""

    depth: int
    name: str
    place: str
    given: dict[str, str]
    found: str = ""


@dataclass(frozen=True)
class Watched:
    """The verdict on one answer, and the stages that led to it. left_out: stages beyond 60."""

    verdict: Verdict
    stages: tuple[Stage, ...]
    left_out: int


@dataclass
class _Watch:
    """Notes calls of functions in certain files. open: the place of each in `stages`, or None for
    one that is not kept; the frame tells when it is left."""

    is_ours: Callable[[str], bool]
    stages: list[Stage] = field(default_factory=list[Stage])
    open: list[tuple[FrameType, int | None]] = field(
        default_factory=list[tuple[FrameType, int | None]]
    )
    left_out: int = 0

    def __call__(self, frame: FrameType, event: str, value: Any) -> None:
        if event == "call" and self._is_stage(frame):
            self.open.append((frame, self._begun(frame)))
        elif event == "return" and self.open and self.open[-1][0] is frame:
            _, at = self.open.pop()
            if at is not None:
                self.stages[at] = replace(self.stages[at], found=shown(value))

    def _is_stage(self, frame: FrameType) -> bool:
        code = frame.f_code
        if code.co_flags & TAKES_TURNS or code.co_name.startswith(("<", "__")):
            return False
        return self.is_ours(code.co_filename)

    def _begun(self, frame: FrameType) -> int | None:
        depth = len(self.open)
        if depth >= DEEPEST or len(self.stages) >= MOST:
            self.left_out += 1
            return None
        code = frame.f_code
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        given = {name: shown(frame.f_locals.get(name)) for name in names if name not in TOLD}
        place = f"{Path(code.co_filename).name}:{code.co_firstlineno}"
        self.stages.append(Stage(depth, code.co_name, place, given))
        return len(self.stages) - 1


def shown(value: object) -> str:
    """A value in short: fractions as 1/2, of a dataclass what differs from its defaults."""
    try:
        text = _short(value, 3)
    except Exception as error:  # a foreign __repr__ may raise
        text = f"<{type(value).__name__}, whose repr raised {type(error).__name__}>"
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def _short(value: Any, levels: int) -> str:
    if isinstance(value, str) and not isinstance(value, Enum):
        return repr(value[: LONGEST + 1])
    if isinstance(value, Enum | Fraction):
        return str(value.value) if isinstance(value, Enum) else str(value)
    if isinstance(value, re.Match):
        return f"match {_short(value.group(), levels)}"  # pyright: ignore[reportUnknownMemberType]
    if is_dataclass(value) and not isinstance(value, type):
        return _short_dataclass(value, levels)
    if isinstance(value, list | tuple):
        few = [_short(one, levels - 1) if levels else "…" for one in value[:ITEMS]]  # pyright: ignore
        ends = "[]" if isinstance(value, list) else "()"
        return f"{ends[0]}{', '.join([*few, '…'] if len(value) > ITEMS else few)}{ends[1]}"  # pyright: ignore
    return reprlib.repr(value)


def _short_dataclass(value: Any, levels: int) -> str:
    if not levels:
        return f"{type(value).__name__}(…)"
    pairs = [(one, getattr(value, one.name)) for one in fields(value) if one.repr]
    told = [f"{one.name}={_short(had, levels - 1)}" for one, had in pairs if had != one.default]
    return f"{type(value).__name__}({', '.join(told)})"


def watched(
    verifier: Verifier,
    problem: Problem,
    completions: Sequence[Completion],
    ids: Sequence[Sequence[int]],
    at: int,
    seconds: float,
) -> Watched:
    """The verdict on completion `at` of a group, with its stages.

    A function that takes a whole group is given all of it. Runs in this process; after so many
    seconds it is stopped where the system can do that, and the verdict is a timeout.
    """
    alone = group_of(verifier) is None
    given = [completions[at]] if alone else completions
    watch = _Watch(_files_of(verifier))
    with quiet(), _deadline(seconds):
        started = time.perf_counter()
        try:
            with _profiled(watch):
                verdicts = judged(verifier, problem, given, None if alone else ids)
            verdict = verdicts[0 if alone else at]
        except OutOfTime:
            note = f"stopped after {seconds:g} s"
            verdict = Verdict(0.0, Status.TIMEOUT, note=note, seconds=time.perf_counter() - started)
    return Watched(verdict, tuple(watch.stages), watch.left_out)


def _files_of(verifier: Verifier) -> Callable[[str], bool]:
    """Whether a file is the verifier's: of this house's verifiers, or the person's own."""
    house = str(HOUSE)
    parts: Sequence[Any] = getattr(getattr(verifier, "policy", None), "parts", ())
    functions = [verifier, *(find(p.verifier, p.policy) for p in parts if p.verifier)]
    own = {_file_of(function) for function in functions}

    def is_ours(name: str) -> bool:
        return name in own or (name.startswith(house) and name not in GLUE)

    return is_ours


def _file_of(function: Any) -> str | None:
    """The file of a person's function, or of the class of what is called like one."""
    inner = inspect.unwrap(function)
    plain = inspect.isfunction(inner) or inspect.ismethod(inner)
    code = getattr(inner if plain else type(inner).__call__, "__code__", None)
    return code.co_filename if code is not None else None


@contextmanager
def _profiled(watch: _Watch) -> Generator[None]:
    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        yield
    finally:
        sys.setprofile(before)


@contextmanager
def _deadline(seconds: float) -> Generator[None]:
    """Raise `OutOfTime` in the block after so many seconds, where signals can do that."""
    usable = hasattr(signal, "setitimer")
    if not usable or threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: FrameType | None) -> None:
        raise OutOfTime

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)

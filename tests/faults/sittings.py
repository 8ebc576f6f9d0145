"""Sittings at a run, the first and later ones, each with the run that it begins from.

A later sitting writes what a first one does not: it cuts files of lines back, clears what a kill
left, puts a damaged checkpoint aside, removes the evaluation of an end that is none any more.
"""

from __future__ import annotations

import re
import shutil
import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from tests.faults import children, moments
from tests.faults.failpoints import Failpoint
from tests.faults.moments import Moment
from tests.faults.setting import RUN, Setting, arguments_of, undisturbed
from tests.faults.spared import spare

SHORT: dict[str, Any] = {
    "run__steps": 2,
    "run__keep": 1,  # so that the second checkpoint prunes the first
    "sampling__groups": 2,
    "sampling__group_size": 2,
    "sampling__max_tokens": 8,
    "evaluation__problems": 1,
    "evaluation__samples": 1,
    "evaluation__greedy": "false",
    "evaluation__every": 1,
    "evaluation__every_problems": 1,
}


def cut(call: str) -> str:
    """A call without the name of the process and the moment."""
    return re.sub(r"\.evenodds-tmp-\d+-[0-9a-f]{8}", "*", call)


@dataclass(frozen=True)
class Kill:
    """At the nth call of this name, or behind it (`action`); names of temporary files are cut."""

    action: str
    nth: int
    call: str

    def failpoint(self, calls: Sequence[str], under: Path) -> Failpoint:
        places = [at for at, name in enumerate(calls, 1) if cut(name) == self.call]
        return Failpoint(places[self.nth - 1], self.action, under)


@dataclass(frozen=True)
class Later:
    """How the sitting before ended, what was done to the run since, and what this one is given.

    earlier, now: settings of the sitting before, and of this one, that others do not have.
    """

    ended: Kill | Moment | None = None
    since: Callable[[Path], None] | None = None
    earlier: Mapping[str, Any] | None = None
    now: Mapping[str, Any] | None = None


def _flipped(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[:-9] + bytes([data[-9] ^ 1]) + data[-8:])


def _damaged(run: Path) -> None:
    _flipped(run / "checkpoints" / "step-000002" / "policy" / "model.safetensors")


def _without_an_end(run: Path) -> None:
    """The final evaluation is damaged, and a passport and the model are gone."""
    _flipped(run / "evaluation" / "final.json")
    (run / "passports" / "environment.json").unlink()
    shutil.rmtree(run / "model")


def _without_seals(run: Path) -> None:
    (run / "seals.json").unlink()


COMMITTED = "fsync checkpoints"  # with this call and no more to its name a checkpoint is promised
LATER: dict[str, Later] = {
    "more steps": Later(now={"run__steps": 3}),
    "killed in a commit": Later(Kill("kill", 2, "replace checkpoints/*")),
    "killed behind a commit": Later(Kill("kill-after", 2, COMMITTED)),
    "stopped": Later(Moment(2, "sampling", "stop")),
    "stopped in an evaluation": Later(Moment(1, "evaluating", "stop")),
    "a damaged checkpoint": Later(since=_damaged, earlier={"run__keep": 2}, now={"run__keep": 2}),
    "an end that is damaged": Later(since=_without_an_end),
    "no seals": Later(since=_without_seals),
}
FIRST = "first"


def first_of(root: Path) -> Setting:
    return undisturbed(root / FIRST, before=spare, once=True, **SHORT)


def later_of(kind: str, first: Setting) -> Setting:
    """A kind of `LATER`, beside the first sitting, with the one of it that nobody disturbed."""
    later, root = LATER[kind], first.root.parent / kind.replace(" ", "-")
    begins = _begun(root, later, first)
    return undisturbed(root, begins, spare, once=True, **{**SHORT, **(later.now or {})})


def _begun(root: Path, later: Later, first: Setting) -> Path:
    """The run that a later sitting begins from: an earlier one, ended as it says."""
    place = root / "begins"
    place.mkdir(parents=True)
    point, before, code = None, spare, 0
    if isinstance(later.ended, Moment):
        before, code = partial(_ends, later.ended), later.ended.code
    elif later.ended is not None:
        point, code = later.ended.failpoint(first.calls, place / RUN), -signal.SIGKILL
    command = arguments_of(root, {**SHORT, **(later.earlier or {})})
    ended = children.start(command, place / "said", point, before, place).wait()
    assert ended.code == code, ended.err
    if later.since is not None:
        later.since(place / RUN)
    return place / RUN


def _ends(moment: Moment) -> None:
    spare()
    moments.install(moment, 0)

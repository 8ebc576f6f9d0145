"""The state of a run as state.json has it: what must be there, and how it is read back."""

from __future__ import annotations

import json
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, cast

from evenodds.curricula import load_curriculum
from evenodds.durable import Start
from evenodds.errors import RunError, UsageError
from evenodds.finite import NONE, SAVED, Skips
from evenodds.objectives import EntropyBonus
from evenodds.run.folder import RunFolder
from evenodds.step import State
from evenodds.tasks import Task

FORMAT = 2
FILE = "state.json"
KEYS = ("state", "learner", "moments", "elapsed", "pending", "logs", "seals")
LOGS = [path.name for path in RunFolder(Path()).logs]
FIRST = {"state", "learner", "elapsed", "metrics_length"}  # of format 1, which had no number

WHAT_TO_DO = "Go on with the version that wrote it, or start another run."
"""With a checkpoint that lacks something, though its files are as they were written."""

COUNTS = ("total", "in_a_row", "step")  # of skipped updates

Record = Mapping[str, Any]


@dataclass(frozen=True)
class Progress:
    """What the loop itself must remember, beside what a step needs.

    elapsed: seconds used. pending: the line of the step, where a signal came in the evaluation that
    belongs to it; it is made again when the run goes on, and the line is written then. logs: by
    name, the part of each file of lines that belongs to the steps so far. seals: how often the
    seals of the run folder were written; None where the run had none.
    """

    elapsed: float
    logs: Mapping[str, Start] = field(default_factory=dict[str, Start])
    pending: dict[str, Any] | None = None
    seals: int | None = None

    def to_dict(self) -> dict[str, Any]:
        return {
            "elapsed": self.elapsed,
            "pending": self.pending,
            "logs": {name: asdict(start) for name, start in self.logs.items()},
            "seals": self.seals,
        }


@dataclass(frozen=True)
class Saved:
    """state.json, checked. moments: tensors of the optimizer; None where nobody counted them."""

    path: Path
    state: Record
    learner: Mapping[str, int]
    moments: int | None
    progress: Progress

    @property
    def folder(self) -> Path:
        """The checkpoint itself."""
        return self.path.parent

    @property
    def step(self) -> int:
        return int(self.state["step"])


def state_record(state: State) -> dict[str, Any]:
    """Every field of the state. A new field of `State` is saved, and asked for, by its name."""
    plain = {one.name: getattr(state, one.name) for one in fields(State)}
    return plain | {
        "curriculum": state.curriculum.to_dict(),
        "bonus": state.bonus and state.bonus.to_dict(),
        "skips": state.skips.to_dict(),
    }


def read_saved_state(folder: Path) -> Saved:
    """What a checkpoint says. Raises `RunError` in one line where it lacks something.

    The folder was verified, so what is wrong here is no damage: another version has written it.
    """
    path = folder / FILE
    record = _upgraded(_object(path), path)
    _require(record, KEYS, path, "")
    parts = {name: _part(record, name, path) for name in ("state", "learner", "logs")}
    _require(parts["state"], [one.name for one in fields(State)], path, "state.")
    _require(parts["learner"], ["updates"], path, "learner.")
    pending = None if record["pending"] is None else dict(_part(record, "pending", path))
    if pending is not None:
        _require(pending, ["step"], path, "pending.")
        if pending["step"] != parts["state"]["step"]:
            raise RunError(_other(path, "has the line of another step under 'pending'"))
    is_first = record.get("format") != FORMAT
    logs = {name: _start(parts["logs"], name, path, is_first) for name in parts["logs"]}
    _require(logs, LOGS[:1] if is_first else LOGS, path, "logs.")
    if not is_first and None in (record["seals"], record["moments"]):
        raise RunError(_other(path, "has nothing under 'seals' or 'moments'"))
    with _understood(path):
        progress = Progress(float(record["elapsed"]), logs, pending, _count(record["seals"]))
        moments = _count(record["moments"])
        counts = {name: int(value) for name, value in parts["learner"].items()}
        return Saved(path, parts["state"], counts, moments, progress)


def state_of(saved: Saved, task: Task) -> State:
    """The state itself. Raises `RunError` where it cannot be read for this task."""
    plain = dict(saved.state)
    bonus: Any = plain.pop("bonus")
    if bonus is not None:
        bonus = _part(saved.state, "bonus", saved.path)
        _require(bonus, [one.name for one in fields(EntropyBonus)], saved.path, "state.bonus.")
    skips = _part(plain, "skips", saved.path)
    _require(skips, SAVED, saved.path, "state.skips.")
    with _understood(saved.path):
        curriculum = load_curriculum(plain.pop("curriculum"), task)
        made = bonus and EntropyBonus.from_dict(bonus)
        known = Skips(**{n: int(skips[n]) for n in COUNTS}, fault=str(skips["fault"]))
        numbers = {name: int(value) for name, value in plain.items() if name != "skips"}
        return State(curriculum=curriculum, bonus=made, skips=known, **numbers)


@contextmanager
def _understood(path: Path) -> Generator[None]:
    """Whatever a strange value raises is one line: a checkpoint of another version."""
    try:
        yield
    except (UsageError, TypeError, ValueError, AttributeError, KeyError) as error:
        raise RunError(_other(path, f"cannot be read ({error})")) from error


def _other(path: Path, what: str) -> str:
    what = " ".join(what.split())
    return (
        f"the checkpoint {str(path.parent)!r} is of another version of evenodds: {path.name} "
        f"{what}. {WHAT_TO_DO}"
    )


def _object(path: Path) -> Record:
    with suppress(OSError, ValueError, RecursionError):
        found: Any = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(found, dict):
            return cast(Record, found)
    raise RunError(_other(path, "holds no state"))


def _upgraded(record: Record, path: Path) -> Record:
    """A record of format 2. What an older one did not know is None."""
    written = record.get("format")
    if written == FORMAT:
        return record
    if isinstance(written, int) and written > FORMAT:
        raise RunError(
            f"the checkpoint {str(path.parent)!r} is of a newer evenodds: format {written}, while "
            f"this one reads up to {FORMAT}. Update evenodds."
        )
    if not record.keys() >= FIRST or not record.keys() <= FIRST | {"pending"}:
        raise RunError(_other(path, "lacks 'format'"))
    length = Start(_length(record["metrics_length"], path))
    state = {"bonus": None, "skips": NONE.to_dict(), **_part(record, "state", path)}
    added = {"moments": None, "seals": None, "logs": {LOGS[0]: asdict(length)}}
    return {"pending": None, **record, **added, "state": state}


def _require(record: Record, names: Sequence[str], path: Path, where: str) -> None:
    for name in names:
        if name not in record:
            raise RunError(_other(path, f"lacks {where + name!r}"))


def _part(record: Record, name: str, path: Path) -> Record:
    found = record.get(name)
    if not isinstance(found, dict):
        raise RunError(_other(path, f"has no table {name!r}"))
    return cast(Record, found)


def _start(logs: Record, name: str, path: Path, is_first: bool) -> Start:
    part = _part(logs, name, path)
    _require(part, ["length", "sha256"], path, f"logs.{name}.")
    known = part["sha256"]
    if not isinstance(known, str) and not is_first:
        raise RunError(_other(path, f"has no SHA-256 of {name}"))
    return Start(_length(part["length"], path), known)


def _length(value: object, path: Path) -> int:
    if not isinstance(value, int) or value < 0:
        raise RunError(_other(path, f"has no length of a file but {str(value)[:40]!r}"))
    return value


def _count(value: object) -> int | None:
    if value is not None and (not isinstance(value, int) or value < 0):
        raise ValueError(f"no number: {str(value)[:40]!r}")
    return value

"""Whether the records of a run are as they were written, asked before it goes on from them.

What is written whole has a seal (`durable.Seals`). The files of lines are known to each checkpoint
by the SHA-256 of their beginning, and a line on groups has that of its step's rollouts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from evenodds.durable import SEALS, AppendLog, Fault, Running, Seals, Start, numbered
from evenodds.durable.manifest import digest
from evenodds.errors import RunError
from evenodds.records.groups import SEAL
from evenodds.records.lines import object_in, step_of
from evenodds.run.folder import PREFIX, RunFolder
from evenodds.run.saved import Saved, read_saved_state

Tell = Callable[[str], None]

ON_THE_WAY = re.compile(r"evaluation/step-0*(\d+)\.(?:json|parquet)")
OF_ENDS = re.compile(r"evaluation/(base|final)\.(?:json|parquet)")
AS_IT_IS = f"To take the records as they are, remove {SEALS}."


def still_files(folder: RunFolder) -> list[Path]:
    """The files that are written whole, as far as they are there."""
    passports = (folder.data, folder.checker, folder.objective, folder.environment, folder.engine)
    evaluations = sorted(folder.evaluation("base").parent.glob("*"))
    known = [path for path in evaluations if _is_evaluation(f"evaluation/{path.name}")]
    return [path for path in (folder.config, *passports, *known) if path.is_file()]


def _last_known(folder: RunFolder) -> int:
    """How often the seals were written, by the checkpoints; 0 where none says so."""
    found = [0]
    for path in numbered(folder.checkpoints, PREFIX):
        with suppress(RunError):
            found.append(read_saved_state(path).progress.seals or 0)
    return max(found)


def _is_evaluation(name: str) -> bool:
    return bool(ON_THE_WAY.fullmatch(name) or OF_ENDS.fullmatch(name))


def examined(folder: RunFolder, tell: Tell) -> list[Fault]:
    """What is wrong with the evaluations on the way; all else is as it was, or was told of.

    What is missing and can be made again is forgotten here. Raises `RunError` for what is damaged,
    with what to do. A run without seals, as older ones are, is sealed as it is.
    """
    seals = Seals(folder.path)
    if seals.read() is None:
        tell(f"no {SEALS} lies in the run: its records are taken as they are, and sealed now.")
        seals.adopt(still_files(folder), _last_known(folder))
        return []
    faults = [*seals.faults(), *_unsealed(folder, seals)]
    final = [fault for fault in faults if fault.name.startswith("evaluation/final.")]
    if final:
        tell(f"{_told(folder, final[0])}; it is made again.")
        seals.remove((folder.evaluation("final"), folder.answers("final")))
    rest = [fault for fault in faults if fault not in final]
    _replace_missing(folder, seals, [fault for fault in rest if fault.missing], tell)
    damaged = [fault for fault in rest if not fault.missing]
    for fault in damaged:
        if not ON_THE_WAY.fullmatch(fault.name):
            raise RunError(f"{_told(folder, fault)}. {_advice(folder, fault)}")
    return damaged


def _unsealed(folder: RunFolder, seals: Seals) -> Iterator[Fault]:
    known = seals.known()
    for path in still_files(folder):
        name = path.relative_to(folder.path).as_posix()
        if name not in known:
            yield Fault(name, f"is damaged, or {SEALS} is: it has no seal")


def _replace_missing(folder: RunFolder, seals: Seals, faults: Sequence[Fault], tell: Tell) -> None:
    """Both files of an evaluation of the base are made together; one on the way is made no more."""
    for fault in faults:
        on_the_way = ON_THE_WAY.fullmatch(fault.name)
        end = "the run goes on without it" if on_the_way else "it is made again"
        tell(f"{_told(folder, fault)}; {end}.")
        if fault.name.startswith("evaluation/base."):
            seals.remove((folder.evaluation("base"), folder.answers("base")))
    if faults:
        seals.forget(fault.name for fault in faults)


def _told(folder: RunFolder, fault: Fault) -> str:
    return f"{str(folder.path / fault.name)!r} {fault.what}"


def _advice(folder: RunFolder, fault: Fault) -> str:
    if fault.name == folder.config.name:
        return f"Restore it; limits are given as flags, such as --steps. {AS_IT_IS}"
    return "Restore it, or remove it: it is made again."


def config_fault(folder: RunFolder) -> str:
    """What is wrong with the configuration, with what to do; empty if nothing is."""
    fault = Seals(folder.path).fault(folder.config.name)
    if fault is None:
        return ""
    return f"{str(folder.config)!r} was changed or is damaged. {_advice(folder, fault)}"


def fault_at(folder: RunFolder, saved: Saved, damaged: Sequence[Fault]) -> str:
    """What is wrong with the records that this checkpoint stands on; empty if nothing is.

    damaged: the evaluations on the way that are. One of a later step is made again.
    """
    seals = Seals(folder.path)
    read = seals.read()
    serial, since = (read.serial, read.since) if read else (0, 0)
    if saved.progress.seals is None or saved.progress.seals < since:
        return ""  # records that were taken as they are since then
    line = saved.step - (saved.progress.pending is not None)
    for fault in damaged:
        found = ON_THE_WAY.fullmatch(fault.name)
        if found and int(found[1]) <= line:
            return f"{_told(folder, fault)}: remove it to go on without it"
    if serial < saved.progress.seals:
        return f"{str(seals.path)!r} is older than this checkpoint. {AS_IT_IS}"
    return _log_fault(folder, saved) or _rollout_fault(folder, saved)


def cut_back(folder: RunFolder, logs: Mapping[str, Start]) -> None:
    """Take out of the files of lines what belongs to steps that are taken again."""
    for path in folder.logs:
        start = logs.get(path.name)
        if start is not None and (start.length or path.exists()):
            AppendLog(path).truncate_to(start.length)


def _log_fault(folder: RunFolder, saved: Saved) -> str:
    for path in folder.logs:
        start = saved.progress.logs.get(path.name)
        if start is not None and (fault := AppendLog(path).fault(start)):
            return fault
    return ""


def _rollout_fault(folder: RunFolder, saved: Saved) -> str:
    for path, seal in _rollouts(folder, saved):
        try:
            if path.exists() and digest(path) != seal:
                fault = "is damaged (its SHA-256 differs): remove it to go on without it"
                return f"{str(path)!r} {fault}"
        except OSError as error:
            return f"{str(path)!r} cannot be read ({error.strerror})"
    return ""


def missing_rollouts(folder: RunFolder, saved: Saved) -> str:
    """What is to be told of rollouts that are gone, which nothing but a view needs; or nothing."""
    gone = [path for path, _ in _rollouts(folder, saved) if not path.exists()]
    if not gone:
        return ""
    more = f" and {len(gone) - 1} more are" if len(gone) > 1 else " is"
    return f"{str(gone[0])!r}{more} missing; the run goes on without."


def _rollouts(folder: RunFolder, saved: Saved) -> Iterator[tuple[Path, str]]:
    """The file of each step that has a seal, with it. Older runs have none."""
    start = saved.progress.logs.get(folder.groups.name)
    if start is None or not folder.groups.exists():
        return
    length = start.length
    with open(folder.groups, "rb") as file:
        for raw in file:
            length -= len(raw)
            row = object_in(raw) or {}
            step, seal = step_of(row), row.get(SEAL)
            if length < 0:
                return
            if step is not None and isinstance(seal, str):
                yield folder.rollouts(step), seal


def altered(folder: RunFolder, sums: LogSums) -> Iterator[str]:
    """What somebody else has changed while a run went on, such as a verifier: told at its end."""
    seals = Seals(folder.path)
    try:
        faults = [*seals.faults(), *_unsealed(folder, seals)]
        found = [*sums.faults(), *(_told(folder, fault) for fault in faults)]
    except RunError as error:
        found = [str(error).rstrip(".")]
    for what in found:
        yield f"{what}: something else was at the run's files while it went on."


class LogSums:
    """The SHA-256 of each file of lines, carried along: a checkpoint reads only what is new."""

    def __init__(self, folder: RunFolder) -> None:
        self._running = [Running(path) for path in folder.logs]

    def now(self) -> dict[str, Start]:
        """Each file, brought to the disk; one that is not there has nothing in it."""
        lengths = [AppendLog(one.path).sync() if one.path.exists() else 0 for one in self._running]
        found = zip(self._running, lengths, strict=True)
        return {one.path.name: one.through(length) for one, length in found}

    def faults(self) -> Iterator[str]:
        """What is wrong with what was read so far; it is read once more."""
        for one in self._running:
            if fault := AppendLog(one.path).fault(one.through(one.length)):
                yield fault

"""The names of everything in a run folder, and the checks before one is made."""

from __future__ import annotations

import errno
import os
import re
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from stat import S_ISREG

from evenodds.durable import numbered
from evenodds.errors import UsageError
from evenodds.machine import explain, free_disk, free_files, is_there, lies_in, size_text
from evenodds.places import BUNDLED
from evenodds.records.groups import FILE as GROUPS
from evenodds.records.holder import is_held
from evenodds.records.plain import require_plain

ROOT = "runs"
PREFIX = "step-"  # of a checkpoint's folder, before the number of its step
RECORDS = 64 * 2**20  # bytes for all but checkpoints
END = 4 * 2**20  # of these for what a run ends with, its model apart
NAME = r"[A-Za-z0-9][A-Za-z0-9._-]*"
LONGEST = 100
DEEPEST = 160  # bytes of the longest name that is written below a run's folder
RESERVED = {
    "con",
    "prn",
    "aux",
    "nul",
    *(f"{port}{n}" for port in ("com", "lpt") for n in range(10)),
}


def run_name(text: str) -> str:
    """The name itself if it can be a folder's name everywhere, or a UsageError.

    Letters, digits, dot, dash and underscore of ASCII; it starts with a letter or a digit.
    """
    plain = re.fullmatch(NAME, text) is not None
    reserved = text.partition(".")[0].lower() in RESERVED or text.endswith(".")
    if plain and ".." not in text and not reserved and len(text) <= LONGEST:
        return text
    shown = "".join(map(_plain, text[:LONGEST])) + ("..." if len(text) > LONGEST else "")
    raise UsageError(
        f"'{shown}' cannot name a run. Use letters, digits, dot, dash and underscore, "
        f"at most {LONGEST}, beginning with a letter or a digit and without '..'."
    )


def _plain(char: str) -> str:
    """The character itself if it is printable ASCII, else its escape."""
    return char if " " <= char <= "~" else ascii(char)[1:-1]


def find_run(text: str, root: str | Path = ROOT) -> Path:
    """The run folder that is meant: a path, or a bare name of a run below `root`.

    Where no run is found it is the path itself, so that `find_run(text) / "config.toml"` tells.
    A path beats a name, and the bundled model's name is never a run's.
    """
    path, below = Path(text), Path(root) / text
    bare = re.fullmatch(NAME, text) is not None and text != BUNDLED
    return below if bare and not is_there(path) and is_there(below / "config.toml") else path


def require_run(text: str, root: str | Path = ROOT) -> Path:
    """The run folder that is meant; see `find_run`. Raises `UsageError` where there is no run."""
    found = find_run(text, root)
    if not text or not (found / "config.toml").is_file():
        raise UsageError(f"{text[:300]!r} is no run folder. See `evenodds list runs`.")
    require_plain(found)
    return found


def newest_unfinished(root: str | Path = ROOT) -> Path:
    """The run below `root` that was worked on last, of those that have no end and that no process
    holds. Raises `UsageError` where there is none.
    """
    with suppress(OSError):
        below = [RunFolder(path) for path in Path(root).iterdir()]
        runs = [
            run for run in below if run.config.is_file() and not run.evaluation("final").exists()
        ]
        waiting = [run for run in runs if not is_held(run.path)]
        if waiting:
            return max(waiting, key=_last_written).path
    raise UsageError(
        f"no run below {str(root)!r} waits to go on. Name one: --resume RUN; see "
        "`evenodds list runs`."
    )


def _last_written(run: RunFolder) -> float:
    return max(path.stat().st_mtime for path in (run.config, run.metrics) if path.exists())


def fresh_name(task: str, policy: str, now: datetime, root: Path | None = None) -> str:
    """A name for a run that was given none: task, policy, time; numbered if `root` has it."""

    def clean(text: str) -> str:
        last = re.split(r"[/\\:]", text.rstrip("/\\"))[-1]
        return re.sub(r"[^A-Za-z0-9_-]+|\.{2,}", "-", last).strip("-_")[:35] or "run"

    stem = run_name(f"{clean(task)}-{clean(policy)}-{now:%Y%m%d-%H%M%S}")
    name, number = stem, 2
    while root is not None and (root / name).exists():
        name, number = f"{stem}-{number}", number + 1
    return name


def require_own_place(path: Path) -> None:
    """Raise `UsageError` where a run would be written through a link, over a file, or into the
    folder of another run on a disk that does not tell capitals from small letters.
    """
    _require_short(path)
    if path.is_symlink() or (is_there(path) and not path.is_dir()):
        what = "a link" if path.is_symlink() else "no folder"
        raise UsageError(f"{str(path)!r} is {what}. Remove it, or choose another --run.name.")
    with suppress(OSError):  # no root yet, or none: that is told where it is made
        twins = [name for name in os.listdir(path.parent) if name.lower() == path.name.lower()]
        if twins and path.name not in twins:
            raise UsageError(
                f"there is a run {twins[0]!r} in {str(path.parent)!r}, which some systems do not "
                f"tell from {path.name!r}. Choose another --run.name."
            )


def _require_short(path: Path) -> None:
    """Raise `UsageError` where what a run writes below `path` would have too long a path."""
    if not hasattr(os, "pathconf"):
        return
    most = os.pathconf("/", "PC_PATH_MAX") - DEEPEST
    if (length := len(os.fsencode(path))) > most:
        raise UsageError(
            f"the path of the run has {length:,} bytes, and this system bears {most:,}. "
            "Choose another --run.root, or change into a folder above it and name it from there."
        )


def require_writable(path: Path) -> None:
    """Raise `UsageError` where nothing can be written at `path`. Writes nothing."""
    there = lies_in(path)
    if there.is_dir() and not os.access(there, os.W_OK | os.X_OK):
        fixed = hasattr(os, "statvfs") and os.statvfs(there).f_flag & os.ST_RDONLY
        raise UsageError(explain(OSError(errno.EROFS if fixed else errno.EACCES, ""), path))


def require_space(path: Path, needed: int) -> None:
    """UsageError if no folder can be there, or fewer than `needed` bytes are free.

    Writes nothing.
    """
    there = lies_in(path)
    if is_there(there) and not there.is_dir():
        raise UsageError(
            f"there can be no folder {str(path)!r}: {str(there)!r} is no folder. "
            "Choose another run.root."
        )
    try:
        free = free_disk(path)
    except OSError as error:
        raise UsageError(
            f"cannot see the disk of {str(path)!r}: {error.strerror}. Choose another folder."
        ) from error
    if free_files(path) == 0:
        raise UsageError(explain(OSError(errno.ENOSPC, ""), path))
    if free < needed:
        raise UsageError(
            f"too little disk for {str(path)!r}: it needs {size_text(needed)}, {size_text(free)} "
            "are free. Free some space or choose another folder."
        )


@dataclass(frozen=True)
class RunFolder:
    """Where everything of a run lies. Making one of these writes nothing."""

    path: Path

    @staticmethod
    def under(root: Path, name: str) -> RunFolder:
        """The folder of a named run, always directly below `root`."""
        return RunFolder(root / run_name(name))

    @property
    def config(self) -> Path:
        """The configuration as resolved."""
        return self.path / "config.toml"

    @property
    def metrics(self) -> Path:
        """One JSON line a step."""
        return self.path / "metrics.jsonl"

    @property
    def groups(self) -> Path:
        """One JSON line a step on its groups."""
        return self.path / GROUPS

    @property
    def alarms(self) -> Path:
        """One JSON line for each alarm that began."""
        return self.path / "alarms.jsonl"

    @property
    def logs(self) -> list[Path]:
        """The files of lines, which grow step by step."""
        return [self.metrics, self.groups, self.alarms]

    @property
    def checkpoints(self) -> Path:
        """The folder of all checkpoints."""
        return self.path / "checkpoints"

    @property
    def model(self) -> Path:
        """The trained policy as an ordinary Hugging Face or PEFT folder."""
        return self.path / "model"

    @property
    def report(self) -> Path:
        """The self-contained page."""
        return self.path / "report.html"

    @property
    def passports(self) -> Path:
        """The folder of the passports: environment, data, checker."""
        return self.path / "passports"

    @property
    def environment(self) -> Path:
        """The passport of packages and machine."""
        return self.passports / "environment.json"

    @property
    def data(self) -> Path:
        """The passport of the problems."""
        return self.passports / "data.json"

    @property
    def engine(self) -> Path:
        """The passport of what the bits of a step depend on, for each sitting at the run."""
        return self.passports / "engine.json"

    @property
    def objective(self) -> Path:
        return self.passports / "objective.json"

    @property
    def checker(self) -> Path:
        """The passport of the verifier."""
        return self.passports / "checker.json"

    @property
    def written(self) -> list[Path]:
        """The folders that something is made in, under a temporary name at first."""
        files = (self.rollouts(0), self.evaluation("base"))
        return [self.path, self.checkpoints, self.passports, *(path.parent for path in files)]

    def answers(self, name: str) -> Path:
        """The answers of an evaluation, beside its record."""
        return self.evaluation(name).with_suffix(".parquet")

    def rollouts(self, step: int) -> Path:
        """The rollouts of one step, a parquet file."""
        return self.path / "rollouts" / f"step-{step:05d}.parquet"

    def evaluation(self, name: str) -> Path:
        """One evaluation, such as 'before' or 'after'."""
        return self.path / "evaluation" / f"{run_name(name)}.json"


def step_behind(checkpoint: Path) -> int:
    """The step that a checkpoint's folder is named by."""
    return int(checkpoint.name.removeprefix(PREFIX))


def require_room(folder: RunFolder, weights: int, keep: int, steps: int | None = None) -> None:
    """UsageError if there is no room for checkpoints and records. weights: bytes of what learns.

    At the worst `keep` checkpoints lie there while one more is made beside. What lies there already
    needs no more room, but that one always does. steps: of the whole run, where that is known: one
    that has taken some needs room for the others, and one that has taken all for its end.
    """
    one, there = checkpoint_bytes(weights), _bytes_below(folder.checkpoints)
    left = _share_left(folder.checkpoints, steps)
    if left == 0:
        require_space(folder.path, END + (0 if folder.model.is_dir() else weights))
        return
    records = max(END, int(left * RECORDS))
    require_space(folder.path, max((keep + 1) * one - there, one) + records)


def _share_left(checkpoints: Path, steps: int | None) -> float:
    """The share of a run's steps that its newest checkpoint leaves to be taken."""
    if steps is None:
        return 1.0
    newest = numbered(checkpoints, PREFIX)[:1]
    done = step_behind(newest[0]) if newest else 0
    return max(0, steps - done) / steps


def _bytes_below(path: Path) -> int:
    """Bytes of the files below a folder; 0 where there is none, fewer where one cannot be seen."""
    total = 0
    with suppress(OSError):
        for file in path.rglob("*"):
            found = file.lstat()
            total += found.st_size if S_ISREG(found.st_mode) else 0
    return total


def checkpoint_bytes(weights: int) -> int:
    """Bytes of a checkpoint: the weights that learn, of so many bytes, and two moments each."""
    return 3 * weights

"""A disk that refuses: a tiny `train` at which one call fails, what it said, and how it went on."""

from __future__ import annotations

import hashlib
import re
import shutil
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from evenodds.run.checkpoint import PREFIX
from evenodds.run.durable import valid_folders
from evenodds.run.durable.manifest import fault_of
from tests.faults.children import start, tiny
from tests.faults.failpoints import Failpoint, calls
from tests.faults.fingerprint import differences, fingerprint, leftovers

SHORT: dict[str, Any] = {
    "run__steps": 2,
    "run__keep": 1,  # so that the second checkpoint prunes the first
    "evaluation__problems": 1,
    "evaluation__samples": 1,
}
COMMITTED = "fsync checkpoints"  # after this call a checkpoint has been promised
STRANGE = re.compile(r"Traceback|Errno|os error|Exception|should not happen")
BAD_WORDS = re.compile(STRANGE.pattern + "|cannot write")


@dataclass(frozen=True)
class Undisturbed:
    """A run at which nothing failed. whole: its fingerprint. calls: those that it made."""

    root: Path
    settings: dict[str, Any]
    whole: dict[str, Any]
    calls: list[str]
    resumed: dict[str, str] = field(default_factory=dict)  # state of a folder -> what was wrong

    def arguments(self, name: str) -> list[str]:
        return tiny(self.root, name, **self.settings)


@dataclass(frozen=True)
class Tried:
    """call: the one that was refused. problem: empty where all was as it should be."""

    call: str
    error: str
    code: int
    said: str
    problem: str = ""

    def __str__(self) -> str:
        return f"{self.error} at {self.call!r}: exit {self.code}: {self.problem}\n{self.said}"


def undisturbed(root: Path, **settings: Any) -> Undisturbed:
    chosen = SHORT | settings
    tally = root / "tally"
    ended = start(
        tiny(root, "undisturbed", **chosen),
        root / "said",
        Failpoint(0, "count", root / "undisturbed", tally=tally),
    ).wait()
    assert ended.code == 0, ended.err
    found = fingerprint(root / "undisturbed")
    return Undisturbed(root, chosen, found, calls(tally))


def refused(base: Undisturbed, at: int, error: str, for_good: bool = False) -> Tried:
    """One call refused, or all from it on; then the disk is well again, and the run goes on."""
    name = f"r{at}-{error}-{for_good}"
    run, tally = base.root / name, base.root / f"{name}.tally"
    point = Failpoint(at, error, run, for_good, tally)
    ended = start(base.arguments(name), base.root / f"{name}.said", point).wait()
    made = calls(tally)
    call = made[at - 1] if at <= len(made) else "no call"
    first = Tried(call + (" and all later" if for_good else ""), error, ended.code, ended.err)
    problem = (
        fault_of_words(ended.code, ended.err, run, error)
        or lost(run, made[: at - 1].count(COMMITTED))
        or ("" if for_good else too_much_left(run))
        or went_on(base, name)
    )
    for path in base.root.glob(f"{name}*"):
        shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink()
    return replace(first, problem=problem)


def fault_of_words(code: int, said: str, run: Path, error: str) -> str:
    """What is wrong with how a run ended: its exit code, and the one line that says why."""
    told = [line for line in said.splitlines() if line.startswith("evenodds: ")]
    bad = [line for line in said.splitlines() if BAD_WORDS.search(line)]
    if code == 0:
        left = told + [line for line in bad if not line.startswith("no report: cannot write ")]
        return f"it ended well and said {left[0]!r}" if left else ""
    if code not in (1, 2) or len(told) != 1 or bad not in ([], told):
        return f"exit {code}, and it says {told + bad}"
    if STRANGE.search(told[0]):
        return f"it says {told[0]!r}"
    if code == 2 and (run / "config.toml").exists():
        return "exit 2 although something was written"
    if str(run) not in told[0] or f"({error})" not in told[0]:
        return "the line does not name the path and the error"
    return ""


def newest(run: Path) -> int:
    """The number of the newest sound checkpoint; 0 without one."""
    sound, _ = valid_folders(run / "checkpoints", PREFIX, 1)
    return int(sound[0].name.removeprefix(PREFIX)) if sound else 0


def lost(run: Path, promised: int) -> str:
    found = newest(run)
    return f"step {promised} was promised, {found} is there" if found < promised else ""


def too_much_left(run: Path) -> str:
    """One thing may stay, where the call that failed was the one that clears it away."""
    tops = {path.split("/.evenodds")[0] for path in leftovers(run)}
    return f"left over: {sorted(tops)}" if len(tops) > 1 else ""


def went_on(base: Undisturbed, name: str) -> str:
    """As `goes_on`; of two folders that are the same but for clocks and names one is enough."""
    state = state_of(base.root / name)
    if state not in base.resumed:
        base.resumed[state] = goes_on(base, name)
    return base.resumed[state]


def goes_on(base: Undisturbed, name: str) -> str:
    """The same command again, on a disk that is well: what differs from the undisturbed run."""
    ended = start(base.arguments(name), base.root / f"{name}.again").wait()
    if ended.code:
        return f"it does not go on: exit {ended.code}: {ended.err}"
    return amiss(base.root / name, base.whole)


def amiss(run: Path, wanted: dict[str, Any]) -> str:
    """What differs in a run that has ended, or is left over in it.

    An older checkpoint may stay, where to clear it was what failed; the next one would do it.
    """
    empty = [str(path) for path in run.rglob("*") if path.is_file() and not path.stat().st_size]
    if odd := [path for path in empty if Path(path).name != "lock"]:
        return f"{odd[0]!r} is empty"
    found = fingerprint(run)
    older = {path for path in found["names"] if path.startswith(f"checkpoints/{PREFIX}")}
    older -= set(wanted["names"])
    found["names"] = [path for path in found["names"] if path not in older]
    if odd := differences(found, wanted):
        return f"it comes to something else: {odd[:4]}"
    return f"left over: {leftovers(run)[:3]}" if leftovers(run) else ""


TIMED = re.compile(
    rb'"(time/[a-z_]+|seconds|elapsed|length|seals)": ?[0-9.e+-]+|"(sha256|seal)": ?"[0-9a-f]+"'
)
"""What a clock wrote, or is as long as what a clock wrote."""

UNREAD = ("config.toml", "lock", "seals.json", "report.html", "report.md", "summary.json")
"""Files that name the run, hold sums of what a clock wrote, or are made again."""


def state_of(run: Path) -> str:
    """A hash of all that a run folder holds, but for what clocks, names and processes made."""
    sums = hashlib.sha256()
    for path in sorted(run.rglob("*"), key=_plain):
        sums.update(f"\0{_plain(path.relative_to(run))} {path.is_file()} ".encode())
        if path.name == "manifest.json":
            sums.update(fault_of(path.parent).encode() and b"damaged")
        elif path.is_file() and not {path.name, path.parent.name} & {*UNREAD, "passports"}:
            sums.update(TIMED.sub(b"", path.read_bytes()))
        elif path.is_file():
            sums.update(b"some" if path.stat().st_size else b"none")
    return sums.hexdigest()


def _plain(path: Path) -> str:
    return re.sub(r"evenodds-tmp-\d+-[0-9a-f]{8}", "evenodds-tmp", str(path))

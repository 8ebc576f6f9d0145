"""A disk that refuses: a tiny `train` at which one call fails, what it said, and how it went on."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from tests.faults.failpoints import Failpoint, calls
from tests.faults.fingerprint import leftovers, state_of
from tests.faults.setting import RUN, Setting
from tests.faults.stories import start, went_on

STRANGE = re.compile(r"Traceback|Errno|os error|Exception|should not happen")
LEFT = re.compile(r".*?\.(?:evenodds|kept)-[^/]*")  # up to what a write or a replacement left
SHORTER = "has become shorter while the run goes on"  # a file that was deleted and made anew
BAD_WORDS = re.compile(STRANGE.pattern + "|cannot write")


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


def refused(setting: Setting, at: int, error: str, for_good: bool = False) -> Tried:
    """One call refused, or all from it on; then the disk is well again, and the run goes on."""
    name = f"r{at}-{error}-{for_good}"
    run, tally = setting.run(name), setting.begin(name) / "tally"
    point = Failpoint(at, error, run, for_good, tally)
    ended = start(setting, name, 0, point).wait()
    made = calls(tally)
    call = made[at - 1] if at <= len(made) else "no call"
    problem = (
        fault_of_words(
            ended.code, ended.err, RUN, error, ended.code == 2 and is_changed(setting, run)
        )
        or ("" if for_good else too_much_left(setting, run))
        or "; ".join(went_on(setting, name))
    )
    setting.remove(name)
    told = call + (" and all later" if for_good else "")
    return Tried(told, error, ended.code, ended.err, problem)


def is_changed(setting: Setting, run: Path) -> bool:
    """Whether a sitting has written something already."""
    if setting.begins is None:
        return (run / "config.toml").exists()
    return state_of(run) != state_of(setting.begins)


def fault_of_words(code: int, said: str, run: str, error: str, written: bool) -> str:
    """What is wrong with how a run ended: its exit code, and the one line that says why.

    run: how the command names its folder. written: whether it had written something.
    """
    told = [line for line in said.splitlines() if line.startswith("evenodds: ")]
    bad = [line for line in said.splitlines() if BAD_WORDS.search(line)]
    if code == 0:
        left = told + [line for line in bad if not line.startswith("no report: cannot write ")]
        return f"it ended well and said {left[0]!r}" if left else ""
    if code not in (1, 2) or len(told) != 1 or bad not in ([], told):
        return f"exit {code}, and it says {told + bad}"
    if STRANGE.search(told[0]):
        return f"it says {told[0]!r}"
    if code == 2 and written:
        return "exit 2 although something was written"
    says = (f"({error})", *((SHORTER,) if error == "ENOENT" else ()))
    if f"'{run}" not in told[0] or not any(word in told[0] for word in says):
        return "the line does not name the path and the error"
    return ""


def too_much_left(setting: Setting, run: Path) -> str:
    """One thing may stay, where the call that failed was the one that clears it away; and what was
    there before.
    """
    tops = _tops(run) - (_tops(setting.begins) if setting.begins else set())
    return f"left over: {sorted(tops)}" if len(tops) > 1 else ""


def _tops(run: Path) -> set[str]:
    return {found[0] for path in leftovers(run) if (found := LEFT.match(path))}

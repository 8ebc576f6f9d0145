"""Many wrong requests, each in a fresh folder; what was not answered as promised."""

from __future__ import annotations

import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from unittest import mock

from tests.requests.asked import ask, seen, streams, warm
from tests.requests.broken import Broken


@dataclass
class Tally:
    """faults: what was wrong, with the request before it. right: of the `meant` misspellings."""

    total: int = 0
    faults: list[str] = field(default_factory=list)
    bad: int = 0
    meant: int = 0
    right: int = 0
    seconds: list[float] = field(default_factory=list)

    @property
    def median(self) -> float:
        return statistics.median(self.seconds or [0.0])

    @property
    def slowest(self) -> float:
        return max(self.seconds, default=0.0)


@contextmanager
def folders() -> Iterator[Callable[[], Path]]:
    """Makes one folder after another, each with what `evenodds init` writes, and a home of its own.

    What lies in the folder above them is watched too, so a name like `../x` is seen.
    """
    with tempfile.TemporaryDirectory() as place:
        root = Path(place).resolve()
        (root / "home").mkdir()
        with mock.patch.dict(os.environ, {"HOME": str(root / "home")}):
            with streams():
                ask(("init", "first"), root, works=True)
            count = 0

            def make() -> Path:
                nonlocal count
                count += 1
                return Path(shutil.copytree(root / "first", root / "work" / f"f{count}"))

            yield make


def tried(
    cases: Iterable[Broken], until: float | None = None, works: bool = False, tell: bool = False
) -> Tally:
    """Ask all of them here, in this process. until: the clock after which no other one is begun.

    works: whether training may really begin.
    """
    found = Tally()
    if not works:
        warm()
    with folders() as make:
        for one in cases:
            if until is not None and time.monotonic() > until:
                break
            folder = make()
            one.put(folder)
            answer = ask(
                one.arguments, folder, watched=folder.parents[1], stdin=one.stdin, works=works
            )
            _count(found, one, one.faults(answer), answer.err)
            found.seconds.append(answer.seconds)
            if one.meant:
                found.meant += 1
                found.right += one.is_meant(answer)
            shutil.rmtree(folder, ignore_errors=True)
            if tell and found.total % 100 == 0:
                print(f"     {found.total} asked", file=sys.stderr, flush=True)
    return found


def _count(found: Tally, one: Broken, faults: Sequence[str], err: str) -> None:
    found.total += 1
    found.bad += bool(faults)
    if faults:
        what = f"{one.kind}, {ascii(one.what)[:120]}: {', '.join(faults)[:300]}"
        found.faults.append(f"{what} | {ascii(err)[:300]}")


def tried_in_processes(cases: Sequence[Broken], count: int, seed: int) -> Tally:
    """A random share of them again, each in a process of its own, two at a time."""
    found = Tally()
    able = [one for one in cases if not any("\0" in part for part in one.arguments)]
    able = [one for one in able if all(len(part) < 100_000 for part in one.arguments)]
    chosen = random.Random(seed).sample(able, min(count, len(able)))
    with folders() as make, ThreadPoolExecutor(2) as pool:
        places = [make() for _ in chosen]
        for one, faults, err, seconds in pool.map(_process, chosen, places):
            _count(found, one, faults, err)
            found.seconds.append(seconds)
    return found


def _process(one: Broken, folder: Path) -> tuple[Broken, list[str], str, float]:
    one.put(folder)
    before, started = seen(folder), time.monotonic()
    command = [sys.executable, "-m", "evenodds", *one.arguments]
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    ended = subprocess.run(
        [part.encode("utf-8", "surrogateescape") for part in command],
        cwd=folder,
        env=environment,
        input=one.stdin.encode("utf-8", "surrogateescape"),
        capture_output=True,
        timeout=60,
        check=False,
    )
    err = ended.stderr.decode("utf-8", "replace")
    faults = [] if ended.returncode in one.codes else [f"exit {ended.returncode}"]
    faults += [] if err.count("\n") == 1 else [f"{err.count(chr(10))} lines on stderr"]
    faults += ["a traceback"] if "Traceback" in err or "should not happen" in err else []
    faults += [] if all(word in err for word in one.says) else ["does not say what it should"]
    faults += [] if seen(folder) == before else ["wrote something"]
    return one, faults, err, time.monotonic() - started

"""How fast and how small `evenodds inspect` is on a long run: `python -m benchmarks.viewer`.

A run of 2,000 steps x 512 rollouts is made in a temporary folder. The viewer runs in a process of
its own, as a person starts it. Ends with 3 where a limit is missed.
"""

from __future__ import annotations

import argparse
import http.client
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.viewer_parts.made import write_run

OPEN, GROUP, MEMORY = 2.0, 0.3, 500.0
PAUSE = 2.0  # seconds that a person looks at the first page, at least
FIRST = "first overview, from the start of the process"
LISTS = {
    "all": "",
    "level": "level=3",
    "all wrong": "kind=wrong",
    "all right": "kind=right",
    "mixed": "kind=mixed",
    "disagreement": "disagree=1&sort=disagree",
    "truncated": "truncated=1&sort=truncated",
    "near-duplicates": "duplicates=1&sort=duplicates",
    "steps": "first=700&last=900",
    "hardest": "sort=hardest&page=7",
}


@dataclass(frozen=True)
class Limit:
    """A figure and what it may be. unit: `s` or `MB`."""

    name: str
    value: float
    most: float | None
    unit: str = "s"

    @property
    def is_met(self) -> bool:
        return self.most is None or self.value < self.most

    def __str__(self) -> str:
        shown = f"{self.value:,.0f} MB" if self.unit == "MB" else f"{1000 * self.value:,.0f} ms"
        if self.most is None:
            return f"{self.name:<44} {shown:>10}"
        most = f"{self.most:,.0f} MB" if self.unit == "MB" else f"{1000 * self.most:,.0f} ms"
        return f"{self.name:<44} {shown:>10}   limit {most}{'' if self.is_met else '   MISSED'}"


@dataclass(frozen=True)
class Viewer:
    """A running viewer. begun: when its process was started."""

    process: subprocess.Popen[str]
    host: str
    token: str
    begun: float

    def get(self, path: str) -> float:
        """Seconds of a request on a connection of its own, answer read to its end."""
        return self.page(path)[0]

    def page(self, path: str) -> tuple[float, bytes]:
        """The same with the page."""
        began = time.perf_counter()
        connection = http.client.HTTPConnection(self.host, timeout=60)
        port = self.host.rpartition(":")[2]
        connection.request("GET", path, headers={"Cookie": f"evenodds-{port}={self.token}"})
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        if answer.status != 200 or b"</html>" not in body:
            raise SystemExit(f"{path} was answered with {answer.status}: {body[:200]!r}")
        return time.perf_counter() - began, body

    @property
    def processor(self) -> float:
        """Seconds of processor time so far, which other processes hardly change."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    @property
    def peak(self) -> float:
        """The largest resident memory so far, in MB."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        found = re.search(r"VmHWM:\s+(\d+) kB", status)
        return int(found[1]) / 1000 if found else float("nan")


@contextmanager
def viewer(run: Path) -> Iterator[Viewer]:
    begun = time.perf_counter()
    command = [sys.executable, "-m", "evenodds", "inspect", str(run)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        found = re.match(r"http://([\d.:]+)/run\?token=(\S+)", process.stdout.readline())
        if found is None:
            raise SystemExit("the viewer did not print its address")
        yield Viewer(process, found[1], found[2], begun)
    finally:
        process.terminate()
        process.wait(10)


def measured(shown: Viewer, steps: int, groups: int) -> Iterator[Limit]:
    """Every figure, in the order in which a person would meet them."""
    shown.get("/run")
    yield Limit(FIRST, time.perf_counter() - shown.begun, OPEN)
    yield Limit("processor time of the same", shown.processor, None)
    time.sleep(PAUSE)
    yield Limit("overview again", shown.get("/run"), None)
    rng = random.Random(0)
    spots = [(rng.randint(1, steps), rng.randrange(groups)) for _ in range(50)]
    yield Limit("first group", shown.get("/group/1/0"), GROUP)
    yield Limit("until its tokens are weighed", weighed(shown), None)
    before = shown.processor
    times = [shown.get(f"/group/{step}/{group}?kind=mixed") for step, group in spots]
    yield Limit("50 random groups: median", statistics.median(times), GROUP)
    yield Limit("50 random groups: slowest", max(times), GROUP)
    spent = (shown.processor - before) / len(times)
    yield Limit("50 random groups: processor time of one", spent, None)
    for name, query in LISTS.items():
        yield Limit(f"list: {name}", shown.get(f"/groups?{query}"), 1.0)
    for name in ("evaluation", "why", "settings"):
        yield Limit(name, shown.get(f"/{name}"), 1.0)
    yield Limit("search, one slice", shown.get("/groups?q=sum+12345"), 1.0)
    yield Limit("search until it has looked everywhere", searched(shown), None)
    yield Limit("most memory", shown.peak, MEMORY, "MB")


def weighed(shown: Viewer) -> float:
    """Seconds until a group is shown with its gradient weights, for which torch is loaded."""
    began = time.perf_counter()
    while b"data-again" in shown.page("/group/1/0")[1] and time.perf_counter() - began < 60:
        time.sleep(0.3)
    return time.perf_counter() - began


def searched(shown: Viewer) -> float:
    """Seconds of all slices of one search, as the page asks for them."""
    began = time.perf_counter()
    while b"data-more" in shown.page("/groups?q=sum+54321")[1]:
        if time.perf_counter() - began > 60:
            raise SystemExit("a search does not come to its end")
    return time.perf_counter() - began


def main(say: Callable[[str], None] = print) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--groups", type=int, default=32)
    parser.add_argument("--size", type=int, default=16)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as root:
        run = Path(root) / "made"
        began = time.perf_counter()
        write_run(run, options.steps, options.groups, options.size)
        size = sum(path.stat().st_size for path in run.rglob("*") if path.is_file()) / 1e6
        rollouts = options.groups * options.size
        say(f"{options.steps:,} steps x {rollouts} rollouts, {size:,.0f} MB, "
            f"made in {time.perf_counter() - began:.0f} s; load of the machine "
            f"{os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")  # fmt: skip
        with viewer(run) as shown:
            found: list[Limit] = []
            for limit in measured(shown, options.steps, options.groups):
                found.append(limit)
                say(str(limit))
    return 0 if all(limit.is_met for limit in found) else 3


if __name__ == "__main__":
    sys.exit(main())

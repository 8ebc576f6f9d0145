"""Untrusted programs, and code verdicts, a second: `python benchmarks/sandbox.py`.

Two processes, as two judge workers would be, each with a sandbox of its own. Programs print one
line; verdicts are of an MBPP-like problem with three asserts.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

from evenodds.domain import Completion, Problem, Status
from evenodds.sandbox import Sandbox, open_sandbox, self_test
from evenodds.sandbox.forkserver import ForkServer, start_bubblewrap
from evenodds.verifiers.code import DEFAULT, KIND, code

GOLD = {
    "test_list": [
        "assert add(1, 2) == 3",
        "assert add([1], [2]) == [1, 2]",
        "assert add('a', 'b') == 'ab'",
    ]
}
PROBLEM = Problem("sum", "Write add(a, b).", json.dumps(GOLD), "benchmark")
ANSWER = Completion("```python\ndef add(a, b):\n    return a + b\n```")


def one_run(sandbox: Sandbox) -> None:
    assert sandbox.run("print(sum(range(100)))").stdout == b"4950\n"


def one_verdict(sandbox: Sandbox) -> None:
    assert code(PROBLEM, ANSWER, DEFAULT).status is Status.RIGHT


def measured(action: Callable[[Sandbox], None], sandbox: Sandbox, seconds: float) -> list[float]:
    """The time of each call, for so many seconds."""
    action(sandbox)
    times: list[float] = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        started = time.perf_counter()
        action(sandbox)
        times.append(time.perf_counter() - started)
    return times


def opened(way: str) -> Sandbox:
    return open_sandbox() if way == "first" else ForkServer(start_bubblewrap)


def work(way: str, what: str, seconds: float) -> None:
    """In a process of its own: print the times as JSON."""
    sandbox = opened(way)
    times = measured(one_run if what == "runs" else one_verdict, sandbox, seconds)
    sandbox.close()
    print(json.dumps(times))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--way", choices=["first", "bubblewrap"], default="first")
    parser.add_argument("--work", choices=["runs", "verdicts"])
    options = parser.parse_args()
    if options.work:
        work(options.way, options.work, options.seconds)
        return
    started = time.perf_counter()
    sandbox = opened(options.way)
    ready = time.perf_counter() - started
    checks = self_test(sandbox)
    tested = time.perf_counter() - started - ready
    refused = sum(check.refused for check in checks)
    print(f"{sandbox.how}\nopened in {ready:.2f} s; self-test {refused}/5 in {tested:.2f} s")
    sandbox.close()
    for what in ["runs", "verdicts"] if options.way == "first" else ["runs"]:
        command = [
            sys.executable, __file__, "--work", what, "--way", options.way,
            "--seconds", str(options.seconds),
        ]  # fmt: skip
        processes = [
            subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
            for _ in range(options.processes)
        ]
        times = [second for p in processes for second in json.loads(p.communicate()[0])]
        print(
            f"{what}: {len(times) / options.seconds:.0f}/s with {options.processes} processes, "
            f"median {1e3 * statistics.median(times):.1f} ms, slowest {1e3 * max(times):.0f} ms"
        )
    print(f"(the kind {KIND.name!r} gives {DEFAULT.seconds:g} s of CPU time to a test)")


if __name__ == "__main__":
    main()

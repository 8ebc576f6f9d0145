"""A sandbox runs ordinary programs as an interpreter would, and heals itself."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from evenodds.sandbox import Job, Limits, open_sandbox
from evenodds.sandbox.forkserver import ForkServer, start_server
from tests.sandbox.opened import needs_sandbox

pytestmark = needs_sandbox


@pytest.fixture(scope="module")
def sandbox() -> Iterator[ForkServer]:
    opened = open_sandbox()
    if not isinstance(opened, ForkServer):
        pytest.skip(f"this machine contains programs by {opened.how}")
    yield opened
    opened.close()


@pytest.mark.parametrize(
    ("program", "status", "code", "out"),
    [
        ("print(input() + input())", "done", 0, "onetwo\n"),
        ("import sys; print(len(sys.stdin.read()))", "done", 0, "8\n"),
        ("import sys; sys.stdout.write('no newline')", "done", 0, "no newline"),
        ("print('ж'); raise SystemExit", "done", 0, "ж\n"),
        ("import sys; sys.exit(3)", "failed", 3, ""),
        ("import sys; sys.exit('sorry')", "failed", 1, ""),
        ("1 / 0", "failed", 1, ""),
        ("def f(:", "failed", 1, ""),
        ("import os; os.abort()", "killed", -11, ""),
        ("import atexit; atexit.register(print, 2); print(1)", "done", 0, "1\n2\n"),
        ("if __name__ == '__main__': print(__file__)", "done", 0, "/work/main.py\n"),
        ("import sympy", "failed", 1, ""),
        ("import random; print(random.random())", "done", 0, "0.8444218515250481\n"),
        ("print(hash('a') == hash('a'), len({'a', 'b'}))", "done", 0, "True 2\n"),
        ("from evenodds.domain import Problem", "failed", 1, ""),
        ("print(1)\nexit()", "done", 0, "1\n"),
        ("quit(3)", "failed", 3, ""),
        (
            "import sys\nfrom functools import lru_cache\nsys.setrecursionlimit(10**6)\n"
            "@lru_cache(None)\ndef f(n): return n and f(n - 1)\nprint(f(40000))",
            "done", 0, "0\n",
        ),
        (
            "import asyncio\nasync def f(): await asyncio.sleep(.01); print(7)\nasyncio.run(f())",
            "done", 0, "7\n",
        ),
        (
            "import threading\nthreading.Timer(.02, print, ['t']).start()",
            "done", 0, "t\n",
        ),
        (
            "from concurrent.futures import ThreadPoolExecutor as Pool\nimport time\n"
            "with Pool(24) as pool: list(pool.map(time.sleep, [.1] * 24))\n"
            "print(len(pool._threads))",
            "done", 0, "24\n",
        ),
        (
            "import sys, threading\nsys.setrecursionlimit(10**6)\nthreading.stack_size(2**27)\n"
            "def f(n): return n and f(n - 1)\n"
            "threading.Thread(target=lambda: print(f(50000))).start()",
            "done", 0, "0\n",
        ),
    ],
)  # fmt: skip
def test_programs_run_as_scripts(sandbox, program: str, status: str, code: int, out: str) -> None:
    outcome = sandbox.run(program, stdin=b"one\ntwo\n")
    assert (outcome.status, outcome.exit_code, outcome.stdout.decode()) == (status, code, out)


def test_a_traceback_shows_the_program_only(sandbox) -> None:
    err = sandbox.run("def f():\n    return 1 / 0\nf()").stderr.decode()
    assert err.count("File ") == 2
    assert "line 2, in f" in err
    assert "ZeroDivisionError" in err


def test_large_input_and_text_that_is_no_unicode_arrive(sandbox) -> None:
    big = b"x" * 3_000_000
    assert sandbox.run("import sys; print(len(sys.stdin.read()))", stdin=big).stdout == b"3000000\n"
    assert sandbox.run("print(ascii(input()))", stdin=b"\xff\n").stdout == b"'\\udcff'\n"
    assert sandbox.run("x = '\ud800'").status == "failed"
    assert sandbox.run("x = '\0'").status == "failed"


def test_a_failure_of_the_program_cannot_pass_for_one_of_the_sandbox(sandbox) -> None:
    for code in range(0, 256, 15):
        assert sandbox.run(f"import os; os._exit({code})").status in ("done", "failed")


ECHO = """
import os
while data := os.read(3, 100):
    os.write(4, data.upper())
"""
ASK = """
import os
os.write(4, b"hello")
print(os.read(3, 100).decode(), flush=True)
"""


def test_two_programs_talk_and_the_second_ends_with_the_first(sandbox) -> None:
    first, second = sandbox.converse(Job(ASK), Job(ECHO))
    assert first.stdout == b"HELLO\n"
    assert first.status == "done"
    assert second.seconds < 2
    lasting = Job("import time; time.sleep(60)")
    first, second = sandbox.converse(Job("print(1)"), lasting)
    assert (first.status, second.status) == ("done", "killed")


def test_each_line_of_the_trusted_one_starts_the_clocks_anew(sandbox) -> None:
    lines = Job("import time\nfor _ in range(5): time.sleep(.15); print(1, flush=True)")
    loop = Job("while True: pass")
    limits = Limits(seconds=0.6)
    first, second = sandbox.converse(lines, loop, limits)
    assert (first.status, second.status) == ("done", "killed")
    first, second = sandbox.converse(Job("import os; os.read(3, 1)"), loop, limits)
    assert (first.status, second.status) == ("done", "timeout")


def test_a_killed_server_is_replaced(sandbox) -> None:
    sandbox.run("1")
    os.kill(sandbox.server.process.pid, signal.SIGKILL)
    sandbox.server.process.wait()
    assert sandbox.run("print(5)").stdout == b"5\n"


def test_threads_share_one_sandbox(sandbox) -> None:
    found: list[bytes] = []
    threads = [
        threading.Thread(target=lambda n=n: found.append(sandbox.run(f"print({n})").stdout))
        for n in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == [b"%d\n" % n for n in range(8)]


def descendants(pid: int) -> list[int]:
    children = Path(f"/proc/{pid}/task/{pid}/children")
    if not children.exists():
        pytest.skip("this kernel does not list children")
    found = [int(word) for word in children.read_text().split()]
    return found + [below for child in found for below in descendants(child)]


def lives(pid: int) -> bool:
    """Whether a process is there and has not ended; whoever adopted it may reap it later."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def gone(pids: list[int]) -> bool:
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        if not any(lives(pid) for pid in pids):
            return True
        time.sleep(0.02)
    return False


def test_the_server_goes_when_it_is_closed() -> None:
    server = start_server()
    pids = [server.process.pid, *descendants(server.process.pid)]
    assert len(pids) == 2
    server.stop()
    assert gone(pids)


def test_the_server_goes_when_its_parent_is_killed_with_a_program_at_work() -> None:
    code = (
        "from evenodds.sandbox.forkserver import ForkServer\n"
        "from evenodds.sandbox import Limits\n"
        "s = ForkServer(); print(s.server.process.pid, flush=True)\n"
        "s.run('import time; time.sleep(60)', limits=Limits(seconds=60, total=60))\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    assert process.stdout is not None
    launcher = int(process.stdout.readline())
    deadline = time.monotonic() + 5
    while len(pids := descendants(launcher)) < 2 and time.monotonic() < deadline:
        time.sleep(0.02)
    assert len(pids) == 2  # the server, and the program as its child
    process.kill()
    process.wait()
    process.stdout.close()
    assert gone([launcher, *pids])


def test_no_zombie_and_no_descriptor_is_left(sandbox) -> None:
    sandbox.run("1")
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(20):
        sandbox.run("print(1)")
    assert len(os.listdir("/proc/self/fd")) == before
    (server,) = descendants(sandbox.server.process.pid)
    assert descendants(server) == []


@pytest.mark.parametrize(
    "before",
    [
        "os.close(0); os.close(1)",
        "signal.signal(signal.SIGCHLD, signal.SIG_IGN)",
        "signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())",
        "resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40))",
        "os.environ.clear(); os.umask(0o777)",
        "tempfile.tempdir = '/nowhere'",
    ],
)
def test_it_opens_and_runs_in_a_poor_surrounding(before: str) -> None:
    code = (
        "import os, resource, signal, sys, tempfile\n"
        f"{before}\n"
        "from evenodds.sandbox.choose import ForkServer, self_test\n"
        "sandbox = ForkServer()\n"
        "checks = [check for check in self_test(sandbox) if not check.refused]\n"
        "os.write(2, str(checks).encode() + sandbox.run('print(5)').stdout)\n"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert told.stderr == b"[]5\n"


def test_a_program_is_no_member_of_anybodys_process_group(sandbox) -> None:
    """kill(0, …) reaches a group by its own list, which process namespaces do not part."""
    assert sandbox.run("import os; print(os.getpgrp(), os.getsid(0))").stdout == b"1 1\n"


def memory_of(pid: int) -> bytes:
    """All of a process's writable memory, where this user may read it."""
    parts: list[bytes] = []
    try:
        with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb", 0) as memory:
            for line in maps:
                place, rights, *_ = line.split()
                if rights.startswith("rw"):
                    start, end = (int(part, 16) for part in place.split("-"))
                    memory.seek(start)
                    parts.append(memory.read(end - start))
    except OSError:
        pytest.skip("the memory of the server cannot be read by this user")
    return b"".join(parts)


def test_no_program_and_no_test_was_ever_in_the_servers_memory(sandbox) -> None:
    """What a child could find there is what the server holds when it forks."""
    needles = [f"needle-{n}-in-a-haystack" for n in range(4)]
    sandbox.run(f"print('{needles[0]}')", stdin=needles[1].encode())
    sandbox.converse(Job("1", files={"job.json": needles[2]}), Job(f"print('{needles[3]}')"))
    (server,) = descendants(sandbox.server.process.pid)
    held = memory_of(server)
    assert b"unicodedata" in held  # the server's own words are found, so the search is sound
    assert not [needle for needle in needles if needle.encode() in held]
    assert b"haystack" not in held

"""What a program in the sandbox cannot do, whoever runs the tests; root is the hardest case."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from evenodds.sandbox import Limits, Sandbox, open_sandbox, self_test
from tests.sandbox.opened import needs_sandbox

pytestmark = needs_sandbox


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    opened = open_sandbox()
    print(f"\nas uid {os.getuid()}: {opened.how}")
    yield opened
    opened.close()


def printed(sandbox: Sandbox, program: str, limits: Limits | None = None) -> str:
    outcome = sandbox.run(program, limits=limits or Limits())
    assert outcome.status == "done", outcome
    return outcome.stdout.decode()


def attempts(*lines: str) -> str:
    """A program that tries each line and prints what came of it."""
    body = "".join(
        f"try:\n    print('DID', {line})\nexcept BaseException as e:\n    print(type(e).__name__)\n"
        for line in lines
    )
    return f"import ctypes, os, signal, socket, subprocess, sys, threading\n{body}"


def test_the_self_test_refuses_five_of_five_in_under_a_second(sandbox) -> None:
    started = time.perf_counter()
    checks = self_test(sandbox)
    print(f"\n{time.perf_counter() - started:.2f} s: {checks}")
    assert [check.name for check in checks] == ["network", "files", "memory", "time", "forks"]
    assert all(check.refused for check in checks)


def test_no_network_not_even_to_a_listener_on_this_machine(sandbox) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket(socket.AF_UNIX) as local:
        name = f"\0evenodds-{os.getpid()}"
        local.bind(name)
        local.listen()
        local.setblocking(False)
        server.setblocking(False)
        port = server.getsockname()[1]
        text = printed(
            sandbox,
            attempts(
                f"socket.create_connection(('127.0.0.1', {port}), 1)",
                "socket.socket(socket.AF_UNIX)",
                "socket.socket(socket.AF_INET, socket.SOCK_DGRAM)",
                "socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)",
                "socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)",
            ),
        )
        assert "DID" not in text, text
        for listener in (server, local):
            with pytest.raises(BlockingIOError):
                listener.accept()


def test_no_file_of_the_host_is_read_or_written(sandbox, tmp_path: Path) -> None:
    for folder in (tmp_path, *tmp_path.parents[:3]):
        folder.chmod(0o755)
    secret = tmp_path / "secret.txt"
    secret.write_text("the gold is 42")
    secret.chmod(0o666)
    paths = ["/etc/shadow", "/etc/passwd", str(secret), "/proc/1/environ", "/dev/kmsg", __file__]
    tries = [f"open({path!r}).read(30)" for path in paths]
    tries += [
        f"open({str(tmp_path / 'new')!r}, 'w')",
        "open('/new', 'w')",
        "open(os.__file__, 'a')",
    ]
    tries += ["os.listdir('/')", "os.listdir(os.path.expanduser('~root'))", "os.mkdir('/x')"]
    tries += ["os.mknod('dev', 0o60000, os.makedev(8, 0))", "os.chmod(os.__file__, 0o777)"]
    text = printed(sandbox, attempts(*tries))
    assert "DID" not in text, text
    assert os.listdir(tmp_path) == ["secret.txt"]
    assert secret.read_text() == "the gold is 42"


def test_its_own_folder_is_empty_small_and_gone_afterwards(sandbox) -> None:
    assert printed(sandbox, "open('mine', 'w').write('x'); import os; print(os.listdir())")
    assert printed(sandbox, "import os; print(os.listdir())") == "['main.py']\n"
    assert int(printed(sandbox, FILL.format("bytes(2**20)"))) <= 16
    assert int(printed(sandbox, FILL.format("b''"))) <= 512


FILL = """
n = 0
try:
    while True:
        with open(f'f{{n}}', 'wb') as file: file.write({})
        n += 1
except OSError: print(n)
"""


def test_memory_ends_at_the_limit(sandbox) -> None:
    small = Limits(memory=128 * 2**20)
    assert sandbox.run("x = bytearray(2**28)", limits=small).status == "memory"
    assert (
        sandbox.run("x = []\nwhile True: x.append(bytes(2**16))", limits=small).status == "memory"
    )
    mapped = "import mmap\nm = [mmap.mmap(-1, 2**24) for _ in range(20)]"
    assert sandbox.run(mapped, limits=small).status != "done"
    piped = "import os\np = [os.pipe() for _ in range(100)]"
    assert "Too many open files" in sandbox.run(piped).stderr.decode()


def test_endless_loops_end_by_cpu_time_and_sleepers_by_the_clock(sandbox) -> None:
    limits = Limits(seconds=0.2, patience=2)
    busy = sandbox.run("while True: pass", limits=limits)
    assert (busy.status, busy.exit_code) == ("timeout", -9)
    assert busy.cpu < 1
    for program in ("import time; time.sleep(99)", "import signal; signal.pause()", "input()"):
        stdin = b"" if "input" not in program else b"\n"
        outcome = sandbox.run(program, stdin=stdin, limits=limits)
        assert outcome.status == ("done" if stdin else "timeout")
    stubborn = """
import signal
for n in range(1, 64):
    try: signal.signal(n, signal.SIG_IGN)
    except (OSError, ValueError): pass
while True:
    try:
        while True: pass
    except BaseException: pass
"""
    assert sandbox.run(stubborn, limits=limits).status == "timeout"
    assert sandbox.run("while True: pass", limits=Limits(seconds=9, total=0.2)).status == "timeout"


def test_output_without_end_is_cut_at_the_cap(sandbox) -> None:
    for stream in ("stdout", "stderr"):
        program = f"import sys\nwhile True: sys.{stream}.write('x' * 999)"
        outcome = sandbox.run(program, limits=Limits(output=10_000))
        assert outcome.status == "output"
        assert len(outcome.stdout) + len(outcome.stderr) == 10_000
        assert outcome.seconds < 2


def test_no_process_can_be_made_and_threads_are_bounded(sandbox) -> None:
    """Eight attempts only: were one to succeed, no bomb would follow."""
    text = printed(
        sandbox,
        attempts(
            "os.fork()", "os.forkpty()", "os.posix_spawn('/bin/true', ['true'], {})",
            "os.execv(sys.executable, ['x'])", "subprocess.run(['true'])",
            "ctypes.CDLL(None, use_errno=True).vfork() >= 0 or 1 / 0",
            "ctypes.CDLL(None).syscall(56, 17, 0, 0, 0, 0) >= 0 or 1 / 0",
            "[threading.Thread(target=signal.pause, daemon=True).start() for _ in range(99)]",
        ),
    )  # fmt: skip
    assert "DID" not in text, text
    one = "import threading\nt = threading.Thread(target=print, args=('hi',))\nt.start()\nt.join()"
    assert printed(sandbox, one) == "hi\n"


def test_nobody_outside_can_be_signalled_traced_or_seen(sandbox) -> None:
    parent = os.getpid()
    text = printed(
        sandbox,
        attempts(
            f"os.kill({parent}, signal.SIGKILL)", "os.kill(os.getppid() or 99, signal.SIGKILL)",
            "os.kill(2, 0)", "os.getppid() or 1 / 0", "os.sched_setaffinity(0, {0})",
            "ctypes.CDLL(None).ptrace(0, 0, 0, 0) >= 0 or 1 / 0",
            f"ctypes.CDLL(None).process_vm_readv({parent}, 0, 0, 0, 0, 0) >= 0 or 1 / 0",
            "ctypes.CDLL(None).mount(b'x', b'/work', b'tmpfs', 0, 0) >= 0 or 1 / 0",
            "ctypes.CDLL(None).unshare(0x10000000) >= 0 or 1 / 0",
            "ctypes.CDLL(None).setuid(0) >= 0 or 1 / 0",
            "ctypes.CDLL(None).chroot(b'.') >= 0 or 1 / 0",
            "ctypes.CDLL(None).shmget(0, 4096, 0o1600) >= 0 or 1 / 0",
        ),
    )  # fmt: skip
    assert "DID" not in text, text
    assert printed(sandbox, "import os; print(os.getpid(), os.getuid() != 0)") == "1 True\n"


def test_nothing_of_this_process_is_handed_in(sandbox, monkeypatch) -> None:
    monkeypatch.setenv("EVENODDS_CANARY", "a-secret-token")
    opened = open_sandbox()
    try:
        text = printed(opened, "import os, sys; print(os.environ, sys.argv, sys.path)")
        assert "a-secret-token" not in text
        assert "EVENODDS" not in text
        seen = printed(opened, OPEN)
        assert seen.split() == ["0", "1", "2"]
    finally:
        opened.close()


OPEN = """
import os
for n in range(99):
    try: os.fstat(n); print(n)
    except OSError: pass
"""

"""One process at a time: the second is refused by name, and the dead hold nothing."""

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from evenodds.errors import UsageError
from evenodds.run import lock
from evenodds.run.lock import RunLock

HOLDER = """
import os, sys, time
from pathlib import Path
from evenodds.run.lock import RunLock
with RunLock(Path(sys.argv[1])):
    if sys.argv[2] == "fork" and os.fork() == 0:
        print(os.getpid(), flush=True)
        time.sleep(30)
        os._exit(0)
    if sys.argv[2] == "alone":
        print(0, flush=True)
    time.sleep(30)
"""


def start_holder(folder: Path, kind: str = "alone") -> tuple[subprocess.Popen, int]:
    command = [sys.executable, "-c", HOLDER, str(folder), kind]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    return child, int(child.stdout.readline())


def end(child: subprocess.Popen) -> None:
    child.kill()
    child.wait()
    assert child.stdout is not None
    child.stdout.close()


def test_the_second_process_is_refused_and_the_dead_one_is_not_waited_for(tmp_path):
    child, _ = start_holder(tmp_path)
    try:
        started = time.monotonic()
        with pytest.raises(UsageError) as caught, RunLock(tmp_path):
            pass
        assert time.monotonic() - started < 1
        text = str(caught.value)
        assert f"process {child.pid} on {socket.gethostname()}" in text and "\n" not in text
        assert str(tmp_path) in text
    finally:
        end(child)
    with RunLock(tmp_path):
        assert (tmp_path / "lock").read_text().split() == [str(os.getpid()), socket.gethostname()]
    assert (tmp_path / "lock").read_text() == ""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_an_orphaned_worker_does_not_hold_the_run(tmp_path):
    child, worker = start_holder(tmp_path, "fork")
    try:
        end(child)
        os.kill(worker, 0)
        with RunLock(tmp_path):
            pass
    finally:
        os.kill(worker, 9)


def test_a_lock_is_refused_inside_the_same_process_too_and_can_be_taken_again(tmp_path):
    held = RunLock(tmp_path / "new" / "run")
    for _ in range(2):
        with held:
            with pytest.raises(UsageError, match=str(os.getpid())), RunLock(held.folder):
                pass
            with pytest.raises(UsageError, match=str(os.getpid())), RunLock(held.folder):
                pass


def test_the_lock_is_released_by_an_error(tmp_path):
    with pytest.raises(ZeroDivisionError), RunLock(tmp_path):
        raise ZeroDivisionError
    with RunLock(tmp_path):
        pass


def test_without_locks_of_the_system_the_name_in_the_file_decides(tmp_path, monkeypatch):
    monkeypatch.setattr(lock, "_lock_natively", lambda descriptor: None)
    here = socket.gethostname()
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    for text, free in [
        ("", True),
        ("nonsense", True),
        (f"{gone.pid} {here}\n", True),
        (f"{os.getpid()} {here}\n", True),
        (f"{os.getppid()} {here}\n", False),
        ("12 elsewhere\n", False),
    ]:
        (tmp_path / "lock").write_text(text)
        if free:
            with RunLock(tmp_path):
                assert (tmp_path / "lock").read_text() == f"{os.getpid()} {here}\n"
        else:
            with pytest.raises(UsageError, match=text.strip().replace(" ", " on ")):
                RunLock(tmp_path).__enter__()
            assert (tmp_path / "lock").read_text() == text


def test_a_file_system_without_locks_is_known_and_other_errors_are_told(tmp_path, monkeypatch):
    fcntl = pytest.importorskip("fcntl")

    def refuse(number: int):
        def flock(*_):
            raise OSError(number, os.strerror(number))

        return flock

    monkeypatch.setattr(fcntl, "flock", refuse(lock.errno.ENOLCK))
    with RunLock(tmp_path):
        pass
    monkeypatch.setattr(fcntl, "flock", refuse(lock.errno.EIO))
    with pytest.raises(UsageError) as caught, RunLock(tmp_path):
        pass
    assert "EIO" in str(caught.value) and "\n" not in str(caught.value)


def test_a_holder_without_a_name_yet_is_refused_within_a_second(tmp_path):
    with RunLock(tmp_path):
        (tmp_path / "lock").write_text("")
        started = time.monotonic()
        with pytest.raises(UsageError, match="another process"), RunLock(tmp_path):
            pass
        assert time.monotonic() - started < 1

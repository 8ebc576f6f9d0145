"""One process at a time: the second is refused by name, and the dead hold nothing."""

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from evenodds.errors import UsageError
from evenodds.records.holder import began, holder_of, is_held
from evenodds.run import lock
from evenodds.run.lock import RunLock, require_free

HOLDER = """
import os, sys, time
from pathlib import Path
from evenodds.run.lock import RunLock, require_free
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
        assert holder_of(tmp_path) == (os.getpid(), socket.gethostname())
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
        (f"{os.getppid()} {here} {began(os.getppid())}\n", False),
        (f"{os.getppid()} {here} 1\n", True),  # its number, given again to another process
        ("12 elsewhere\n", False),
    ]:
        (tmp_path / "lock").write_text(text)
        if free:
            with RunLock(tmp_path):
                assert holder_of(tmp_path) == (os.getpid(), here)
        else:
            with pytest.raises(UsageError, match=" on ".join(text.split()[:2])):
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


@pytest.mark.skipif(not began(os.getpid()), reason="this system does not tell when one began")
def test_a_number_that_was_given_again_is_not_taken_for_the_dead_holder(tmp_path):
    """A reader that takes no lock believes the text: a reboot gives the same numbers again."""
    (tmp_path / "lock").write_text(f"{os.getppid()} {socket.gethostname()} 1\n")
    assert not is_held(tmp_path)
    with RunLock(tmp_path):  # where the system has locks, its word counts alone
        assert is_held(tmp_path)


@pytest.mark.parametrize("kind", ["link", "dangling", "folder", "pipe"])
def test_what_is_no_plain_file_locks_nothing_and_is_left_as_it_is(tmp_path, kind):
    """A run folder from elsewhere could hold a link to a file of ours, which would be emptied."""
    run, other = tmp_path / "run", tmp_path / "other"
    run.mkdir()
    if kind == "link":
        other.write_text("years of work")
    if kind in ("link", "dangling"):
        (run / "lock").symlink_to(other)
    elif kind == "folder":
        (run / "lock").mkdir()
    else:
        os.mkfifo(run / "lock")
    for ask in (RunLock(run).__enter__, lambda: require_free(run)):
        with pytest.raises(UsageError, match="no plain file"):
            ask()
    assert not is_held(run)
    assert other.exists() == (kind == "link")
    assert kind != "link" or other.read_text() == "years of work"


def test_a_lock_file_that_cannot_be_opened_is_told_in_one_line(tmp_path, monkeypatch):
    def refused(*_):
        raise PermissionError(lock.errno.EACCES, "Permission denied")

    (tmp_path / "lock").touch()
    monkeypatch.setattr(lock.os, "open", refused)
    with pytest.raises(UsageError, match="EACCES") as caught:
        require_free(tmp_path)
    assert "\n" not in str(caught.value) and str(tmp_path / "lock") in str(caught.value)


def test_asking_whether_a_run_is_free_leaves_nothing_where_none_is(tmp_path):
    require_free(tmp_path / "new")
    require_free(tmp_path)
    assert list(tmp_path.iterdir()) == []

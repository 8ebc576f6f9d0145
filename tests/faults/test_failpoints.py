"""The failpoints themselves: every way in which Python changes a file is seen and can be broken."""

from __future__ import annotations

import errno
import multiprocessing
import os
import shutil
import signal
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.faults.failpoints import Failpoint, calls, install

FORK = multiprocessing.get_context("fork")


def _copied(folder: Path) -> None:
    shutil.copyfile("/etc/hostname", folder / "copy")
    shutil.rmtree(folder / "old")


def _temporary(folder: Path) -> None:
    with tempfile.NamedTemporaryFile(dir=folder) as file:
        file.write(b"x")


WAYS: list[tuple[Callable[[Path], object], list[str]]] = [
    (lambda f: (f / "a").write_text("x"), ["open a", "write a"]),
    (lambda f: (f / "d" / "e").mkdir(parents=True), ["mkdir d/e", "mkdir d", "mkdir d/e"]),
    (lambda f: (f / "old" / "one").rename(f / "b"), ["rename old/one"]),
    (lambda f: (f / "old" / "one").unlink(), ["unlink old/one"]),
    (lambda f: os.truncate(f / "old" / "one", 0), ["truncate old/one"]),
    (lambda f: os.fsync(os.open(f, os.O_RDONLY)), ["fsync ."]),
    (_copied, ["open copy", "sendfile copy", "sendfile copy", "unlink old/one", "rmdir old"]),
]


def _child(work: Callable[[Path], object], failpoint: Failpoint) -> None:
    install(failpoint)
    try:
        work(failpoint.under)
    except OSError as error:
        os._exit(error.errno or 1)
    os._exit(0)


def _run(work: Callable[[Path], object], failpoint: Failpoint) -> int:
    child = FORK.Process(target=_child, args=(work, failpoint))
    child.start()
    child.join(20)
    assert child.exitcode is not None
    return child.exitcode


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "run" / "old").mkdir(parents=True)
    (tmp_path / "run" / "old" / "one").write_text("old")
    return tmp_path / "run"


@pytest.mark.parametrize(("work", "seen"), WAYS)
def test_every_way_is_seen_and_every_call_can_be_refused(folder, work, seen) -> None:
    tally = folder.parent / "tally"
    shutil.copytree(folder, folder.parent / "fresh")
    assert _run(work, Failpoint(0, "count", folder, tally=tally)) == 0
    assert calls(tally) == seen
    for at in range(1, len(seen) + 1):
        shutil.rmtree(folder)
        shutil.copytree(folder.parent / "fresh", folder)
        code = _run(work, Failpoint(at, "ENOSPC", folder))
        assert code == errno.ENOSPC, seen[at - 1]
        shutil.rmtree(folder)
        shutil.copytree(folder.parent / "fresh", folder)
        assert _run(work, Failpoint(at, "kill", folder)) == -signal.SIGKILL


def test_a_broken_write_leaves_a_part_and_one_killed_after_it_the_whole(folder) -> None:
    work = lambda f: (f / "a").write_bytes(b"0123456789")  # noqa: E731
    found = {}
    for action in ("kill", "ENOSPC", "EIO", "kill-after"):
        _run(work, Failpoint(2, action, folder))
        found[action] = (folder / "a").stat().st_size
    assert found == {"kill": 5, "ENOSPC": 5, "EIO": 0, "kill-after": 10}


def test_for_good_means_every_later_call_and_what_lies_elsewhere_is_left_alone(folder) -> None:
    def work(under: Path) -> None:
        (under.parent / "elsewhere").write_text("x")
        refused = 0
        for name in "abc":
            try:
                (under / name).write_text("x")
            except OSError:
                refused += 1
        os._exit(refused)

    assert _run(work, Failpoint(3, "EROFS", folder, for_good=True)) == 2
    assert _run(work, Failpoint(3, "EROFS", folder)) == 1
    assert (folder.parent / "elsewhere").read_text() == "x"


def test_a_temporary_file_is_seen(folder) -> None:
    tally = folder.parent / "tally"
    assert _run(_temporary, Failpoint(0, "count", folder, tally=tally)) == 0
    assert [line.split()[0] for line in calls(tally)] == ["open", "write"]

"""A machine, or a Python, that does not have what a command needs: told in one line."""

from __future__ import annotations

import errno
import threading

import pytest

from evenodds.cli import main
from evenodds.cli.commands import list as listed
from evenodds.errors import RunError, UsageError
from evenodds.machine import is_exhausted
from evenodds.policies.checks import require_docstrings
from evenodds.run.background import Background


def caused(error: Exception, cause: BaseException) -> Exception:
    error.__cause__ = cause
    return error


EXHAUSTED = [
    MemoryError(),
    OSError(errno.ENOMEM, "Cannot allocate memory"),
    ImportError("libarrow_compute.so.2600: failed to map segment from shared object"),
    RuntimeError("can't start new thread"),
    RuntimeError("[enforce fail at alloc_cpu.cpp:117] DefaultCPUAllocator: can't allocate memory"),
    RuntimeError("CUDA out of memory. Tried to allocate 2 GiB"),
    RuntimeError("std::bad_alloc"),
    caused(UsageError("cannot load a model."), RuntimeError("can't start new thread")),
]


@pytest.mark.parametrize("error", EXHAUSTED, ids=str)
def test_what_ran_out_is_said_and_a_model_is_not_blamed_for_it(error, monkeypatch, capsys) -> None:
    def fails(arguments: list[str]) -> int:
        raise error

    monkeypatch.setattr(listed, "main", fails)
    assert main(["list"]) == 1
    told = capsys.readouterr().err
    assert told.startswith("evenodds: out of memory or of threads: ") and told.count("\n") == 1


@pytest.mark.parametrize("error", [RunError("no"), ValueError("memory"), OSError(errno.EIO, "I/O")])
def test_other_failures_are_not_called_so(error) -> None:
    assert not is_exhausted(error)


def test_a_thread_that_could_not_start_is_what_is_told(monkeypatch) -> None:
    """It was "cannot join thread before it is started"."""

    def none_left(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    background = Background()
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", none_left)
        with pytest.raises(RuntimeError, match="can't start"):
            background.do(lambda: None)
    assert background.close()


def test_python_without_docstrings_is_named_and_not_the_model() -> None:
    require_docstrings(0)
    require_docstrings(1)
    with pytest.raises(UsageError, match="PYTHONOPTIMIZE=2"):
        require_docstrings(2)

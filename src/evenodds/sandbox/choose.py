"""Which way to contain programs this machine has: the first one that passes its self-test."""

from __future__ import annotations

import atexit
import sys
from collections.abc import Callable
from functools import lru_cache

from evenodds.sandbox.forkserver import ForkServer, start_bubblewrap
from evenodds.sandbox.selftest import self_test
from evenodds.sandbox.values import Sandbox, SandboxUnavailable


def bubblewrap() -> Sandbox:
    """The second way. Raises `SandboxUnavailable`."""
    return ForkServer(start_bubblewrap)


WAYS: tuple[Callable[[], Sandbox], ...] = (ForkServer, bubblewrap)


def open_sandbox() -> Sandbox:
    """A sandbox, ready to run programs. Close it after use.

    The first in a process is put to its self-test (about half a second); 5 of 5 must be refused.
    Raises `SandboxUnavailable` with one line that says why and what to do.
    """
    way = _tested()
    if isinstance(way, str):
        raise SandboxUnavailable(way)
    return way()


def available() -> str | None:
    """Why untrusted programs cannot be contained here; None where they can. Asked once."""
    way = _tested()
    return way if isinstance(way, str) else None


@lru_cache(maxsize=1)
def shared_sandbox() -> Sandbox:
    """The sandbox of this process, opened when it is first asked for and closed at its end."""
    sandbox = open_sandbox()
    atexit.register(sandbox.close)
    return sandbox


@lru_cache(maxsize=1)
def _tested() -> Callable[[], Sandbox] | str:
    """The way that passed, or why none did."""
    if sys.platform != "linux":
        return (
            f"code rewards are off: programs are only contained on Linux. Got {sys.platform}. "
            "Use a Linux machine, container or virtual machine."
        )
    reasons: list[str] = []
    for way in WAYS:
        why = _fails(way)
        if why is None:
            return way
        reasons.append(why)
    return (
        f"code rewards are off: programs cannot be contained here. Got {' '.join(reasons)} "
        "Allow user namespaces, or install bubblewrap."
    )


def _fails(way: Callable[[], Sandbox]) -> str | None:
    try:
        sandbox = way()
    except SandboxUnavailable as error:
        return str(error)
    try:
        failed = [check for check in self_test(sandbox) if not check.refused]
    finally:
        sandbox.close()
    if not failed:
        return None
    names = ", ".join(check.name for check in failed)
    return f"{sandbox.how.partition(',')[0]} failed its self-test of {names}: {failed[0].seen}."

"""The two blocks in which a person's code is called: `kept`, and `undisturbed` around that."""

from __future__ import annotations

import os
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress

from evenodds.own import load_named, quiet
from evenodds.undisturbed import of_process, of_python, of_torch
from evenodds.undisturbed.part import Part
from evenodds.undisturbed.streams import kept_streams
from evenodds.undisturbed.telling import before_a_call, tell


@contextmanager
def kept(who: str) -> Generator[None]:
    """While a function of a person's computes with our tensors: what decides bits is put back.

    who: as a person calls it, for the line that tells of a change.
    """
    changed: list[str] = []
    try:
        with _at_home(), _put_back(bits(), changed), quiet():
            yield
    finally:
        tell(who, changed)


@contextmanager
def undisturbed(who: str) -> Generator[None]:
    """While a person's code judges: as `kept`, and streams, signals, limits and the umask as well.

    What it prints goes to stderr. What it leaves behind is told: open files, and threads for which
    Python waits at its end. It costs about a tenth of a millisecond.
    """
    before = before_a_call()
    changed: list[str] = []
    try:
        with _at_home(), _put_back([*bits(), *of_process.parts()], changed), kept_streams(changed):
            yield
    finally:
        tell(who, changed, before.left_behind(who))


def loaded(name: str) -> object:
    """What a name names, as `own.load_named`; what its file does to torch is put back, and told.

    A judge's file may turn gradients off for all that it does, and a run needs them.
    """
    changed: list[str] = []
    try:
        with _put_back(of_torch.parts(), changed):
            return load_named(name)
    finally:
        tell(f"what {name} is read from", changed)


def end_child_of(owner: int) -> None:
    """End this process if a person's code has forked it and it comes back: as a second run, and a
    third behind its next answer."""
    if os.getpid() != owner:
        os._exit(0)


def bits() -> list[Part]:
    """All that decides what is computed, which is little enough to be read for every group."""
    return [*of_python.PARTS, *of_torch.parts()]


@contextmanager
def _put_back(parts: Sequence[Part], changed: list[str]) -> Generator[None]:
    """What is another value behind the block is put back; its names are added to `changed`."""
    values = [part.read() for part in parts]
    try:
        yield
    finally:
        for part, value in zip(parts, values, strict=True):
            if part.read() != value:
                with suppress(OSError, ValueError):  # the folder is gone, say
                    part.write(value)
                changed.append(part.name)


@contextmanager
def _at_home() -> Generator[None]:
    """See `end_child_of`."""
    owner = os.getpid()
    try:
        yield
    finally:
        end_child_of(owner)

"""The standard streams, for code of a person's: what they lead to is put back."""

from __future__ import annotations

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress

from evenodds.own import heedless, quiet


@contextmanager
def kept_streams(changed: list[str]) -> Generator[None]:
    """Keep the standard streams, and what their descriptors lead to; told as one part."""
    before = sys.stdout, sys.stderr
    copies: dict[int, int] = {}
    for descriptor in (0, 1, 2):
        with suppress(OSError):  # it is closed, as that of a service may be
            copies[descriptor] = os.dup(descriptor)
    sys.stderr = given = heedless(sys.stderr)
    try:
        with quiet():
            yield
    finally:
        gone = [one for one, copy in copies.items() if not _is_same(one, copy)]
        for descriptor, copy in copies.items():
            if descriptor in gone:
                _put_back(descriptor, copy)
            with suppress(OSError):
                os.close(copy)
        if gone or sys.stderr is not given:
            changed.append("the standard streams")
        sys.stdout, sys.stderr = before


def _is_same(descriptor: int, copy: int) -> bool:
    try:
        now, before = os.fstat(descriptor), os.fstat(copy)
    except OSError:
        return False
    return (now.st_dev, now.st_ino, now.st_rdev) == (before.st_dev, before.st_ino, before.st_rdev)


def _put_back(descriptor: int, copy: int) -> None:
    """What a standard stream led to before; nowhere, if that was closed too."""
    try:
        os.dup2(copy, descriptor)
    except OSError:
        with suppress(OSError):
            nowhere = os.open(os.devnull, os.O_RDWR)
            if nowhere != descriptor:
                os.dup2(nowhere, descriptor)
                os.close(nowhere)

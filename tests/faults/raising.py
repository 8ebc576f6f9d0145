"""Calls that change the disk raise in this process, from a chosen one on or only there."""

from __future__ import annotations

import builtins
import io
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

CALLS = [
    (os, "fsync"),
    (os, "replace"),
    (os, "open"),
    (os, "mkdir"),
    (os, "listdir"),
    (builtins, "open"),
    (io, "open"),
]


class Raising:
    """Counts durable calls; from the chosen one on (or only there) it raises instead."""

    def __init__(self, at: int, error: Callable[[], BaseException], for_good: bool = False):
        self.at, self.error, self.for_good, self.calls = at, error, for_good, 0

    def wrap(self, real: Callable) -> Callable:
        def call(*args, **kwargs):
            self.calls += 1
            if self.calls == self.at or (self.for_good and self.calls > self.at):
                raise self.error()
            return real(*args, **kwargs)

        return call


@contextmanager
def raising(point: Raising) -> Iterator[None]:
    before = [(owner, name, getattr(owner, name)) for owner, name in CALLS]
    for owner, name, real in before:
        setattr(owner, name, point.wrap(real))
    try:
        yield
    finally:
        for owner, name, real in before:
            setattr(owner, name, real)

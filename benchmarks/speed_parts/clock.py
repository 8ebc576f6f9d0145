"""Seconds by phase, measured in the same way for whoever trains with PyTorch."""

from __future__ import annotations

import resource
import time
from collections import Counter
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

import torch


class Clock:
    """Seconds by name since the last lap. A phase inside one of the same name counts once."""

    def __init__(self) -> None:
        self.seconds: Counter[str] = Counter()
        self._depth: Counter[str] = Counter()

    @contextmanager
    def phase(self, name: str) -> Generator[None]:
        self._depth[name] += 1
        started = time.perf_counter()
        try:
            yield
        finally:
            self._depth[name] -= 1
            if not self._depth[name]:
                self.seconds[name] += time.perf_counter() - started

    def around(self, owner: Any, method: str, name: str) -> None:
        """From now on the seconds of `owner.method` count as this phase."""
        inner: Callable[..., Any] = getattr(owner, method)

        def timed(*args: Any, **kwargs: Any) -> Any:
            with self.phase(name):
                return inner(*args, **kwargs)

        setattr(owner, method, timed)

    def watch_backward(self) -> None:
        """Every backward pass and every optimizer step of this process counts as `backward`."""
        for entry in ("backward", "grad"):  # Tensor.backward calls the first of these
            self.around(torch.autograd, entry, "backward")
        for kind in (torch.optim.AdamW,):
            self.around(kind, "step", "backward")

    def lap(self) -> dict[str, float]:
        taken = dict(self.seconds)
        self.seconds.clear()
        return taken


def peak_gb() -> float:
    """The most memory that this process has held so far, in 10^9 bytes (Linux counts KiB)."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9

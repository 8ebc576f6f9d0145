"""torch for the pages that weigh tokens: loaded when the first of them asks, beside the pages."""

from __future__ import annotations

import sys
from functools import cache
from threading import Timer

DELAY = 0.1  # seconds, so that the page that asks is answered first: loading holds up all others
PARTS = ("evenodds.batch", "evenodds.objectives.recipes", "evenodds.objectives.shaping")
WORDS = "Gradient weights are being made ready: they come in a moment."


def torch_is_loaded(wait: float = 0.0) -> bool:
    """Whether the objectives can be reckoned with at once; begins to load what they need.

    wait: seconds to wait for it at most.
    """
    if not _is_there():
        _begun().join(wait)
    return _is_there()


def _is_there() -> bool:
    found = [sys.modules.get(name) for name in PARTS]
    return all(module and not getattr(module.__spec__, "_initializing", False) for module in found)


@cache
def _begun() -> Timer:
    timer = Timer(DELAY, _load)
    timer.daemon = True
    timer.start()
    return timer


def _load() -> None:
    from importlib import import_module

    for name in PARTS:
        import_module(name)

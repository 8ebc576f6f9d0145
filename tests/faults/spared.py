"""What a child is spared where only its files matter: nothing of it changes which calls are made.

A test runs a command with and without it, and asks for the same calls and the same files.
"""

from __future__ import annotations

import gc
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any


def spare() -> None:
    """In a child: the model is the one that the fork server has loaded, nothing is tried on it
    before it is used, no preflight looks at it, the passport's proof and the report are short.
    """
    from evenodds.policies import load
    from evenodds.run import passports
    from evenodds.run.preflight import start
    from evenodds.sampling import probe

    gc.disable()
    load.load_policy = _kept(load.load_policy)
    probe.probe = lambda sampler: None
    start.before = start.after_base = lambda ground: []
    passports.disjointness = partial(passports.disjointness, count=10)
    _shorten_reports()


def _kept(read: Any) -> Any:
    """The policy that the server has, where it has the weights of the one that is asked for."""
    from tests.faults.warm import policy

    kept = policy()

    def load_policy(options: Any) -> Any:
        path = Path(options.name) / "model.safetensors"
        same = path.exists() and path.read_bytes() == kept.weights
        return replace(kept.policy, name=options.name) if same else read(options)

    return load_policy


def _shorten_reports() -> None:
    """What they are made from is read as always; the words are few."""
    from evenodds.report import card, files
    from evenodds.report.findings import Findings

    files.render = files.markdown = lambda found: f"{found.run.name}\n"
    Findings.summary = lambda self: {}
    card.card = lambda found, saved: f"{found.run.name}\n"

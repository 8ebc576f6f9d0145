"""Runs untrusted Python programs where they can reach nothing, or refuses to run them at all."""

from __future__ import annotations

from evenodds.sandbox.choose import available, open_sandbox, shared_sandbox
from evenodds.sandbox.selftest import self_test
from evenodds.sandbox.values import (
    Check,
    Job,
    Limits,
    Outcome,
    Sandbox,
    SandboxUnavailable,
)

__all__ = [
    "Check",
    "Job",
    "Limits",
    "Outcome",
    "Sandbox",
    "SandboxUnavailable",
    "available",
    "open_sandbox",
    "self_test",
    "shared_sandbox",
]

"""The preflight at the start of a run: what is fatal refuses it, a warning is told in a line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from evenodds.run.preflight.finding import BAD, Finding
from evenodds.run.preflight.ground import Ground

MORE = "why this matters, and more: `evenodds doctor` with the same settings"
NONE_SOLVED = (
    "the base solved none of the held-out problems. Where every group agrees there is nothing to "
    "learn from: try easier levels, a partial score, or another policy."
)

PAID_IN_PART = (
    "the base solved none of the held-out problems, and some of its answers are paid in part: "
    "that is what it learns from at first."
)


def before(ground: Ground) -> list[str]:
    """The checks that need no answers, before anything is written. Returns lines to tell.

    Raises `GateError` for a fatal finding, and `UsageError` where `check.ignore` names no check.
    """
    from evenodds.run.preflight.checks import examine, require_known

    require_known(ground.plan.config.check.ignore)
    return _settled(ground, examine(ground, "start"))


def after_base(ground: Ground) -> list[str]:
    """The checks that need answers, on the evaluation of the base. Returns and raises likewise."""
    from evenodds.run.preflight.checks import examine

    findings = examine(ground, "probe")
    lines = _settled(ground, findings)
    is_told = any(f.name == "informative" and f.level in BAD for f in findings)
    return lines if is_told or _solved(ground.base or {}) else [_none_solved(ground), *lines]


def _none_solved(ground: Ground) -> str:
    is_partial = ground.sampled is not None and ground.sampled.partial
    return PAID_IN_PART if is_partial else NONE_SOLVED


def _solved(base: Mapping[str, Any]) -> bool:
    levels = base.get("levels", ())
    return any(problem["right"] for level in levels for problem in level["problems"])


def _settled(ground: Ground, findings: Sequence[Finding]) -> list[str]:
    from evenodds.run.preflight.checks import require
    from evenodds.run.preflight.show import told

    ignored = ground.plan.config.check.ignore
    require(findings, ignored)
    warned = [f for f in findings if f.level in BAD and f.name not in ignored]
    return [*(f"warning: {told(finding)}" for finding in warned), *([MORE] if warned else [])]

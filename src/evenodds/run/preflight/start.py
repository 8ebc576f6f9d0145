"""The preflight at the start of a run: what is fatal refuses it, a warning is told in a line."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from evenodds.run.preflight.finding import Finding
from evenodds.run.preflight.ground import Ground

MORE = "(`evenodds doctor` with the same settings says why it matters)"


def before(ground: Ground, tell: Callable[[str], None]) -> None:
    """The checks that need no answers, before anything is written.

    Raises `GateError` for a fatal finding, and `UsageError` where `check.ignore` names no check.
    """
    from evenodds.run.preflight.checks import examine, require_known

    require_known(ground.plan.config.check.ignore)
    _settled(ground, examine(ground, "start"), tell)


def after_base(ground: Ground, tell: Callable[[str], None]) -> None:
    """The checks that need answers, on the evaluation of the base. Raises `GateError` as above."""
    from evenodds.run.preflight.checks import examine

    _settled(ground, examine(ground, "probe"), tell)


def _settled(ground: Ground, findings: Sequence[Finding], tell: Callable[[str], None]) -> None:
    from evenodds.run.preflight.checks import require
    from evenodds.run.preflight.show import told

    ignored = ground.plan.config.check.ignore
    require(findings, ignored)
    warned = [f for f in findings if f.level in ("fatal", "warning") and f.name not in ignored]
    for finding in warned:
        tell(f"warning: {told(finding)}")
    if warned:
        tell(MORE)

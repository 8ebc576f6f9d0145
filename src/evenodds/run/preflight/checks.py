"""All checks of the preflight, and what is done with what they find."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from evenodds.errors import GateError, unknown
from evenodds.report.text import one_line
from evenodds.run.preflight.finding import Finding
from evenodds.run.preflight.ground import Ground
from evenodds.run.stopping import Interrupted

When = Literal["start", "probe"]


@dataclass(frozen=True)
class Check:
    """look: returns None where it does not apply.

    when: `start` checks run in `doctor` and at every start of `train`, and cost a tenth of a
    second at most; `probe` checks run in `doctor` on fresh answers (`Ground.probe`), and in `train`
    on the evaluation of the base (`Ground.base`).
    """

    look: Callable[[Ground], Finding | None]
    when: When


CHECKS: dict[str, Check] = {}
"""By the name under which a finding is told and ignored, in the order in which they are made."""


def require_known(ignored: Iterable[str]) -> None:
    """Raise `UsageError` for a name in `check.ignore` that no check has."""
    for name in ignored:
        if name not in CHECKS:
            raise unknown("check in check.ignore", name, CHECKS)


def examine(
    ground: Ground, when: When, tell: Callable[[int, int], None] | None = None
) -> list[Finding]:
    """What the checks of that time find, in their order. tell: is called with how far they are."""
    chosen = {name: check for name, check in CHECKS.items() if check.when == when}
    found: list[Finding | None] = []
    for number, (name, check) in enumerate(chosen.items()):
        if tell is not None:
            tell(number, len(chosen))
        found.append(_looked(name, check, ground))
    return [finding for finding in found if finding is not None]


def _looked(name: str, check: Check, ground: Ground) -> Finding | None:
    """A check that fails itself must not keep a sound run from starting: it says so, and is out."""
    try:
        return check.look(ground)
    except Interrupted:
        raise
    except Exception as error:
        return Finding(name, "skipped", f"could not be checked: {one_line(str(error), 200)}")


def require(findings: Sequence[Finding], ignored: Iterable[str]) -> None:
    """Raise `GateError` for the first fatal finding that is not ignored by its name."""
    for finding in fatal(findings, ignored):
        change = f" Change: {finding.change}." if finding.change else ""
        raise GateError(
            f"{finding.name}: {finding.what}{change} More with `evenodds doctor` and the same "
            f"settings; to start all the same: --check.ignore {finding.name}"
        )


def fatal(findings: Sequence[Finding], ignored: Iterable[str]) -> list[Finding]:
    """The fatal findings that are not ignored."""
    kept = set(ignored)
    return [f for f in findings if f.level == "fatal" and f.name not in kept]

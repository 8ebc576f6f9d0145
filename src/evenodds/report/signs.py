"""Alarms of a run and their rules as declared, and why its reward was flat where it was."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from evenodds.alarms import RULES
from evenodds.alarms.flat import Finding, diagnose
from evenodds.records.lines import step_of
from evenodds.report.record import RunRecord
from evenodds.report.series import is_number
from evenodds.report.text import counted, listed, one_line, short

LINE = 500  # longest text of an alarm that is shown


@dataclass(frozen=True)
class Raised:
    """An alarm as a reader sees it: when, what was seen, and what to do; safe to show.

    step: None where the line names none. measured: the value against its threshold; empty where
    one of them is no number.
    """

    step: int | None
    name: str
    stops: bool
    reason: str
    remedy: str
    measured: str


def raised_of(run: RunRecord) -> list[Raised]:
    return [raised(row) for row in run.alarms]


def raised(row: Mapping[str, Any]) -> Raised:
    """One line of alarms.jsonl, each field read as what it should be."""
    value, threshold = row.get("value"), row.get("threshold")
    measured = ""
    if is_number(value) and is_number(threshold):
        measured = f"{short(value)} against {short(threshold)}"
    return Raised(
        step=step_of(row),
        name=_line(row.get("name") or "alarm").replace("_", " "),
        stops=row.get("stops") is True,
        reason=_line(row.get("reason")),
        remedy=_line(row.get("remedy")),
        measured=measured,
    )


def _line(value: Any) -> str:
    return one_line(str(value or ""), LINE)


def is_watched(run: RunRecord) -> bool:
    """Whether alarms were looked for: an old run says nothing of them."""
    return bool(run.alarms) or "alarms" in run.config


def alarm_sentence(run: RunRecord) -> str:
    """What the alarms said, in one sentence."""
    if not is_watched(run):
        return "No alarms were looked for in this run."
    found = raised_of(run)
    if not found:
        steps = counted(len(run.metrics), "step")
        return f"No alarm began in {steps}, of {counted(len(declared(run)), 'sign')} looked for."
    names = listed(list(dict.fromkeys(alarm.name for alarm in found)))
    ended = [alarm for alarm in found if alarm.stops]
    end = f" The alarm {ended[-1].name!r} ended the run at step {ended[-1].step}." if ended else ""
    return f"{counted(len(found), 'alarm')} began: {names}.{end}"


@dataclass(frozen=True)
class Declared:
    """A rule as it was declared before the run started."""

    name: str
    sees: str
    threshold: str
    does: str


def declared(run: RunRecord) -> list[Declared]:
    """Every alarm that was looked for, with its threshold, and whether it would end the run."""
    section = run.config.get("alarms")
    settings: Mapping[str, Any] = section if isinstance(section, Mapping) else {}
    off, stop = _names(settings.get("off")), _names(settings.get("stop"))
    given = settings.get("thresholds")
    thresholds = cast(Mapping[str, Any], given) if isinstance(given, Mapping) else {}
    return [
        Declared(
            name=rule.name.replace("_", " "),
            sees=rule.sees,
            threshold=f"{thresholds.get(rule.name, rule.threshold)} ({rule.measure})",
            does="ends the run" if rule.name in stop else "is told",
        )
        for rule in RULES
        if rule.name not in off
    ]


def _names(value: Any) -> set[str]:
    return {str(item) for item in value} if isinstance(value, list | tuple) else set()


def flat_of(run: RunRecord) -> list[Finding]:
    """Why the reward was flat, most telling first; nothing where it rose."""
    if not run.metrics:
        return []
    found = diagnose(run.config, run.metrics, run.groups)
    if not found or not found[0].flat:
        return []
    return [finding for finding in found if finding.flat and finding.strength > 0]

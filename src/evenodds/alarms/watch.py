"""Rules folded over the rows of a run: which alarms begin, and which are on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from evenodds.alarms.history import Facts, History, Row
from evenodds.alarms.rules import RULES, Rule
from evenodds.errors import UsageError, nearest

CLEAR = 10  # steps without a sign after which an alarm is off, and may begin again


@dataclass(frozen=True)
class Alarm:
    """A sign of trouble that begins at a step. stops: whether it ends the run.

    value: what was measured, in the unit of the threshold. reason: what is seen, with the run's
    own numbers. remedy: which setting to change.
    """

    step: int
    name: str
    stops: bool
    value: float
    threshold: float
    reason: str
    remedy: str

    def to_dict(self) -> dict[str, Any]:
        """One line of alarms.jsonl."""
        return asdict(self)

    def __str__(self) -> str:
        return f"alarm {self.name} at step {self.step}: {self.reason}. {self.remedy}"


@dataclass(frozen=True)
class Watch:
    """What is looked for, and what was seen so far: a value that rows are folded into.

    It is a function of its settings and of the rows, so nothing of it is saved: a run that goes on
    folds the lines of its metrics.jsonl again. active: the alarms that are on by name, as they
    began, with the step at which each was seen last.
    """

    rules: tuple[Rule, ...] = RULES
    thresholds: Mapping[str, float] = field(default_factory=dict[str, float])
    stop: frozenset[str] = frozenset()
    history: History = field(default_factory=History)
    active: Mapping[str, tuple[Alarm, int]] = field(default_factory=dict[str, tuple[Alarm, int]])

    def observe(self, row: Row) -> tuple[Watch, list[Alarm]]:
        """The watch after one more row, and the alarms that begin with it."""
        step = int(row.get("step") or 0)
        history = self.history.added(row)
        seen = [alarm for rule in self.rules if (alarm := self._asked(rule, history, step))]
        kept = {name: one for name, one in self.active.items() if step - one[1] < CLEAR}
        begun = [alarm for alarm in seen if alarm.name not in kept]
        on = {alarm.name: (kept.get(alarm.name, (alarm, step))[0], step) for alarm in seen}
        return replace(self, history=history, active=kept | on), begun

    def _asked(self, rule: Rule, history: History, step: int) -> Alarm | None:
        threshold = self.thresholds.get(rule.name, rule.threshold)
        sign = rule.look(history, threshold)
        if sign is None:
            return None
        stops = rule.name in self.stop
        return Alarm(step, rule.name, stops, sign.value, threshold, sign.reason, rule.remedy)

    def folded(self, rows: Iterable[Row]) -> Watch:
        """The watch after all these rows; what begins in them was told before."""
        watch = self
        for row in rows:
            watch, _ = watch.observe(row)
        return watch

    @property
    def stopping(self) -> Alarm | None:
        """The first alarm that is on and ends the run."""
        stops = [alarm for name, (alarm, _) in self.active.items() if name in self.stop]
        return min(stops, key=lambda alarm: alarm.step, default=None)


def make_watch(
    facts: Facts,
    off: Iterable[str] = (),
    stop: Iterable[str] = (),
    thresholds: Mapping[str, Any] | None = None,
) -> Watch:
    """The watch as a configuration declares it.

    Raises `UsageError` for an unknown alarm, one that is off and would stop the run, and
    a threshold that is no number.
    """
    off, stop, given = _named(off), _named(stop), dict(thresholds or {})
    for key, names in (("off", off), ("stop", stop), ("thresholds", tuple(given))):
        for name in names:
            if name not in NAMES:
                raise UsageError(
                    f"alarms.{key} names no alarm. Got {name!r}. {nearest(name, NAMES)}"
                )
    both = sorted({*off} & {*stop})
    if both:
        raise UsageError(
            f"the alarm {both[0]!r} is in alarms.off and in alarms.stop. Take it out of one."
        )
    rules = tuple(rule for rule in RULES if rule.name not in off)
    found = {name: _threshold(name, value) for name, value in given.items()}
    return Watch(rules, found, frozenset(stop) - frozenset(off), History(facts))


def _named(names: Iterable[str]) -> tuple[str, ...]:
    """The names themselves; `none` alone, as it is written on a command line, is no name."""
    found = tuple(names)
    return () if found == ("none",) else found


NAMES = {rule.name for rule in RULES}


def _threshold(name: str, value: Any) -> float:
    try:
        found = float(value)
    except (TypeError, ValueError):
        found = -1.0
    if isinstance(value, bool) or not 0 <= found < float("inf"):
        raise UsageError(
            f"alarms.thresholds of {name!r} is no threshold. Got {value!r}. Give a number from 0, "
            "and of several a flag each: --alarms.thresholds A=1 --alarms.thresholds B=2."
        )
    return found

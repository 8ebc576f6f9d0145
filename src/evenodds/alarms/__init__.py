"""Alarms: signs of trouble in the metrics of a run, looked for at every step."""

from __future__ import annotations

from evenodds.alarms.history import Facts, History, Row
from evenodds.alarms.rules import RULES, Rule, Sign
from evenodds.alarms.watch import Alarm, Watch, make_watch

__all__ = ["RULES", "Alarm", "Facts", "History", "Row", "Rule", "Sign", "Watch", "make_watch"]

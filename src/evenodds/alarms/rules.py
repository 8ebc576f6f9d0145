"""Every alarm by name. To add one: a function in the file of its kind, and a row in its table."""

from __future__ import annotations

from evenodds.alarms import policy_signs, reward_signs
from evenodds.alarms.rule import Rule, Sign

RULES: tuple[Rule, ...] = (*reward_signs.RULES, *policy_signs.RULES)

__all__ = ["RULES", "Rule", "Sign"]

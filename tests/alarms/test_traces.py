"""Runs with a fault in them are flagged within five steps of its onset, and sound ones never.

`pytest -s tests/alarms/test_traces.py` prints what each noise seed gave.
"""

from __future__ import annotations

import pytest

from evenodds.alarms import RULES, Alarm, make_watch
from tests.alarms.traces import FAILING, SILENT, Trace

SEEDS = range(5)
WITHIN = 5


def alarms(trace: Trace, seed: int) -> list[Alarm]:
    watch, found = make_watch(trace.facts), []
    for row in trace.rows(seed):
        watch, begun = watch.observe(row)
        found += begun
    return found


@pytest.mark.parametrize("trace", FAILING, ids=lambda trace: trace.name)
def test_a_fault_is_flagged_within_five_steps(trace: Trace) -> None:
    delays = []
    for seed in SEEDS:
        found = alarms(trace, seed)
        early = [str(alarm) for alarm in found if alarm.step < trace.onset]
        assert not early, early
        due = [alarm for alarm in found if alarm.name == trace.name]
        assert due, f"seed {seed}: {[alarm.name for alarm in found]}"
        delays.append(due[0].step - trace.onset)
        reason = due[0].reason
    print(f"\n{trace.name:22} onset {trace.onset}, flagged after {delays} steps: {reason}")
    assert max(delays) <= WITHIN


@pytest.mark.parametrize("trace", SILENT, ids=lambda trace: trace.name)
def test_a_sound_run_is_silent(trace: Trace) -> None:
    found = [str(alarm) for seed in SEEDS for alarm in alarms(trace, seed)]
    print(f"\n{trace.name:22} {trace.steps} steps x {len(SEEDS)} seeds: {len(found)} alarms")
    assert not found, found


def test_every_rule_has_a_trace_that_needs_it() -> None:
    assert {rule.name for rule in RULES} == {trace.name for trace in FAILING}
    assert len(FAILING) >= 12
    assert len(SILENT) >= 5

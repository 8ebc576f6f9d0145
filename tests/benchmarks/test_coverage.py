"""The benchmark of coverage runs, and knows a bad interval when it sees one."""

from __future__ import annotations

import numpy as np

from benchmarks.coverage import KINDS, Kind, Setting, false_alarms, report

CORNER = Setting(60, (20,), (0.3,), (0.0, 0.5), 20_000)


def test_every_kind_has_width_and_is_not_far_off() -> None:
    for name, simulate in KINDS.items():
        kind = simulate(Kind(name), CORNER, np.random.default_rng(1))
        assert kind.narrowest > 0, name
        assert 0.88 <= kind.mean <= 1.0, name


def test_what_misses_is_told(capsys) -> None:
    assert report(CORNER, "a rate (Wilson)") in (0, 3)
    assert "a rate (Wilson)" in capsys.readouterr().out
    kind = Kind("too sure")
    kind.add("here", (np.zeros(10), np.zeros(10)), 0.0)
    assert not kind.is_good and "OUT" in kind.line()
    wide = Kind("too wide")
    wide.add("here", (np.zeros(10), np.ones(10)), 0.5)
    assert not wide.is_good


def test_mcnemar_is_close_to_its_level() -> None:
    alarms = false_alarms()
    assert alarms.mean() < 0.055 and alarms.max() < 0.08


def test_rates_known_by_their_intervals_alone_are_among_the_kinds(capsys) -> None:
    assert report(Setting(400, (50,), (0.3,), (0.5,), 20_000), "unpaired") == 0
    assert "unpaired difference" in capsys.readouterr().out

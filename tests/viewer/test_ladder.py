"""The ladder as a strip."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from evenodds.report.record import RunRecord
from evenodds.viewer.ladder import COLUMNS, ladder_picture, levels_of


def run_of(rows) -> RunRecord:
    from pathlib import Path

    return RunRecord(Path("."), {}, {}, rows, None, None)


def row(step: int, **levels: tuple[int, float]) -> dict:
    found: dict = {"step": step}
    for name, (groups, rate) in levels.items():
        found |= {f"level/{name[1:]}/groups": groups, f"level/{name[1:]}/solve_rate": rate}
    return found


def test_every_group_counts_alike_and_gaps_stay_gaps() -> None:
    rows = [row(step, L0=(4, 1.0)) for step in range(1, 2 * COLUMNS + 1)]
    rows[2] |= row(3, L2=(1, 0.0))
    rows[3] |= row(4, L2=(3, 1.0)) | {"posterior/level 2": 0.5}
    rows[-1] |= {"posterior/level 2": 0.25, "posterior/level 5": float("nan")}
    hardest, easiest = levels_of(run_of(rows))
    assert (hardest.level, hardest.groups, hardest.believed) == (2, 4, 0.25)
    assert len(hardest.cells) == COLUMNS
    assert [at for at, cell in enumerate(hardest.cells) if cell is not None] == [1]
    assert hardest.cells[1] == pytest.approx(0.75)
    assert (easiest.level, set(easiest.cells), easiest.believed) == (0, {1.0}, None)


def test_odd_names_and_values_are_left_out() -> None:
    rows = [
        {
            "step": 1,
            "level/x/groups": 1,
            "level//groups": 1,
            "level/1/groups": "many",
            "level/2/groups": 0,
            "level/3/groups": 1,
        }
    ]
    assert levels_of(run_of(rows)) == []
    assert levels_of(run_of([])) == []


def test_the_picture_is_xml_with_a_cell_for_each_stretch() -> None:
    rows = [row(step, L0=(4, 0.9), L1=(2, 0.2)) for step in range(1, 41)]
    run = run_of(rows)
    picture = ElementTree.fromstring(ladder_picture(run, levels_of(run)))
    cells = [found for found in picture.iter() if found.get("class") == "heat"]
    assert len(cells) == 80
    shades = {float(found.get("fill-opacity", "")) for found in cells}
    assert min(shades) == pytest.approx(0.25, abs=0.01)
    assert max(shades) == pytest.approx(0.91, abs=0.01)
    assert "recorded" in ladder_picture(run_of([]), [])

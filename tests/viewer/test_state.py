"""Running, finished or stopped, and the time left, from what the folder says."""

from __future__ import annotations

import json
import os
import socket

import pytest

from evenodds.report.record import RunRecord
from evenodds.viewer.data import Source
from evenodds.viewer.library import Library
from evenodds.viewer.overview_page import overview_page
from evenodds.viewer.pages import Place
from evenodds.viewer.runs_page import runs_page
from evenodds.viewer.state import State, state_of
from evenodds.viewer.text_pages import overview_lines
from tests.viewer.folder import write_run


def run_of(tmp_path, rows, lock: str = "", final=None, base=None, **settings) -> RunRecord:
    (tmp_path / "lock").write_text(lock)
    return RunRecord(tmp_path, {"run": settings}, {}, rows, base, final)


def rows_of(count: int, seconds: float = 2.0) -> list[dict]:
    return [
        {"step": step, "time/step": seconds, "time/elapsed": seconds * step}
        for step in range(1, count + 1)
    ]


OURS = f"{os.getpid()} {socket.gethostname()}\n"
GONE = f"{2**22 + 1} {socket.gethostname()}\n"


@pytest.mark.parametrize(
    ("lock", "final", "kind"),
    [
        (OURS, None, "running"),
        (OURS, {}, "running"),
        ("", {}, "finished"),
        ("", None, "stopped"),
        (GONE, None, "stopped"),
        (GONE, {}, "finished"),
        ("1 another-host\n", None, "held elsewhere"),
        ("nonsense", None, "stopped"),
        ("-1 x", None, "stopped"),
        ("9" * 5000, None, "stopped"),
    ],
    ids=range(10),  # a name that holds a process id is another in each worker
)
def test_the_kind(tmp_path, lock, final, kind) -> None:
    assert state_of(run_of(tmp_path, rows_of(3), lock, final)).kind == kind


def test_the_time_left_by_steps_or_by_time_whichever_is_first(tmp_path) -> None:
    rows = rows_of(10)
    assert state_of(run_of(tmp_path, rows, OURS, steps=30)).left == 40
    assert state_of(run_of(tmp_path, rows, OURS, steps=30, max_time=25)).left == 5
    assert state_of(run_of(tmp_path, rows, OURS, max_time=10)).left == 0
    assert state_of(run_of(tmp_path, rows, OURS)).left is None
    assert state_of(run_of(tmp_path, rows, steps=30)).left is None


def test_the_newest_steps_set_the_pace(tmp_path) -> None:
    rows = rows_of(50, 1.0)
    rows[0]["time/step"] = 1000.0
    assert state_of(run_of(tmp_path, rows, OURS, steps=60)).left == 10


def test_what_a_running_one_is_at(tmp_path) -> None:
    def doing(rows, **more) -> str:
        return state_of(run_of(tmp_path, rows, OURS, **more)).doing

    assert doing([]) == "measuring the base"
    assert doing([], base={}) == "taking the first step"
    assert doing(rows_of(3), steps=5) == "training"
    assert doing(rows_of(5), steps=5) == "measuring what was learned"


def test_the_share_that_is_done() -> None:
    assert State("running", 5, 20, 10.0, 30.0).share == 0.25
    assert State("running", 5, None, 10.0, 30.0).share == 0.25
    assert State("stopped", 30, 20, None, None).share == 1.0
    assert State("stopped", 5, None, 10.0, None).share is None


def test_odd_metrics_are_no_failure(tmp_path) -> None:
    rows = [{"step": 1, "time/step": "x", "time/elapsed": None}]
    state = state_of(run_of(tmp_path, rows, OURS, steps="many", max_time="long"))
    assert (state.step, state.steps, state.elapsed, state.left) == (1, None, None, None)


STOPS = {"step": 3, "name": "reward_gap", "stops": True}


@pytest.mark.parametrize(
    ("alarm", "steps", "words"),
    [
        (STOPS, 30, "stopped by an alarm: reward gap"),
        (STOPS, None, "stopped by an alarm: reward gap"),
        (STOPS | {"step": 4}, 30, "stopped by an alarm: reward gap"),  # in the step that failed
        (STOPS, 3, "finished"),
        (STOPS | {"step": 2}, 30, "finished"),  # it was taken up again, and went on
        (STOPS | {"stops": False}, 30, "finished"),
    ],
)
def test_an_alarm_that_stopped_it_is_named(tmp_path, alarm, steps, words) -> None:
    (tmp_path / "alarms.jsonl").write_text(json.dumps(alarm) + "\n")
    more = {} if steps is None else {"steps": steps}
    assert state_of(run_of(tmp_path, rows_of(3), "", {}, **more)).words == words
    assert state_of(run_of(tmp_path, rows_of(3), OURS, {}, **more)).words == "running"


def test_every_list_names_the_alarm(tmp_path) -> None:
    run = write_run(tmp_path / "runs" / "mine")
    config = run / "config.toml"
    config.write_text(config.read_text().replace("steps = 3", "steps = 30"))
    alarms = run / "alarms.jsonl"
    alarms.write_text(alarms.read_text().replace('"step": 2', '"step": 3'))
    source = Source(run)
    words = "stopped by an alarm: entropy falling"
    for page in (overview_page(Place(source)), runs_page(Place(source), Library(source))):
        assert f'<span class="badge stopped">{words}</span>' in page
        assert ">finished<" not in page
    assert next(overview_lines(source)).startswith(f"mine   {words} · step 3 of 30")

from __future__ import annotations

import io
import json
import os
import socket

import pytest

import evenodds
from evenodds.errors import UsageError
from evenodds.report.plain import PlainView
from tests.report import synthetic


def make_run(folder, steps: int):
    folder.mkdir()
    (folder / "config.toml").write_text("[run]\nsteps = 5\n")
    write(folder, range(1, steps + 1))
    return folder


def write(folder, steps) -> None:
    lines = [json.dumps({"step": s, "solve_rate": 0.5, "time/elapsed": s}) for s in steps]
    (folder / "metrics.jsonl").write_text("\n".join(lines) + "\n")


def hold(folder) -> None:
    (folder / "lock").write_text(f"{os.getpid()} {socket.gethostname()}\n")


class Seen(PlainView):
    def __init__(self) -> None:
        super().__init__(io.StringIO())
        self.steps: list[int] = []

    def step(self, step, *rest, **more) -> None:
        self.steps.append(step)
        super().step(step, *rest, **more)


def test_a_run_is_followed_until_it_lets_go(tmp_path) -> None:
    run = make_run(tmp_path / "a", 2)
    hold(run)
    view, naps = Seen(), []

    def sleep(seconds: float) -> None:
        naps.append(seconds)
        write(run, range(1, 3 + len(naps)))
        if len(naps) == 3:
            (run / "lock").write_text("")

    evenodds.watch(run, view=view, sleep=sleep)
    assert view.steps == [1, 2, 3, 4, 5] and naps == [1.0, 1.0, 1.0]
    assert "evenodds train --resume" in view.stream.getvalue()


def test_steps_that_a_resumed_run_takes_again_are_shown_again(tmp_path) -> None:
    run = make_run(tmp_path / "a", 3)
    hold(run)
    view = Seen()

    def sleep(seconds: float) -> None:
        write(run, [1, 2])
        (run / "lock").write_text("")

    evenodds.watch(run, view=view, sleep=sleep)
    assert view.steps == [1, 2, 3, 1, 2]


def test_watching_ends_after_its_seconds_or_when_interrupted_and_writes_nothing(tmp_path) -> None:
    run = make_run(tmp_path / "a", 1)
    hold(run)
    before = sorted((p.name, p.stat().st_mtime_ns) for p in run.iterdir())
    evenodds.watch(run, seconds=0, view=Seen())

    def interrupted(seconds: float) -> None:
        raise KeyboardInterrupt

    view = Seen()
    evenodds.watch(run, view=view, sleep=interrupted)
    assert "the run goes on" in view.stream.getvalue()
    assert sorted((p.name, p.stat().st_mtime_ns) for p in run.iterdir()) == before


def test_a_run_that_ended_is_told_with_its_conclusion(tmp_path) -> None:
    run, view = synthetic.hacked(tmp_path / "a"), Seen()
    evenodds.watch(run, view=view)
    assert view.stream.getvalue().splitlines()[-1].startswith("Do not believe the reward: ")


def test_no_run_is_said(tmp_path) -> None:
    with pytest.raises(UsageError, match="is no run folder"):
        evenodds.watch(tmp_path / "nothing")

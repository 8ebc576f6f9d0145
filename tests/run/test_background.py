"""What is written while the run goes on: in order, bounded, and never lost without a word."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter

import pytest

from evenodds import durable
from evenodds.durable import verify_folder
from evenodds.errors import RunError
from evenodds.run import session
from evenodds.run.background import WAITING, Background
from evenodds.run.writer import RunWriter
from tests.run import small_runs
from tests.run.small_runs import Quiet, assert_equal_runs, lines

SMALLER = {"check__bench": False, "evaluation__levels": [0, 1], "evaluation__greedy": False}


def run(root, view=None, **over):
    return small_runs.run(root, view, **SMALLER | over)


@pytest.fixture
def background():
    made = Background()
    yield made
    made.close()


def test_jobs_are_done_in_order_in_another_thread(background) -> None:
    seen = []
    for number in range(20):
        background.do(lambda number=number: seen.append((number, threading.current_thread().name)))
    background.settle()
    assert seen == [(number, "writer") for number in range(20)]


def test_the_run_waits_where_the_disk_lags_behind(background) -> None:
    gate, handed = threading.Event(), []

    def hand_over() -> None:
        for number in range(WAITING + 5):
            background.do(lambda: gate.wait(20))
            handed.append(number)

    thread = threading.Thread(target=hand_over)
    thread.start()
    while len(handed) < WAITING + 1:  # one is at work
        time.sleep(0.005)
    time.sleep(0.05)
    assert len(handed) == WAITING + 1
    gate.set()
    thread.join()
    background.settle()
    assert len(handed) == WAITING + 5


def test_after_a_failure_nothing_is_done_and_everyone_is_told(background) -> None:
    seen = []

    def fails() -> None:
        raise RunError("the disk is full.")

    gate = threading.Event()
    background.do(lambda: gate.wait(20))
    background.do(fails)
    background.do(lambda: seen.append("stands on what was lost"))
    gate.set()
    for ask in (background.settle, background.check, lambda: background.do(seen.clear)):
        with pytest.raises(RunError, match="the disk is full"):
            ask()
    assert seen == []


def test_closing_waits_for_nobody_and_drops_what_waits(background) -> None:
    gate, seen = threading.Event(), []
    background.do(lambda: gate.wait(20))
    background.do(lambda: seen.append(1))
    started = time.monotonic()
    background.close()
    assert time.monotonic() - started < 5
    gate.set()
    assert background._thread is not None
    background._thread.join(20)
    assert not background._thread.is_alive()
    assert seen == []


def slow(monkeypatch, owner, name: str, seconds: float = 0.1) -> None:
    inner = getattr(owner, name)

    def later(*given, **named):
        time.sleep(seconds)
        return inner(*given, **named)

    monkeypatch.setattr(owner, name, later)


def test_a_slow_disk_changes_nothing_but_the_time(tmp_path, monkeypatch) -> None:
    """All is on the disk when the run says that it is finished, and the same as on a quick one."""
    quick = run(tmp_path / "quick")
    slow(monkeypatch, RunWriter, "rollouts")
    slow(monkeypatch, session.checkpoint, "commit")
    late = run(tmp_path / "late")
    assert_equal_runs(quick.folder, late.folder)
    for step in range(1, 5):
        one, two = (r.folder / "rollouts" / f"step-{step:05d}.parquet" for r in (quick, late))
        assert one.read_bytes() == two.read_bytes()
    verify_folder(late.folder / "checkpoints" / "step-000004")
    assert not list(late.folder.rglob(".evenodds-tmp-*"))


@pytest.mark.parametrize("broken", ["rollouts", "commit"])
def test_what_cannot_be_written_ends_the_run_and_is_taken_up_bit_for_bit(
    tmp_path, monkeypatch, broken
) -> None:
    """Nothing stands on what was lost: no line, and no checkpoint of a later step."""
    whole = run(tmp_path / "whole", run__save_every=1)
    owner = RunWriter if broken == "rollouts" else session.checkpoint
    inner, calls = getattr(owner, broken), []

    def fails(*given, **named):
        calls.append(1)
        if len(calls) == 3:
            raise RunError("no space is left.")
        return inner(*given, **named)

    with monkeypatch.context() as patch:
        patch.setattr(owner, broken, fails)
        with pytest.raises(RunError, match="no space is left"):
            run(tmp_path / "parts", run__save_every=1)
    folder = tmp_path / "parts" / "r"
    newest, _ = durable.valid_folders(folder / "checkpoints", "step-", 1)
    assert newest[0].name == "step-000002"
    state = json.loads((newest[0] / "state.json").read_text())
    length = state["logs"]["metrics.jsonl"]["length"]
    assert len((folder / "metrics.jsonl").read_bytes()[:length].splitlines()) == 2
    assert len(lines(folder)) == (2 if broken == "rollouts" else 3)
    assert_equal_runs(whole.folder, run(tmp_path / "parts", run__save_every=1).folder)


def test_a_run_leaves_no_thread_behind(tmp_path) -> None:
    before = threading.active_count()
    view = Quiet()
    run(tmp_path, view=view, run__steps=1)
    end = time.monotonic() + 20
    while threading.active_count() > before and time.monotonic() < end:
        time.sleep(0.01)
    assert threading.active_count() <= before


@pytest.mark.parametrize("late", ["learner", "record"])
def test_a_step_that_fails_after_weights_moved_is_not_saved(tmp_path, monkeypatch, late) -> None:
    """The second of two passes meets a gradient that is not finite, say: that is no step's state.

    What was saved before stays the newest, and the run is taken up from there bit for bit.
    """
    over = {"run__save_every": 2, "learner__passes": 2}
    whole = run(tmp_path / "whole", **over)
    calls = []
    owner, name = {
        "learner": (session.TorchLearner, "_step"),
        "record": (session, "step_metrics"),
    }[late]
    inner = getattr(owner, name)

    def fails(*given, **named):
        calls.append(1)
        if len(calls) == (8 if late == "learner" else 4):
            raise RunError("the gradient is not finite.")
        return inner(*given, **named)

    with monkeypatch.context() as patch:
        patch.setattr(owner, name, fails)
        with pytest.raises(RunError, match="not finite"):
            run(tmp_path / "parts", **over)
    found = sorted(path.name for path in (tmp_path / "parts" / "r" / "checkpoints").iterdir())
    assert found == ["step-000002"]
    assert_equal_runs(whole.folder, run(tmp_path / "parts", **over).folder)


def test_a_run_that_fails_leaves_no_half_checkpoint(tmp_path, monkeypatch) -> None:
    """A checkpoint that waits behind what cannot be written would fill the disk that is full."""
    inner, gate, calls = RunWriter.rollouts, threading.Event(), []

    def fails(*given, **named):
        calls.append(1)
        if len(calls) == 2:
            gate.wait(20)
            raise RunError("no space is left.")
        return inner(*given, **named)

    drafted = session.checkpoint.draft

    def then_open(*given, **named):
        made = drafted(*given, **named)
        assert made.folder.exists()
        gate.set()
        return made

    monkeypatch.setattr(RunWriter, "rollouts", fails)
    monkeypatch.setattr(session.checkpoint, "draft", then_open)
    with pytest.raises(RunError, match="no space is left"):
        run(tmp_path)
    assert gate.is_set()
    assert not list(tmp_path.rglob(".evenodds-tmp-*"))
    assert list((tmp_path / "r" / "checkpoints").iterdir()) == []


def test_what_a_kill_left_anywhere_is_cleared_at_the_next_start(tmp_path) -> None:
    folder = run(tmp_path, run__steps=1).folder
    left = [
        folder / part / ".evenodds-tmp-1-0123abcd"
        for part in (".", "checkpoints", "rollouts", "evaluation", "passports")
    ]
    for path in left:
        path.write_text("half")
    run(tmp_path, run__steps=2)
    assert not [path for path in left if path.exists()]


def test_the_thread_that_writes_calls_nothing_of_torch(tmp_path) -> None:
    """It is a daemon. One that meets the end of Python within torch ends the process by
    std::terminate: "terminate called without an active exception", exit code 134.
    """
    seen: Counter[tuple[str, str]] = Counter()

    def note(frame, event, arg) -> None:
        name = threading.current_thread().name
        owner = getattr(arg, "__module__", None) or type(getattr(arg, "__self__", None)).__module__
        is_torch = event == "c_call" and str(owner).split(".")[0] == "torch"
        is_torch |= "/site-packages/torch/" in frame.f_code.co_filename
        seen[name, "torch" if is_torch else "other"] += 1

    threading.setprofile(note)
    try:
        run(tmp_path, run__save_every=1)
    finally:
        threading.setprofile(None)
    assert seen["writer", "other"] > 100
    assert seen["writer", "torch"] == 0

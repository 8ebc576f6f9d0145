"""What a run stands on is looked at before it goes on: seals, files of lines, moved folders."""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
from contextlib import suppress
from pathlib import Path

import pytest

from evenodds import durable
from evenodds.durable import AppendLog, Running, Seals, Start
from evenodds.errors import RunError, UsageError
from evenodds.run.folder import RunFolder
from evenodds.run.sealed import LogSums, altered
from tests.faults.ablation import Loss, lose
from tests.faults.raising import Raising, raising
from tests.run.small_runs import Quiet, assert_equal_runs, run


@pytest.fixture
def quick_disk(monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


# --- seals ---------------------------------------------------------------------------------------


def test_files_are_sealed_as_they_are_written_and_removed(tmp_path) -> None:
    seals = Seals(tmp_path)
    assert seals.read() is None and seals.serial == 0
    seals.write({tmp_path / "a.txt": "one", tmp_path / "below" / "b": b"two"})
    assert list(seals.faults()) == [] and seals.serial == 2
    assert seals.has(tmp_path / "a.txt") and not seals.has(tmp_path / "c")
    (tmp_path / "a.txt").write_text("other")
    (tmp_path / "below" / "b").unlink()
    found = {fault.name: fault for fault in seals.faults()}
    assert "SHA-256" in found["a.txt"].what and found["below/b"].missing
    seals.remove([tmp_path / "a.txt", tmp_path / "below" / "b"])
    assert list(seals.faults()) == [] and not (tmp_path / "a.txt").exists()
    seals.write({})
    seals.remove([tmp_path / "none"])
    assert seals.serial == 4


@pytest.mark.parametrize("act", ["write", "remove"])
def test_a_flush_that_the_system_refuses_is_one_line_with_a_path(tmp_path, monkeypatch, act):
    """That of a folder behind a removal was none: a flush names no path by itself."""
    one = tmp_path / "below" / "one"
    seals, told = Seals(tmp_path), 0
    for at in range(20):
        monkeypatch.setattr(os, "fsync", lambda descriptor: None)
        seals.write({one: "old"})
        left = iter([True] * at + [False])

        def fsync(descriptor: int, left=left) -> None:
            if not next(left, True):
                raise OSError(errno.EROFS, os.strerror(errno.EROFS))

        monkeypatch.setattr(os, "fsync", fsync)
        try:
            seals.write({one: "new"}) if act == "write" else seals.remove([one])
        except RunError as error:
            told += str(tmp_path) in str(error) and "(EROFS)" in str(error)
    assert told > 4


@pytest.mark.parametrize("act", ["write", "remove"])
def test_a_crash_at_any_call_leaves_files_that_their_seals_know(tmp_path, quick_disk, act) -> None:
    """One of two files may be new and the other old; what may not be is a file nobody knows."""
    one, two = tmp_path / "one", tmp_path / "two"
    states = set()
    for at in range(1, 200):
        shutil.rmtree(tmp_path)
        tmp_path.mkdir()
        seals = Seals(tmp_path)
        seals.write({one: "old", two: "old"})
        point = Raising(at, KeyboardInterrupt, for_good=True)
        with suppress(KeyboardInterrupt), raising(point):
            seals.write({one: "new", two: "new"}) if act == "write" else seals.remove([one, two])
        durable.recover(tmp_path)
        assert list(seals.faults()) == [], at
        states.add(tuple(path.read_text() if path.exists() else "" for path in (one, two)))
        if point.calls < at:
            break
    new = "new" if act == "write" else ""
    assert {("old", "old"), (new, new)} <= states and at > 8


def test_any_change_of_the_seals_is_noticed(tmp_path) -> None:
    seals = Seals(tmp_path)
    seals.write({tmp_path / "a": "one"})
    data = seals.path.read_bytes()
    broken = [data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :] for at in range(0, len(data), 7)]
    for text in [*broken, data[:-1], data + b"\n", b"", b"[]", b"[" * 5000]:
        seals.path.write_bytes(text)
        with pytest.raises(RunError, match=r"seals\.json' is damaged"):
            seals.read()


def test_the_beginning_of_a_growing_file_is_known(tmp_path) -> None:
    log = AppendLog(tmp_path / "x.jsonl")
    sums = Running(log.path)
    starts = [sums.through(log.append({"step": step})) for step in range(4)]
    assert starts[2] == Running(log.path).through(starts[2].length)
    assert [log.fault(start) for start in starts] == [""] * 4
    log.path.write_bytes(log.path.read_bytes().replace(b"2", b"7"))
    assert [bool(log.fault(start)) for start in starts] == [False, False, True, True]
    assert "has 0 bytes" in AppendLog(tmp_path / "none").fault(starts[0])
    assert log.fault(Start(5)) == ""  # an old checkpoint knows no more than the length


def test_what_somebody_changes_while_a_run_goes_on_is_told(tmp_path, quick_disk) -> None:
    folder = RunFolder(tmp_path)
    seals, metrics, sums = Seals(tmp_path), AppendLog(folder.metrics), LogSums(folder)

    def told() -> list[str]:
        return [*altered(folder, sums)]

    def look() -> None:
        seals.write({folder.config: "a = 1"})
        for step in range(3):
            metrics.append({"step": step})
        sums.now()

    look()
    assert told() == []
    folder.config.write_text("a = 2")
    folder.metrics.write_bytes(folder.metrics.read_bytes().replace(b"1", b"5"))
    lines, config = told()
    assert "metrics.jsonl' is damaged" in lines and "config.toml' is damaged" in config
    folder.metrics.write_bytes(b"")
    with pytest.raises(RunError, match="has become shorter"):
        sums.now()
    seals.path.write_text("{}")
    assert "seals.json' is damaged" in told()[0]
    seals.path.unlink()
    assert "it has no seal" in told()[1]


# --- runs ----------------------------------------------------------------------------------------


OVER = {"run__steps": 3, "run__save_every": 1, "evaluation__problems": 1}


@pytest.fixture(scope="module")
def ended(tmp_path_factory) -> tuple[Path, Path]:
    """A finished run, and the same stopped behind its second step."""

    def stop(step: int) -> None:
        if step == 2:
            os.kill(os.getpid(), signal.SIGINT)

    whole = run(tmp_path_factory.mktemp("whole"), **OVER).folder
    stopped = run(tmp_path_factory.mktemp("stopped"), view=Quiet(stop), **OVER)
    assert stopped.steps == 2
    return whole, stopped.folder


@pytest.fixture
def stopped(ended, tmp_path) -> Path:
    shutil.copytree(ended[1], tmp_path / "r")
    return tmp_path / "r"


def go_on(folder: Path, name: str = "r") -> list[str]:
    view = Quiet()
    assert run(folder.parent, view=view, **{**OVER, "run__name": name}).exit_code == 0
    return view.notes


def test_a_run_that_was_moved_and_renamed_goes_on(ended, stopped) -> None:
    """The configuration still names the old place; `--resume` and a plain call name the new."""
    moved = stopped.rename(stopped.with_name("other"))
    go_on(moved, "other")
    assert_equal_runs(ended[0], moved)


def test_checkpoints_may_lie_elsewhere_but_no_checkpoint_is_a_link(ended, stopped) -> None:
    (stopped / "checkpoints").rename(stopped.parent / "elsewhere")
    (stopped / "checkpoints").symlink_to(stopped.parent / "elsewhere")
    newest = stopped.parent / "elsewhere" / "step-000002"
    newest.rename(stopped.parent / "real")
    newest.symlink_to(stopped.parent / "real")
    notes = go_on(stopped)
    assert any("step-000002" in note and "passed over" in note for note in notes)
    assert (stopped.parent / "real" / "state.json").exists()
    assert_equal_runs(ended[0], stopped)


def as_before_there_were_seals(checkpoint: Path) -> None:
    path = checkpoint / "state.json"
    state = json.loads(path.read_text())
    length = state["logs"]["metrics.jsonl"]["length"]
    for name in ("format", "moments", "logs", "seals"):
        del state[name]
    path.write_text(json.dumps(state | {"metrics_length": length}))


def test_an_older_run_without_seals_goes_on(ended, stopped) -> None:
    (stopped / "seals.json").unlink()
    for checkpoint in (stopped / "checkpoints").iterdir():
        lose(Loss("", "", as_before_there_were_seals), checkpoint)
    assert any("no seals.json" in note for note in go_on(stopped))
    assert list(Seals(stopped).faults()) == []
    assert not any("seals.json" in note for note in go_on(stopped))
    assert_equal_runs(ended[0], stopped)


def test_without_its_seals_a_run_takes_its_records_as_they_are(stopped) -> None:
    (stopped / "rollouts" / "step-00001.parquet").write_bytes(b"damaged")
    (stopped / "seals.json").unlink()
    notes = go_on(stopped)
    assert any("no seals.json" in note for note in notes)
    assert not any("passed over" in note for note in notes)


def test_another_number_in_the_configuration_is_noticed(stopped) -> None:
    text = (stopped / "config.toml").read_text()
    for old, new in (("keep = 2", "keep = 3"), ("groups = 6", "groups = 7")):
        (stopped / "config.toml").write_text(text.replace(old, new))
        with pytest.raises(UsageError, match=r"config\.toml' was changed or is damaged"):
            go_on(stopped)


@pytest.mark.parametrize("name", ["rollouts/step-00002.parquet", "metrics.jsonl", "groups.jsonl"])
def test_damage_in_the_last_steps_is_undone(ended, stopped, name) -> None:
    data = bytearray((stopped / name).read_bytes())
    data[-20] ^= 1
    (stopped / name).write_bytes(data)
    notes = go_on(stopped)
    assert any("passed over" in note and Path(name).name in note for note in notes)
    assert_equal_runs(ended[0], stopped)


def test_damage_that_no_checkpoint_undoes_stops_the_run(stopped) -> None:
    path = stopped / "rollouts" / "step-00001.parquet"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(RunError, match=r"step-00001\.parquet.*remove it to go on without it"):
        go_on(stopped)
    path.unlink()
    assert any("step-00001.parquet' is missing" in note for note in go_on(stopped))


@pytest.mark.parametrize("name", ["passports/environment.json", "evaluation/base.parquet"])
def test_a_missing_record_is_made_again_and_a_damaged_one_stops_the_run(
    ended, stopped, name
) -> None:
    path = stopped / name
    data = path.read_bytes()
    path.write_bytes(data + b" ")
    with pytest.raises(RunError, match=rf"{path.name}' is damaged.*it is made again"):
        go_on(stopped)
    path.unlink()
    assert any(f"{path.name}' is missing; it is made again" in note for note in go_on(stopped))
    assert path.exists() and list(Seals(stopped).faults()) == []
    assert_equal_runs(ended[0], stopped)


def test_the_data_passport_is_made_up_for_where_a_kill_left_it_out(stopped) -> None:
    passport = json.loads((stopped / "passports" / "data.json").read_text())
    rates = passport.pop("initial_solve_rates")
    assert rates
    Seals(stopped).write({stopped / "passports" / "data.json": json.dumps(passport)})
    go_on(stopped)
    again = json.loads((stopped / "passports" / "data.json").read_text())
    assert again["initial_solve_rates"] == rates

"""Names in a run folder: nothing is written outside the root, whatever the name says."""

import os
from datetime import datetime
from pathlib import Path

import pytest

from evenodds.errors import UsageError
from evenodds.run import folder
from evenodds.run.folder import (
    RunFolder,
    find_run,
    fresh_name,
    newest_unfinished,
    require_room,
    require_space,
    run_name,
)
from evenodds.run.lock import RunLock

NOW = datetime(2030, 1, 2, 3, 4, 5)
HOSTILE = [
    *("", ".", "..", "a/b", "a\\b", "../a", "/etc", "a..b", "C:a", "~", "-rf", "--root", ".hidden"),
    *("a b", "a\n", "a\0", "\x1b[31m", "\u202eabc", "é", "a\ud800", "x" * 101, "nul", "CON.txt"),
    *("a.", "$(id)", "`id`", "a;b", "%2e%2e", "runs/../../x", "con", "<b>"),
]


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_name_is_refused_in_one_plain_line(name):
    with pytest.raises(UsageError) as caught:
        run_name(name)
    text = str(caught.value)
    assert text.isprintable() and text.isascii() and len(text) < 400
    with pytest.raises(UsageError):
        RunFolder.under(Path("runs"), name)


@pytest.mark.parametrize("name", ["a", "my-run_1.2", "2030", "x" * 100, "console"])
def test_an_ordinary_name_is_taken_as_it_is(name):
    assert run_name(name) == name
    assert RunFolder.under(Path("runs"), name).path == Path("runs") / name


def test_a_fresh_name_says_task_policy_and_time(tmp_path):
    assert fresh_name("multiplication", "abacus", NOW) == "multiplication-abacus-20300102-030405"
    hub = fresh_name("mod:my task", "Qwen/Qwen3-0.6B-Base", NOW)
    assert hub == "my-task-Qwen3-0-6B-Base-20300102-030405"
    first = fresh_name("sums", "abacus", NOW, tmp_path)
    (tmp_path / first).mkdir()
    assert fresh_name("sums", "abacus", NOW, tmp_path) == f"{first}-2"


@pytest.mark.parametrize("text", [*HOSTILE, "x" * 500, "..\\..", "/a/b/", "con", "é/é"])
def test_a_fresh_name_is_always_a_good_one(text):
    name = fresh_name(text, text, NOW)
    assert run_name(name) == name


def test_everything_in_a_run_has_its_place():
    run = RunFolder(Path("runs/a"))
    names = [
        run.config,
        run.metrics,
        run.report,
        run.rollouts(1),
        run.checkpoints,
        run.evaluation("before"),
        run.model,
        run.environment,
        run.data,
        run.checker,
    ]
    assert [path.relative_to("runs/a").as_posix() for path in names] == [
        "config.toml",
        "metrics.jsonl",
        "report.html",
        "rollouts/step-00001.parquet",
        "checkpoints",
        "evaluation/before.json",
        "model",
        "passports/environment.json",
        "passports/data.json",
        "passports/checker.json",
    ]
    assert run.rollouts(123456).name == "step-123456.parquet"
    with pytest.raises(UsageError):
        run.evaluation("../out")


def test_too_little_disk_is_refused_before_anything_is_written(tmp_path, monkeypatch):
    target = tmp_path / "runs" / "new"
    require_space(target, 1)
    with pytest.raises(UsageError) as caught:
        require_space(target, 10**18)
    text = str(caught.value)
    assert str(target) in text and "1000000000.0 GB" in text and "\n" not in text
    assert list(tmp_path.iterdir()) == []

    def broken(path: Path) -> int:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(folder, "free_disk", broken)
    with pytest.raises(UsageError, match="cannot see the disk"):
        require_space(target, 1)


def test_checkpoints_that_lie_there_need_no_more_room(tmp_path, monkeypatch):
    """Those that are kept and one beside them, of 3 × 10 MB, and the records."""
    run, weights, keep = RunFolder(tmp_path), 10_000_000, 2

    def fits(free: int) -> bool:
        monkeypatch.setattr(folder, "free_disk", lambda path: free)
        try:
            require_room(run, weights, keep)
        except UsageError:
            return False
        return True

    records = 64 * 2**20
    for keep in (1, 5, 2):
        most = 3 * (keep + 1) * weights + records
        assert fits(most) and not fits(most - 1)
    for count, left in ((1, 6), (2, 3), (3, 3)):  # one more is always made beside them
        file = run.checkpoints / f"step-{count:06d}" / "weights"
        file.parent.mkdir(parents=True)
        file.touch()
        os.truncate(file, 3 * weights)
        assert fits(left * weights + records) and not fits(left * weights + records - 1)


def test_a_run_needs_room_for_the_steps_that_are_left_and_at_its_end_for_that_alone(
    tmp_path, monkeypatch
):
    run, weights = RunFolder(tmp_path), 10_000_000
    checkpoint = run.checkpoints / "step-000150"
    checkpoint.mkdir(parents=True)
    (checkpoint / "weights").touch()
    os.truncate(checkpoint / "weights", 3 * weights)

    def least(steps: int | None) -> int:
        asked: list[int] = []
        monkeypatch.setattr(folder, "require_space", lambda path, needed: asked.append(needed))
        require_room(run, weights, 1, steps)
        return asked[0]

    records, end = 64 * 2**20, 4 * 2**20
    assert least(None) == 3 * weights + records
    assert least(200) == 3 * weights + records // 4
    assert least(10_000) == 3 * weights + int(0.985 * records)
    assert least(151) == 3 * weights + end  # of which a share would be too little
    assert least(150) == least(100) == end + weights
    run.model.mkdir()
    assert least(150) == end


def test_backslashes_of_a_name_are_shown_as_they_are():
    with pytest.raises(UsageError) as caught:
        run_name("a\\b")
    assert str(caught.value).startswith("'a\\b' cannot name a run.")


def test_a_bare_name_is_found_below_the_root(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("runs/a", "runs/abacus", "runs/both", "both"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "config.toml").write_text("")
    assert find_run("a") == Path("runs/a") == find_run("runs/a")
    assert find_run("both") == Path("both")
    assert find_run("abacus") == Path("abacus")
    for text in ("none", "", "x" * 300, "a\0", "../runs/a"):
        assert find_run(text) == Path(text)


def test_the_run_that_waits_is_the_one_worked_on_last(tmp_path):
    with pytest.raises(UsageError, match="waits to go on"):
        newest_unfinished(tmp_path / "none")
    for age, name in enumerate(("held", "finished", "young", "old")):
        run = RunFolder(tmp_path / name)
        run.path.mkdir()
        run.config.write_text("")
        run.metrics.write_text("")
        for path in (run.config, run.metrics):
            os.utime(path, (1e9 - age, 1e9 - age))
    final = RunFolder(tmp_path / "finished").evaluation("final")
    final.parent.mkdir()
    final.touch()
    (tmp_path / "newest-but-no-run").mkdir()
    with RunLock(tmp_path / "held"):
        assert newest_unfinished(tmp_path).name == "young"
    assert newest_unfinished(tmp_path).name == "held"

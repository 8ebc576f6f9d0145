"""Durable writes: killed, refused or corrupted anywhere, the last good one stays."""

import errno
import json
import os
import random
import shutil
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from evenodds import durable
from evenodds.durable import AppendLog, commit_folder, manifest, verify_folder
from evenodds.errors import RunError
from tests.faults import store_model
from tests.faults.raising import Raising, raising


def filler(step: int, size: int = 40) -> Callable[[Path], None]:
    def fill(folder: Path) -> None:
        (folder / "policy").mkdir()
        (folder / "policy" / "weights.safetensors").write_bytes(bytes([step % 256]) * size)
        (folder / "state.json").write_text(json.dumps({"step": step}))

    return fill


def step_of(folder: Path) -> int:
    verify_folder(folder)
    return json.loads((folder / "state.json").read_text())["step"]


def one_line(error: BaseException, *parts: str) -> bool:
    text = str(error)
    return "\n" not in text and all(part in text for part in parts)


def leftovers(parent: Path) -> list[str]:
    return [path.name for path in parent.iterdir() if path.name.startswith(".evenodds")]


# --- files and logs ------------------------------------------------------------------------------


def test_a_file_is_written_whole(tmp_path):
    path = tmp_path / "config.toml"
    durable.write_file(path, "one\n")
    durable.write_file(path, b"two\n")
    assert path.read_bytes() == b"two\n"
    durable.write_file(path, "lone \udc80 surrogate")
    assert leftovers(tmp_path) == []


def test_folders_are_made_with_those_above_them(tmp_path):
    durable.make_folder(tmp_path / "a" / "b" / "c")
    durable.make_folder(tmp_path / "a" / "b")
    assert (tmp_path / "a" / "b" / "c").is_dir()
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError) as caught:
        durable.make_folder(tmp_path / "file")
    assert one_line(caught.value, str(tmp_path / "file"), "EEXIST")


def test_a_log_grows_by_lines_and_is_cut_back(tmp_path):
    log = AppendLog(tmp_path / "metrics.jsonl")
    log.append({"step": 1, "loss": float("nan"), "parts": [float("inf"), 0.1]})
    length = log.sync()
    log.append({"step": 2}, sync=True)
    lines = [json.loads(line) for line in log.path.read_text().splitlines()]
    assert lines == [{"step": 1, "loss": None, "parts": [None, 0.1]}, {"step": 2}]
    log.truncate_to(length)
    assert log.append({"step": 2}) == log.path.stat().st_size == log.sync()
    assert len(log.path.read_text().splitlines()) == 2
    log.truncate_to(0)
    assert log.path.read_bytes() == b""


@pytest.mark.parametrize("torn", [b'{"step"', b"\0\0\0", b'{"step":2}'])
def test_a_torn_last_line_goes(tmp_path, torn):
    log = AppendLog(tmp_path / "metrics.jsonl")
    log.append({"step": 1})
    with open(log.path, "ab") as file:
        file.write(torn)
    assert log.append({"step": 2}) == len(b'{"step":1}\n{"step":2}\n')
    assert log.path.read_bytes() == b'{"step":1}\n{"step":2}\n'
    with open(log.path, "ab") as file:
        file.write(torn)
    assert log.sync() == len(b'{"step":1}\n{"step":2}\n') == log.path.stat().st_size


@pytest.mark.parametrize("length", [5, 1000])
def test_a_log_that_lost_lines_is_noticed(tmp_path, length):
    log = AppendLog(tmp_path / "metrics.jsonl")
    log.append({"step": 1})
    with pytest.raises(RunError) as caught:
        log.truncate_to(length)
    assert one_line(caught.value, str(log.path), str(length))
    assert log.path.read_bytes() == b'{"step":1}\n'


def test_everything_is_on_the_disk_before_the_rename_and_the_name_after_it(tmp_path, monkeypatch):
    events: list[object] = []
    fsync, replace = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda f: (events.append(os.fstat(f).st_ino), fsync(f))[1])
    monkeypatch.setattr(os, "replace", lambda a, b: (events.append("rename"), replace(a, b))[1])
    target = tmp_path / "step-1"
    commit_folder(target, filler(1))
    inside = {path.stat().st_ino for path in (target, *target.rglob("*"))}
    manifest = (target / "manifest.json").stat().st_ino
    rename = events.index("rename")
    assert set(events[:rename]) == inside
    assert events[3:rename].count(manifest) == 0 and events.index(manifest) == 2
    assert events[rename - 1] == target.stat().st_ino
    assert events[rename + 1 :] == [tmp_path.stat().st_ino]
    events.clear()
    durable.write_file(tmp_path / "file", "text")
    assert events == [(tmp_path / "file").stat().st_ino, "rename", tmp_path.stat().st_ino]


# --- failures of the system at every call --------------------------------------------------------


@pytest.fixture
def quick_disk(monkeypatch):
    """Flushing takes no time: these tests ask what is where, not what a power cut leaves."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


REFUSALS = [errno.ENOSPC, errno.EIO, errno.EDQUOT, errno.EROFS, errno.EMFILE, errno.EFBIG]


def every_refusal(act: Callable[[], None], before: Callable[[], None], check: Callable) -> int:
    """Run `act` with each durable call refused in turn; `check` gets the RunError or None."""
    for at in range(1, 1000):
        number = REFUSALS[at % len(REFUSALS)]
        before()
        point = Raising(at, lambda number=number: OSError(number, os.strerror(number)))
        caught = None
        with raising(point):
            try:
                act()
            except RunError as error:
                caught = error
        if caught is not None:
            assert one_line(caught, "cannot write", errno.errorcode[number])
        check(caught)
        if point.calls < at:
            return at
    raise AssertionError("it never came to an end")


def test_a_file_survives_every_refusal(tmp_path, quick_disk):
    path = tmp_path / "config.toml"

    def check(error: RunError | None) -> None:
        assert path.read_text() == ("new" if error is None else "old") or error is not None
        assert path.read_text() in ("old", "new")
        assert leftovers(tmp_path) == []
        if error:
            assert one_line(error, str(path), "It needs 3 bytes")

    calls = every_refusal(
        lambda: durable.write_file(path, "new"), lambda: durable.write_file(path, "old"), check
    )
    assert calls >= 5


def test_a_log_survives_every_refusal(tmp_path, quick_disk):
    log = AppendLog(tmp_path / "metrics.jsonl")

    def before() -> None:
        log.truncate_to(0)
        log.append({"step": 1}, sync=True)

    def check(error: RunError | None) -> None:
        lines = log.path.read_text().splitlines()
        assert json.loads(lines[0]) == {"step": 1}
        assert len(lines) == 2 or error is not None

    assert every_refusal(lambda: print(log.append({"step": 2}, sync=True)), before, check) >= 3
    assert every_refusal(lambda: print(log.sync()), before, lambda error: None) >= 4


@pytest.mark.parametrize("replacing", [False, True])
def test_a_folder_survives_every_refusal(tmp_path, quick_disk, replacing):
    older, target = tmp_path / "step-00001", tmp_path / "step-00002"
    commit_folder(older, filler(1))

    def before() -> None:
        shutil.rmtree(target, ignore_errors=True)
        if replacing:
            commit_folder(target, filler(7))

    def check(error: RunError | None) -> None:
        assert step_of(older) == 1
        if error is None:
            assert step_of(target) == 2
        else:
            assert one_line(error, str(target))
        durable.recover(tmp_path)
        assert leftovers(tmp_path) == []
        if replacing:
            assert step_of(target) in (2, 7)
        elif target.exists():  # only the last flush failed: whole, but not promised
            assert step_of(target) == 2

    assert every_refusal(lambda: commit_folder(target, filler(2)), before, check) >= 15


def test_pruning_survives_every_refusal(tmp_path, quick_disk):
    def before() -> None:
        for step in range(1, 5):
            if not (tmp_path / f"step-{step}").exists():
                commit_folder(tmp_path / f"step-{step}", filler(step))

    def check(error: RunError | None) -> None:
        good, _ = durable.valid_folders(tmp_path, "step-")
        assert [step_of(folder) for folder in good[:2]] == [4, 3]
        durable.recover(tmp_path)
        assert leftovers(tmp_path) == []

    assert every_refusal(lambda: print(durable.prune(tmp_path, "step-", 2)), before, check) > 5


def test_an_error_quoted_by_a_foreign_writer_is_understood(tmp_path):
    def fill(folder: Path) -> None:
        (folder / "weights").write_bytes(b"x" * 2000)
        raise ValueError("I/O error: No space left on device (os error 28)")

    with pytest.raises(RunError) as caught:
        commit_folder(tmp_path / "step-1", fill, needed=5_000_000)
    assert one_line(caught.value, "step-1", "ENOSPC", "It needs 5.0 MB", "Free some space")
    with pytest.raises(RunError, match=r"needs 2\.0 kB"):
        commit_folder(tmp_path / "step-1", fill)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("error", [KeyboardInterrupt, ZeroDivisionError])
def test_other_errors_pass_through_and_leave_nothing(tmp_path, error):
    def fill(folder: Path) -> None:
        (folder / "half").write_text("half")
        raise error

    with pytest.raises(error):
        commit_folder(tmp_path / "step-1", fill)
    assert list(tmp_path.iterdir()) == []


LIMITED = """
import resource, sys
from pathlib import Path
from evenodds.errors import RunError
from evenodds.durable import commit_folder, write_file
root, kind = Path(sys.argv[1]), sys.argv[2]
limit, number = {"size": (resource.RLIMIT_FSIZE, 1000), "files": (resource.RLIMIT_NOFILE, 3)}[kind]
resource.setrlimit(limit, (number, number))
def fill(folder):
    (folder / "weights").write_bytes(b"x" * 5000)
for act in (lambda: write_file(root / "a", "x" * 5000), lambda: commit_folder(root / "b", fill)):
    try:
        act()
    except RunError as error:
        print(error)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no such limits on Windows")
@pytest.mark.parametrize(("kind", "name"), [("size", "EFBIG"), ("files", "EMFILE")])
def test_real_limits_of_the_system(tmp_path, kind, name):
    command = [sys.executable, "-c", LIMITED, str(tmp_path), kind]
    done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=True)
    lines = done.stdout.splitlines()
    assert len(lines) == 2 and all(name in line and "ulimit" in line for line in lines), done
    durable.recover(tmp_path)  # without a free descriptor the leftovers could not be cleared
    assert list(tmp_path.iterdir()) == []


# --- corruption ----------------------------------------------------------------------------------


def corrupt(path: Path, rng: random.Random) -> str:
    data = bytearray(path.read_bytes())
    kind = rng.choice(["flip", "truncate", "delete"])
    if kind == "flip":
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        path.write_bytes(data)
    elif kind == "truncate":
        path.write_bytes(data[: rng.randrange(len(data))])
    else:
        path.unlink()
    return kind


def test_every_corruption_is_detected(tmp_path):
    rng = random.Random(5)
    target = tmp_path / "step-1"
    commit_folder(target, filler(3, size=300))
    files = [path for path in target.rglob("*") if path.is_file()]
    assert len(files) == 3
    whole = {path: path.read_bytes() for path in files}
    for _ in range(400):
        victim = rng.choice(files)
        kind = corrupt(victim, rng)
        with pytest.raises(RunError) as caught:
            verify_folder(target)
        assert one_line(caught.value, str(victim)), (kind, caught.value)
        victim.write_bytes(whole[victim])
    verify_folder(target)


def test_a_manifest_cannot_point_outside(tmp_path):
    target = tmp_path / "step-1"
    commit_folder(target, filler(1))
    outside = tmp_path / "outside"
    outside.write_bytes(b"x")
    for name in ("../outside", str(outside)):
        entry = {name: {"size": 1, "sha256": manifest.digest(outside)}}
        (target / "manifest.json").write_text(manifest.manifest_text(entry))
        with pytest.raises(RunError, match=r"manifest\.json"):
            verify_folder(target)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"files":3}', "[" * 5000, "\xff", "null"])
def test_a_strange_manifest_is_damage(tmp_path, text):
    (tmp_path / "manifest.json").write_text(text, encoding="latin-1")
    with pytest.raises(RunError, match="damaged or missing"):
        verify_folder(tmp_path)
    assert not durable.is_ours(tmp_path)


def test_a_link_is_refused(tmp_path):
    with pytest.raises(RunError, match="no ordinary file"):
        commit_folder(tmp_path / "step-1", lambda folder: os.symlink("/", folder / "link"))
    commit_folder(tmp_path / "step-1", filler(1))
    os.symlink(tmp_path / "step-1", tmp_path / "step-2")
    with pytest.raises(RunError, match="missing"):
        verify_folder(tmp_path / "step-2")
    assert durable.prune(tmp_path, "step-", 1) == []


# --- many folders --------------------------------------------------------------------------------


def test_the_newest_good_one_is_found_and_the_bad_ones_are_named(tmp_path):
    assert durable.valid_folders(tmp_path / "none", "step-") == ([], [])
    for step in (9, 10, 100):
        commit_folder(tmp_path / f"step-{step}", filler(step))
    commit_folder(tmp_path / "step-best", filler(1))
    (tmp_path / "step-100" / "state.json").write_text("{}")
    (tmp_path / "step-101").mkdir()
    good, lines = durable.valid_folders(tmp_path, "step-")
    assert [folder.name for folder in good] == ["step-10", "step-9"]
    assert len(lines) == 1 and "\n" not in lines[0]
    assert "step-101" in lines[0] and "state.json" in lines[0] and "2 damaged" in lines[0]
    assert durable.valid_folders(tmp_path, "step-", at_most=1)[0] == good[:1]


def test_pruning_counts_good_ones_and_spares_what_is_not_ours(tmp_path):
    for step in range(1, 8):
        commit_folder(tmp_path / f"step-{step}", filler(step))
    (tmp_path / "step-7" / "state.json").write_text("{}")
    (tmp_path / "step-1" / "notes.txt").write_text("mine")
    (tmp_path / "step-2" / "manifest.json").unlink()
    (tmp_path / "step-0").mkdir()
    (tmp_path / "step-5.bak").mkdir()
    removed = durable.prune(tmp_path, "step-", 2)
    assert [folder.name for folder in removed] == ["step-4", "step-3"]
    left = sorted(path.name for path in tmp_path.iterdir())
    expected = ["step-0", "step-1", "step-2", "step-5", "step-5.bak", "step-6", "step-7"]
    assert left == expected
    assert durable.prune(tmp_path, "step-", 0) == [tmp_path / "step-5"]
    assert step_of(tmp_path / "step-6") == 6


def test_a_name_that_is_taken_is_replaced_and_foreign_things_are_kept(tmp_path):
    target = tmp_path / "model"
    commit_folder(target, filler(1))
    commit_folder(target, filler(2))
    (target / "state.json").unlink()  # damaged, still ours
    commit_folder(target, filler(3))
    assert step_of(target) == 3 and [path.name for path in tmp_path.iterdir()] == ["model"]
    (target / "notes.txt").write_text("mine")
    commit_folder(target, filler(4))
    kept = [path for path in tmp_path.iterdir() if path != target]
    assert step_of(target) == 4
    assert len(kept) == 1 and (kept[0] / "notes.txt").read_text() == "mine"


def test_recovery_clears_only_our_own_leftovers(tmp_path):
    for name in (".evenodds-tmp-12-0123abcd", ".evenodds-tmp-12-0123abcd.txt", ".evenodds-old-."):
        (tmp_path / name).mkdir()
    (tmp_path / ".evenodds-tmp-1-00000000").write_text("half a file")
    (tmp_path / ".evenodds-old-mine").mkdir()
    commit_folder(tmp_path / "model", filler(1))
    (tmp_path / "model").rename(tmp_path / ".evenodds-old-model")
    durable.recover(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        ".evenodds-old-.",
        ".evenodds-old-mine",
        ".evenodds-tmp-12-0123abcd.txt",
        "model",
    ]
    durable.recover(tmp_path / "none")


# --- crashes -------------------------------------------------------------------------------------


def test_random_stories_of_the_store(tmp_path, quick_disk):
    """Thousands more: python -m benchmarks.durability --only R9."""
    for seed in range(40):
        (tmp_path / str(seed)).mkdir()
        told = store_model.tell(tmp_path / str(seed), seed)
        assert (told.lost, told.deleted) == (0, 0), seed


@pytest.mark.parametrize("broken", ["prune", "recover"])
def test_a_store_that_loses_something_is_noticed(tmp_path, quick_disk, monkeypatch, broken):
    def prune(parent: Path, prefix: str, keep: int) -> list[Path]:
        """The newest by name are kept, sound or not."""
        every = durable.numbered(parent, prefix)
        for folder in every[max(1, keep) :]:
            shutil.rmtree(folder, ignore_errors=True)
        return every

    def recover(parent: Path) -> None:
        for path in parent.glob(".evenodds-*"):
            shutil.rmtree(path, ignore_errors=True)

    monkeypatch.setattr(durable, broken, {"prune": prune, "recover": recover}[broken])
    amiss = 0
    for seed in range(60):
        (tmp_path / str(seed)).mkdir()
        with suppress(OSError):
            told = store_model.tell(tmp_path / str(seed), seed)
            amiss += bool(told.lost or told.deleted)
    assert amiss > 3


CHILD = """
import json, sys
from pathlib import Path
from evenodds.durable import AppendLog, commit_folder, prune, recover, valid_folders
root = Path(sys.argv[1])
recover(root)
good, _ = valid_folders(root, "step-", at_most=1)
step = int(good[0].name[5:]) if good else 0
log = AppendLog(root / "metrics.jsonl")
log.truncate_to(json.loads((good[0] / "state.json").read_text())["length"] if good else 0)
while True:
    step += 1
    log.append({"step": step})
    length = log.sync()
    def fill(folder):
        (folder / "state.json").write_text(json.dumps({"step": step, "length": length}))
        (folder / "weights").write_bytes(bytes([step % 256]) * 1000)
    commit_folder(root / f"step-{step}", fill)
    commit_folder(root / "model", fill)
    sys.stdout.write(f"{step}\\n")
    sys.stdout.flush()
    prune(root, "step-", 4)
"""


def check_after_kill(root: Path, promised: int) -> None:
    durable.recover(root)
    good, _ = durable.valid_folders(root, "step-")
    steps = [step_of(folder) for folder in good]
    assert not promised or steps[0] >= promised
    assert set(range(max(1, promised - 3), promised + 1)) <= set(steps)
    assert not promised or step_of(root / "model") >= promised
    if promised:
        length = json.loads((good[0] / "state.json").read_text())["length"]
        lines = (root / "metrics.jsonl").read_bytes()[:length].splitlines()
        assert [json.loads(line)["step"] for line in lines] == list(range(1, steps[0] + 1))


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_killed_at_random_moments_nothing_promised_is_lost(tmp_path):
    rng = random.Random(1)
    promised = 0
    for _ in range(20):
        child = subprocess.Popen([sys.executable, "-c", CHILD, str(tmp_path)], stdout=-1, text=True)
        assert child.stdout is not None
        first = child.stdout.readline()
        time.sleep(rng.random() * 0.03)
        child.kill()
        rest = child.stdout.read()
        child.wait()
        child.stdout.close()
        told = [int(line) for line in (first + rest).split("\n")[:-1]]
        assert told == list(range(told[0], told[0] + len(told))) and told[0] > promised
        promised = told[-1]
        check_after_kill(tmp_path, promised)


@pytest.mark.parametrize("number", [errno.EINVAL, errno.ENOTSUP, errno.ENOSYS])
def test_a_file_system_without_fsync_for_folders_will_do(tmp_path, monkeypatch, number) -> None:
    flush = os.fsync

    def for_files(descriptor: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(number, os.strerror(number))
        flush(descriptor)

    monkeypatch.setattr(os, "fsync", for_files)
    durable.write_file(tmp_path / "a", b"whole")
    assert (tmp_path / "a").read_bytes() == b"whole"

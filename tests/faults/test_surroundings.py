"""Surroundings that are odd: a full log, a disk without inodes, no rights, no place for temporary
files, a folder that is gone, names that are no text."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from evenodds import machine
from evenodds.cli import LONGEST, _shortened, main
from evenodds.cli.commands.train import _root_of
from evenodds.errors import UsageError
from evenodds.machine import explain, free_files, prepare_environment
from evenodds.own import quiet
from evenodds.run.folder import require_own_place, require_space, require_writable
from tests.faults import disks
from tests.faults.children import start, tiny
from tests.faults.fingerprint import differences, fingerprint
from tests.faults.scratch import scratch

FULL = Path("/dev/full")
SPEAKS = """
def grade(problem, text):
    print("judging", problem.answer, flush=True)
    return min(1.0, sum(char in "02468" for char in text) / 3)
"""
no_full = pytest.mark.skipif(not FULL.exists(), reason="there is no /dev/full here")


def fill_the_log() -> None:
    os.dup2(os.open(FULL, os.O_WRONLY), 2)


@no_full
@pytest.mark.timeout(180)
@pytest.mark.parametrize("workers", [0, 1])
def test_a_verifier_that_prints_judges_the_same_where_the_log_is_full(workers) -> None:
    with scratch() as root:
        speaks = Path(root) / "speaks.py"
        speaks.write_text(SPEAKS)
        found = []
        for name, before in (("well", None), ("full", fill_the_log)):
            asked = {"task__verifier": f"{speaks}:grade", "judge__workers": workers}
            command = tiny(Path(root), name, run__steps=1, **asked)
            ended = start(command, Path(root) / f"said-{name}", before=before).wait()
            assert ended.code == 0, ended
            found.append(fingerprint(Path(root) / name))
        assert not differences(*found)
        assert found[0]["metrics"][0]["reward"] > 0


@no_full
def test_what_a_persons_code_prints_is_lost_where_nothing_takes_it(monkeypatch) -> None:
    with open(FULL, "w", 1) as full:
        monkeypatch.setattr(sys, "stderr", full)
        with quiet():
            print("a", flush=True)
            sys.stdout.flush()
        with pytest.raises(OSError, match="space"):  # so it would have failed
            print("a", file=full, flush=True)
        os.dup2(os.open(os.devnull, os.O_WRONLY), full.fileno())


def test_no_file_takes_the_place_of_a_stream_that_is_closed() -> None:
    """Else what is said on standard error goes into a checkpoint."""
    script = (
        "import os; os.close(0); os.close(2); from evenodds.machine import hold_streams; "
        "hold_streams(); print(os.open(os.devnull, os.O_RDONLY), os.get_inheritable(2))"
    )
    told = subprocess.run([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert told.stdout == "3 True\n"


def test_a_disk_without_inodes_is_told_so_before_and_when_it_happens(tmp_path) -> None:
    if why := disks.why_no_memory_disk():
        pytest.skip(why)
    with disks.memory_disk(tmp_path, disks.MB, "nr_inodes=3"):
        assert free_files(tmp_path) == 2
        (tmp_path / "one").touch()
        (tmp_path / "two").touch()
        with pytest.raises(UsageError, match="no inodes are left"):
            require_space(tmp_path / "runs", 1)
        with pytest.raises(OSError, match="space") as refused:
            (tmp_path / "three").touch()
        told = explain(refused.value, tmp_path / "three", needed=1)
        assert "inodes" in told and "free there" not in told


def test_a_folder_that_may_not_be_written_is_refused_before_a_model_is_loaded(tmp_path) -> None:
    runs = tmp_path / "runs"
    runs.mkdir(mode=0o555)
    require_writable(tmp_path / "new" / "run")
    if os.geteuid() != 0:
        with pytest.raises(UsageError, match="EACCES"):
            require_writable(runs / "run")
        return
    pid = os.fork()
    if not pid:  # another user, whom the rights bind
        code = 1
        try:
            os.setuid(65534)
            require_writable(runs / "run")
        except UsageError as error:
            code = 0 if "EACCES" in str(error) else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def test_a_disk_that_is_read_only_is_told_so(tmp_path) -> None:
    if why := disks.why_no_memory_disk():
        pytest.skip(why)
    with (
        disks.memory_disk(tmp_path, disks.MB, "ro"),
        pytest.raises(UsageError, match="EROFS"),
    ):
        require_writable(tmp_path / "run")


def test_a_path_that_would_be_too_long_below_is_refused_at_once() -> None:
    require_own_place(Path("/", *["d" * 200] * 18))
    with pytest.raises(UsageError, match="has 4,020 bytes"):
        require_own_place(Path("/", *["d" * 200] * 20))


def test_of_a_very_long_message_the_middle_is_left_out() -> None:
    text = _shortened("cannot write " + "d" * 9000 + ": no room. Free some.")
    assert len(text) == LONGEST + 1
    assert text.startswith("cannot write d") and text.endswith("Free some.")


def test_where_no_temporary_folder_can_be_written_torch_is_told_of_none(monkeypatch) -> None:
    name = "TORCHINDUCTOR_CACHE_DIR"
    monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(tempfile, "_candidate_tempdir_list", lambda: ["/nowhere/at/all"])
    prepare_environment()
    assert os.environ.pop(name) == str(machine.ROOT)
    monkeypatch.setattr(tempfile, "tempdir", "/tmp")
    prepare_environment()
    assert name not in os.environ


def test_a_current_folder_that_is_gone_is_one_line(tmp_path, monkeypatch, capsys) -> None:
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    here.rmdir()
    assert main(["list"]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    os.chdir(tmp_path)


def test_a_run_below_a_name_that_is_no_text_is_taken_up_from_there(tmp_path, monkeypatch) -> None:
    odd = Path(os.fsdecode(os.fsencode(tmp_path) + b"/b\xff"))
    try:
        (odd / "runs" / "r").mkdir(parents=True)
    except OSError as error:
        pytest.skip(f"this file system has no such name: {os.strerror(error.errno or errno.EIO)}")
    monkeypatch.chdir(odd)
    assert _root_of(Path("runs/r")) == "runs" and _root_of(Path("runs/r/.")) == "runs"
    monkeypatch.chdir(tmp_path)
    assert _root_of(tmp_path / "r") == str(tmp_path)

"""Cores, memory and disk, also where a control group allows less than the machine has."""

import errno
import os
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from evenodds import machine
from evenodds.machine import (
    cpu_name,
    explain,
    free_disk,
    free_files,
    peak_memory_mb,
    size_text,
    usable_cores,
)


@pytest.fixture
def root(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(16)), raising=False)

    def write(files: dict[str, str]) -> Path:
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return tmp_path

    return write


@pytest.mark.parametrize(
    ("files", "cores"),
    [
        ({}, 16),
        ({"sys/fs/cgroup/cpu.max": "max 100000\n"}, 16),
        ({"sys/fs/cgroup/cpu.max": "300000 100000\n"}, 3),
        ({"sys/fs/cgroup/cpu.max": "20000 100000\n"}, 1),
        ({"sys/fs/cgroup/cpu.max": "9900000 100000\n"}, 16),
        ({"sys/fs/cgroup/cpu.max": "nonsense"}, 16),
        (
            {
                "proc/self/cgroup": "0::/slice/job\n",
                "sys/fs/cgroup/slice/cpu.max": "200000 100000",
                "sys/fs/cgroup/slice/job/cpu.max": "400000 100000",
            },
            2,
        ),
        (
            {
                "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "400000\n",
                "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
            },
            4,
        ),
        (
            {
                "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1\n",
                "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
            },
            16,
        ),
        (
            {
                "proc/self/cgroup": "5:cpu,cpuacct:/box\n4:memory:/box\n",
                "sys/fs/cgroup/cpu,cpuacct/box/cpu.cfs_quota_us": "500000\n",
                "sys/fs/cgroup/cpu,cpuacct/box/cpu.cfs_period_us": "100000\n",
            },
            5,
        ),
        ({"proc/self/cgroup": "0::/../../..\n", "cpu.max": "100000 100000"}, 16),
    ],
)
def test_cores_follow_affinity_and_quota(root, files, cores):
    assert usable_cores(root(files)) == cores


def test_without_affinity_the_machine_is_counted(root, monkeypatch):
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 7)
    assert usable_cores(root({})) == 7
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert usable_cores(root({})) == 1


@pytest.mark.parametrize("name", ["memory.max", "memory/memory.limit_in_bytes"])
def test_memory_follows_the_control_group(root, name):
    assert machine.usable_memory(root({f"sys/fs/cgroup/{name}": "1000000\n"})) == 1_000_000
    whole = machine.usable_memory(root({f"sys/fs/cgroup/{name}": "max\n"}))
    assert whole == machine.usable_memory(Path("/nowhere")) > 10**8


def test_peak_memory_is_in_megabytes():
    assert 5 < peak_memory_mb() < 100_000


@pytest.mark.skipif(sys.platform == "win32", reason="no resource module")
def test_peak_memory_knows_the_unit_of_each_system(monkeypatch):
    linux = peak_memory_mb()
    monkeypatch.setattr(sys, "platform", "darwin")
    assert peak_memory_mb() == pytest.approx(linux / 1024, rel=0.2)


def test_a_disk_that_sets_no_number_of_files_has_none_left_to_tell(tmp_path, monkeypatch):
    found = SimpleNamespace(f_files=0, f_favail=0)  # as btrfs says
    monkeypatch.setattr(os, "statvfs", lambda path: found)
    assert free_files(tmp_path / "new") is None
    assert "inodes" not in explain(OSError(errno.ENOSPC, "full"), tmp_path)


def test_free_disk_of_a_place_that_is_not_there_yet(tmp_path):
    assert free_disk(tmp_path / "a" / "b") > 0
    assert free_disk(Path("relative")) > 0


def test_the_processor_has_a_name(root):
    info = "processor: 0\nmodel name\t: Some CPU @ 2 GHz\nmodel name\t: other\n"
    assert cpu_name() and cpu_name(Path("/nowhere"))
    if sys.platform == "linux":
        assert cpu_name(root({"proc/cpuinfo": info})) == "Some CPU @ 2 GHz"


@pytest.mark.parametrize(
    ("size", "text"), [(0, "0 bytes"), (999, "999 bytes"), (1500, "1.5 kB"), (2 * 10**9, "2.0 GB")]
)
def test_sizes_are_read_by_people(size, text):
    assert size_text(size) == text


def test_a_refusal_is_one_line_with_path_need_and_advice(tmp_path):
    text = explain(OSError(errno.ENOSPC, "No space"), tmp_path / "a\nb", 2_000_000)
    assert "\n" not in text and "ENOSPC" in text and "It needs 2.0 MB" in text
    assert "free there. Free some space" in text
    assert "odd" in explain(OSError("odd\nerror"), tmp_path)

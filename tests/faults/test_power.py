"""Power cuts on a loop device, in short; benchmarks/durability_parts/power.py is the long form."""

from __future__ import annotations

import random
import time
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.faults import disks, recorder
from tests.faults.power import World, cuts, forget_to_flush, world
from tests.faults.scratch import scratch

pytestmark = [
    pytest.mark.skipif(bool(disks.why_not()), reason=disks.why_not()),
    pytest.mark.timeout(180),  # the first child waits for all imports
]


@pytest.fixture(scope="module")
def small() -> Generator[World]:
    with scratch() as root:
        yield world(Path(root), "ext4")


def test_nothing_that_was_promised_is_lost_and_the_run_goes_on(small, budget) -> None:
    seed = random.SystemRandom().randrange(10**6)
    print(f"cuts with seed {seed}")
    until = time.monotonic() + budget
    found = cuts(small, 10, random.Random(seed), until=until)
    assert found.lost == []


def test_the_same_cuts_lose_data_where_nothing_is_flushed(small) -> None:
    """So the test above can fail: without fsync most cuts take a step that was promised."""
    found = cuts(small, 8, random.Random(3), forget_to_flush, chained=False)
    assert len(found.lost) >= 4, found.problems


def test_the_record_is_the_disk(tmp_path) -> None:
    """All that the disk was told, put upon what it was before, is what it is."""
    image, folder = tmp_path / "image", tmp_path
    disks.fresh(image, "ext4")
    before = bytearray(image.read_bytes())
    with disks.recorded(image, folder, "commit=300") as disk:
        (disk / "file").write_bytes(b"some" * 5000)
    told = recorder.read(folder / "record")
    for one in told:
        before[one.offset : one.offset + len(one.data)] = one.data
    assert bytes(before) == image.read_bytes()
    assert any(one.is_flush for one in told) and b"somesome" in b"".join(t.data for t in told)

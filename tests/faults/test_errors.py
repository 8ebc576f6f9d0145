"""A disk that refuses, in short; benchmarks/durability_parts/errors.py is the long form."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest

from tests.faults import disks
from tests.faults.children import start
from tests.faults.drawn import drawn
from tests.faults.failpoints import ERRORS, Failpoint
from tests.faults.fingerprint import leftovers
from tests.faults.real_limits import REASONS, met
from tests.faults.refusals import (
    Undisturbed,
    fault_of_words,
    goes_on,
    newest,
    refused,
    undisturbed,
)
from tests.faults.scratch import scratch
from tests.faults.traced import NOT_HIT, broken, why_no_trace

pytestmark = pytest.mark.timeout(180)  # the first child waits for all imports


@pytest.fixture(scope="module")
def base() -> Generator[Undisturbed]:
    with scratch() as root:
        yield undisturbed(Path(root))


def test_at_a_refused_call_a_run_says_why_keeps_what_it_had_and_goes_on(base, budget) -> None:
    every = [
        (at, error, for_good)
        for at in range(1, len(base.calls) + 1)
        for error in ERRORS
        for for_good in (False, True)
    ]
    for case in drawn(every, budget):
        found = refused(base, *case)
        assert not found.problem, found


def test_after_a_checkpoint_that_failed_in_the_background_none_is_acknowledged(base) -> None:
    """One call of the first commit fails, once; the disk is well for the second."""
    at = 1 + next(place for place, call in enumerate(base.calls) if call.endswith("/manifest.json"))
    run = base.root / "first"
    ended = start(base.arguments("first"), base.root / "said-1", Failpoint(at, "EIO", run)).wait()
    assert not fault_of_words(ended.code, ended.err, run, "EIO") and ended.code == 1
    assert newest(run) == 0 and not leftovers(run)
    assert not goes_on(base, "first")


@pytest.mark.parametrize("deed", REASONS)
def test_what_really_happens_to_a_disk_is_met_in_the_same_way(base, deed) -> None:
    if deed == "full" and (why := disks.why_no_memory_disk()):
        pytest.skip(why)
    at = next(drawn(range(len(base.calls) // 4, len(base.calls)), 0.0))
    found = met(base, at, deed)
    assert not found.problem, found


@pytest.mark.skipif(bool(why_no_trace()), reason=why_no_trace())
def test_a_writer_in_another_language_is_refused_by_the_system_itself(base) -> None:
    found = broken(base, "rename", "EIO", 3)
    assert found.call != NOT_HIT and found.code == 1 and not found.problem, found


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (1, "evenodds: cannot write '/run/x': full (ENOSPC).\nevenodds: and again"),
        (1, "Traceback (most recent call last):\nevenodds: cannot write '/run/x': (ENOSPC)."),
        (1, "evenodds: this should not happen: OSError: [Errno 28] '/run/x' (ENOSPC)"),
        (1, "evenodds: cannot write: full (ENOSPC)."),
        (1, ""),
        (0, "evenodds: cannot write '/run/x': full (ENOSPC)."),
        (-9, "evenodds: cannot write '/run/x': full (ENOSPC)."),
    ],
)
def test_words_that_do_not_suffice_are_noticed(code, said) -> None:
    """So the tests above can fail."""
    assert fault_of_words(code, said, Path("/run"), "ENOSPC")
    assert not fault_of_words(
        1, "step 1/2\nevenodds: cannot write '/run/x': full (ENOSPC).", Path("/run"), "ENOSPC"
    )

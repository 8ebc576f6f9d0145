"""A disk that refuses, in short; benchmarks/durability_parts/errors.py is the long form."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.faults import disks
from tests.faults.drawn import drawn
from tests.faults.failpoints import ERRORS, Failpoint, calls
from tests.faults.fingerprint import leftovers, unlike
from tests.faults.real_limits import REASONS, met
from tests.faults.refusals import fault_of_words, refused
from tests.faults.scratch import scratch
from tests.faults.setting import RUN, Setting, newest
from tests.faults.sittings import LATER, cut, first_of, later_of
from tests.faults.stories import start, taken_up
from tests.faults.traced import NOT_HIT, broken, why_no_trace

pytestmark = pytest.mark.timeout(180)  # the first child waits for all imports


@pytest.fixture(scope="module")
def base() -> Generator[Setting]:
    with scratch() as root:
        yield first_of(Path(root))


def pairs(setting: Setting) -> list[tuple[int, str, bool]]:
    every = range(1, len(setting.calls) + 1)
    return [(at, error, for_good) for at in every for error in ERRORS for for_good in (False, True)]


def test_at_a_refused_call_a_run_says_why_keeps_what_it_had_and_goes_on(base, budget) -> None:
    for case in drawn(pairs(base), budget / 2):
        found = refused(base, *case)
        assert not found.problem, found


def test_a_later_sitting_does_as_well(base, budget) -> None:
    """All kinds of them: python -m benchmarks.durability --only R5."""
    setting = later_of(next(drawn(tuple(LATER), 0.0)), base)
    for case in drawn(pairs(setting), budget / 2):
        found = refused(setting, *case)
        assert not found.problem, found


def test_what_a_child_is_spared_changes_no_call_and_no_file(base) -> None:
    """So what holds of these runs holds of the command as a person gives it."""
    full = replace(base, before=None)
    tally = full.begin("full") / "tally"
    point = Failpoint(0, "count", full.run("full"), tally=tally)
    assert start(full, "full", 0, point).wait().code == 0
    assert Counter(map(cut, calls(tally))) == Counter(map(cut, base.calls))
    assert unlike(full.run("full"), base.whole) == []


def test_after_a_checkpoint_that_failed_in_the_background_none_is_acknowledged(base) -> None:
    """One call of the first commit fails, once; the disk is well for the second."""
    at = 1 + next(place for place, call in enumerate(base.calls) if call.endswith("/manifest.json"))
    run = base.run("first")
    ended = start(base, "first", 0, Failpoint(at, "EIO", run)).wait()
    assert not fault_of_words(ended.code, ended.err, RUN, "EIO", True) and ended.code == 1
    assert newest(run) == 0 and not leftovers(run)
    assert taken_up(base, "first") == []


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
    assert fault_of_words(code, said, "/run", "ENOSPC", True)
    fine = "step 1/2\nevenodds: cannot write '/run/x': full (ENOSPC)."
    assert not fault_of_words(1, fine, "/run", "ENOSPC", True)

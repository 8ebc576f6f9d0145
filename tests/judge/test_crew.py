"""What counts as a failure to start: a template that was killed is one, however many went down."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import pytest

from evenodds.judge.crew import Crew


@dataclass
class Failing:
    """A nursery that has nobody to hire."""

    error: OSError
    generation: int = 1

    def hire(self) -> None:
        raise self.error


def crew_of(error: OSError) -> tuple[Crew, Failing]:
    nursery = Failing(error)
    return Crew(cast(Any, nursery), 2), nursery


def test_what_goes_down_with_one_template_counts_once() -> None:
    crew, nursery = crew_of(BrokenPipeError("gone"))
    for _ in range(3):
        crew.failed("its process ended", 1)
    crew.fill(2)
    assert crew.failures == 1
    nursery.generation = 2
    crew.fill(2)
    assert (crew.failures, crew.why) == (2, "BrokenPipeError: gone")


@pytest.mark.parametrize("error", [OSError(24, "too many open files"), BlockingIOError(11, "busy")])
def test_other_failures_count_each(error: OSError) -> None:
    crew, _ = crew_of(error)
    for _ in range(3):
        crew.fill(2)
    assert crew.failures == 3


def test_a_verifier_that_does_not_load_counts_each_time() -> None:
    crew, _ = crew_of(OSError())
    for _ in range(3):
        crew.failed("ImportError: mine")
    assert crew.failures == 3

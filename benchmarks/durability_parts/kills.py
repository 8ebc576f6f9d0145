"""R3: kill -9 at 200 random moments, and at every call that changes the disk, before and after it.

After each death nothing that is there is torn, no step that was acknowledged is lost, and the same
command goes on without help to the records and weights of the run that nobody disturbed.
"""

from __future__ import annotations

import random
import tempfile
from pathlib import Path

from benchmarks.durability_parts.rows import Row
from benchmarks.durability_parts.trying import Tried, try_all
from tests.faults import children, failpoints
from tests.faults.stories import (
    Setting,
    Story,
    killed_at,
    killed_at_call,
    stopped_and_continued,
    undisturbed,
)

MOMENTS, DEEP, STOPS = 200, 20, 10
ACTIONS = ("kill", "kill-after")


def measure(budget: float | None) -> list[Row]:
    """budget: seconds for all of it, of which calls are given half."""
    with tempfile.TemporaryDirectory() as root:
        short = undisturbed(Path(root) / "short", run__steps=2, run__keep=1)
        calls = try_all("kill at a call", at_calls(short), short, budget and budget / 2)
        whole = undisturbed(Path(root) / "whole")
        moments = try_all("kill at a moment", at_moments(whole), whole, budget and budget / 2)
    return [_row("every call that changes the disk", calls), _row("a random moment", moments)]


def at_calls(setting: Setting) -> dict[str, Story]:
    """A story for each call of an undisturbed run, killed before it and killed after it."""
    tally = setting.root / "tally"
    point = failpoints.Failpoint(0, "count", setting.root / "counted", tally=tally)
    children.start(setting.arguments("counted"), setting.root / "said-counted", point).wait()
    return {
        f"{action}-{number}": killed_at_call(number, action)
        for number in range(1, failpoints.count(tally) + 1)
        for action in ACTIONS
    }


def at_moments(setting: Setting, seed: int | None = None) -> dict[str, Story]:
    """Deaths of one run at one moment, at three to eight in a row, and pauses of it."""
    draw = random.Random(seed)

    def moments(count: int) -> list[float]:
        return [draw.uniform(0, 1.1 * setting.seconds) for _ in range(count)]

    stories = {f"moment-{n}": killed_at(moments(1)) for n in range(MOMENTS)}
    stories |= {f"deep-{n}": killed_at(moments(draw.randint(3, 8))) for n in range(DEEP)}
    stories |= {
        f"paused-{n}": stopped_and_continued([setting.seconds * draw.random() / 2] * 3)
        for n in range(STOPS)
    }
    return stories


def _row(where: str, tried: Tried) -> Row:
    found = (
        f"{tried.count} of {tried.asked} tried: {tried.of('lost')} lost, "
        f"{tried.of('unreadable')} unreadable, {tried.of('not resumed')} not resumed, "
        f"{len(tried.amiss)} with anything amiss"
    )
    asked = f"kill -9 at {where}: 0 lost, 0 unreadable, all resumed to the same end"
    return Row("R3", asked, found, tried.holds)

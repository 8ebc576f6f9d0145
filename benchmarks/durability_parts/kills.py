"""R3: kill -9 at 200 random moments, and at every call that changes the disk, before and after it.

After each death nothing that is there is torn, no step that was acknowledged is lost, and the same
command goes on without help to the records and weights of the run that nobody disturbed.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Mapping
from pathlib import Path

from benchmarks.durability_parts.rows import Row
from benchmarks.durability_parts.trying import Tried, together, try_all
from tests.faults.scratch import scratch
from tests.faults.setting import Setting, undisturbed
from tests.faults.sittings import FIRST, LATER, first_of, later_of
from tests.faults.stories import Story, killed_at, killed_at_call, stopped_and_continued

MOMENTS, DEEP, STOPS = 200, 20, 10
ACTIONS = ("kill", "kill-after")


def measure(budget: float | None) -> list[Row]:
    """budget: seconds for all of it, a third of them for each row."""
    share = budget and budget / 3
    with scratch() as root:
        first = first_of(root)
        rows = [_row("every call of a first sitting", tried_at_calls({FIRST: first}, share))]
        others = {kind: later_of(kind, first) for kind in LATER}
        where = f"every call of {len(others)} kinds of later sittings"
        rows.append(_row(where, tried_at_calls(others, share)))
    with tempfile.TemporaryDirectory() as root:
        whole = undisturbed(Path(root) / "whole")
        moments = try_all("kill at a moment", at_moments(whole), whole, share)
    return [*rows, _row("a random moment", moments)]


def tried_at_calls(settings: Mapping[str, Setting], budget: float | None) -> Tried:
    share = budget and budget / len(settings)
    return together(
        try_all(f"{kind}: kill at a call", at_calls(setting), setting, share)
        for kind, setting in settings.items()
    )


def at_calls(setting: Setting) -> dict[str, Story]:
    """A story for each call of an undisturbed run, killed before it and killed after it."""
    return {
        f"{action}-{number}": killed_at_call(number, action)
        for number in range(1, len(setting.calls) + 1)
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

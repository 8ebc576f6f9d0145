"""Settings that say nothing where they stand: refused, for whoever wrote them meant something."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from evenodds.errors import UsageError
from evenodds.tasks import is_file
from evenodds.tasks.hub import is_hub

if TYPE_CHECKING:
    from evenodds.run.settings import CurriculumSection, TaskSection

OF_A_FILE = ("held_out_data", "prompt", "answer", "level", "columns")
OF_ROWS = ("drop_contradictory", "drop_unreadable")
OF_THE_HUB = ("subset", "held_out_split")


def require_task_settings(section: TaskSection) -> None:
    """Raise `UsageError` for a setting of data where no data is read, or not from a hub."""
    data = section.data or (section.name if is_file(section.name) else "")
    rows = data or ".py" in section.name
    for names, there, where in (
        (OF_A_FILE, data, "a file of data"),
        (OF_ROWS, rows, "a file of your own"),
        (OF_THE_HUB, is_hub(data), "a data set of the hub"),
    ):
        for name in names:
            if getattr(section, name) and not there:
                raise UsageError(_useless(name, where, section))
    if section.split != "train" and not is_hub(data):
        raise UsageError(_useless("split", "a data set of the hub", section))
    if section.held_out_data and section.held_out_split:
        raise UsageError(
            "task.held_out_data and task.held_out_split both name what is held out. Leave one out."
        )
    if section.prompt and section.prompt == section.answer:
        raise UsageError(
            f"task.prompt and task.answer name the same column {section.prompt!r}. The prompt "
            "would hold its own answer. Name another column."
        )


def _useless(name: str, where: str, section: TaskSection) -> str:
    asked = section.data or section.name
    return (
        f"task.{name} is for {where}. Got {getattr(section, name)!r} with {asked!r}. "
        "Leave it out, or name such data in task.data."
    )


def require_curriculum_settings(section: CurriculumSection) -> None:
    """Raise `UsageError` for levels or a start that this kind of curriculum does not look at."""
    for message in _curriculum(section):
        raise UsageError(message)


def _curriculum(section: CurriculumSection) -> Iterator[str]:
    kind = section.kind
    if section.levels is not None and kind != "fixed":
        yield (
            f"curriculum.levels is for the kind 'fixed', not {kind!r}. "
            "Leave it out, or use --curriculum fixed."
        )
    if section.levels is None and kind == "fixed":
        yield "curriculum.kind is 'fixed', but curriculum.levels names none. Set curriculum.levels."
    if section.start is not None and kind != "ladder":
        yield (
            f"curriculum.start is for the kind 'ladder', not {kind!r}. "
            "Leave it out, or use --curriculum ladder."
        )

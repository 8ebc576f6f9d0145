"""evenodds list WHAT"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path

from evenodds.cli.flags import Parser
from evenodds.errors import unknown


def _tasks(root: Path) -> Iterator[str]:
    from evenodds.tasks import PRESETS, TASKS, make_task

    for name in TASKS:
        if name in PRESETS:
            yield f"{name:<15} {PRESETS[name].summary}"
            continue
        task = make_task(name)
        yield f"{name:<15} {len(task.levels)} levels, verifier {task.verifier_name}"
        yield from (f"  {number:>3}  {label}" for number, label in enumerate(task.levels))
    yield "FILE.jsonl      prompts and answers of your own; also .json, .parquet, hf:OWNER/NAME"
    yield "FILE.py         problems() of your own, and grade(problem, text) where no verifier fits"
    yield "gym:NAME        a task of reasoning-gym (pip install 'evenodds[gym]')"


def _first_line(thing: object) -> str:
    return (thing.__doc__ or "").strip().splitlines()[0] if thing.__doc__ else ""


def _verifiers(root: Path) -> Iterator[str]:
    from evenodds.verifiers import KINDS as REGISTERED

    for name, kind in REGISTERED.items():
        yield f"{name:<15} {kind.summary}"
        absent = kind.unavailable(kind.policy) if kind.unavailable else None
        if absent:
            yield f"{'':<15} {name} cannot judge here: {absent}"
    yield "FILE.py:NAME    a function of your own: (problem, text) -> score, True or False"


def _objectives(root: Path) -> Iterator[str]:
    from evenodds.objectives.choose import AXES, SETTINGS
    from evenodds.objectives.describe import axes_of
    from evenodds.objectives.recipes import RECIPES

    yield from (f"{name:<22} {axes_of(objective)}" for name, objective in RECIPES.items())
    yield "\naxes, each a setting of [objective]; file.py:name is a function of your own:"
    yield from (f"  {axis:<12} {', '.join(table)}" for axis, (_, table) in AXES.items())
    yield "and, with numbers and choices that `evenodds train --help` explains:"
    yield f"  {', '.join(name for name in SETTINGS if name not in AXES)},"
    yield "  entropy_target, entropy_step"
    yield "\nproof: evenodds lab oracle      what a config will do: evenodds explain"


def _curricula(root: Path) -> Iterator[str]:
    from evenodds.curricula import CURRICULA

    yield from (f"{name:<15} {_first_line(kind)}" for name, kind in CURRICULA.items())


def _runs(root: Path) -> Iterator[str]:
    try:
        runs = sorted(config.parent for config in root.glob("*/config.toml"))
    except OSError:  # a folder that may not be entered shows no runs
        runs = []
    if not runs:
        print(f"no runs in {root}", file=sys.stderr)
    yield from (_run(run) for run in runs)


def _run(run: Path) -> str:
    """A line of a run, from the ends of its files: there may be thousands, and they may be long."""
    from evenodds.records.lines import last_row, looks_whole, step_of
    from evenodds.records.plain import require_plain
    from evenodds.report.record import RunRecord, read_config
    from evenodds.report.summary import before_and_after, read_summary
    from evenodds.report.text import one_line
    from evenodds.viewer.state import stopped_by

    try:
        require_plain(run)
        record = RunRecord(run, read_config(run), {}, [], None, None)
        steps = step_of(last_row(run / "metrics.jsonl")) or 0
        done = "finished" if looks_whole(run / "evaluation" / "final.json") else "not finished"
        planned = record.setting("run", "steps")
        if stopped_by(record.alarms, steps, planned if isinstance(planned, int) else None):
            done = "by an alarm"
        task = one_line(str(record.setting("task", "name") or "-"), 20)
        made = datetime.fromtimestamp(run.stat().st_mtime)
        rates = before_and_after(read_summary(run)) or "-"
        return f"{run!s:<50} {steps:>5} steps  {done:<12}  {task:<20}  {rates:<17}  {made:%Y-%m-%d}"
    except Exception:  # one damaged folder must not hide the others
        return f"{run!s:<50} unreadable"


KINDS: dict[str, Callable[[Path], Iterator[str]]] = {
    "tasks": _tasks,
    "verifiers": _verifiers,
    "objectives": _objectives,
    "curricula": _curricula,
    "runs": _runs,
}


def main(arguments: list[str]) -> int:
    parser = Parser(
        "list", "[tasks|verifiers|objectives|curricula|runs]", "What there is to choose."
    )
    parser.add_argument("what", nargs="?", help="one kind; all but runs when left out")
    parser.add_argument("--root", default="runs", help="folder of the runs (default: runs)")
    found = parser.parse(arguments)
    if found.what is not None and found.what not in KINDS:
        raise unknown("kind", found.what, KINDS)
    for kind in [found.what] if found.what else [kind for kind in KINDS if kind != "runs"]:
        if not found.what:
            print(f"== {kind}")
        for line in KINDS[kind](Path(found.root)):
            print(line)
    return 0

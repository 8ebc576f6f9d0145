"""evenodds train [CONFIG.toml]"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from evenodds.cli.flags import Parser, add_settings, config_of, given
from evenodds.errors import GateError, UsageError
from evenodds.report.text import one_line
from evenodds.run.config import Config, make_config, merge, read_saved, to_toml
from evenodds.run.folder import ROOT, RunFolder, newest_unfinished, require_run
from evenodds.run.lock import require_free

if TYPE_CHECKING:
    from evenodds.tasks import Task

EPILOG = """examples:
  evenodds train                                   the bundled model learns to multiply
  evenodds train --seed 1 --steps 60               60 steps exactly, another seed
  evenodds train --policy Qwen/Qwen3-0.6B-Base     LoRA on a model of your own
  evenodds train --data my.jsonl --verifier my.py:grade --policy ./model
  evenodds train --resume runs/NAME                go on where it stopped
  evenodds train --dry-run --run.memory_gb 16      what it needs, and whether that fits

Flags beat CONFIG.toml, CONFIG.toml beats defaults. `evenodds init` writes a commented one.
"""

LONG = 3000  # bytes of a path that is nowhere too long with what a run writes below it
NEWEST = "\n"
"""What `--resume` without a name means; no run has such a name."""


def _parser() -> Parser:
    usage = "[CONFIG.toml] [--SETTING VALUE ...] [--resume [RUN]] [--dry-run]"
    parser = Parser("train", usage, "Teach a policy, and measure it before and after.", EPILOG)
    parser.add_argument("config", nargs="?", help="TOML file; see `evenodds init`")
    parser.add_argument(
        "--resume",
        metavar="RUN",
        nargs="?",
        const=NEWEST,
        help="run to go on with: its folder, or its name below runs/; default: the newest one that "
        "has not come to its end",
    )
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help="print the resolved configuration and the memory plan, and stop",
    )
    add_settings(parser)
    return parser


def _root_of(folder: Path) -> str:
    """The folder above a run, from here where its whole path is no text, or has too many letters.

    A configuration holds text alone, and some folders' names are none.
    """
    root = str(folder.resolve().parent)
    try:
        is_usable = len(root.encode()) < LONG
    except UnicodeEncodeError:
        is_usable = False
    return root if is_usable else os.path.relpath(root)


def _resumed(run: str, over: dict[str, Any]) -> Config:
    root = over.get("run.root", ROOT)
    folder = newest_unfinished(root) if run == NEWEST else require_run(run, root)
    saved = read_saved(folder / "config.toml")
    where = {"run.root": _root_of(folder), "run.name": folder.resolve().name}
    if over.get("run.name", where["run.name"]) != where["run.name"]:
        raise UsageError(
            f"--resume {folder} goes on in the run {where['run.name']!r}, but --name is "
            f"{over['run.name']!r}. Leave one out."
        )
    if {"run.steps", "run.max_time"} & over.keys():  # a new limit replaces both old ones
        saved["run"] = {k: v for k, v in saved["run"].items() if k not in ("steps", "max_time")}
    return make_config(merge(saved, over | where))


def _config(found: argparse.Namespace) -> Config:
    over = given(found)
    if found.resume is None:
        return config_of(found.config, over)
    if found.config is not None:
        raise UsageError("--resume takes the run's own configuration. Leave CONFIG.toml out.")
    return _resumed(found.resume, over)


def _preview(config: Config) -> int:
    """All that can be checked without a model's weights; the configuration goes to stdout.

    Refused is what a run itself would refuse, a model that cannot be found or reached among it.
    Exit 3 where the memory plan does not fit.
    """
    from evenodds.run.build import objective_of, plan_of, title_of
    from evenodds.run.memory import plan_ahead
    from evenodds.run.memory_text import plan_lines, refusal
    from evenodds.sinks import factories_of

    factories_of(config.run.sinks)
    task = plan_of(config).task
    objective = objective_of(config)
    plan = plan_ahead(config, task, objective.needs_reference)
    print(to_toml(config), end="")
    for line in _described(task, title_of(config, task)):
        print(line, file=sys.stderr)
    for line in plan_lines(plan, config.policy.name):
        print(line, file=sys.stderr)
    if not plan.fits:
        raise GateError(refusal(plan))
    return 0


def _described(task: Task, title: str) -> Iterator[str]:
    """What the task holds, level by level, and one prompt without its policy's template."""
    counts = cast("list[dict[str, object]]", task.passport().get("levels") or [])
    yield f"{one_line(title)}, judged by {task.verifier_name}"
    for number, label in enumerate(task.levels):
        training = counts[number].get("training", "?") if number < len(counts) else "?"
        held_out = len(task.held_out(number))
        yield f"  level {number}, {one_line(label, 40)}: {training} to learn, {held_out} held out"
    yield f"a prompt: {ascii(task.held_out(0)[0].prompt)[:2000]}"


def main(arguments: list[str]) -> int:
    found = _parser().parse(arguments)
    config = _config(found)
    if found.dry_run:
        return _preview(config)
    if config.run.name is not None:  # before torch is there, which takes seconds
        require_free(RunFolder.under(Path(config.run.root), config.run.name).path)
    from evenodds.run.train import train

    result = train(config, argv=sys.argv)
    print(result.folder)
    return result.exit_code

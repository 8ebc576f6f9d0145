"""evenodds train [CONFIG.toml]"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from evenodds.cli.flags import Parser, add_settings, config_of, given
from evenodds.errors import UsageError
from evenodds.run.config import Config, make_config, merge, read_toml, to_toml

EPILOG = """examples:
  evenodds train                                   the bundled model learns to multiply
  evenodds train --seed 1 --steps 60               60 steps exactly, another seed
  evenodds train --policy Qwen/Qwen3-0.6B-Base     LoRA on a model of your own
  evenodds train --data my.jsonl --verifier my.py:grade --policy ./model
  evenodds train --resume runs/NAME                go on where it stopped

Flags beat CONFIG.toml, CONFIG.toml beats defaults. `evenodds init` writes a commented one.
"""


def _parser() -> Parser:
    usage = "[CONFIG.toml] [--SETTING VALUE ...] [--resume RUN] [--dry-run]"
    parser = Parser("train", usage, "Teach a policy, and measure it before and after.", EPILOG)
    parser.add_argument("config", nargs="?", help="TOML file; see `evenodds init`")
    parser.add_argument("--resume", metavar="RUN", help="run folder to go on with")
    parser.add_argument(
        "--dry-run", action="store_true", help="print the resolved configuration and stop"
    )
    add_settings(parser)
    return parser


def _resumed(run: str, over: dict[str, Any]) -> Config:
    folder = Path(run)
    if not (folder / "config.toml").exists():
        raise UsageError(
            f"{run!r} is no run folder: it has no config.toml. See `evenodds list runs`."
        )
    where = {"run.root": str(folder.resolve().parent), "run.name": folder.resolve().name}
    saved = read_toml(folder / "config.toml")
    if {"run.steps", "run.max_time"} & over.keys():  # a new limit replaces both old ones
        saved["run"] = {k: v for k, v in saved["run"].items() if k not in ("steps", "max_time")}
    return make_config(merge(saved, over | where))


def main(arguments: list[str]) -> int:
    found = _parser().parse(arguments)
    over = given(found)
    if found.resume and found.config:
        raise UsageError("--resume takes the run's own configuration. Leave CONFIG.toml out.")
    config = _resumed(found.resume, over) if found.resume else config_of(found.config, over)
    from evenodds.run.build import objective_of, plan_of

    if found.dry_run:
        from evenodds.policies.load import resolve

        plan_of(config)
        objective_of(config)
        resolve(config.policy.name)
        print(to_toml(config), end="")
        return 0
    plan_of(config)  # what is wrong is said before torch is imported
    from evenodds.run.train import train

    result = train(config, argv=sys.argv)
    print(result.folder)
    return result.exit_code

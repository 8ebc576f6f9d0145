"""The command line: parsing only. What a command does lives in the room that it names."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module

from evenodds import __version__
from evenodds.errors import EvenoddsError, unknown

# command -> its line in `evenodds --help`; its module is imported when it is asked for
COMMANDS: dict[str, str] = {
    "train": "teach a policy, and measure before and after",
    "sample": "generate and judge, without learning",
    "eval": "measure a policy or a run on held-out problems",
    "chat": "talk to a policy",
    "report": "write a run's report again",
    "export": "a run's model as a plain folder, adapter merged",
    "list": "tasks, verifiers, objectives, curricula, runs",
    "init": "a commented config and a task of your own to start from",
    "lab": "make the bundled model again: lab pretrain-abacus",
}

HELP = f"""evenodds {__version__}: teach a language model a skill that a program can check.

usage: evenodds COMMAND [...]        more: evenodds COMMAND --help

{{commands}}

start here:
  evenodds train                     two minutes on a laptop: a tiny model learns to multiply
  evenodds init mytask               a folder with a task of your own
  evenodds train mytask/evenodds.toml

exit codes: 0 fine, 1 a run failed, 2 wrong usage, 3 a quality gate said no, 130/143 stopped
"""


def _help() -> str:
    lines = [f"  {name:<9} {line}" for name, line in COMMANDS.items()]
    return HELP.format(commands="\n".join(lines))


def _command(name: str) -> Callable[[list[str]], int]:
    if name not in COMMANDS:
        raise unknown("command", name, COMMANDS)
    return import_module(f"evenodds.cli.commands.{name}").main


def _dispatch(arguments: list[str]) -> int:
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        print(_help(), end="")
        return 0
    if arguments[0] in ("-V", "--version"):
        print(f"evenodds {__version__}")
        return 0
    return _command(arguments[0])(arguments[1:])


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code. Errors meant for a person take one line on stderr."""
    from evenodds.machine import prepare_environment
    from evenodds.report.text import one_line

    prepare_environment()
    try:
        return _dispatch(list(sys.argv[1:] if argv is None else argv))
    except EvenoddsError as error:
        print(f"evenodds: {one_line(str(error))}", file=sys.stderr)
        return error.exit_code
    except BrokenPipeError:  # the reader of a pipe left; that is no failure
        sys.stderr.close()
        return 0
    except Exception as error:
        if os.environ.get("EVENODDS_DEBUG"):
            raise
        what = one_line(f"{type(error).__name__}: {error}")[:300]
        print(
            f"evenodds: this should not happen: {what}. Set EVENODDS_DEBUG=1 for the traceback.",
            file=sys.stderr,
        )
        return 1
    except KeyboardInterrupt:
        print("evenodds: stopped by SIGINT.", file=sys.stderr)
        return 130

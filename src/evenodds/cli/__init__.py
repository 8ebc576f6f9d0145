"""The command line: parsing only. What a command does lives in the room that it names."""

from __future__ import annotations

import errno
import os
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import import_module
from io import TextIOWrapper
from typing import TextIO

from evenodds import __version__
from evenodds.cli.signals import Signals, Stopped
from evenodds.errors import EvenoddsError, RunError, UsageError, unknown
from evenodds.machine import hold_streams, is_exhausted, prepare_environment

# command -> its line in `evenodds --help`; its module is imported when it is asked for
COMMANDS: dict[str, str] = {
    "train": "teach a policy, and measure before and after",
    "doctor": "what is wrong with a config, a model or a task, before hours are spent",
    "sample": "generate and judge, without learning",
    "eval": "measure a policy or a run on held-out problems",
    "compare": "runs or policies on the same problems: is one better, and where",
    "check": "try a verifier or a task before it may pay a reward",
    "grade": "judge a file of answers",
    "chat": "talk to a policy",
    "inspect": "look into a run, live or afterwards: curves, alarms, every group of answers",
    "replay": "make a rollout of a run again from its record",
    "report": "write a run's report again",
    "export": "a run's model as a plain folder, adapter merged",
    "list": "tasks, verifiers, objectives, curricula, runs",
    "init": "a commented config and a task of your own to start from",
    "explain": "what a config will do, before it runs",
    "lab": "the theory checked: oracle, finite, toy, pretrain-abacus",
}

LONGEST = 4000  # letters of an error: a name in it may be as long as one likes
UNWRITABLE = (errno.ENOSPC, errno.EIO, errno.EBADF, errno.EFBIG)

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
    hold_streams()
    prepare_environment()
    if not _is_open(sys.stderr):  # what would be said there is lost, and nothing else
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # an encoding without our signs shows question marks
            stream.reconfigure(errors="replace")
    from evenodds.report.inert import inert_streams

    try:
        with inert_streams(), Signals():
            return _answer(list(sys.argv[1:] if argv is None else argv))
    finally:
        _settle(sys.stderr)


def _answer(arguments: list[str]) -> int:
    from evenodds.report.text import one_line

    try:
        return _written(arguments)
    except EvenoddsError as error:
        if isinstance(error, UsageError) and is_exhausted(error.__cause__):
            return _exhausted(error.__cause__)  # the model is not what is wrong
        _say(_shortened(one_line(str(error))))
        return error.exit_code
    except BrokenPipeError:  # the reader of a pipe left; that is no failure
        return 0
    except Exception as error:
        if (code := _misnamed(error)) is not None:
            return code
        if is_exhausted(error):
            return _exhausted(error)
        if os.environ.get("EVENODDS_DEBUG"):
            raise
        what = one_line(f"{type(error).__name__}: {error}")[:300]
        _say(f"this should not happen: {what}. Set EVENODDS_DEBUG=1 for the traceback.")
        return 1
    except KeyboardInterrupt as error:
        number = error.number if isinstance(error, Stopped) else signal.SIGINT
        _say(f"stopped by {signal.Signals(number).name}.")
        return 128 + number


def _shortened(text: str) -> str:
    """Without its middle where it is very long: what to do stands at its end."""
    half = LONGEST // 2
    return text if len(text) <= LONGEST else f"{text[:half]}…{text[-half:]}"


def _exhausted(error: BaseException | None) -> int:
    """The exit code, and a line: there is not enough memory, or there are too many threads."""
    from evenodds.report.text import one_line

    what = one_line(" ".join(str(error).split()), 160) or type(error).__name__
    _say(
        f"out of memory or of threads: {what}. Close other programs, raise the limits (ulimit -v, "
        "-u), or ask for less (`evenodds doctor` tells what a run needs)."
    )
    return 1


NO_NAME = (errno.ENAMETOOLONG, errno.ELOOP)  # of a name that no file can have
NO_ACCESS = (errno.EACCES, errno.EPERM, errno.EISDIR, errno.ENOTDIR, errno.ENXIO, errno.ESTALE)


def _misnamed(error: Exception) -> int | None:
    """The exit code, and a line, where a file that was named cannot be used; else None."""
    from evenodds.report.text import one_line

    if not isinstance(error, OSError) or error.filename is None:
        return None
    if error.errno not in (*NO_NAME, *NO_ACCESS):
        return None
    name = one_line(repr(os.fsdecode(error.filename)), 300)
    _say(f"cannot use {name}: {error.strerror}. Name another file or folder, or mend its rights.")
    return 2 if error.errno in NO_NAME else 1


def _require_no_nul(arguments: list[str]) -> None:
    """Raise `UsageError` for a NUL, with the flag whose value it stands in."""
    for before, part in zip(["", *arguments], arguments, strict=False):
        if "\0" in part:
            flag = part if part.startswith("-") else before
            where = f"the value of {flag.partition('=')[0]!r}" if flag[:1] == "-" else "an argument"
            raise UsageError(
                f"{where} holds a NUL character, which no name or number has. Drop it."
            )


def _require_a_place() -> None:
    """Raise `UsageError` where the current folder was removed: libraries end the process there."""
    try:
        os.getcwd()
    except OSError:
        raise UsageError("the current folder was removed. Change into one that is there.") from None


def _written(arguments: list[str]) -> int:
    """The exit code, after all that was printed has left. Raises `RunError` where it cannot."""
    if not _is_open(sys.stdout):
        raise RunError("standard output is closed. Send it to a file, or to /dev/null.")
    _require_no_nul(arguments)
    _require_a_place()
    try:
        return _dispatch(arguments)
    except OSError as error:
        if error.filename is not None or error.errno not in UNWRITABLE:
            raise
        raise RunError(f"cannot write: {error.strerror}. Send standard output elsewhere.") from None
    finally:
        error = _settle(sys.stdout)
        if isinstance(error, BrokenPipeError):
            raise error
        if error is not None:
            raise RunError(f"cannot write to standard output: {error.strerror}. Send it elsewhere.")


def _is_open(stream: TextIO | None) -> bool:
    return stream is not None and not stream.closed


def _settle(stream: TextIO) -> OSError | None:
    """Flush; where that fails, drop what is left, or Python would complain of it at its end."""
    try:
        stream.flush()
    except OSError as error:
        with suppress(OSError, ValueError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, stream.fileno())
            os.close(nowhere)
        return error
    return None


def _say(text: str) -> None:
    with suppress(OSError):
        print(f"evenodds: {text}", file=sys.stderr)

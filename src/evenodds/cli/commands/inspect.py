"""evenodds inspect RUN"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from evenodds.cli.parser import Parser
from evenodds.errors import UsageError
from evenodds.run.folder import require_run

USAGE = "RUN [--port N] [--open] | RUN --html FOLDER [--groups N] | RUN --text [--group STEP/GROUP]"
ABOUT = """\
Look into a run, while it goes on or afterwards: curves, ladder, alarms, and every group of
answers with what each token was worth. The pages are served to this machine only, with a token
in the address, until Ctrl-C; the run is only read.
"""
SPOT = re.compile(r"(\d{1,9})/(\d{1,9})")


def _parser() -> Parser:
    parser = Parser("inspect", USAGE, ABOUT)
    parser.add_argument("run", metavar="RUN", help="run folder, or its name below runs/")
    parser.add_argument("--port", type=int, default=0, help="of 127.0.0.1 (default: a free one)")
    parser.add_argument("--open", action="store_true", help="show it in a browser at once")
    parser.add_argument("--html", metavar="FOLDER", help="write the pages as files instead")
    parser.add_argument("--groups", type=int, default=None, help="with --html: most groups (200)")
    parser.add_argument("--text", action="store_true", help="print the overview, serve nothing")
    parser.add_argument("--group", metavar="STEP/GROUP", help="with --text or --html: this group")
    return parser


def main(arguments: list[str]) -> int:
    found = _parser().parse(arguments)
    run = require_run(found.run)
    spot = _spot(found.group)
    if found.html is not None:
        return _write(run, Path(found.html), spot, found.groups)
    if found.groups is not None:
        raise UsageError("--groups goes with --html. Add it, or leave --groups out.")
    if found.text:
        return _print(run, spot)
    if spot is not None:
        raise UsageError("--group goes with --text or --html. Add one of them.")
    return _serve(run, found.port, found.open)


def _spot(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    match = SPOT.fullmatch(text)
    if match is None:
        raise UsageError(f"--group takes a step and a group, such as 12/3. Got {text!r}.")
    return int(match[1]), int(match[2])


def _serve(run: Path, port: int, opens: bool) -> int:
    from evenodds.viewer.serve import serve

    def say(address: str) -> None:
        print(f"{address}\nCtrl-C ends it.", flush=True)

    serve(run, port, say, opens)
    return 0


def _print(run: Path, spot: tuple[int, int] | None) -> int:
    from evenodds.viewer.coin import by_coin
    from evenodds.viewer.data import Source
    from evenodds.viewer.text_pages import group_lines, overview_lines

    source = Source(run)
    if spot is None:
        lines = overview_lines(source)
    else:
        rows = source.group(*spot)
        if not rows:
            raise UsageError(_absent(source.files(), spot))
        lines = group_lines(rows, coin=by_coin(source.record()))
    for line in lines:
        sys.stdout.write(line + "\n")
    return 0


def _absent(files: dict[int, Path], spot: tuple[int, int]) -> str:
    step, group = spot
    if not files:
        return "this run has no rollouts yet. Look again after its first step."
    if step in files:
        return f"step {step} has no group {group}. Groups are counted from 0."
    return f"step {step} has no rollouts. Got steps {min(files)} to {max(files)}."


def _write(run: Path, folder: Path, spot: tuple[int, int] | None, groups: int | None) -> int:
    from evenodds.viewer.export import MOST, export

    found = export(run, folder, spot, MOST if groups is None else groups)
    print(f"{found.index}: {found.groups:,} of {found.total:,} groups have a page.")
    return 0

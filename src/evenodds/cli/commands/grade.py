"""evenodds grade FILE --verifier KIND"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenodds.cli.flags import Parser
from evenodds.cli.policy_table import read_table
from evenodds.errors import UsageError
from evenodds.report.progress import Progress, Shown
from evenodds.report.text import counted, one_line

if TYPE_CHECKING:
    from evenodds.bench.grading import Tally
    from evenodds.bench.source import Survey
    from evenodds.judge import JudgeOptions

USAGE = "FILE --verifier KIND|file.py:function [--out FILE] [--policy KEY=VALUE ...]"
ABOUT = """\
Judge a file of answers: JSONL or parquet in, the same rows with score, status, extracted, how and
seconds out, as JSONL on stdout or in a file. A summary goes to stderr.

Rows are judged one after another in the judge's worker processes, each with a deadline; order is
kept and memory stays flat. Nothing that an answer holds can stop it: a row that hangs or breaks
its verifier gets the status timeout or error.
"""
EPILOG = """rules:
  answer   a text; a number as written; of chat messages the last content; a list or an object as
           JSON. Missing or null: the empty text, which is judged as no answer.
           Beside a completion or a response `answer` is the gold, if no other column is one.
  gold     the same. A list is several golds, of which any is right, save for kinds whose gold is
           JSON (code, json, sql, instructions, expression). Missing, null or unreadable: the
           status gold_unreadable, never a payment.
  columns  score, status, extracted, how and seconds are ours; a row's own columns of these names
           are kept as score_before and so on.
  bad rows a line that is no JSON object: nothing is graded, and its number is told (exit 2);
           with --skip-bad it is left out and counted.
  rollouts of a run (runs/NAME/rollouts/*.parquet) are recognised: completion is the answer.

examples:
  evenodds grade answers.jsonl --verifier math > graded.jsonl
  evenodds grade answers.jsonl --verifier number --policy percent=ratio --out graded.jsonl
  evenodds grade old.parquet --verifier my.py:grade --answer response --gold target
  evenodds grade runs/NAME/rollouts/step-000010.parquet --verifier number --out again.jsonl
"""


def _parser() -> Parser:
    parser = Parser("grade", USAGE, ABOUT, EPILOG)
    parser.add_argument("file", metavar="FILE", help="JSONL or parquet")
    parser.add_argument(
        "--verifier", required=True, metavar="KIND", help="see `evenodds list verifiers`"
    )
    parser.add_argument(
        "--out", metavar="FILE.jsonl", help="instead of stdout; whole or not at all"
    )
    parser.add_argument("--skip-bad", action="store_true", help="leave out rows that are no rows")
    policy = parser.add_argument_group("the verifier's policy table")
    policy.add_argument("--policy-table", metavar="FILE.toml", help="entries in place of defaults")
    policy.add_argument(
        "--policy",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="one entry; beats the file",
    )
    columns = parser.add_argument_group("columns")
    for role, usual in (
        ("answer", "answer, completion or response"),
        ("gold", "gold, target, reference or solution"),
        ("prompt", "prompt, question or problem, where there is one"),
        ("stop", "stop: a row with `budget` there was cut"),
    ):
        columns.add_argument(f"--{role}", metavar="COLUMN", help=f"(default: {usual})")
    judge = parser.add_argument_group("the judge")
    judge.add_argument("--workers", type=int, metavar="N", help="processes (default: the cores)")
    judge.add_argument("--seconds", type=float, metavar="S", help="deadline of a row (default: 5)")
    judge.add_argument(
        "--memory-mb", type=int, metavar="MB", help="of each process (default: 2048)"
    )
    return parser


def main(arguments: list[str]) -> int:
    found = _parser().parse(arguments)
    path, out = Path(found.file), Path(found.out) if found.out else None
    if out is not None and os.path.exists(out) and os.path.exists(path) and out.samefile(path):
        raise UsageError(f"--out {out} is the file that is read. Name another.")
    if found.out == "" or (out is not None and os.path.isdir(out)):
        raise UsageError(f"--out takes a file. Got {found.out!r}. Name one in that folder.")
    if out is not None and not os.path.isdir(out.parent):
        raise UsageError(f"there is no folder {str(out.parent)!r} for --out. Make it first.")
    from evenodds.bench.grading import Tally
    from evenodds.report.grading import summary_lines
    from evenodds.run.output import whole_file

    begun, tally = time.perf_counter(), Tally()
    with Shown(sys.stderr) as shown:
        lines = _graded(found, path, tally, shown("grade"))
        with whole_file(out) if out is not None else nullcontext(sys.stdout) as stream:
            for line in lines:
                stream.write(line + "\n")
    for line in summary_lines(tally, one_line(found.verifier), time.perf_counter() - begun):
        print(line, file=sys.stderr)
    return 0


def _graded(
    found: argparse.Namespace, path: Path, tally: Tally, progress: Progress
) -> Iterator[str]:
    """The lines of the result. All that may be refused is refused before the first one."""
    from evenodds.bench.answers import columns_of
    from evenodds.bench.grading import as_line, graded
    from evenodds.bench.source import survey
    from evenodds.judge import require_available
    from evenodds.verifiers import RegisteredVerifier, find_verifier

    table = read_table(found.policy_table, found.policy)
    verifier = find_verifier(found.verifier, table or None)
    require_available(verifier)
    looked = survey(path)
    _refuse_bad(path, looked, found.skip_bad)
    given = {role: getattr(found, role) for role in ("answer", "gold", "prompt", "stop")}
    needs_gold = isinstance(verifier, RegisteredVerifier)
    columns = columns_of([*looked.columns], given, needs_gold, str(path))
    print(f"{path}: {counted(looked.rows, 'row')}; {one_line(str(columns))}", file=sys.stderr)
    results = graded(verifier, _readable(path), columns, tally, _options(found))
    return (as_line(row) for row in _counted(results, looked.rows, progress))


def _refuse_bad(path: Path, looked: Survey, skip: bool) -> None:
    if looked.first is None:
        return
    number, why = looked.first
    if not skip or not looked.rows:
        more = f", and {looked.bad - 1:,} more rows" if looked.bad > 1 else ""
        raise UsageError(
            f"{path} row {number} cannot be read: {why}{more}. Mend it, or leave such rows out "
            "with --skip-bad."
        )
    bad = counted(looked.bad, "bad row")
    print(f"left out: {bad}, the first is row {number}: {why}", file=sys.stderr)


def _readable(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    from evenodds.bench.source import Unreadable, rows_of

    for number, row in rows_of(path):
        if not isinstance(row, Unreadable):
            yield number, row


def _counted(
    rows: Iterable[dict[str, Any]], total: int, progress: Progress
) -> Iterator[dict[str, Any]]:
    progress(0, total)
    for done, row in enumerate(rows, 1):
        yield row
        progress(done, total)


def _options(found: argparse.Namespace) -> JudgeOptions:
    from evenodds.judge import JudgeOptions

    names = {"workers": found.workers, "seconds": found.seconds, "memory_mb": found.memory_mb}
    return JudgeOptions(**{name: value for name, value in names.items() if value is not None})

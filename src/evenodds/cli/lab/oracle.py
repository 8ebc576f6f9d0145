"""evenodds lab oracle"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from evenodds.cli.flags import Parser
from evenodds.errors import GateError, UsageError

if TYPE_CHECKING:
    from evenodds.lab.oracle import Case, Row

ABOUT = """Hold every objective against exact gradients. On policies over a few symbols all answers,
and all groups of them, are enumerated in float64: the code that trains gives the expected
gradient, and a closed form says what it must be. Exit 3 if a row is not as documented."""
COLUMNS = """columns:
  θ            on: the policy that sampled is the one that learns; off: it has moved since, a tenth
               of the tokens or more are clipped on each side; edge: ratios lie just within and
               just beyond the limits of the clip; sampler: another program sampled
  |aim|        length of the gradient one would want: of the expected reward, with its penalties
  |E ĝ|        length of the estimator's expected gradient
  angle        between the two: 0° is no bias but a factor
  E ĝ / aim    the projection on the aim, the factor of the bias
  std          of the estimator for one batch, against |aim|
  clipped −/+  share of the tokens that the clip silences, with A < 0 and with A > 0
  off by       largest deviation from the closed form, as a share; 1e-9 is allowed
derivations: docs/oracle.md"""
MARK = "<!-- table -->"
QUIET_FOR, EVERY = 2.0, 10.0  # seconds before the first word of progress, and between lines


def main(arguments: list[str]) -> int:
    usage = "[--recipe NAME] [--quick] [--markdown FILE]"
    parser = Parser("lab oracle", usage, ABOUT, COLUMNS)
    parser.add_argument("--recipe", metavar="NAME", help="only rows of this objective")
    parser.add_argument("--quick", action="store_true", help="smaller policies, about a second")
    parser.add_argument(
        "--markdown",
        metavar="FILE",
        help=f"write the table there; what stands above a line {MARK} is kept",
    )
    found = parser.parse(arguments)
    if found.markdown is not None and not Path(found.markdown).parent.is_dir():
        raise UsageError(f"no such folder for --markdown. Got {found.markdown!r}. Make it first.")
    from evenodds.lab.oracle import cases, check, markdown, printed

    chosen = list(cases(found.recipe, found.quick))
    start = time.monotonic()
    rows = [check(case) for case in _told(chosen)]
    printed(rows, sys.stdout)
    if found.markdown is not None:
        _write(Path(found.markdown), markdown(rows))
    _judge(rows, time.monotonic() - start)
    return 0


def _write(target: Path, table: str) -> None:
    old = target.read_text(encoding="utf-8") if target.exists() else ""
    above = old.split(MARK)[0] + MARK + "\n\n" if MARK in old else ""
    target.write_text(above + table, encoding="utf-8")


def _told(cases: Iterable[Case]) -> Iterator[Case]:
    """The cases, with a word on stderr where it takes longer than a moment."""
    everything = list(cases)
    screen = sys.stderr.isatty()
    start = time.monotonic()
    said = start + QUIET_FOR - (0.2 if screen else EVERY)
    for number, case in enumerate(everything):
        now = time.monotonic()
        if now - said > (0.2 if screen else EVERY):
            line = f"oracle: {number} of {len(everything)} rows, {now - start:.0f} s"
            print(f"\r{line}" if screen else line, end="" if screen else "\n", file=sys.stderr)
            sys.stderr.flush()
            said = now
        yield case
    if screen and said > start + QUIET_FOR - 0.2:
        print("\r" + " " * 40 + "\r", end="", file=sys.stderr)


def _judge(rows: list[Row], seconds: float) -> None:
    """Say how it went. Raises `GateError` that names the rows which are not as documented."""
    failed = [row for row in rows if not row.is_ok]
    if not failed:
        print(f"\nall {len(rows)} rows are as documented ({seconds:.1f} s)")
        return
    told = "; ".join(
        f"{row.case.name} ({row.case.world.name}, {row.case.world.where}): {row.failures[0]}"
        for row in failed[:3]
    )
    more = f"; and {len(failed) - 3} more" if len(failed) > 3 else ""
    raise GateError(
        f"{len(failed)} of {len(rows)} rows are not as documented. Got {told}{more}. "
        "See docs/oracle.md for what each must be."
    )

"""evenodds lab oracle"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from evenodds.cli.flags import Parser, add_settings, config_of, given
from evenodds.errors import GateError, RunError, UsageError
from evenodds.report.inert import steerable

if TYPE_CHECKING:
    from evenodds.lab.oracle import Case, Row
    from evenodds.objectives import Objective
    from evenodds.run.config import Config

USAGE = "[--recipe NAME | CONFIG.toml --objective.SETTING VALUE ...] [--quick] [--markdown FILE]"
ABOUT = """Hold every objective against exact gradients. On policies over a few symbols all answers,
and all groups of them, are enumerated in float64: the code that trains gives the expected
gradient, and a closed form says what it must be. Exit 3 if a row is not as documented.

With a CONFIG.toml or settings of [objective], as for `evenodds train`, that objective is looked
at, also one of your own. It has no closed form here; it is held against the true gradient of the
expected reward. Exit 3 if on-policy it goes against it, as it does where a sign is wrong."""
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
examples:
  evenodds lab oracle                                     every row
  evenodds lab oracle --recipe grpo                       those of one recipe
  evenodds lab oracle --objective.surrogate my.py:name    a surrogate of your own
  evenodds lab oracle --objective grpo --objective.reduce per_token
derivations: docs/oracle.md"""
MARK = "<!-- table -->"
LONGEST = 40  # letters of the objective in the table
QUIET_FOR, EVERY = 2.0, 10.0  # seconds before the first word of progress, and between lines


def main(arguments: list[str]) -> int:
    found = _parser().parse(arguments)
    settings = given(found)
    is_own = found.config is not None or bool(settings)
    if is_own and found.recipe is not None:
        raise UsageError(
            f"--recipe {found.recipe} is for a recipe as it is, and takes no config or settings. "
            "Use --objective in its place."
        )
    config = config_of(found.config, settings) if is_own else None
    target = None if found.markdown is None else Path(found.markdown)
    above = "" if target is None else _above(target)
    rows = _proven(found.recipe, found.quick) if config is None else _looked(config, found.quick)
    if target is not None:
        _write(target, above, rows)
    _judge(rows)
    return 0


def _parser() -> Parser:
    parser = Parser("lab oracle", USAGE, ABOUT, COLUMNS)
    parser.add_argument("config", nargs="?", help="TOML file, as for train")
    parser.add_argument("--recipe", metavar="NAME", help="only rows of this objective")
    parser.add_argument("--quick", action="store_true", help="smaller policies, a second of CPU")
    parser.add_argument(
        "--markdown",
        metavar="FILE",
        help=f"write the table there, below a line {MARK}; what stands above it is kept",
    )
    add_settings(parser, without=("seed",), sections=("objective",))
    return parser


def _proven(recipe: str | None, quick: bool) -> list[Row]:
    """Rows that have a closed form, printed."""
    if recipe is not None and ":" in recipe:
        raise UsageError(
            f"--recipe is for those of the house, which have a closed form. Got {recipe!r}. "
            f"Use --objective {recipe} to hold it against the true gradient."
        )
    from evenodds.lab.oracle import cases, check, printed

    chosen = list(cases(recipe, quick))
    start = time.monotonic()
    rows = [check(case) for case in _told(chosen)]
    printed(rows, sys.stdout)
    if all(row.is_ok for row in rows):
        print(f"\nall {len(rows)} rows are as documented ({time.monotonic() - start:.1f} s)")
    return rows


def _looked(config: Config, quick: bool) -> list[Row]:
    """Rows of an objective that is held against the true gradient alone, printed."""
    from evenodds.lab.oracle import look, own_cases, printed, told
    from evenodds.objectives.describe import axes_of
    from evenodds.run.build import objective_of

    objective: Objective = objective_of(config)
    rows = [look(case) for case in _told(own_cases(_name(config), objective, quick))]
    printed(rows, sys.stdout)
    print(f"\nobjective: {axes_of(objective)}")
    for line in told(rows):
        print(line)
    return rows


def _name(config: Config) -> str:
    """`grpo, reduce per_token`; a path by its last part."""
    settings = config.objective.model_dump(exclude={"recipe"}, exclude_none=True)
    changed = [f"{name} {_short(value)}" for name, value in settings.items()]
    name = ", ".join([_short(config.objective.recipe), *changed])
    return name if len(name) <= LONGEST else f"{_short(config.objective.recipe)}, changed"


def _short(value: object) -> str:
    return str(value).rsplit("/", 1)[-1]


def _above(target: Path) -> str:
    """What stands in the file above its table. Raises `UsageError` where nothing can be written."""
    name = str(target)
    if not target.parent.is_dir():
        raise UsageError(f"no such folder for --markdown. Got {name!r}. Make it first.")
    if target.is_dir():
        raise UsageError(f"--markdown writes a file. Got the folder {name!r}. Name a file in it.")
    if not os.access(target if target.exists() else target.parent, os.W_OK):
        raise UsageError(f"--markdown cannot write there. Got {name!r}. Name another file.")
    if not target.is_file():
        return ""
    try:
        old = target.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise UsageError(f"--markdown cannot read {name!r}. Got {error}. Name another.") from None
    lines = old.splitlines(keepends=True)
    at = next((n for n, line in enumerate(lines) if line.strip() == MARK), None)
    if at is None and old.strip():
        raise UsageError(
            f"{name!r} has no line {MARK}, so its text would be lost. "
            "Put that line where the table should stand, or name another file."
        )
    return "".join(lines[:at])


def _write(target: Path, above: str, rows: list[Row]) -> None:
    from evenodds.lab.oracle import markdown

    try:
        target.write_text(f"{above}{MARK}\n\n{markdown(rows)}", encoding="utf-8")
    except OSError as error:
        raise RunError(f"cannot write {str(target)!r}: {error.strerror}. Name another.") from None
    print(f"table written to {target}", file=sys.stderr)


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
            print(
                f"\r{line}" if screen else line,
                end="" if screen else "\n",
                file=steerable(sys.stderr),
            )
            sys.stderr.flush()
            said = now
        yield case
    if screen and said > start + QUIET_FOR - 0.2:
        print("\r" + " " * 40 + "\r", end="", file=steerable(sys.stderr))


def _judge(rows: list[Row]) -> None:
    """Raises `GateError` that names the rows which are not as they should be."""
    failed = [row for row in rows if not row.is_ok]
    if not failed:
        return
    told = "; ".join(
        f"{row.case.name} ({row.case.world.name}, {row.case.world.where}): {row.failures[0]}"
        for row in failed[:3]
    )
    more = f"; and {len(failed) - 3} more" if len(failed) > 3 else ""
    if failed[0].case.own is None:
        what, do = "are not as documented", "See docs/oracle.md for what each must be."
    else:
        what, do = "do not go with the gradient", "Look for a wrong sign, or what gives no number."
    raise GateError(f"{len(failed)} of {len(rows)} rows {what}. Got {told}{more}. {do}")

"""evenodds lab finite"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from evenodds.cli.flags import Parser
from evenodds.cli.pictures import plot_target, write_plot
from evenodds.errors import UsageError
from evenodds.report.inert import steerable

if TYPE_CHECKING:
    from evenodds.lab.finite import Ascent

USAGE = "[--beta B] [--steps N] [--learning-rate R] [--plot FILE.svg]"
ABOUT = """\
Reward rises while the other right answers vanish, solved exactly: nothing is sampled.

A policy over ten answers, five of them right, climbs E[reward] + B · entropy by its exact
gradient, once with B = 0 and once with the B given. On reward alone the likeliest right
answer drives out the other right ones; with some entropy they come back.
"""
COLUMNS = """\
reward     expected reward: the chance that one answer is right (pass@1)
entropy    of the answer, in nats
coverage   the share of that chance that lies outside the likeliest right answer
answers    how many right answers there are in effect: exp(entropy among the right ones)

docs/finite-policy.md has the equations and what they mean for RLVR.
"""
SHOWN = (0, 0.025, 0.05, 0.125, 0.25, 0.5, 1)  # rows of the table, as shares of the steps


def main(arguments: list[str]) -> int:
    from evenodds.lab.finite import BETA, LEARNING_RATE, PRIMES, STEPS, ascend

    parser = Parser("lab finite", USAGE, ABOUT, COLUMNS)
    add = parser.add_argument
    add("--beta", metavar="B", type=float, default=BETA, help=f"above 0 (default: {BETA})")
    add("--steps", metavar="N", type=int, default=STEPS, help=f"(default: {STEPS})")
    rate = f"(default: {LEARNING_RATE})"
    add("--learning-rate", metavar="R", type=float, default=LEARNING_RATE, help=rate)
    add("--plot", metavar="FILE.svg", help="write the curves as a picture")
    found = parser.parse(arguments)
    if found.beta == 0:
        raise UsageError("beta 0 is one side already. Got --beta 0. Name one above 0.")
    target = plot_target(found.plot)
    ascents = [ascend(PRIMES, beta, found.steps, found.learning_rate) for beta in (0.0, found.beta)]
    _print(ascents)
    if target is not None:
        from evenodds.lab.finite_picture import picture

        write_plot(target, picture(ascents))
    return 0


def _print(ascents: Sequence[Ascent]) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    from evenodds.lab.finite import measures
    from evenodds.lab.finite_picture import beta_name

    table = Table(box=SIMPLE_HEAD, padding=(0, 0, 0, 1), pad_edge=False)
    table.add_column("\nstep", justify="right")
    for ascent in ascents:
        heads = ("reward", "entropy", "coverage", "answers")
        for place, head in enumerate(heads):
            above = beta_name(ascent) if place == 0 else ""
            table.add_column(f"{above}\n{head}", justify="right", no_wrap=True)
    steps = len(ascents[0].reward) - 1
    for step in sorted({round(share * steps) for share in SHOWN}):
        rows = [measures(ascent, step) for ascent in ascents]
        cells = [cell for m in rows for cell in _cells(*m)]
        table.add_row(str(step), *cells)
    console = Console(file=steerable(sys.stdout), highlight=False)
    console.print(f"{ascents[0].question.text} Right: {_right(ascents[0])}.", markup=False)
    with console.capture() as printed:
        console.print(table)
    for line in printed.get().splitlines():  # without the blanks at its end
        console.out(line.rstrip(), highlight=False)
    for ascent in ascents:
        console.print(_sentence(ascent), markup=False)


def _cells(reward: float, entropy: float, coverage: float, effective: float) -> tuple[str, ...]:
    return f"{reward:.3f}", f"{entropy:.3f}", f"{coverage:.3f}", f"{effective:.2f}"


def _right(ascent: Ascent) -> str:
    from evenodds.report.text import listed

    pairs = zip(ascent.question.answers, ascent.question.right, strict=True)
    return listed([answer for answer, is_right in pairs if is_right])


def _sentence(ascent: Ascent) -> str:
    from evenodds.lab.finite_picture import DRAWS, beta_name

    found, reward = ascent.distinct_right(DRAWS), ascent.reward
    return (
        f"{beta_name(ascent)}: reward {reward[0]:.3f} → {reward[-1]:.3f}; {DRAWS} draws find "
        f"{found[0]:.2f} → {found[-1]:.2f} of {sum(ascent.question.right)} right answers."
    )

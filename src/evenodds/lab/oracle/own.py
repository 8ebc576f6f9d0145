"""An objective without a closed form, held against the true gradient of the expected reward."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import replace
from math import isfinite

import numpy as np
import torch

from evenodds.errors import EvenoddsError, UsageError
from evenodds.lab.oracle import closed
from evenodds.lab.oracle.case import Case, Row, row_of
from evenodds.lab.oracle.closed import Exact
from evenodds.lab.oracle.estimate import Moments, estimate
from evenodds.lab.oracle.forms import FOUR, Spot, overlong
from evenodds.lab.oracle.tree import Array
from evenodds.lab.oracle.world import World, make_world, with_other_sampler
from evenodds.objectives import Objective
from evenodds.objectives.reduce import per_budget
from evenodds.own import FAILURES, described, quiet

SECTION = "beside the true gradient"
BARE = "without its penalties"
ALONG = 0.05  # degrees that are shown as 0.0


def own_cases(name: str, objective: Objective, quick: bool = False) -> Iterator[Case]:
    """Rows of any objective: table and GRU, on- and off-policy, and its correction at work.

    With penalties it is taken without them too, on-policy: what they pull must not hide, nor be
    taken for, a wrong sign. quick: with one letter on the table.
    """
    table = [(make_world("tabular", 1 if quick else 2, 3, where), 3) for where in ("on", "off")]
    net = [(make_world("GRU", 2, 2, where), FOUR) for where in ("on", "off")]
    spots = [(_with_first(world, objective), size) for world, size in (*table, *net)]
    for spot in spots:
        yield _case(name, objective, spot)
    if objective.correction is not None:
        yield _case(name, objective, (with_other_sampler(table[0][0]), table[0][1]))
    bare = _bare(objective)
    if bare != objective:
        for world, size in spots:
            if world.where == "on":
                yield _case(BARE, bare, (world, size))


def _bare(objective: Objective) -> Objective:
    return replace(objective, kl_loss=None, kl_reward=0.0, entropy=0.0, overlong=0.0)


def _with_first(world: World, objective: Objective) -> World:
    """A correction asks for the learner's first log-probabilities, be they the sampler's."""
    return world if objective.correction is None else replace(world, first=world.old)


def _case(name: str, objective: Objective, spot: Spot) -> Case:
    world, size = spot
    aim = _aim(closed.exact(world), world.rewards[0], objective)
    return Case(
        name,
        "",
        world,
        (size,),
        aim,
        np.full_like(aim, np.nan),
        "no closed form",
        section=SECTION,
        own=objective,
    )


def _aim(exact: Exact, rewards: Array, objective: Objective) -> Array:
    """[P] of the expected reward with the penalties that the objective names, in its unit."""
    if objective.overlong > 0:
        rewards = rewards - overlong(exact, objective.overlong)
    beta = objective.kl_reward + (objective.kl_loss.coefficient if objective.kl_loss else 0.0)
    found = closed.reward_gradient(exact, rewards)
    found = found - beta * closed.kl_gradient(exact)
    found = found + objective.entropy * closed.entropy_gradient(exact)
    by_budget = objective.reduce is per_budget
    return found / (exact.budget if by_budget else float(exact.drawn @ exact.lengths))


def look(case: Case) -> Row:
    """The expectation over all groups; it fails where it is not finite, or goes the wrong way.

    Raises `UsageError` where a function of a person's own raises.
    """
    row = row_of(case, _estimated(case), float("nan"), [])
    return replace(row, failures=tuple(_failures(row)))


def _estimated(case: Case) -> Moments:
    try:
        with quiet(), float64():
            return estimate(case.world, case.objective, case.sizes, is_exact=False)
    except EvenoddsError:
        raise
    except FAILURES as error:
        raise UsageError(
            f"{case.name} failed on a group of the oracle ({case.world.name}, {case.world.where}). "
            f"Got {described(error)}. Mend it."
        ) from error


@contextmanager
def float64() -> Generator[None]:
    """Tensors that a person's code makes have the dtype of all others here."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


def _failures(row: Row) -> Iterator[str]:
    if not isfinite(row.length):
        yield direction(row)
    if is_judged(row) and (row.vanished or row.angle > 90):
        yield direction(row)


def is_judged(row: Row) -> bool:
    """Whether it must go with the gradient: on-policy, and with nothing but rewards to go by."""
    objective = row.case.objective
    return row.case.world.where == "on" and _bare(objective) == objective


def direction(row: Row) -> str:
    """`goes with the gradient: 0.0°, 0.667 of it`."""
    if not isfinite(row.length):
        return "has a gradient that is not finite"
    if row.vanished:
        return "has no gradient at all: nothing is learned"
    if row.angle < ALONG:
        return f"goes with the gradient: 0.0°, {row.ratio:.3f} of it"
    if row.angle <= 90:
        return f"goes at {row.angle:.1f}° to the gradient, {row.ratio:.3f} of it"
    return f"goes AGAINST the gradient: {row.angle:.1f}°, {row.ratio:.3f} of it"


def told(rows: list[Row]) -> Iterator[str]:
    """A line for each on-policy row."""
    for row in rows:
        if row.case.world.where == "on":
            policy = "table" if row.case.world.name == "tabular" else row.case.world.name
            bare = f", {BARE}" if row.case.name == BARE else ""
            yield f"on-policy ({policy}, G = {row.case.sizes[0]}){bare}: it {direction(row)}"

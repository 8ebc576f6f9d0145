"""Rows for each choice on an axis, beside the recipes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from evenodds.credit import standardized, standardized_sample
from evenodds.lab.oracle import closed, coupled
from evenodds.lab.oracle.case import Case
from evenodds.lab.oracle.closed import Credit, Exact, Slope
from evenodds.lab.oracle.coupled import Answers, Worth
from evenodds.lab.oracle.forms import clip_shares, overlong
from evenodds.lab.oracle.tree import Array
from evenodds.lab.oracle.world import World
from evenodds.objectives import reduce
from evenodds.objectives.surrogate import Cispo, Clip, DualClip, SoftGate


@dataclass(frozen=True)
class Place:
    """Where the rows of an axis are taken: the worlds on- and off-policy, and answers a group."""

    on: World
    off: World
    size: int


def p_of(exact: Exact, rewards: Array) -> float:
    return float(exact.drawn @ rewards)


def mean_length(exact: Exact) -> float:
    return float(exact.drawn @ exact.lengths)


def case(
    name: str,
    world: World,
    size: int,
    credit: Credit,
    slope: Slope,
    weight: Array | float,
    says: str,
    **more: Any,
) -> Case:
    """A row of one group, per budget unless `aim` is given; recipe dr_grpo unless another is."""
    exact = closed.exact(world)
    aim = closed.reward_gradient(exact, world.rewards[0]) / exact.budget
    found: dict[str, Any] = {"recipe": "dr_grpo", "aim": aim, "sizes": (size,), **more}
    expected = closed.pulled(exact, credit, slope, weight)
    return Case(name=name, world=world, expected=expected, says=says, **found)


def centered_credit(exact: Exact, rewards: Array, size: int) -> Credit:
    return closed.by_scale(closed.scale_centered(size), rewards, p_of(exact, rewards))


def credits(place: Place) -> Iterator[Case]:
    world, size = place.on, place.size
    exact, rewards = closed.exact(world), world.rewards[0]
    p, plain, budget = p_of(exact, rewards), closed.straight(exact.ratio), 1 / exact.budget
    scale = closed.scale_standardized(size, p)
    yield case(
        "standardized per budget",
        world,
        size,
        closed.by_scale(scale, rewards, p),
        plain,
        budget,
        "difficulty E√(K(G−K))/(Gpq)",
        factor=scale,
        changes={"credit": standardized},
        section="credit",
    )
    scale = closed.scale_sample(size, p, 1e-4)
    yield case(
        "sample std, floor 1e-4",
        world,
        size,
        closed.by_scale(scale, rewards, p),
        plain,
        budget,
        "difficulty with ddof 1 and a floor",
        factor=scale,
        changes={"credit": standardized_sample},
        section="credit",
    )
    graded = world.graded()
    values = graded.rewards[0]
    yield case(
        "centered, graded rewards",
        graded,
        size,
        centered_credit(exact, values, size),
        plain,
        budget,
        "(G−1)/G",
        factor=closed.scale_centered(size),
        section="credit",
    )
    yield _graded_off(place)


def _graded_off(place: Place) -> Case:
    graded = place.off.graded()
    exact, values = closed.exact(graded), graded.rewards[0]
    everyone = Answers(values, exact.lengths, np.ones_like(values))
    credit = coupled.coupled(
        exact.drawn, [everyone], [place.size], coupled.per_rollout(coupled.centered)
    )
    return case(
        "centered, graded rewards",
        graded,
        place.size,
        credit,
        closed.clip(exact.ratio, 0.2, 0.28),
        1 / exact.budget,
        "the sign of A hangs on the group",
        section="credit",
    )


def reductions(place: Place) -> Iterator[Case]:
    world, size = place.on, place.size
    exact, rewards = closed.exact(world), world.rewards[0]
    plain = closed.straight(exact.ratio)
    aim = closed.reward_gradient(exact, rewards) / mean_length(exact)
    each = 1 / exact.lengths[:, None]
    alike = centered_credit(exact, rewards, size)
    yield case(
        "centered per answer",
        world,
        size,
        alike,
        plain,
        each,
        "length: (G−1)/G · Cov(r, S/|o|)",
        aim=aim,
        changes={"reduce": reduce.per_answer},
        section="reduction",
    )
    ks = np.arange(size + 1) / size
    by_tokens = closed.per_token_by_integral(exact, rewards, size, np.stack([-ks, 1 - ks]))
    for name, cells in (("centered per token", 1_000_000), ("… in micro-batches", 4)):
        yield case(
            name,
            world,
            size,
            by_tokens,
            plain,
            1.0,
            "tokens: groups of short answers weigh more",
            aim=aim,
            changes={"reduce": reduce.per_token},
            cells=cells,
            section="reduction",
        )
    yield case(
        "dr_grpo in micro-batches",
        world,
        size,
        alike,
        plain,
        1 / exact.budget,
        "(G−1)/G, whatever the split",
        factor=closed.scale_centered(size),
        cells=4,
        section="reduction",
    )


def surrogates(place: Place) -> Iterator[Case]:
    """Settings that cut more than the recipes' own, off-policy."""
    world, size = place.off, place.size
    exact, rewards = closed.exact(world), world.rewards[0]
    credit = centered_credit(exact, rewards, size)
    ratio = exact.ratio
    rows = (
        ("clip .1/.25", Clip(0.1, 0.25), closed.clip(ratio, 0.1, 0.25), "clip"),
        (
            "dual clip at 1.5",
            DualClip(0.2, 0.3, 1.5),
            closed.dual_clip(ratio, 0.2, 0.3, 1.5),
            "clip",
        ),
        ("cispo .3/.2", Cispo(0.3, 0.2), closed.capped(ratio, 0.3, 0.2), "cap"),
        ("soft gate τ 3/6", SoftGate(3.0, 6.0), closed.soft_gate(ratio, 3.0, 6.0), "fade"),
    )
    says = {
        "clip": "tokens beyond the clip are silent",
        "cap": "weights capped to .7 … 1.2",
        "fade": "far tokens fade, by 1/cosh²(τ(ρ−1)/2)",
    }
    for name, surrogate, slope, kind in rows:
        yield case(
            name,
            world,
            size,
            credit,
            slope,
            1 / exact.budget,
            says[kind],
            changes={"surrogate": surrogate},
            clipped=(0.0, 0.0)
            if kind == "fade"  # nothing is cut, also where a saturated sigmoid is 0 in float64
            else clip_shares(exact, slope, rewards, size, kind == "cap"),
            both_sides=kind != "fade",
            section="surrogate",
        )


def batches(place: Place) -> Iterator[Case]:
    """Two problems in one batch: denominators are shared."""
    world = place.on
    exact = closed.exact(world)
    sizes = (place.size, 2)
    p = [p_of(exact, rewards) for rewards in world.rewards]
    signal = [closed.informative(n, q) for n, q in zip(sizes, p, strict=True)]
    gradients = [closed.reward_gradient(exact, r) / exact.budget for r in world.rewards]
    total = sum(sizes)
    aim = sum((n / total * g for n, g in zip(sizes, gradients, strict=True)), np.zeros(1))
    keep = [(n - 1) / total for n in sizes]
    drop = [
        (n - 1) * (other / total + (1 - other) / n)
        for n, other in zip(sizes, reversed(signal), strict=True)
    ]
    for zero_signal, weights, says in (
        ("keep", keep, "(G−1)/G of each group"),
        ("drop", drop, "more weight where the other has no signal"),
    ):
        expected = sum((w * g for w, g in zip(weights, gradients, strict=True)), np.zeros(1))
        yield Case(
            f"two groups, {zero_signal}",
            "dr_grpo",
            world,
            sizes,
            aim,
            expected,
            says,
            changes={"zero_signal": zero_signal},
            clipped=(0.0, 0.0),
            section="batch",
        )
    yield from _coupled_batches(place)


def _coupled_batches(place: Place) -> Iterator[Case]:
    rows: Sequence[tuple[str, str, Worth, str]] = (
        (
            "two groups",
            "cispo",
            coupled.per_token(coupled.standardized),
            "batch's tokens, of kept groups",
        ),
        (
            "two groups",
            "reinforce_pp",
            coupled.whitened_per_token(False),
            "a problem is judged by the other too",
        ),
        (
            "two groups",
            "reinforce_pp_baseline",
            coupled.whitened_per_token(True),
            "one std for both",
        ),
    )
    for name, recipe, worth, says in rows:
        yield _two(f"{recipe}, {name}", recipe, place.on, (2, 2), worth, says)


def _two(
    name: str, recipe: str, world: World, sizes: tuple[int, int], worth: Worth, says: str
) -> Case:
    exact = closed.exact(world)
    problems = [Answers(r, exact.lengths, np.ones_like(r)) for r in world.rewards]
    parts = [coupled.coupled(exact.drawn, problems, sizes, worth, of) for of in (0, 1)]
    plain = closed.straight(exact.ratio)
    aims = [closed.reward_gradient(exact, r) for r in world.rewards]
    return Case(
        name,
        recipe,
        world,
        sizes,
        (aims[0] + aims[1]) / 2 / mean_length(exact),
        sum((closed.pulled(exact, c, plain, 1.0) for c in parts), np.zeros(1)),
        says,
        section="batch",
    )


def truncation(place: Place) -> Iterator[Case]:
    """Answers cut by the budget: scored, masked, or paid less the longer they are."""
    world, size = replace(place.on, cut=True), place.size
    exact, rewards = closed.exact(world), world.rewards[0]
    plain, budget = closed.straight(exact.ratio), 1 / exact.budget
    yield case(
        "scored as they are",
        world,
        size,
        centered_credit(exact, rewards, size),
        plain,
        budget,
        "(G−1)/G",
        factor=closed.scale_centered(size),
        changes={"mask_truncated": False},
        section="truncated answers",
    )
    yield case(
        "masked",
        world,
        size,
        closed.masked_centered(exact, rewards, world.truncated, size),
        plain,
        budget,
        "no gradient against being cut",
        section="truncated answers",
    )
    yield from _masked(world, size)
    buffer = 2 / 3
    shaped = rewards - overlong(exact, buffer)
    yield case(
        "soft overlong, rloo",
        world,
        size,
        closed.by_scale(1.0, shaped, p_of(exact, shaped)),
        plain,
        budget,
        "none, of the reward with its penalty",
        recipe="rloo",
        aim=closed.reward_gradient(exact, shaped) * budget,
        factor=1.0,
        changes={"mask_truncated": False, "overlong": buffer},
        section="truncated answers",
    )


def _masked(world: World, size: int) -> Iterator[Case]:
    exact, rewards = closed.exact(world), world.rewards[0]
    everyone = Answers(rewards, exact.lengths, (1 - world.truncated).astype(np.float64))
    aim = closed.reward_gradient(exact, rewards) / mean_length(exact)
    rows: Sequence[tuple[str, Worth, Array | float]] = (
        ("grpo", coupled.per_rollout(coupled.standardized), 1 / exact.lengths[:, None]),
        ("cispo", coupled.per_token(coupled.standardized), 1.0),
        ("reinforce_pp_baseline", coupled.whitened_per_token(True), 1.0),
    )
    for recipe, worth, weight in rows:
        credit = coupled.coupled(exact.drawn, [everyone], [size], worth)
        yield case(
            f"masked, {recipe}",
            world,
            size,
            credit,
            closed.straight(exact.ratio),
            weight,
            "as masked, and the recipe's own",
            recipe=recipe,
            aim=aim,
            section="truncated answers",
        )

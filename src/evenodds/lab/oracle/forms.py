"""The recipes, as the papers have them: a credit, a slope and a weight, each by its closed form."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from evenodds.lab.oracle import closed
from evenodds.lab.oracle.case import Case
from evenodds.lab.oracle.closed import Credit, Exact, Slope
from evenodds.lab.oracle.coupled import (
    Answers,
    Worth,
    coupled,
    per_token,
    standardized_if_mixed,
    whitened_per_token,
)
from evenodds.lab.oracle.tree import Array
from evenodds.lab.oracle.world import Edge, World, make_edge

FOUR = 4
"""Smallest group whose std says anything: of two or three, all that have a signal have one std, and
`standardized` is `centered` times a number."""

GiveCredit = Callable[[Exact, Array, int], Credit]
Pull = Callable[[Exact], Slope]


@dataclass(frozen=True)
class Form:
    """What is documented of a recipe for 0 / 1 rewards and one group of G answers.

    credit: of each answer, times what of the denominator is not in `weight`. weight: `budget`
    1 / L, `answer` 1 / |o|, `one` where the credit has it all. factor: (G, p) -> the bias
    on-policy, where it is a plain factor. clips: whether the clip can be active on both sides.
    caps: whether it caps a weight instead. shaped: rewards with the recipe's penalties. edges: the
    limits that are taken from both sides. by_std: whether it divides by the std of the group, which
    must be taken at `FOUR` answers or more to be seen.
    """

    says: str
    credit: GiveCredit
    slope: Pull
    weight: Literal["budget", "answer", "one"]
    factor: Callable[[int, float], float] | None = None
    clips: bool = True
    caps: bool = False
    shaped: Callable[[Exact, Array], Array] = lambda exact, rewards: rewards
    says_off: str = "tokens beyond the clip are silent"
    edges: tuple[Edge, ...] = ("clip",)
    by_std: bool = False


def scaled(scale: Callable[[int, float], float]) -> GiveCredit:
    """The credit of everything that compares within a group."""

    def credit(exact: Exact, rewards: Array, size: int) -> Credit:
        p = float(exact.drawn @ rewards)
        return closed.by_scale(scale(size, p), rewards, p)

    return credit


def standardized_tokens(exact: Exact, rewards: Array, size: int) -> Credit:
    return closed.per_token_by_integral(exact, rewards, size, closed.standardized_by_count(size))


def by_kinds(worth: Worth) -> GiveCredit:
    def credit(exact: Exact, rewards: Array, size: int) -> Credit:
        everyone = Answers(rewards, exact.lengths, np.ones_like(rewards))
        return coupled(exact.drawn, [everyone], [size], worth)

    return credit


def overlong(exact: Exact, share: float) -> Array:
    """[M] what is taken off: 1 at the budget, rising in a line over its last share."""
    over = exact.lengths - (1 - share) * exact.budget
    return np.clip(over / (share * exact.budget), 0, 1).round(12)


def dapo_credit(exact: Exact, rewards: Array, size: int) -> Credit:
    """Groups count where their answers differ before the penalty, as eq. 8 of DAPO has it."""
    plain = rewards + overlong(exact, 0.2)
    everyone = Answers(rewards, exact.lengths, np.ones_like(rewards), plain)
    return coupled(exact.drawn, [everyone], [size], per_token(standardized_if_mixed))


def clip(low: float, high: float) -> Pull:
    return lambda exact: closed.clip(exact.ratio, low, high)


def plain(exact: Exact) -> Slope:
    return closed.straight(exact.ratio)


def gspo_slope(exact: Exact) -> Slope:
    return closed.clip(exact.sequence_ratio, 3e-4, 4e-4)


FORMS: dict[str, Form] = {
    "dr_grpo": Form(
        "(G−1)/G",
        scaled(lambda size, p: closed.scale_centered(size)),
        clip(0.2, 0.28),
        "budget",
        lambda size, p: (size - 1) / size,
    ),
    "grpo": Form(
        "difficulty E√(K(G−K))/(Gpq); length 1/|o|",
        scaled(closed.scale_standardized),
        clip(0.2, 0.2),
        "answer",
        by_std=True,
    ),
    "dapo": Form(
        "difficulty; tokens; penalty in mixed groups only",
        dapo_credit,
        clip(0.2, 0.28),
        "one",
        shaped=lambda exact, rewards: rewards - overlong(exact, 0.2),
        by_std=True,
    ),
    "gspo": Form(
        "difficulty E√(K(G−K))/(Gpq); length 1/|o|",
        scaled(closed.scale_standardized),
        gspo_slope,
        "answer",
        says_off="answers beyond the clip are silent",
        edges=("sequence",),
        by_std=True,
    ),
    "cispo": Form(
        "difficulty; tokens of the group",
        standardized_tokens,
        lambda exact: closed.capped(exact.ratio, 1.0, 4.0),
        "one",
        clips=False,
        caps=True,
        says_off="weights capped at 5",
        edges=("cap",),
        by_std=True,
    ),
    "sapo": Form(
        "difficulty E√(K(G−K))/(Gpq); length 1/|o|",
        scaled(closed.scale_standardized),
        lambda exact: closed.soft_gate(exact.ratio, 1.0, 1.05),
        "answer",
        clips=False,
        says_off="far tokens fade, by 1/cosh²(τ(ρ−1)/2)",
        edges=(),
        by_std=True,
    ),
    "dual_clip": Form(
        "difficulty E√(K(G−K))/(Gpq); length 1/|o|",
        scaled(closed.scale_standardized),
        lambda exact: closed.dual_clip(exact.ratio, 0.2, 0.2, 3.0),
        "answer",
        says_off="tokens beyond the clip or 3 (A<0) are silent",
        edges=("clip", "dual"),
        by_std=True,
    ),
    "maxrl": Form(
        "(1−q^(G−1))/p: towards ∇log p",
        scaled(closed.scale_mean_normalized),
        clip(0.2, 0.28),
        "budget",
        lambda size, p: (1 - (1 - p) ** (size - 1)) / p,
    ),
    "rloo": Form(
        "none",
        scaled(lambda size, p: 1.0),
        plain,
        "budget",
        lambda size, p: 1.0,
        clips=False,
        says_off="prefixes and rewards are those of π_old",
        edges=(),
    ),
    "reinforce": Form(
        "none",
        lambda exact, rewards, size: (rewards, np.zeros_like(rewards)),
        plain,
        "budget",
        lambda size, p: 1.0,
        clips=False,
        says_off="prefixes and rewards are those of π_old",
        edges=(),
    ),
    "reinforce_pp": Form(
        "difficulty √(T₀/T₁); tokens of the batch",
        by_kinds(whitened_per_token(center=False)),
        clip(0.2, 0.2),
        "one",
    ),
    "reinforce_pp_baseline": Form(
        "difficulty √(T₀/T₁); tokens of the batch",
        by_kinds(whitened_per_token(center=True)),
        clip(0.2, 0.2),
        "one",
    ),
}
"""A recipe without a form here fails `tests/lab/test_oracle.py`."""


def weight_of(form: Form, exact: Exact) -> Array | float:
    if form.weight == "budget":
        return 1.0 / exact.budget
    return 1.0 / exact.lengths[:, None] if form.weight == "answer" else 1.0


def unit(form: Form, exact: Exact) -> float:
    """What a gradient of J is divided by to be in the objective's unit."""
    return float(exact.budget if form.weight == "budget" else exact.drawn @ exact.lengths)


def clip_shares(
    exact: Exact, slope: Slope, rewards: Array, size: int, caps: bool = False
) -> tuple[float, float]:
    """Clipped with A < 0 and with A > 0, of all tokens in groups with signal; 0 / 1 rewards.

    caps: whether the slope is a capped weight, cut where it is not the ratio, and not at 0.
    """
    group = exact.drawn * closed.kept_given(size, rewards, float(exact.drawn @ rewards))
    tokens = float(group @ exact.lengths)
    cut = [(pull != exact.ratio) if caps else (pull == 0) for pull in slope]
    up, down = ((np.broadcast_to(c, exact.there.shape) * exact.there).sum(1) for c in cut)
    return float(group @ ((1 - rewards) * down)) / tokens, float(group @ (rewards * up)) / tokens


def recipe_case(recipe: str, world: World, size: int) -> Case:
    """The row of a recipe somewhere, by its form."""
    form, exact = FORMS[recipe], closed.exact(world)
    rewards = form.shaped(exact, world.rewards[0])
    is_binary = bool(np.isin(rewards, (0.0, 1.0)).all())
    p, on = float(exact.drawn @ rewards), world.where == "on"
    return Case(
        name=recipe,
        recipe=recipe,
        world=world,
        sizes=(size,),
        aim=closed.reward_gradient(exact, rewards) / unit(form, exact),
        expected=closed.pulled(
            exact, form.credit(exact, rewards, size), form.slope(exact), weight_of(form, exact)
        ),
        says=form.says if on else form.says_off,
        factor=form.factor(size, p) if on and form.factor else None,
        clipped=clip_shares(exact, form.slope(exact), rewards, size, form.caps)
        if is_binary
        else None,
        both_sides=form.clips and world.where == "off",
    )


Spot = tuple[World, int]
"""A world, and how many answers are in a group there."""


def recipe_cases(spots: Sequence[Spot], of_std: Sequence[Spot]) -> Iterator[Case]:
    """Every recipe in its spots, and at the limits of its clip. of_std: for those with a std."""
    for recipe, form in FORMS.items():
        for world, size in of_std if form.by_std else spots:
            yield recipe_case(recipe, world, size)
        for edge in form.edges:
            yield recipe_case(recipe, make_edge(edge), FOUR if form.by_std else 3)

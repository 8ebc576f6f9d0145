"""Rows for penalties in the loss or in the reward, and for samplers that are not the learner."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from evenodds.lab.oracle import closed, coupled
from evenodds.lab.oracle.axes import Place, case, centered_credit, mean_length, p_of
from evenodds.lab.oracle.case import Case
from evenodds.lab.oracle.closed import Exact
from evenodds.lab.oracle.forms import gspo_slope
from evenodds.lab.oracle.tree import Array
from evenodds.lab.oracle.world import World, with_other_sampler
from evenodds.objectives import reduce
from evenodds.objectives.correction import Correction, mask, truncate
from evenodds.objectives.penalty import KL

BETA, ETA = 0.5, 0.3  # of the KL, of the entropy; large, so that a wrong one is seen
VISITS = "visits held fixed"


def _alone(name: str, world: World, expected: Array, says: str, kl: KL, **more: Any) -> Case:
    """A penalty and nothing else: the rewards agree, and the group stays."""
    exact = closed.exact(world)
    found: dict[str, Any] = {
        "recipe": "dr_grpo",
        "sizes": (2,),
        "aim": -BETA / exact.budget * closed.kl_gradient(exact),
        "changes": {"kl_loss": kl, "zero_signal": "keep", **more.pop("changes", {})},
        "section": "KL in the loss, alone",
        **more,
    }
    return Case(name=name, world=world, expected=expected, says=says, **found)


def kl_alone(place: Place) -> Iterator[Case]:
    """What each estimator does as a loss; the aim is the gradient of the KL of whole answers."""
    world = place.on.without_signal()
    exact = closed.exact(world)
    per_symbol = -BETA / exact.budget
    reverse = per_symbol * closed.reverse_kl_visited(exact)
    forward = per_symbol * closed.forward_kl_visited(exact)
    rows = (
        ("k1", False, np.zeros_like(reverse), "no gradient at all", 0.0),
        ("k2", False, reverse, f"reverse KL, {VISITS}", None),
        ("k3", False, forward, f"forward KL(π_ref‖π), {VISITS}", None),
        ("k1", True, reverse, f"reverse KL, {VISITS}", None),
        ("k2", True, _weighted_k2(exact), "neither KL: ½ℓ² too much", None),
        ("k3", True, reverse, f"reverse KL, {VISITS}", None),
    )
    for estimator, weighted, expected, says, factor in rows:
        name = f"{estimator} weighted" if weighted else estimator
        kl = KL(BETA, estimator, weighted)
        yield _alone(name, world, expected, says, kl, factor=factor)
    yield _alone(
        "k1 per answer",
        world,
        -BETA * closed.reward_gradient(exact, 1 / exact.lengths),
        "not 0: −β∇E[1/|o|], for longer answers",
        KL(BETA, "k1"),
        changes={"reduce": reduce.per_answer},
        aim=-BETA / mean_length(exact) * closed.kl_gradient(exact),
    )
    yield _alone(
        "k3 weighted, per answer",
        world,
        exact.summed(BETA * exact.gap / exact.lengths[:, None]),
        "reverse KL of each prefix, length 1/|o|",
        KL(BETA, "k3", weighted=True),
        changes={"reduce": reduce.per_answer},
        aim=-BETA / mean_length(exact) * closed.kl_gradient(exact),
    )
    yield from _kl_alone_off(place)


def _weighted_k2(exact: Exact) -> Array:
    return -BETA / exact.budget * closed.visited(exact, exact.gap**2 / 2 - exact.gap)


def _kl_alone_off(place: Place) -> Iterator[Case]:
    world = place.off.without_signal()
    exact = closed.exact(world)
    per_symbol = -BETA / exact.budget
    yield _alone(
        "k3",
        world,
        exact.summed(per_symbol * (1 - np.exp(exact.gap))),
        "neither KL: symbols from π_old",
        KL(BETA, "k3"),
    )
    yield _alone(
        "k3 weighted",
        world,
        per_symbol * closed.reverse_kl_visited(exact),
        "reverse KL at the prefixes of π_old",
        KL(BETA, "k3", weighted=True),
    )


def kl_with_rewards(place: Place) -> Iterator[Case]:
    world, size = place.on, place.size
    exact, rewards = closed.exact(world), world.rewards[0]
    budget, credit = 1 / exact.budget, centered_credit(exact, rewards, size)
    kept = closed.kept_given(size, rewards, p_of(exact, rewards))[:, None]
    rows = (
        ("k3", "keep", 1 - np.exp(exact.gap), "(G−1)/G; forward KL, as above"),
        ("k2", "drop", kept * -exact.gap, "the KL of groups with signal only"),
    )
    for estimator, zero_signal, slope, says in rows:
        found = case(
            f"dr_grpo, {estimator}, {zero_signal}",
            world,
            size,
            credit,
            closed.straight(exact.ratio),
            budget,
            says,
            changes={"kl_loss": KL(BETA, estimator), "zero_signal": zero_signal},
            aim=_with_kl(exact, rewards),
            section="KL with rewards",
        )
        yield replace(found, expected=found.expected - BETA * budget * exact.summed(slope))
    yield from _kl_in_reward(place)
    yield _gspo_with_kl(place)


def _with_kl(exact: Exact, rewards: Array) -> Array:
    """The gradient of expected reward less the KL of whole answers, per budget."""
    aim = closed.reward_gradient(exact, rewards) - BETA * closed.kl_gradient(exact)
    return aim / exact.budget


def _kl_in_reward(place: Place) -> Iterator[Case]:
    world, size = place.on, place.size
    exact, rewards = closed.exact(world), world.rewards[0]
    values = rewards + BETA * exact.gap.sum(1)
    everyone = coupled.Answers(values, exact.lengths, np.ones_like(values), rewards)
    mixed = coupled.per_rollout(coupled.leave_one_out_if_mixed)
    all_of_it = closed.by_scale(1.0, values, p_of(exact, values))
    of_mixed = coupled.coupled(exact.drawn, [everyone], [size], mixed)
    rows = (
        ("drop", all_of_it, "none: reverse KL of whole answers", 1.0),
        ("refill", of_mixed, "the KL of groups with signal only", None),
    )
    for zero_signal, credit, says, factor in rows:
        yield case(
            f"rloo, KL in the reward, {zero_signal}",
            world,
            size,
            credit,
            closed.straight(exact.ratio),
            1 / exact.budget,
            says,
            recipe="rloo",
            changes={"kl_reward": BETA, "zero_signal": zero_signal},
            factor=factor,
            aim=_with_kl(exact, rewards),
            section="KL with rewards",
        )


def _gspo_with_kl(place: Place) -> Case:
    """The ratio is of the answer, the KL of its tokens; off-policy, so that the two differ."""
    world, size = place.off, place.size
    exact, rewards = closed.exact(world), world.rewards[0]
    p, each = p_of(exact, rewards), 1 / exact.lengths[:, None]
    credit = closed.by_scale(closed.scale_standardized(size, p), rewards, p)
    pull = closed.pulled(exact, credit, gspo_slope(exact), each)
    kl = BETA * closed.kl_gradient(exact)
    return Case(
        "gspo, k3, keep",
        "gspo",
        world,
        (size,),
        (closed.reward_gradient(exact, rewards) - kl) / mean_length(exact),
        pull - BETA * exact.summed(each * (1 - np.exp(exact.gap))),
        "KL by token, length 1/|o|",
        changes={"kl_loss": KL(BETA, "k3"), "zero_signal": "keep"},
        section="KL with rewards",
    )


def entropies(place: Place) -> Iterator[Case]:
    section = "entropy"
    for world in (place.on.without_signal(), place.off.without_signal()):
        exact = closed.exact(world)
        prefixes = VISITS if world.where == "on" else "at the prefixes of π_old"
        yield Case(
            "entropy alone",
            "dr_grpo",
            world,
            (2,),
            ETA / exact.budget * closed.entropy_gradient(exact),
            ETA / exact.budget * exact.drawn @ exact.entropy_gradient.sum(1),
            prefixes,
            changes={"entropy": ETA, "zero_signal": "keep"},
            section=section,
        )
    world, size = place.on, place.size
    exact, rewards = closed.exact(world), world.rewards[0]
    budget = 1 / exact.budget
    kept = closed.kept_given(size, rewards, p_of(exact, rewards))
    pull = closed.scale_centered(size) * closed.reward_gradient(exact, rewards) * budget
    bonus = ETA * budget * (exact.drawn * kept) @ exact.entropy_gradient.sum(1)
    aim = closed.reward_gradient(exact, rewards) + ETA * closed.entropy_gradient(exact)
    yield Case(
        "dr_grpo, entropy, drop",
        "dr_grpo",
        world,
        (size,),
        aim * budget,
        pull + bonus,
        "the entropy of groups with signal only",
        changes={"entropy": ETA, "zero_signal": "drop"},
        section=section,
    )


def corrections(place: Place) -> Iterator[Case]:
    """Answers from a sampler with numerics of its own; caps low enough to be met."""
    world, size, section = with_other_sampler(place.on), place.size, "sampler is not the learner"
    exact, rewards = closed.exact(world), world.rewards[0]
    budget, credit = 1 / exact.budget, centered_credit(exact, rewards, size)
    token, whole = exact.mismatch, exact.mismatch.prod(1)[:, None]
    yield case(
        "no correction",
        world,
        size,
        credit,
        closed.clip(exact.mismatch, 0.2, 0.28),
        budget,
        "the clip cuts the mismatch",
        section=section,
    )
    exactly = closed.scale_centered(size)
    rows: tuple[tuple[str, Correction, Array, str, float | None], ...] = (
        ("token, no cap", Correction(truncate, 1e6), token, "prefixes of the sampler", None),
        ("token, truncate 1.1", Correction(truncate, 1.1), np.minimum(token, 1.1), "", None),
        ("token, mask 1.1", Correction(mask, 1.1), token * (token <= 1.1), "", None),
        ("answer, no cap", Correction(truncate, 1e6, True), whole, "(G−1)/G", exactly),
        ("answer, truncate 1.1", Correction(truncate, 1.1, True), np.minimum(whole, 1.1), "", None),
        ("answer, mask 1.1", Correction(mask, 1.1, True), whole * (whole <= 1.1), "", None),
    )
    for name, correction, weight, says, factor in rows:
        says = says or f"{'silent' if 'mask' in name else 'bounded'} above the cap"
        yield case(
            name,
            world,
            size,
            credit,
            closed.straight(exact.ratio),
            budget * weight,
            says,
            changes={"correction": correction},
            factor=factor,
            section=section,
        )
    yield _moved(place)


def _moved(place: Place) -> Case:
    """Three policies: the sampler, the learner's first, and what it is by now; and a KL."""
    world, size = with_other_sampler(place.off), place.size
    exact, rewards = closed.exact(world), world.rewards[0]
    budget = 1 / exact.budget
    weight = np.minimum(exact.mismatch, 1.1)
    found = case(
        "token, truncate 1.1, clip, k3 weighted",
        world,
        size,
        centered_credit(exact, rewards, size),
        closed.clip(exact.ratio, 0.2, 0.28),
        budget * weight,
        "off-policy; the KL is not corrected",
        changes={
            "correction": Correction(truncate, 1.1),
            "kl_loss": KL(BETA, "k3", True),
            "zero_signal": "keep",
        },
        section="sampler is not the learner",
    )
    penalty = BETA * budget * exact.summed(exact.ratio * -exact.gap)
    aim = found.aim - BETA * budget * closed.kl_gradient(exact)
    return replace(found, expected=found.expected - penalty, aim=aim)

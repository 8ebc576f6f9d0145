"""Synthetic runs: rows of metrics as a run writes them, with its noise, some with a fault in them.

A fault is a change of what produces the rows, and its onset is the first step that it touches: not
the step at which it would be plain to see. Noise is that of counts: groups and answers are drawn
from the rates of their step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from evenodds.alarms import Facts

Row = dict[str, Any]


@dataclass(frozen=True)
class World:
    """What produces the row of one step; rates are shares of answers or of groups.

    spread: of the solve rates of a step's problems around `right` (sd on the logit scale); larger
    ones mean fewer mixed groups. gap: nats between sampler and learner. reward: mean beside `right`
    that is paid for something else. heldout: (pass@1 gain, pass@k gain) against the base.
    """

    groups: int = 16
    size: int = 16
    right: float = 0.55
    spread: float = 0.8
    entropy: float = 0.28
    entropy_noise: float = 0.1
    length: float = 30.0
    difficulty: float | None = 3.0
    cut: float = 0.01
    errors: float = 0.0
    duplicates: float = 0.3
    grad: float = 0.03
    grad_noise: float = 0.3
    ratio: float = 1.0
    clip: float = 0.0
    kl: float | None = None
    gap: float = 1e-7
    overpaid: float | None = None
    canary: float | None = None
    extra: float = 0.0
    heldout: tuple[float, float] | None = None
    broken: bool = False


def row(world: World, step: int, rng: np.random.Generator) -> Row:
    """One line of metrics.jsonl as `run/records.py` writes it, drawn from the world of a step."""
    size = world.size
    center = np.log(world.right / (1 - world.right)) if 0 < world.right < 1 else 0.0
    rates = 1 / (1 + np.exp(-rng.normal(center, world.spread, world.groups)))
    rates = rates if 0 < world.right < 1 else np.full(world.groups, world.right)
    right = rng.binomial(size, rates)
    mixed = (right > 0) & (right < size)
    solved = float(right.mean() / size)
    made: Row = {
        "step": step,
        "reward": solved + world.extra,
        "reward_std": float(np.sqrt(right / size * (1 - right / size)).mean()),
        "frac_reward_zero_std": float(1 - mixed.mean()),
        "groups/drawn": world.groups,
        "solve_rate": solved,
        "solve_rate/all": solved,
        "groups/mixed": float(mixed.mean()),
        **_levels(right / size, rng),
        "completions/mean_length": world.length * float(rng.lognormal(0, 0.05)),
        "completions/clipped_ratio": _share(world.cut, world, rng),
        "completions/duplicates": _share(world.duplicates, world, rng),
        "status/error": _share(world.errors, world, rng),
        "status/timeout": 0.0,
        "time/step": float(rng.lognormal(0, 0.3)),
    }
    made |= _optional(world, rng)
    if not mixed.any():
        return made | {"skipped": "every group agreed: nothing to learn from"}
    return made | _update(world, rng)


def _levels(rates: np.ndarray, rng: np.random.Generator) -> Row:
    """The groups of a step spread over three neighbouring levels."""
    made: Row = {}
    where = rng.integers(2, 5, rates.size)
    for level in np.unique(where):
        made[f"level/{level}/solve_rate"] = float(rates[where == level].mean())
        made[f"level/{level}/groups"] = int((where == level).sum())
    return made


def _share(rate: float, world: World, rng: np.random.Generator) -> float:
    count = world.groups * world.size
    return float(rng.binomial(count, min(max(rate, 0.0), 1.0)) / count)


def _optional(world: World, rng: np.random.Generator) -> Row:
    made: Row = {}
    if world.difficulty is not None:
        made["difficulty"] = world.difficulty
    if world.overpaid is not None:
        made["audit/overpaid"] = _share(world.overpaid, world, rng)
    if world.canary is not None:
        made["canary/paid"] = float(rng.binomial(world.size, world.canary) / world.size)
    return made


def _update(world: World, rng: np.random.Generator) -> Row:
    tail = 1 + (world.ratio - 1) * float(rng.lognormal(0, 0.15))
    made: Row = {
        "loss": float("nan") if world.broken else float(rng.normal(0, 0.01)),
        "grad_norm": world.grad * float(rng.lognormal(0, world.grad_noise)),
        "entropy": world.entropy * float(rng.lognormal(0, world.entropy_noise)),
        "ratio/p99": tail,
        "ratio/p01": 1 / tail,
        "ratio/max": tail**3,
        "clip_ratio/region_mean": min(1.0, world.clip * float(rng.lognormal(0, 0.1))),
        "kl_to_old/k3": 0.3 * (tail - 1) ** 2,
        "sampling/sampling_logp_difference/mean": world.gap * float(rng.lognormal(0, 0.3)),
    }
    return made | ({} if world.kl is None else {"kl": world.kl * float(rng.lognormal(0, 0.25))})


def heldout(world: World, step: int, every: int, rng: np.random.Generator) -> Row:
    """Held-out problems every few steps: 100 of them, so gains are known to some four points."""
    if world.heldout is None or step % every:
        return {}
    one, many = (gain + float(rng.normal(0, 0.015)) for gain in world.heldout)
    return {
        "heldout/pass@1": 0.5 + one,
        "heldout/pass@k": 0.8 + many,
        "heldout/k": 8,
        "heldout/pass@1_gain": one,
        "heldout/pass@1_gain_high": one + 0.035,
        "heldout/pass@k_gain": many,
        "heldout/pass@k_gain_high": many + 0.045,
    }


@dataclass(frozen=True)
class Trace:
    """A run of `steps` steps. world: of a step. onset: first step of the fault; None is healthy.

    name: of the alarm that is due. every: steps between evaluations on the way.
    """

    name: str
    world: Callable[[int], World]
    onset: int | None = None
    steps: int = 80
    every: int = 5
    facts: Facts = field(default_factory=Facts)

    def rows(self, seed: int) -> Iterator[Row]:
        rng = np.random.default_rng([seed, *self.name.encode()])
        for step in range(1, self.steps + 1):
            world = self.world(step)
            yield row(world, step, rng) | heldout(world, step, self.every, rng)


HEALTHY = World()
ONSET = 41


def fault(name: str, change: Callable[[int], Row], before: World = HEALTHY, **more: Any) -> Trace:
    """A healthy run until `ONSET`; then `change` of the steps since (1 at the onset) is applied."""

    def world(step: int) -> World:
        since = step - ONSET + 1
        return before if since < 1 else replace(before, **change(since))

    return Trace(name, world, ONSET, steps=ONSET + 25, **more)


EVALUATED = replace(HEALTHY, heldout=(0.05, 0.03))
NO_GAIN = replace(HEALTHY, heldout=(0.0, 0.0))
SEVERAL_PASSES = replace(HEALTHY, ratio=1.3, clip=0.05, kl=0.04)

FAILING = (
    fault("entropy_collapse", lambda n: {"entropy": 0.28 * 0.72**n}),
    fault("near_duplicates", lambda n: {"duplicates": min(0.97, 0.3 + 0.2 * n)}),
    fault("informative_loss", lambda n: {"spread": 0.8 + 3.0 * n}),
    fault("passk_fall", lambda n: {"heldout": (0.05 + 0.01 * n, 0.03 - 0.03 * n)}, EVALUATED),
    fault("heavy_ratio_tail", lambda n: {"ratio": 1.3 * 1.8**n}, SEVERAL_PASSES),
    fault("all_truncated", lambda n: {"cut": 0.98, "right": 0.2}),
    fault("constant_reward", lambda n: {"right": 0.0}),
    fault("length_blowup", lambda n: {"length": min(96.0, 30 * 1.35**n), "right": 0.5}),
    fault("verifier_errors", lambda n: {"errors": min(0.9, 0.04 * n)}),
    fault("non_finite", lambda n: {"broken": True}),
    fault("kl_blowup", lambda n: {"kl": 0.04 * 2.8**n}, SEVERAL_PASSES),
    fault("clip_saturated", lambda n: {"clip": min(0.95, 0.05 + 0.3 * n)}, SEVERAL_PASSES),
    fault("grad_spike", lambda n: {"grad": 3.0}),
    fault("audit_disagreement", lambda n: {"overpaid": 0.04 * n}, replace(HEALTHY, overpaid=0.01)),
    fault("canary_paid", lambda n: {"canary": 0.3}, replace(HEALTHY, canary=0.0)),
    fault("reward_without_gain", lambda n: {"extra": min(0.4, 0.08 * n)}, NO_GAIN),
    fault("sampler_mismatch", lambda n: {"gap": 0.3}, replace(HEALTHY, gap=0.02)),
    fault("no_updates", lambda n: {"right": 0.0, "extra": 0.1}),
)


def demonstration(step: int) -> World:
    """As the bundled model learns to multiply: the ladder climbs, answers grow fourfold."""
    done = min(1.0, step / 90)
    return World(
        entropy=0.28 * 0.16**done,
        length=9 * 4.2**done,
        difficulty=3.3 + 4 * done,
        duplicates=0.5,
        kl=0.05 * done,
        heldout=(0.25 * done, 0.3 * done),
        overpaid=0.0,
        canary=0.0,
    )


def small_model(step: int) -> World:
    """A small instruction model on word problems in bfloat16: hard, long, often cut at first."""
    done = min(1.0, step / 60)
    return World(
        groups=8,
        size=8,
        right=0.06 + 0.25 * done,
        spread=1.8,
        entropy=0.55 - 0.2 * done,
        length=150 - 20 * done,
        difficulty=None,
        cut=0.55 - 0.4 * done,
        errors=0.004,
        duplicates=0.02,
        grad=0.4,
        grad_noise=0.6,
        gap=0.012,
        kl=0.01 + 0.05 * done,
        heldout=(0.2 * done, 0.1 * done),
    )


def tiny_groups(step: int) -> World:
    """Two problems with four answers: most of what is seen is chance, and many steps are idle."""
    return World(
        groups=2, size=4, right=0.15, spread=1.5, length=20, grad_noise=1.0, duplicates=0.5
    )


def longer_thoughts(step: int) -> World:
    """Answers grow eightfold over the run because that solves more; entropy falls and settles."""
    done = min(1.0, step / 300)
    return World(
        right=0.2 + 0.5 * done,
        spread=1.6,
        entropy=0.12 + 0.38 * 0.1 ** (4 * done),
        length=200 * 8**done,
        difficulty=None,
        cut=0.02 + 0.05 * done,
        duplicates=0.0,
        gap=0.006,
        overpaid=0.015,
        heldout=(0.3 * done, 0.15 * done),
    )


def learns_fast(step: int) -> World:
    """As SmolLM2 learns sums from few examples in bfloat16: within ten steps it knows how."""
    done = 1 / (1 + np.exp(-(step - 9) / 1.5))
    return World(
        groups=8,
        size=8,
        right=0.06 + 0.52 * done,
        spread=2.5,
        entropy=0.85 - 0.6 * done,
        entropy_noise=0.35,
        length=4.7,
        difficulty=None,
        cut=0.1 - 0.08 * done,
        duplicates=0.6,
        gap=0.035,
        ratio=1.25,
    )


def many_passes(step: int) -> World:
    """Four passes a batch with a KL in the loss: ratios move, some tokens are clipped."""
    done = min(1.0, step / 60)
    return World(ratio=1.7, clip=0.15, kl=0.25 * done, entropy=0.3 * 0.4**done, grad_noise=0.7)


def nearly_solved(step: int) -> World:
    """A task that is learned to the end: most groups agree, and all are right."""
    done = min(1.0, step / 50)
    return World(
        right=0.5 + 0.47 * done,
        spread=1.0,
        entropy=0.3 * 0.15**done,
        difficulty=None,
        duplicates=0.4 + 0.5 * done,
        heldout=(0.45 * done, 0.2 * done),
    )


SILENT = (
    Trace("demonstration", demonstration, steps=120),
    Trace("small model", small_model, steps=100, facts=Facts(8, 256)),
    Trace("tiny groups", tiny_groups, steps=150, facts=Facts(4, 64)),
    Trace("five steps", small_model, steps=5, facts=Facts(8, 256)),
    Trace("longer thoughts", longer_thoughts, steps=320, every=20, facts=Facts(16, 4096)),
    Trace("learns fast", learns_fast, steps=90, facts=Facts(8, 32)),
    Trace("many passes", many_passes, steps=120),
    Trace("nearly solved", nearly_solved, steps=120),
)

"""Whether the first ratio is 1: learner, sampler and the model itself give a token one number."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import torch

from evenodds.batch import collate
from evenodds.domain import Group, Status, Verdict
from evenodds.errors import RunError
from evenodds.learner import LearnerOptions, TorchLearner
from evenodds.objectives import make_objective
from evenodds.run.build import learner_options
from evenodds.run.preflight.finding import Finding
from evenodds.run.preflight.ground import Ground
from evenodds.run.preflight.trial import (
    SEED,
    Gap,
    by_learner,
    draw_trial,
    is_exact,
    judged,
    padded,
)

if TYPE_CHECKING:
    from evenodds.policies import Policy

WHY = (
    "the objective divides learner by sampler. What is not equal before the first update is "
    "clipped and weighed as if it had been learned, and the run drifts or collapses"
)
ROUNDED = "--policy.dtype float32, or --objective.correction token_truncate"
ELSEWHERE = "another --policy.name: the layers of this one do not compute what its sampler does"
SHAKE = 10.0  # times the learning rate of the run: an update that is large enough to be seen


def _change(policy: Policy) -> str:
    return ELSEWHERE if is_exact(policy) else ROUNDED


def first_ratio(ground: Ground) -> Finding:
    """Log-probabilities of fresh answers by the learner against those that the sampler recorded."""
    policy = ground.made.policy
    try:
        trial = ground.trial
    except RunError as error:  # what is no distribution cannot be drawn from
        return Finding("ratio", "fatal", str(error), WHY, _change(policy))
    options = learner_options(ground.plan.config, policy, ground.made.memory)
    gap = Gap.between(by_learner(policy, trial, options.micro_batch_tokens), trial.recorded)
    level = judged(gap, is_exact(policy))
    kind = str(policy.model.dtype).removeprefix("torch.")
    what = f"learner and sampler differ by {gap} on {len(trial.recorded)} fresh tokens in {kind}"
    if level == "fine":
        return Finding("ratio", level, what)
    return Finding("ratio", level, what, WHY, _change(policy))


def positions(ground: Ground) -> Finding:
    """The same answers alone by the model itself, in a padded batch, and packed."""
    policy, corners = ground.made.policy, ground.corners
    gaps = {"padded": Gap.between(padded(policy, corners.trial), corners.alone)}
    if policy.can_share:
        gaps["packed"] = Gap.between(corners.learned, corners.alone)
    worst = max(gaps, key=lambda name: (not gaps[name].is_finite, gaps[name].most))
    level = judged(gaps[worst], is_exact(policy))
    if level == "fine":
        what = f"alone or {' or '.join(gaps)}, answers have one log-probability: {gaps[worst]}"
        return Finding("positions", level, what)
    return Finding(
        "positions",
        level,
        f"an answer alone and the same one {worst} beside a longer one differ by {gaps[worst]}",
        "positions or attention of a row depend on its neighbours, so what is learned does too",
        _change(policy),
    )


def warm_ratio(ground: Ground) -> Finding | None:
    """The same after an update that is thrown away, which warms an adapter: in `doctor` alone.

    Weights, the sampler's copy of them and its version are what they were, bit for bit.
    """
    if ground.probe is None:
        return None
    policy, sampler = ground.made.policy, ground.made.sampler
    with _thrown_away(ground):
        before = by_learner(policy, ground.trial)
        _shaken(ground)
        moved = Gap.between(by_learner(policy, ground.trial), before)
        trial = draw_trial(ground.plan, sampler, seed=SEED + 1)
        gap = Gap.between(by_learner(policy, trial), trial.recorded)
    if not moved.most:
        return _unmoved()
    level = judged(gap, is_exact(policy))
    what = f"after an update that moved tokens by {moved.mean:.2g} nats, they differ by {gap}"
    if level == "fine":
        return Finding("ratio_after_update", level, what)
    return Finding("ratio_after_update", level, what, WHY, _change(policy))


def _unmoved() -> Finding:
    return Finding(
        "ratio_after_update",
        "fatal",
        "an update changed no log-probability at all",
        "nothing would ever be learned: no gradient reaches a parameter that is used, or the type "
        "of the weights is too short for the learning rate",
        "--policy.adapter lora, or --policy.dtype float32",
    )


def _shaken(ground: Ground) -> None:
    """One update towards every second answer, then the sampler reads the weights again."""
    policy, trial = ground.made.policy, ground.trial
    verdicts = [Verdict(float(n % 2), Status.RIGHT) for n in range(len(trial.groups[0]))]
    groups = [Group(p, g, verdicts) for p, g in zip(trial.problems, trial.groups, strict=True)]
    objective = make_objective("dr_grpo", mask_truncated=False)
    rate = SHAKE * learner_options(ground.plan.config, policy).learning_rate
    learner = TorchLearner(policy, LearnerOptions(learning_rate=rate, warmup_steps=0))
    learner.update(collate(groups, objective), objective)
    ground.made.sampler.load(learner.weights(), ground.made.sampler.version + 1)


@contextmanager
def _thrown_away(ground: Ground) -> Generator[None]:
    """What is trained in here is undone."""
    policy, sampler = ground.made.policy, ground.made.sampler
    version = sampler.version
    kept = {name: p.detach().clone() for name, p in policy.trainable().items()}
    try:
        yield
    finally:
        with torch.no_grad():
            for name, parameter in policy.trainable().items():
                parameter.copy_(kept[name])
                parameter.grad = None
        policy.refresh()
        sampler.load(policy.trainable(), version)

"""Steps at the edge of what floats hold, for every objective: what is not finite or not centred.

Log ratios up to 1e4 inside the loss, and anything at all outside of it; equal, huge and almost
equal rewards; empty answers, answers that were all cut, groups of one, answers of one token.
"""

from __future__ import annotations

import numpy as np
import torch

from evenodds.batch import advantages, collate
from evenodds.domain import Group, Limits, Problem, Rollout, Status, Stop, Verdict
from evenodds.objectives import Objective, Tokens, shaped
from tests.objectives.cases import OBJECTIVES

NAMES = sorted(OBJECTIVES)
BUDGET = 12
HARM = (np.nan, np.inf, -np.inf, 1e4, -1e4)
CENTRED = {"centered", "standardized", "standardized_sample", "leave_one_out", "mean_normalized"}
FAR = (0.0, 1e-3, 0.5, 3.0, 30.0, 90.0, 1e3, 1e4)  # nats between two policies on a token


def rewards(rng: np.random.Generator, size: int) -> np.ndarray:
    kind = rng.integers(7)
    if kind == 0:
        return np.full(size, rng.choice([0.0, 1.0, 0.1, -3.5, 1e12]))
    if kind == 1:
        return rng.choice([0.0, 1.0], size)
    if kind == 2:
        return rng.choice([-1e18, 0.0, 1e12, 1e18], size)
    if kind == 3:
        return 0.5 + 1e-7 * rng.standard_normal(size)  # noise, not a difference
    if kind == 4:
        return 1e9 + rng.choice([0.0, 1e-5, 1.0], size)
    if kind == 5:
        return rng.choice([1e-5, 2e-5, -1e-5], size)
    return rng.standard_normal(size) * 10.0 ** rng.integers(-6, 7)


def logprobs(rng: np.random.Generator, n: int) -> np.ndarray:
    return -rng.choice(FAR, n).astype(np.float32)


def group(rng: np.random.Generator, number: int) -> Group:
    size = int(rng.integers(1, 7))
    all_cut, all_empty = rng.random() < 0.1, rng.random() < 0.05
    rollouts, verdicts = [], []
    for seed, score in enumerate(rewards(rng, size)):
        n = 0 if all_empty else int(rng.choice([0, 1, 1, 2, 5, BUDGET]))
        cut = n > 0 and (all_cut or rng.random() < 0.2)
        rollouts.append(
            Rollout(
                prompt_ids=np.array([3, 4]),
                ids=rng.integers(2, 17, n),
                logprobs=logprobs(rng, n),
                stop=Stop.BUDGET if cut else Stop.END_TOKEN,
                text="",
                seed=seed,
                limits=Limits(BUDGET),
                reference_logprobs=logprobs(rng, n),
            )
        )
        judged = rng.random() < 0.9
        verdicts.append(Verdict(float(score), Status.WRONG if judged else Status.ERROR))
    return Group(Problem(str(number), "", "", "t"), rollouts, verdicts)


def outside_harmed(
    rng: np.random.Generator, groups: list[Group], objective: Objective
) -> list[Group]:
    """What is not in the loss may hold anything. A KL in the reward reads what is judged."""
    inside = {answer.index for answer in collate(groups, objective).answers}
    found, index = [], 0
    for one in groups:
        rollouts = []
        for rollout, verdict in zip(one.rollouts, one.verdicts, strict=True):
            free = index not in inside and not (objective.kl_reward and verdict.is_judged)
            if free and rollout.ids.size:
                rollout.logprobs[:] = rng.choice(HARM, rollout.ids.size)
                rollout.reference_logprobs[:] = rng.choice(HARM, rollout.ids.size)
            rollouts.append(rollout)
            index += 1
        found.append(Group(one.problem, rollouts, one.verdicts))
    return found


def amiss(name: str, seed: int) -> list[str]:
    """What is wrong with one step drawn from this seed; empty where all is as it should be."""
    objective = OBJECTIVES[name]
    rng = np.random.default_rng([NAMES.index(name), seed])
    groups = [shaped(group(rng, g), objective) for g in range(int(rng.integers(1, 5)))]
    groups = outside_harmed(rng, groups, objective)
    return _advantages(groups, objective) + _loss(rng, groups, objective)


def _advantages(groups: list[Group], objective: Objective) -> list[str]:
    found = []
    for one, credit in zip(groups, advantages(groups, objective), strict=True):
        if not np.isfinite(credit).all():
            found.append(f"advantages {credit} of {one.rewards}")
        if objective.credit.__name__ in CENTRED and not objective.whiten:
            scale = max(1.0, float(np.abs(credit).max(initial=0)))
            if abs(credit.sum()) > 1e-6 * scale:
                found.append(f"advantages of {one.rewards} sum to {credit.sum()}")
    return found


def _loss(rng: np.random.Generator, groups: list[Group], objective: Objective) -> list[str]:
    batch = collate(groups, objective)
    answers = batch.answers
    if not answers:
        return []
    lengths = [answer.ids.size for answer in answers]
    n = sum(lengths)
    current = torch.from_numpy(logprobs(rng, n)).requires_grad_()
    entropy = torch.rand(n, generator=torch.Generator().manual_seed(0)).requires_grad_()
    tokens = Tokens(
        current,
        torch.from_numpy(np.concatenate([answer.old_logprobs for answer in answers])),
        torch.from_numpy(np.repeat([a.advantage for a in answers], lengths).astype(np.float32)),
        torch.from_numpy(np.repeat(np.arange(len(answers)), lengths)),
        torch.tensor(lengths),
        torch.from_numpy(logprobs(rng, n)),
        torch.from_numpy(np.concatenate([a.reference_logprobs for a in answers])),
        entropy,
    )
    scored = objective.score(tokens, batch.extent)
    scored.loss.backward()
    grads = [g for g in (current.grad, entropy.grad) if g is not None]
    found = [] if bool(scored.loss.isfinite()) else [f"loss {scored.loss}"]
    return found + ["gradient" for g in grads if not bool(g.isfinite().all())]

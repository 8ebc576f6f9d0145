"""Penalties and corrections as small tables, filled by the functions that training uses."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from evenodds.domain import Group, Limits, Problem, Rollout, Status, Stop, Verdict
from evenodds.objectives import Objective, Tokens, shaped
from evenodds.objectives.correction import Correction
from evenodds.objectives.penalty import KL
from evenodds.objectives.shaping import soft_overlong
from evenodds.report.explain import Table
from evenodds.run.config import Config

RATIOS = (0.25, 0.5, 0.8, 1.0, 1.25, 2.0, 4.0)
DRIFTS = (0.9, 1.0, 1.1, 1.25)
LIKELY = -3.0


def tables_of(objective: Objective, config: Config) -> tuple[Table, ...]:
    return tuple(_tables(objective, config))


def _tables(objective: Objective, config: Config) -> Iterator[Table]:
    budget = config.sampling.max_tokens
    if objective.overlong > 0:
        yield _overlong(objective.overlong, budget)
    if objective.kl_loss is not None:
        yield _kl(objective.kl_loss)
    if objective.kl_reward:
        yield _kl_reward(objective, budget)
    if objective.correction is not None:
        yield _correction(objective.correction)


def _overlong(share: float, budget: int) -> Table:
    """From where it begins to the budget, in four steps."""
    places = {round(budget * (1 - share * (1 - step / 4))) for step in range(5)}
    rows = tuple(
        (float(n), soft_overlong(n, budget, share)) for n in sorted({(budget + 1) // 2, *places})
    )
    return Table("overlong: what is added to the reward", ("tokens", "reward"), rows)


def _at(ratios: tuple[float, ...], old: float | None = None) -> Tokens:
    """One-token answers whose policy is now so many times as likely as at the start.

    old None: just drawn, so the ratio to the sampler is 1.
    """
    n = len(ratios)
    start = torch.full((n,), LIKELY, dtype=torch.float64)
    logprobs = (start + torch.tensor(ratios, dtype=torch.float64).log()).requires_grad_()
    drawn = logprobs.detach() if old is None else start
    ones = torch.ones(n, dtype=torch.int64)
    return Tokens(logprobs, drawn, torch.zeros_like(start), torch.arange(n), ones, drawn, start)


def _kl(kl: KL) -> Table:
    tokens = _at(RATIOS)
    cost = kl(tokens.logprobs - tokens.old_logprobs, tokens)
    (slope,) = torch.autograd.grad(cost.sum(), tokens.logprobs)
    columns = ("ratio to the start", "cost", "push")
    rows = zip(RATIOS, _list(cost), _list(-slope), strict=True)
    return Table("KL in the loss: cost of a token, and its push on log π", columns, tuple(rows))


def _kl_reward(objective: Objective, budget: int) -> Table:
    """By how much likelier all tokens of an answer of half the budget are than at the start."""
    length = max(1, budget // 2)
    rows = tuple((drift, _lost(objective, drift, length, budget)) for drift in DRIFTS)
    title = f"KL in the reward: what an answer of {length} tokens gets for it"
    return Table(title, ("ratio of each token to the start", "reward"), rows)


def _lost(objective: Objective, drift: float, length: int, budget: int) -> float:
    logprobs = np.full(length, LIKELY, dtype=np.float32)
    rollout = Rollout(
        prompt_ids=np.zeros(1, dtype=np.int64),
        ids=np.zeros(length, dtype=np.int64),
        logprobs=logprobs,
        stop=Stop.END_TOKEN,
        text="",
        limits=Limits(budget),
        reference_logprobs=logprobs - np.float32(math.log(drift)),
    )
    group = Group(Problem("", "", "", ""), [rollout], [Verdict(0.0, Status.WRONG)])
    return shaped(group, objective).verdicts[0].parts["kl"] + 0.0  # no −0


def _correction(correction: Correction) -> Table:
    """Of answers of one token, so that a weight by the answer is the same."""
    n = len(RATIOS)
    old = torch.full((n,), LIKELY, dtype=torch.float64)
    first = old + torch.tensor(RATIOS, dtype=torch.float64).log()
    ones = torch.ones(n, dtype=torch.int64)
    tokens = Tokens(first, old, torch.zeros_like(old), torch.arange(n), ones, first)
    weights = correction(tokens)
    over = "answer" if correction.sequence else "token"
    columns = (f"learner / sampler, {over}", "weight")
    title = f"correction: the weight of a token by how the {over} was drawn"
    return Table(title, columns, tuple(zip(RATIOS, _list(weights), strict=True)))


def _list(values: Tensor) -> list[float]:
    """+ 0 so that no −0 is printed."""
    return [float(value) + 0.0 for value in values.detach()]

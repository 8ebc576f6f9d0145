"""What the code does: the expected gradient of the estimator over *all* groups of answers.

Every group goes the way of a training step: `shaped`, `collate`, `lay_out`, `Objective.score` and
autograd. Nothing here knows a formula of an objective.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations_with_replacement, product
from math import factorial, prod

import numpy as np
import torch
from torch import Tensor

from evenodds.batch import Batch, collate, lay_out
from evenodds.domain import Group, Limits, Problem, Rollout, Status, Stop, Verdict
from evenodds.lab.oracle.tree import Array
from evenodds.lab.oracle.world import World
from evenodds.objectives import Objective
from evenodds.objectives.shaping import shaped

CPU = torch.device("cpu")
PROMPT = np.array([0])

Draw = tuple[tuple[int, ...], float]
"""The answers of one group, by number, and the probability of this draw."""


@dataclass(frozen=True)
class Moments:
    """Of the gradient of J, which is what an update goes up by.

    mean: [parameters]. std: root of the trace of the covariance. clipped_low, clipped_high: shares
    of all tokens in the loss, weighted by probability, where the clip is active and A < 0, A > 0;
    it must never be active at A = 0, which would count as low.
    """

    mean: Array
    std: float
    clipped_low: float
    clipped_high: float


def multisets(probabilities: Array, size: int) -> Iterator[Draw]:
    """All groups, those that differ only in order taken together."""
    for answers in combinations_with_replacement(range(len(probabilities)), size):
        repeats = prod(factorial(count) for count in Counter(answers).values())
        yield answers, factorial(size) / repeats * float(np.prod(probabilities[list(answers)]))


def ordered(probabilities: Array, size: int) -> Iterator[Draw]:
    """All M^G groups, one by one."""
    for answers in product(range(len(probabilities)), repeat=size):
        yield answers, float(np.prod(probabilities[list(answers)]))


def _rollouts(world: World) -> list[Rollout]:
    tree = world.tree
    found: list[Rollout] = []
    for answer, nodes, cut in zip(tree.answers, tree.nodes, world.truncated, strict=True):
        nodes = nodes[: len(answer)]
        end = Stop.END_TOKEN if answer[-1] == tree.letters else Stop.STOP_STRING
        rollout = Rollout(
            PROMPT,
            np.array(answer) + 1,
            world.old[nodes],  # pyright: ignore[reportArgumentType]  float64, on purpose
            Stop.BUDGET if cut else end,
            tree.spelled(answer),
            limits=Limits(tree.budget),
            reference_logprobs=world.reference[nodes],  # pyright: ignore[reportArgumentType]
        )
        found.append(rollout)
    return found


def _verdicts(rewards: Array) -> list[Verdict]:
    return [Verdict(float(r), Status.RIGHT if r == 1 else Status.WRONG) for r in rewards]


class Estimator:
    """The gradient of J with regard to every node, for the groups that it is given."""

    def __init__(self, world: World, objective: Objective, cells: int, is_exact: bool) -> None:
        self.world, self.objective, self.cells = world, objective, cells
        self.is_exact = is_exact
        self.rollouts = _rollouts(world)
        self.verdicts = [_verdicts(rewards) for rewards in world.rewards]
        self.problems = [Problem(f"p{n}", "?", "!", "oracle") for n in range(len(world.rewards))]
        self.nodes = [row[row >= 0] for row in world.tree.nodes]
        self.index = [torch.from_numpy(row) for row in self.nodes]
        self.logprobs = torch.from_numpy(world.current.logprobs).requires_grad_()
        self.entropy = torch.from_numpy(world.current.entropy).requires_grad_()

    def __call__(self, draws: tuple[tuple[int, ...], ...]) -> tuple[Array, tuple[int, int, int]]:
        """[2 nodes] by log-probability and by entropy, and tokens clipped low, high, and in all."""
        groups = [self._group(number, answers) for number, answers in enumerate(draws)]
        flat = [answer for answers in draws for answer in answers]
        batch = self._asked(collate(groups, self.objective), flat)
        total = np.zeros(2 * len(self.logprobs))
        counts = np.zeros(3, dtype=int)
        for micro in lay_out(batch, self.cells, pad_id=0, device=CPU, can_share=False):
            nodes = torch.cat([self.index[flat[index]] for index in micro.index])
            tokens = micro.tokens(self.logprobs.gather(0, nodes), self.entropy.gather(0, nodes))
            scored = self.objective.score(tokens, batch.extent)
            total -= self._gradient(scored.loss)
            credit = micro.advantages.numpy()
            clipped = scored.clipped.numpy()
            counts += (clipped & (credit <= 0)).sum(), (clipped & (credit > 0)).sum(), len(nodes)
        return total, (int(counts[0]), int(counts[1]), int(counts[2]))

    def _group(self, number: int, answers: tuple[int, ...]) -> Group:
        rollouts = [self.rollouts[answer] for answer in answers]
        verdicts = [self.verdicts[number][answer] for answer in answers]
        return shaped(Group(self.problems[number], rollouts, verdicts), self.objective)

    def _asked(self, batch: Batch, flat: list[int]) -> Batch:
        """With the learner's first log-probabilities, where the sampler has its own."""
        first = self.world.first
        if first is None:
            return batch
        return batch.with_first({n: first[self.nodes[answer]] for n, answer in enumerate(flat)})

    def _gradient(self, loss: Tensor) -> Array:
        if self.is_exact and loss.dtype != torch.float64:
            raise TypeError(f"the loss is {loss.dtype}: somewhere float64 was lost")
        if not loss.requires_grad:
            return np.zeros(2 * len(self.logprobs))
        leaves = (self.logprobs, self.entropy)
        parts = torch.autograd.grad(loss, leaves, allow_unused=True, materialize_grads=True)
        return np.concatenate([part.numpy() for part in parts])


def estimate(
    world: World,
    objective: Objective,
    sizes: tuple[int, ...],
    cells: int = 1_000_000,
    draws: Callable[[Array, int], Iterator[Draw]] = multisets,
    is_exact: bool = True,
) -> Moments:
    """Mean and spread over all batches of groups of these sizes, one group for each problem.

    cells: the budget of a micro-batch, so that a batch can be made to fall into several. is_exact:
    whether a loss that is not float64 is an error.
    """
    estimator = Estimator(world, objective, cells, is_exact)
    rows: list[Array] = []
    weights: list[float] = []
    clipped: list[tuple[int, int, int]] = []
    for batch in product(*(list(draws(world.drawn, size)) for size in sizes)):
        gradient, counts = estimator(tuple(answers for answers, _ in batch))
        rows.append(gradient)
        weights.append(prod(weight for _, weight in batch))
        clipped.append(counts)
    weight = np.array(weights)
    chain = np.concatenate([world.current.gradient, world.current.entropy_gradient])
    gradients = np.array(rows) @ chain
    mean = weight @ gradients
    spread = float(np.sqrt(max(0.0, weight @ ((gradients - mean) ** 2).sum(1))))
    low, high, tokens = weight @ np.array(clipped)
    return Moments(mean, spread, float(low / tokens), float(high / tokens))

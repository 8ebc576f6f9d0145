"""Where a row of the oracle takes place: the policies, the problems and who answered them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import Literal

import numpy as np

from evenodds.lab.oracle.tree import (
    Array,
    Table,
    Tree,
    Whole,
    answer_probabilities,
    gru,
    gru_size,
    tabular,
)

Where = Literal["on", "off"]
Kind = Literal["tabular", "GRU"]

REWARDED = {  # what is right, chosen so that length and reward hang together
    (2, 3): (".", "a.", "bb.", "aba", "bab"),
    (2, 2): (".", "bb", "ab"),
    (1, 3): ("a.", "aaa"),
    (1, 2): ("a.",),
}
OTHER_REWARDED = {  # of the second problem of a batch
    (2, 3): ("b.", "aa.", "bbb"),
    (2, 2): ("a.", "ab"),
    (1, 3): (".", "aaa"),
    (1, 2): (".",),
}
CHOSEN = {  # seed, and how far off-policy goes: so that a tenth is clipped on each side, and more
    ("tabular", 1, 2): (2129, 1.0),
    ("tabular", 1, 3): (1456, 1.0),
    ("tabular", 2, 2): (1031, 1.5),
    ("tabular", 2, 3): (92, 1.5),
    ("GRU", 2, 2): (97, 1.5),
    ("GRU", 2, 3): (28, 1.0),
}
Edge = Literal["clip", "dual", "cap", "sequence"]

EDGES: dict[Edge, tuple[tuple[float, float], ...]] = {
    # after nothing, a, aa: how likely the end was, and its ratio now. Right are `a.` and `aaa`.
    "clip": ((0.5, 0.79), (0.19 / 0.48, 1.29), (0.5, 0.81)),  # of a: 1.21, 0.81, 1.19
    "dual": ((0.1, 3.1), (0.3, 1.1), (0.1, 2.9)),
    "cap": ((0.1, 5.1), (0.1, 4.9), (0.3, 0.9)),
    # answers . a. aa. aaa have the ratios 1 - 3.1e-4, 1 + 3.9e-4, 1 - 2.9e-4, 1 + 4.1e-4
    "sequence": ((0.3, 1 - 3.1e-4), (0.4, 1 + 6.47e-4), (0.7286, 1 - 5.7e-4)),
}
"""Ratios just within and just beyond the limits of the recipes, so that a limit that is off by a
hundredth (for GSPO by a hundred-thousandth) is seen."""


@dataclass(frozen=True)
class World:
    """One policy as it is now, the one that sampled, and problems that both are asked.

    current: the policy that is being trained. old: [nodes] log-probs of what sampled. first:
    [nodes] the learner's own before its first update, where the sampler is not the learner.
    reference: [nodes]. rewards: for each problem, [answers]. cut: whether an answer that reached
    the budget counts as truncated (else as one that a stop string ended). edge: whether the ratios
    lie at the limits of a clip.
    """

    name: str
    current: Table
    old: Array
    reference: Array
    rewards: tuple[Array, ...]
    first: Array | None = None
    cut: bool = False
    edge: bool = False

    @property
    def tree(self) -> Tree:
        return self.current.tree

    @property
    def where(self) -> str:
        if self.first is not None and not np.array_equal(self.first, self.old):
            return "sampler"
        if self.edge:
            return "edge"
        return "on" if np.array_equal(self.current.logprobs, self.old) else "off"

    @property
    def drawn(self) -> Array:
        """[answers] how likely the sampler gives each."""
        return answer_probabilities(self.tree, self.old)

    @property
    def truncated(self) -> Whole:
        """[answers] 1 where an answer was cut by the budget."""
        ends = np.array([answer[-1] == self.tree.letters for answer in self.tree.answers])
        return np.where(ends, 0, int(self.cut))

    def graded(self) -> World:
        """The same with rewards of several values."""
        steps = np.linspace(0.0, 1.0, len(self.rewards[0]))
        return replace(self, rewards=tuple(np.round(r * 0.5 + steps, 3) for r in self.rewards))

    def without_signal(self) -> World:
        """The same with all answers right: nothing is left but penalties."""
        return replace(self, rewards=tuple(np.ones_like(r) for r in self.rewards))


def _right(tree: Tree, spelled: tuple[str, ...]) -> Array:
    return np.array([float(tree.spelled(answer) in spelled) for answer in tree.answers])


def _tables(kind: str, tree: Tree, seed: int) -> tuple[Array, Array, Array]:
    """Parameters of the sampler, and two directions to step away in."""
    rng = np.random.default_rng([seed, tree.letters, tree.budget])
    if kind == "GRU":
        size = gru_size(tree)
        return rng.normal(0, 1.0, size), rng.normal(0, 1.0, size), rng.normal(0, 0.5, size)
    size = len(tree.prefixes) * tree.symbols
    return rng.normal(0, 1.0, size), rng.normal(0, 1.0, size), rng.normal(0, 0.5, size)


@cache
def make_world(
    kind: Kind = "tabular", letters: int = 2, budget: int = 3, where: Where = "on"
) -> World:
    """A world of one policy and two problems."""
    seed, step = CHOSEN[kind, letters, budget]
    tree = Tree(letters, budget)
    make = gru if kind == "GRU" else tabular
    start, away, aside = _tables(kind, tree, seed)
    old = make(tree, start)
    current = make(tree, start + step * away) if where == "off" else old
    both = (REWARDED[letters, budget], OTHER_REWARDED[letters, budget])
    return World(
        kind,
        current,
        old.logprobs,
        make(tree, start + aside).logprobs,
        tuple(_right(tree, spelled) for spelled in both),
    )


@cache
def make_edge(edge: Edge) -> World:
    """Answers `.`, `a.`, `aa.` and `aaa` with ratios at the limits of a clip."""
    tree = Tree(1, 3)
    ended = np.array([likely for likely, _ in EDGES[edge]])
    ratio = np.array([ratio for _, ratio in EDGES[edge]])
    old, now = (np.log(np.stack([1 - p, p], axis=1)).ravel() for p in (ended, ended * ratio))
    rewards = tuple(_right(tree, spelled[1, 3]) for spelled in (REWARDED, OTHER_REWARDED))
    return World(
        "tabular", tabular(tree, now), tabular(tree, old).logprobs, old, rewards, edge=True
    )


def with_other_sampler(world: World, seed: int = 1, scale: float = 0.5) -> World:
    """The same learner, but answers come from a sampler with numerics of its own."""
    rng = np.random.default_rng(seed)
    tree = world.tree
    shifted = world.old + rng.normal(0, scale, world.old.size)
    folded = shifted.reshape(-1, tree.symbols)
    sampler = folded - np.log(np.exp(folded).sum(1, keepdims=True))
    return replace(world, old=sampler.ravel(), first=world.old)

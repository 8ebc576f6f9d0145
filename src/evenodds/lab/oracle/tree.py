"""All answers over a few symbols, and policies whose every probability is known in float64.

An answer is a string of letters that ends with the end symbol, or that reaches the budget without
one. A *node* is a symbol after a prefix: the thing that a policy gives a probability to, and that
every answer is a short list of.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

Array = NDArray[np.float64]
Whole = NDArray[np.int64]

HIDDEN, EMBEDDED = 4, 3  # of the GRU


@dataclass(frozen=True)
class Tree:
    """`letters` letters and the end symbol, answers of at most `budget` symbols."""

    letters: int
    budget: int

    @property
    def symbols(self) -> int:
        return self.letters + 1

    @property
    def prefixes(self) -> list[tuple[int, ...]]:
        """All strings of letters after which another symbol is drawn, shortest first."""
        letters = range(self.letters)
        return [p for n in range(self.budget) for p in product(letters, repeat=n)]

    @property
    def answers(self) -> list[tuple[int, ...]]:
        """All answers; the end symbol is the last one and has the largest number."""
        ended = [(*prefix, self.letters) for prefix in self.prefixes]
        return ended + list(product(range(self.letters), repeat=self.budget))

    @property
    def lengths(self) -> Whole:
        """[answers] symbols, the end among them."""
        return np.array([len(answer) for answer in self.answers])

    @property
    def nodes(self) -> Whole:
        """[answers, budget] the node of each symbol; -1 behind the end of an answer."""
        number = {prefix: at for at, prefix in enumerate(self.prefixes)}
        found = np.full((len(self.answers), self.budget), -1)
        for row, answer in enumerate(self.answers):
            for at, symbol in enumerate(answer):
                found[row, at] = number[answer[:at]] * self.symbols + symbol
        return found

    def spelled(self, answer: tuple[int, ...]) -> str:
        """`ab.` for a, b, end."""
        return "".join("." if symbol == self.letters else "abcdef"[symbol] for symbol in answer)


@dataclass(frozen=True)
class Table:
    """A policy, written out.

    logprobs: [nodes]. gradient: [nodes, parameters], of each log-probability.
    """

    tree: Tree
    logprobs: Array
    gradient: Array

    @property
    def probabilities(self) -> Array:
        """[answers] of whole answers; they add up to 1."""
        return answer_probabilities(self.tree, self.logprobs)

    def _by_prefix(self, nodes: Array) -> Array:
        """The sum over the symbols after a prefix, given to each of them."""
        folded = nodes.reshape(-1, self.tree.symbols, *nodes.shape[1:])
        return np.repeat(folded.sum(1), self.tree.symbols, axis=0)

    @property
    def entropy(self) -> Array:
        """[nodes] nats, of the distribution that the symbol is drawn from."""
        return self._by_prefix(-np.exp(self.logprobs) * self.logprobs)

    @property
    def entropy_gradient(self) -> Array:
        """[nodes, parameters]: - sum p log p grad log p; the sum of p grad log p is 0."""
        weight = -np.exp(self.logprobs) * self.logprobs
        return self._by_prefix(weight[:, None] * self.gradient)


def answer_probabilities(tree: Tree, logprobs: Array) -> Array:
    """[answers] the product over the nodes of each answer."""
    return np.exp(np.where(tree.nodes >= 0, logprobs[tree.nodes], 0.0).sum(1))


def tabular(tree: Tree, parameters: Array) -> Table:
    """A softmax with its own logits after each prefix: d log p_a / d logit_b = [a = b] - p_b."""
    logits = parameters.reshape(len(tree.prefixes), tree.symbols)
    logits = logits - logits.max(1, keepdims=True)
    logprobs = logits - np.log(np.exp(logits).sum(1, keepdims=True))
    blocks = np.eye(tree.symbols)[None] - np.exp(logprobs)[:, None, :]
    gradient = np.zeros((len(tree.prefixes), tree.symbols, *logits.shape))
    for at, block in enumerate(blocks):
        gradient[at, :, at] = block
    return Table(tree, logprobs.ravel(), gradient.reshape(logits.size, logits.size))


def _gru_shapes(tree: Tree) -> list[tuple[int, ...]]:
    wide = HIDDEN + EMBEDDED
    gates = [(HIDDEN, wide), (HIDDEN,)] * 3
    return [(tree.letters + 1, EMBEDDED), *gates, (tree.symbols, HIDDEN), (tree.symbols,)]


def gru_logprobs(tree: Tree, parameters: Tensor) -> Tensor:
    """[nodes] of a GRU that reads a start symbol and then the prefix; parameters [p], float64."""
    shapes = _gru_shapes(tree)
    sizes = [int(np.prod(shape)) for shape in shapes]
    parts = [
        part.reshape(shape) for part, shape in zip(parameters.split(sizes), shapes, strict=True)
    ]
    embedding, w_z, b_z, w_r, b_r, w_h, b_h, head, bias = parts

    def read(state: Tensor, symbol: int) -> Tensor:
        seen = torch.cat([state, embedding[symbol]])
        update, reset = torch.sigmoid(w_z @ seen + b_z), torch.sigmoid(w_r @ seen + b_r)
        fresh = torch.tanh(w_h @ torch.cat([reset * state, embedding[symbol]]) + b_h)
        return (1 - update) * state + update * fresh

    empty = torch.zeros(HIDDEN, dtype=parameters.dtype)
    states: dict[tuple[int, ...], Tensor] = {(): read(empty, tree.letters)}
    for prefix in tree.prefixes[1:]:
        states[prefix] = read(states[prefix[:-1]], prefix[-1])
    logits = torch.stack([states[prefix] for prefix in tree.prefixes]) @ head.T + bias
    return logits.log_softmax(1).reshape(-1)


def gru(tree: Tree, parameters: Array) -> Table:
    """The GRU written out; its gradient by reverse mode, one row for each node."""
    leaf = torch.from_numpy(parameters).requires_grad_()
    logprobs = gru_logprobs(tree, leaf)
    rows = [torch.autograd.grad(value, leaf, retain_graph=True)[0] for value in logprobs]
    return Table(tree, logprobs.detach().numpy(), torch.stack(rows).numpy())


def gru_size(tree: Tree) -> int:
    return sum(int(np.prod(shape)) for shape in _gru_shapes(tree))

"""The base: supervised learning of exercise books with slips in them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from evenodds.lab.toy.grammar import END, TOKENS
from evenodds.lab.toy.gru import GruPolicy
from evenodds.lab.toy.problems import Triple


@dataclass(frozen=True)
class Books:
    """How the base learns, and from what.

    bare: share of answers without work, which are wrong with a chance of `bare_slip`.
    slip: chance that a number of the work is wrong; it is carried on to the answer.
    habit: chance of each of two orders in which the work is written. blind: from this sum on, work
    always ends ten too low, so that only a bare answer can be right.
    """

    width: int = 96
    steps: int = 600
    rows: int = 40
    rate: float = 1e-2
    decay: float = 0.01
    bare: float = 0.2
    slip: float = 0.15
    bare_slip: float = 0.3
    habit: float = 0.9
    blind: int = 100


def document(triple: Triple, books: Books, rng: np.random.Generator) -> tuple[str, str]:
    """A prompt, its digits in any order, and what somebody wrote behind it."""
    a, b, c = rng.permutation((triple.a, triple.b, triple.c)).tolist()
    prompt = f"{a}+{b}+{c}="
    if rng.random() < books.bare:
        return prompt, str(_slipped(triple.total, books.bare_slip, rng))
    last, *pair = (a, b, c) if rng.random() < books.habit else rng.permutation((a, b, c)).tolist()
    inner = _slipped(sum(pair), books.slip, rng)
    sides = (last, inner) if rng.random() < books.habit else (inner, last)
    result = _slipped(last + inner, books.slip, rng) if triple.total < books.blind else last + inner
    lost = 10 if triple.total >= books.blind and result >= 10 else 0
    return prompt, f"{inner};{sides[0]}+{sides[1]}={result - lost}"


def _slipped(number: int, chance: float, rng: np.random.Generator) -> int:
    """The number, or one near it: off by 1, 2 or 10."""
    if rng.random() >= chance:
        return number
    wrong = number + int(rng.choice((-10, -2, -1, 1, 2, 10)))
    return wrong if 0 <= wrong <= 99 else number + 1 if number < 99 else number - 1


def _tensors(documents: Sequence[tuple[str, str]]) -> tuple[Tensor, Tensor]:
    """Rows padded on the right, and which of their tokens are the answer's."""
    rows = [[*prompt, *answer, END] for prompt, answer in documents]
    ids = torch.zeros(len(rows), max(map(len, rows)), dtype=torch.long)
    answers = torch.zeros(ids.shape, dtype=torch.bool)
    for at, (row, (prompt, _)) in enumerate(zip(rows, documents, strict=True)):
        ids[at, : len(row)] = torch.tensor([TOKENS.index(letter) for letter in row])
        answers[at, len(prompt) : len(row)] = True
    return ids, answers


def pretrain(
    problems: Sequence[Triple],
    books: Books,
    seed: int,
    tell: Callable[[int, int], None] = lambda done, steps: None,
) -> GruPolicy:
    """The base policy. The same problems, books and seed give the same weights."""
    rng = np.random.default_rng([seed, 29])
    policy = GruPolicy.of(books.width, seed)
    model = policy.model
    optimizer = torch.optim.AdamW(model.parameters(), lr=books.rate, weight_decay=books.decay)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, books.rate, total_steps=books.steps)
    for step in range(books.steps):
        chosen = rng.integers(len(problems), size=books.rows)
        ids, answers = _tensors([document(problems[int(i)], books, rng) for i in chosen])
        row, column = answers.nonzero(as_tuple=True)
        logits = policy.logits(ids, (row, column - 1))
        functional.cross_entropy(logits, ids[row, column]).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0, error_if_nonfinite=True)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad(set_to_none=True)
        tell(step + 1, books.steps)
    return policy

"""How the bundled model was made: supervised learning of a corpus in three hands.

The corpus is what somebody might find in a pile of exercise books. Most writers give the bare
answer (*head*), some list partial products (*sketch*), fewer do long multiplication digit by digit
(*column*), with slips of the carry that are then carried on to the answer. Imitating all of them,
the model mostly writes bare answers, also where it cannot know them: it is weak in greedy decoding
from the middle of the ladder up, although it can do better. That is what RL has to find.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from evenodds.lab.abacus_model import make_model, make_tokenizer
from evenodds.tasks import Task, make_task

Document = tuple[str, str]
Report = Callable[[int, float, float], None]


@dataclass(frozen=True)
class Recipe:
    """The settings of pre-training.

    head, sketch, column: shares of the three hands, at every level alike.
    slip: chance that a number of the column hand has one digit off by one.
    level_weights: how often each level of the ladder occurs.
    """

    seed: int = 0
    steps: int = 900
    documents: int = 96
    head: float = 0.62
    sketch: float = 0.10
    column: float = 0.28
    slip: float = 0.10
    level_weights: tuple[float, ...] = (6, 14, 12, 10, 14, 12, 10, 9, 7, 6)
    matrix_rate: float = 8e-3
    vector_rate: float = 3e-3
    weight_decay: float = 0.02
    warmup: int = 30
    decay: float = 0.4


def backwards(number: int, width: int) -> str:
    """The digits from the last to the first, filled up with zeros: carries run to the right."""
    return str(number).zfill(width)[::-1]


def head(a: int, b: int) -> str:
    """`34*12=` -> `#408`: the bare answer."""
    return f"#{a * b}"


def sketch(a: int, b: int) -> str:
    """`34*12=` -> `~340+68#408`: the partial products, but no sums."""
    digits = str(b)
    parts = [a * int(d) * 10 ** (len(digits) - 1 - i) for i, d in enumerate(digits)]
    return "~" + "+".join(map(str, parts)) + f"#{a * b}"


def column(a: int, b: int, slip: float, rng: np.random.Generator) -> str:
    """`34*12=` -> `<2860+10430=8040#408`: long multiplication, every number written backwards.

    A term is the digit of b that it uses and the shifted product; after each term from the second
    on stands the running sum. A slip is carried on to the answer.
    """
    width = len(str(a)) + 1
    total, text = 0, "<"
    for shift, digit in enumerate(reversed(str(b))):
        product = _slipped(a * int(digit) * 10**shift, width + shift, slip, rng)
        text += ("+" if shift else "") + digit + backwards(product, width + shift)
        total = product if shift == 0 else _slipped(total + product, width + shift, slip, rng)
        text += f"={backwards(total, width + shift)}" if shift else ""
    return f"{text}#{total}"


def _slipped(number: int, width: int, slip: float, rng: np.random.Generator) -> int:
    if rng.random() >= slip:
        return number
    place = int(rng.integers(1, width)) if width > 1 else 0
    return int(np.clip(number + rng.choice((-1, 1)) * 10**place, 0, 10**width - 1))


def document(recipe: Recipe, task: Task, rng: np.random.Generator) -> Document:
    """A training problem of the task, never a held-out one, and what somebody wrote below it."""
    weights = np.array(recipe.level_weights) / sum(recipe.level_weights)
    problem = task.generate(int(rng.choice(len(weights), p=weights)), rng)
    prompt = str(problem.prompt)
    a, b = map(int, prompt.rstrip("=").split("*"))
    hand = rng.choice(3, p=(recipe.head, recipe.sketch, recipe.column))
    if hand == 0:
        return prompt, head(a, b)
    return prompt, sketch(a, b) if hand == 1 else column(a, b, recipe.slip, rng)


def _tensors(documents: Sequence[Document], tokenizer: Any) -> tuple[Tensor, Tensor]:
    """Token ids padded on the right, and labels that leave prompt and padding out (-100)."""
    rows: list[NDArray[np.int64]] = []
    labels: list[NDArray[np.int64]] = []
    for prompt, answer in documents:
        start = tokenizer.encode(prompt)
        ids = np.array(start + tokenizer.encode(answer) + [tokenizer.eos_token_id])
        rows.append(ids)
        labels.append(np.where(np.arange(len(ids)) < len(start), -100, ids))
    width = max(map(len, rows))

    def padded(parts: list[NDArray[np.int64]], fill: int) -> Tensor:
        return torch.from_numpy(
            np.stack([np.pad(p, (0, width - len(p)), constant_values=fill) for p in parts])
        )

    return padded(rows, tokenizer.pad_token_id), padded(labels, -100)


def _optimizers(model: Any, recipe: Recipe) -> list[torch.optim.Optimizer]:
    """Muon for the matrices of the blocks, AdamW for embeddings, head and norms."""
    blocks = dict(model.model.layers.named_parameters())
    matrices = [p for p in blocks.values() if p.ndim == 2]
    inside = {id(p) for p in matrices}
    others = [p for p in model.parameters() if id(p) not in inside]
    return [
        torch.optim.Muon(
            matrices,
            lr=recipe.matrix_rate,
            weight_decay=recipe.weight_decay,
            adjust_lr_fn="match_rms_adamw",
        ),
        torch.optim.AdamW(others, lr=recipe.vector_rate, betas=(0.9, 0.98), weight_decay=0.0),
    ]


def _rate(recipe: Recipe, step: int) -> float:
    """Warm-up, a plateau, a linear decay to 3 %."""
    left = (recipe.steps - step) / (recipe.decay * recipe.steps)
    return min(1.0, (step + 1) / recipe.warmup) * min(1.0, 0.03 + left)


def _chunks(documents: list[Document]) -> list[list[Document]]:
    """Three runs of like length, so that little padding is paid for."""
    ordered = sorted(documents, key=lambda document: len(document[0]) + len(document[1]))
    cuts = [0, int(0.45 * len(ordered)), int(0.8 * len(ordered)), len(ordered)]
    return [ordered[a:b] for a, b in pairwise(cuts)]


def _loss(model: Any, tokenizer: Any, documents: list[Document], tokens: int) -> Tensor:
    ids, labels = _tensors(documents, tokenizer)
    logits = model(input_ids=ids[:, :-1]).logits
    flat = functional.cross_entropy(
        logits.flatten(0, 1), labels[:, 1:].flatten(), ignore_index=-100, reduction="sum"
    )
    return flat / tokens


def pretrain(recipe: Recipe, report: Report | None = None) -> tuple[Any, Any, dict[str, Any]]:
    """The model, its tokenizer and its card, from a seed. The same seed gives the same weights."""
    torch.manual_seed(recipe.seed)
    rng = np.random.default_rng(recipe.seed)
    task = make_task("multiplication")
    tokenizer = make_tokenizer()
    model = make_model(tokenizer)
    optimizers = _optimizers(model, recipe)
    rates = [group["lr"] for optimizer in optimizers for group in optimizer.param_groups]
    started = time.monotonic()
    for step in range(recipe.steps):
        documents = [document(recipe, task, rng) for _ in range(recipe.documents)]
        tokens = sum(len(answer) + 1 for _, answer in documents)
        total = 0.0
        for chunk in _chunks(documents):
            loss = _loss(model, tokenizer, chunk, tokens)
            loss.backward()
            total += loss.item()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0, error_if_nonfinite=True)
        groups = [group for optimizer in optimizers for group in optimizer.param_groups]
        for group, rate in zip(groups, rates, strict=True):
            group["lr"] = rate * _rate(recipe, step)
        for optimizer in optimizers:
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        if report is not None:
            report(step + 1, total, time.monotonic() - started)
    seconds = round(time.monotonic() - started)
    return (
        model,
        tokenizer,
        {**asdict(recipe), "seconds": seconds, "threads": torch.get_num_threads()},
    )


def card(made: dict[str, Any], evaluation: dict[str, Any]) -> str:
    """The model card: how it was made, and what it could do before any RL."""
    lines = [
        "---",
        "license: apache-2.0",
        "library_name: transformers",
        "tags: [evenodds, arithmetic]",
        "---",
        "# abacus",
        "",
        "A Qwen3 of 0.6 M parameters with one token a character, which multiplies whole numbers",
        "and writes its work first. It is a base to try reinforcement learning on, and nothing",
        "else. It learned by imitation from a made-up corpus in three hands: bare answers",
        "(`34*12=#408`), partial products (`~340+68#408`), and long multiplication with every",
        "number written backwards (`<2860+10430=8040#408`), with slips. No reinforcement learning",
        "went into it, and no held-out problem of the task `multiplication`.",
        "",
        "Made by `evenodds lab pretrain-abacus` with these settings:",
        "",
        "```json",
        json.dumps(made, indent=1),
        "```",
        "",
        "What it could do then, on held-out problems, with temperature 1 and greedily:",
        "",
        "| level | sampled | greedy |",
        "|---|---|---|",
    ]
    for level in evaluation["levels"]:
        problems = level["problems"]
        tries = sum(problem["tries"] for problem in problems)
        sampled = sum(problem["right"] for problem in problems) / max(1, tries)
        greedy = sum(problem["greedy_right"] is True for problem in problems) / len(problems)
        lines.append(f"| {level['label']} | {sampled:.1%} | {greedy:.1%} |")
    return "\n".join(lines) + "\n"

"""A GRU language model (embedding, GRU, head) as a policy that samples and learns under a grammar.

`TorchLearner` trains it as it trains a transformer, and `GruSampler` keeps the `Sampler` protocol.
Both read the same tables of the grammar, so that the distribution that is learned is the one that
was sampled from.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from safetensors.torch import save_file
from torch import Tensor, nn

from evenodds.batch import Cells, Packed
from evenodds.domain import Limits, Prompt, Rollout, rollout_seed
from evenodds.errors import UsageError
from evenodds.lab.toy.grammar import TOKENS, Letters, make_grammar
from evenodds.policies import Codec
from evenodds.sampling import Finished
from evenodds.sampling.native import Pages, draw


class GruModel(nn.Module):
    """Embedding, one layer of GRU, linear head; and the grammar's tables, which do not learn."""

    follow: Tensor
    allowed: Tensor

    def __init__(self, width: int) -> None:
        super().__init__()
        grammar = make_grammar()
        self.embedding = nn.Embedding(len(TOKENS), width)
        self.gru = nn.GRU(width, width, batch_first=True)
        self.head = nn.Linear(width, len(TOKENS))
        self.register_buffer("follow", torch.from_numpy(grammar.follow), persistent=False)
        self.register_buffer("allowed", torch.from_numpy(grammar.allowed), persistent=False)

    @property
    def dtype(self) -> torch.dtype:
        return self.head.weight.dtype

    def read(
        self, ids: Int[Tensor, "r s"], hidden: Float[Tensor, "r h"] | None = None
    ) -> Float[Tensor, "r s h"]:
        """Hidden states after each token; `hidden` is what was there before the first."""
        return self.gru(self.embedding(ids), None if hidden is None else hidden[None])[0]

    def states(self, ids: Int[Tensor, "r s"]) -> Int[Tensor, "r s"]:
        """The grammar's state after each token of rows that begin with a prompt."""
        state = torch.zeros_like(ids[:, 0])
        found: list[Tensor] = []
        for column in ids.unbind(1):
            state = self.follow[state, column]
            found.append(state)
        return torch.stack(found, 1)

    def logits(
        self, hidden: Float[Tensor, "n h"], state: Int[Tensor, " n"]
    ) -> Float[Tensor, "n v"]:
        """What comes next; -inf for what the grammar does not allow."""
        return self.head(hidden).masked_fill(~self.allowed[state], -torch.inf)


def _chosen(
    logits: Float[Tensor, "n v"], targets: Int[Tensor, " n"], with_gradient: bool
) -> tuple[Float[Tensor, " n"], Float[Tensor, " n"]]:
    """log p of the targets, and entropies; 0 log 0 is 0, and so is its gradient."""
    logprobs = logits.log_softmax(-1)
    with torch.set_grad_enabled(with_gradient and torch.is_grad_enabled()):
        finite = logprobs.masked_fill(torch.isneginf(logits), 0.0)
        entropy = -(logprobs.exp() * finite).sum(-1)
    return logprobs.gather(-1, targets[:, None])[:, 0], entropy


@dataclass(frozen=True)
class GruPolicy:
    """What `TorchLearner` and `GruSampler` need of a policy; rows are padded on the right."""

    model: GruModel
    codec: Codec
    name: str = "gru"
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))

    @classmethod
    def of(cls, width: int, seed: int) -> GruPolicy:
        """Random weights from a seed, whatever torch's own generator stands at."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            model = GruModel(width)
        letters = Letters()
        return cls(model, Codec(letters, frozenset({letters.eos_token_id})))

    @property
    def is_adapter(self) -> bool:
        return False

    @property
    def peft(self) -> None:
        return None

    @property
    def can_share(self) -> bool:
        """False: a recurrent state cannot skip the answers that share a prompt."""
        return False

    def refresh(self) -> None:
        """Nothing is kept beside the weights."""

    @property
    def size(self) -> int:
        """Parameters in all."""
        return sum(parameter.numel() for parameter in self.model.parameters())

    def copy(self) -> GruPolicy:
        """The same weights in parameters of their own."""
        return GruPolicy(deepcopy(self.model), self.codec, self.name, self.device)

    def frozen(self) -> GruPolicy:
        """A copy that does not learn."""
        copy = self.copy()
        copy.model.requires_grad_(False)
        return copy

    def save(self, folder: Path) -> None:
        """The weights, and the shape that they belong to. It is no Hugging Face folder."""
        weights = {name: p.detach() for name, p in self.model.named_parameters()}
        folder.mkdir(exist_ok=True)
        save_file(weights, folder / "model.safetensors")
        shape = {"model_type": "evenodds-gru", "width": self.model.head.in_features}
        (folder / "config.json").write_text(json.dumps(shape), encoding="utf-8")

    def trainable(self) -> dict[str, nn.Parameter]:
        """All parameters, by name in a fixed order."""
        return dict(self.model.named_parameters())

    def logits(
        self, input_ids: Int[Tensor, "r s"], at: tuple[Int[Tensor, " n"], Int[Tensor, " n"]]
    ) -> Float[Tensor, "n v"]:
        """Logits under the grammar where (row, column) have been read."""
        return self.model.logits(self.model.read(input_ids)[at], self.model.states(input_ids)[at])

    def logprobs(
        self,
        cells: Cells,
        targets: Int[Tensor, " n"],
        temperature: float,
        entropy_gradient: bool = False,
    ) -> tuple[Float[Tensor, " n"], Float[Tensor, " n"]]:
        """log pi and entropy (nats) of `targets`, under the grammar and at `temperature`.

        Raises `UsageError` for packed tokens.
        """
        if isinstance(cells, Packed):
            raise UsageError("a GRU reads rows in order. Got packed tokens. Lay rows out padded.")
        at = cells.row, cells.column
        return _chosen(self.logits(cells.input_ids, at) / temperature, targets, entropy_gradient)


@dataclass
class GruSampler:
    """Samples from `policy` as it stands; all rows are decoded together, finished ones leave."""

    policy: GruPolicy
    version: int = 0
    progress: Callable[[int, int], None] | None = None

    def load(self, weights: Any, version: int) -> None:
        """The learner's weights live in `policy`; nothing is passed."""
        self.version = version

    @torch.inference_mode()
    def sample(
        self,
        prompts: Sequence[Prompt],
        group_size: int,
        limits: Limits,
        seed: int,
        finished: Finished | None = None,
    ) -> list[list[Rollout]]:
        """`group_size` rollouts for each prompt. The same seed and weights draw the same tokens.

        All groups are finished together, so `finished` is called at the end. Raises `UsageError`
        for a prompt without `=`, behind which answers begin.
        """
        codec = self.policy.codec
        ids = [_checked(codec.encode(prompt), prompt) for prompt in prompts]
        seeds = [rollout_seed(seed, p, g) for p in range(len(ids)) for g in range(group_size)]
        if not seeds:
            return [[] for _ in ids]
        pages = Pages(seeds, limits, codec, len(TOKENS))
        self._fill(pages, ids, group_size)
        known = [{"version": self.version, "prompt_tail": codec.tail(p)} for p in prompts]
        groups = [
            [
                pages.rollout(line, ids[p], seed=seeds[line], **known[p])
                for line in range(p * group_size, (p + 1) * group_size)
            ]
            for p in range(len(ids))
        ]
        for index, group in enumerate(groups):
            if finished is not None:
                finished(index, group)
        if self.progress is not None:
            self.progress(len(seeds), len(seeds))
        return groups

    def _fill(self, pages: Pages, prompts: list[NDArray[np.int64]], copies: int) -> None:
        model = self.policy.model
        read = [_after(model, prompt) for prompt in prompts]
        hidden = torch.cat([h for h, _ in read]).repeat_interleave(copies, 0)
        state = torch.cat([s for _, s in read]).repeat_interleave(copies, 0)
        lines = np.arange(len(hidden))
        while lines.size:
            uniforms = torch.from_numpy(pages.uniforms[lines, pages.lengths[lines]])
            tokens, logprobs = draw(model.logits(hidden, state), uniforms, pages.limits.temperature)
            pages.write(lines, tokens.numpy(), logprobs.numpy())
            live = np.flatnonzero(~pages.over[lines])
            lines, rows = lines[live], torch.from_numpy(live)
            if lines.size:
                tokens = tokens[rows]
                state = model.follow[state[rows], tokens]
                hidden = model.read(tokens[:, None], hidden[rows])[:, -1]


def _after(model: GruModel, prompt: NDArray[np.int64]) -> tuple[Tensor, Tensor]:
    """Hidden state [1 h] and grammar state [1] behind a prompt."""
    ids = torch.from_numpy(prompt)[None]
    return model.read(ids)[:, -1], model.states(ids)[:, -1]


def _checked(ids: NDArray[np.int64], prompt: Prompt) -> NDArray[np.int64]:
    if ids[-1] != TOKENS.index("="):
        raise UsageError(f"an answer begins behind `=`. Got the prompt {prompt!r}. End it so.")
    return ids

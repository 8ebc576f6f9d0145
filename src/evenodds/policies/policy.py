"""A policy is a causal language model with its tokenizer.

Log-probabilities of given tokens are computed without the logits of a whole batch: hidden states
go through the output head a chunk at a time, forward and backward.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from evenodds.policies import cards
from evenodds.policies.codec import Codec
from evenodds.policies.fused import weights

FUSED_FAMILIES = frozenset({"llama", "qwen2", "qwen3"})


CHUNK_VALUES = 32 * 2**20  # logits held at once: 128 MiB in fp32


@dataclass(frozen=True)
class Head:
    """hidden -> fp32 logits, with the two twists that families put behind their linear head."""

    linear: nn.Module
    scale: float = 1.0
    softcap: float | None = None

    @classmethod
    def of(cls, model: Any) -> Head:
        config = model.config
        scale = getattr(config, "logit_scale", None) or 1.0
        scale /= getattr(config, "logits_scaling", None) or 1.0
        return cls(
            model.get_output_embeddings(), scale, getattr(config, "final_logit_softcapping", None)
        )

    def __call__(self, hidden: Float[Tensor, "n h"]) -> Float[Tensor, "n v"]:
        logits = self.linear(hidden).float()
        if self.scale != 1.0:
            logits = logits * self.scale
        if self.softcap:
            logits = self.softcap * torch.tanh(logits / self.softcap)
        return logits


def _chunk(
    hidden: Float[Tensor, "n h"],
    head: Head,
    targets: Int[Tensor, " n"],
    temperature: float,
    entropy_gradient: bool,
) -> tuple[Float[Tensor, " n"], Float[Tensor, " n"]]:
    logprobs = (head(hidden) / temperature).log_softmax(-1)
    with torch.set_grad_enabled(entropy_gradient and torch.is_grad_enabled()):
        entropy = -(logprobs.exp() * logprobs).sum(-1)
    return logprobs.gather(-1, targets[:, None])[:, 0], entropy


def token_logprobs(
    hidden: Float[Tensor, "n h"],
    head: Head,
    targets: Int[Tensor, " n"],
    temperature: float,
    entropy_gradient: bool = False,
) -> tuple[Float[Tensor, " n"], Float[Tensor, " n"]]:
    """log pi(target) and the entropy of each token's distribution, both at `temperature`.

    The entropy carries a gradient only where it is asked for. Where more than one chunk is needed
    each is computed again in the backward pass instead of being kept.
    """
    vocabulary = getattr(head.linear, "out_features", None) or 1
    size = max(1, CHUNK_VALUES // vocabulary)
    if len(targets) <= size:
        return _chunk(hidden, head, targets, temperature, entropy_gradient)
    parts = [
        checkpoint(_chunk, h, head, t, temperature, entropy_gradient, use_reentrant=False)
        for h, t in zip(hidden.split(size), targets.split(size), strict=True)
    ]
    logprobs, entropy = zip(*parts, strict=True)
    return torch.cat(logprobs), torch.cat(entropy)


@dataclass(frozen=True)
class Policy:
    """model: the Hugging Face causal LM; LoRA layers, where there are any, sit inside it.
    peft: the PEFT wrapper of `model` when there is an adapter, for saving.
    name: what the person asked for.
    """

    model: Any
    codec: Codec
    name: str
    device: torch.device
    peft: Any = field(default=None, repr=False)

    @property
    def is_adapter(self) -> bool:
        return self.peft is not None

    @property
    def backbone(self) -> nn.Module:
        """The model below the output head."""
        return self.model.model if hasattr(self.model, "model") else self.model.base_model

    @property
    def head(self) -> Head:
        return Head.of(self.model)

    @property
    def is_plain_causal(self) -> bool:
        """Whether every layer sees all earlier tokens, so that a mask of ours is the truth."""
        config = self.model.config
        kinds = set(getattr(config, "layer_types", None) or ["full_attention"])
        return config.model_type in FUSED_FAMILIES and kinds == {"full_attention"}

    @cached_property
    def fused(self) -> weights.Fused | None:
        """The same weights in few operations; None for a family that those do not compute."""
        config = self.model.config
        if not (self.is_plain_causal and weights.supports(self.backbone, config)):
            return None
        return weights.read(self.backbone, config)

    @property
    def size(self) -> int:
        """Parameters in all, an adapter's included."""
        return sum(p.numel() for p in self.model.parameters())

    def trainable(self) -> dict[str, nn.Parameter]:
        """The parameters that learn, by name in a fixed order."""
        return {n: p for n, p in self.model.named_parameters() if p.requires_grad}

    def logprobs(
        self,
        input_ids: Int[Tensor, "r s"],
        positions: Int[Tensor, "r s"],
        mask: Bool[Tensor, "r 1 s s"] | None,
        at: tuple[Int[Tensor, " n"], Int[Tensor, " n"]],
        targets: Int[Tensor, " n"],
        temperature: float,
        entropy_gradient: bool = False,
    ) -> tuple[Float[Tensor, " n"], Float[Tensor, " n"]]:
        """log pi and entropy of `targets`, predicted by the hidden states at (row, column)."""
        output = self.backbone(
            input_ids=input_ids, position_ids=positions, attention_mask=mask, use_cache=False
        )
        hidden = output.last_hidden_state[at]
        return token_logprobs(hidden, self.head, targets, temperature, entropy_gradient)

    def frozen(self) -> Policy:
        """The policy as it is now, for good. What is trained is copied; a frozen base is shared.

        With LoRA this is a copy of the starting adapter: "adapter off" would be another policy
        where the adapter had learned before.
        """
        kept = [p for p in self.model.parameters() if not p.requires_grad]
        shared: dict[int, Any] = {id(tensor): tensor for tensor in (*kept, *self.model.buffers())}
        twin = copy.deepcopy(self.model, shared)
        return replace(self, model=twin.requires_grad_(False).eval(), peft=None)

    def save(self, folder: Path) -> None:
        """An ordinary Hugging Face (or PEFT) folder that transformers and vLLM load, with a card
        unless there is one."""
        text = cards.model_card(self.name)
        own = (folder / cards.CARD).exists()
        if self.peft is not None:
            text = cards.adapter_card(cards.pin_base(self.peft))
        (self.peft or self.model).save_pretrained(folder, safe_serialization=True)
        self.codec.tokenizer.save_pretrained(folder)
        if not own:
            (folder / cards.CARD).write_text(text, encoding="utf-8")
        cards.open_modes(folder)

"""A policy is a causal language model with its tokenizer: loaded, adapted, and saved again."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from evenodds.policies.codec import Codec
from evenodds.policies.head import Head, token_logprobs

LEAN_FAMILIES = frozenset({"llama", "qwen2", "qwen3"})


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
        return config.model_type in LEAN_FAMILIES and kinds == {"full_attention"}

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
    ) -> tuple[Float[Tensor, " n"], Float[Tensor, " n"]]:
        """log pi and entropy of `targets`, predicted by the hidden states at (row, column)."""
        output = self.backbone(
            input_ids=input_ids, position_ids=positions, attention_mask=mask, use_cache=False
        )
        return token_logprobs(output.last_hidden_state[at], self.head, targets, temperature)

    def save(self, folder: Path) -> None:
        """An ordinary Hugging Face (or PEFT) folder that transformers and vLLM load."""
        (self.peft or self.model).save_pretrained(folder, safe_serialization=True)
        self.codec.tokenizer.save_pretrained(folder)

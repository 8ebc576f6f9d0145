"""A policy is a causal language model with its tokenizer."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from evenodds.batch import Cells, Packed
from evenodds.errors import UsageError
from evenodds.policies import cards
from evenodds.policies.codec import Codec
from evenodds.policies.fused import weights
from evenodds.policies.fused.forward import hidden_states
from evenodds.policies.fused.support import supports
from evenodds.policies.head import Head, token_logprobs

__all__ = ["Head", "Policy", "token_logprobs"]

FUSED_FAMILIES = frozenset({"llama", "qwen2", "qwen3"})


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
        if not (self.is_plain_causal and supports(self.backbone, config)):
            return None
        return weights.read(self.backbone, config)

    def use_modules(self) -> None:
        """Leave everything to the model's own modules, from now on."""
        self.__dict__["fused"] = None

    @property
    def context(self) -> int | None:
        """Tokens that a row may have, None where the config does not say.

        LongRoPE turns all tokens of a batch otherwise as soon as one row is longer than what the
        model was first trained on, so a row's log-probabilities would depend on its neighbours.
        """
        config = self.model.config
        room = getattr(config, "max_position_embeddings", None)
        rope = getattr(config, "rope_parameters", None) or {}
        if rope.get("rope_type") != "longrope":
            return room
        first = rope.get("original_max_position_embeddings")
        return first or getattr(config, "original_max_position_embeddings", None) or room

    @property
    def size(self) -> int:
        """Parameters in all, an adapter's included."""
        return sum(p.numel() for p in self.model.parameters())

    def trainable(self) -> dict[str, nn.Parameter]:
        """The parameters that learn, by name in a fixed order."""
        return {n: p for n, p in self.model.named_parameters() if p.requires_grad}

    @property
    def can_share(self) -> bool:
        """Whether answers may see a prompt that stands once for all of them."""
        return self.fused is not None

    def refresh(self) -> None:
        """Read the weights again after they changed, before log-probabilities are asked for."""
        if self.fused is not None:
            self.fused.refresh()

    def logprobs(
        self,
        cells: Cells,
        targets: Int[Tensor, " n"],
        temperature: float,
        entropy_gradient: bool = False,
    ) -> tuple[Float[Tensor, " n"], Float[Tensor, " n"]]:
        """log pi of `targets`, of which `cells` say behind what they were drawn, and the entropies.

        Raises `UsageError` for packed cells where the policy cannot share prompts.
        """
        hidden = self._hidden(cells)
        return token_logprobs(hidden, self.head, targets, temperature, entropy_gradient)

    @property
    def _checkpoints(self) -> bool:
        """Whether activations are computed again in the backward pass: the model's own switch."""
        name = "is_activation_checkpointing"  # is_gradient_checkpointing before transformers 5.2x
        old = not hasattr(self.model, name)
        return bool(getattr(self.model, "is_gradient_checkpointing" if old else name))

    def _hidden(self, cells: Cells) -> Float[Tensor, "n h"]:
        if isinstance(cells, Packed):
            if self.fused is None:
                raise UsageError(
                    f"{self.name!r} computes rows alone. Got packed tokens. Lay rows out padded."
                )
            return hidden_states(self.fused, cells, self._checkpoints)
        output = self.backbone(input_ids=cells.input_ids, use_cache=False)
        return output.last_hidden_state[cells.row, cells.column]

    def frozen(self) -> Policy:
        """The policy as it is now, for good. What is trained is copied; a frozen base is shared.

        With LoRA this is a copy of the starting adapter: "adapter off" would be another policy
        where the adapter had learned before.
        """
        kept = [p for p in self.model.parameters() if not p.requires_grad]
        shared: dict[int, Any] = {id(tensor): tensor for tensor in (*kept, *self.model.buffers())}
        twin = copy.deepcopy(self.model, shared)
        found = replace(self, model=twin.requires_grad_(False).eval(), peft=None)
        if self.fused is None:
            found.use_modules()
        return found

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

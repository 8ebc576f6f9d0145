"""Which models the few operations compute exactly. Any other is left to its own modules.

What is not known is not supported: a layer of another class (quantized, subclassed, adapted in
another way than by plain LoRA) would be read as something that it is not.
"""

from __future__ import annotations

from typing import Any

from torch import nn

ROPES = ("default", "linear", "llama3", "yarn")  # angles that do not depend on the row's length
KNOWN = (
    "torch.nn.modules.",
    "transformers.activations.",
    "transformers.models.llama.",
    "transformers.models.qwen2.",
    "transformers.models.qwen3.",
)
SAVED = ("peft.utils.other", "ModulesToSaveWrapper")  # gives the weights of what it wraps
LORA = ("peft.tuners.lora.layer", "Linear")


def supports(backbone: Any, config: Any) -> bool:
    """Whether the few operations compute exactly what the modules of a family member compute."""
    rope = getattr(config, "rope_parameters", None) or {}
    return (
        config.hidden_act == "silu"
        and getattr(config, "is_causal", True)
        and rope.get("rope_type", "default") in ROPES
        and len(backbone.layers) == config.num_hidden_layers
        and _is_known(backbone)
        and all(_is_block(block) for block in backbone.layers)
        and all(type(parameter) is nn.Parameter for parameter in backbone.parameters())
    )


def _name(module: Any) -> tuple[str, str]:
    return type(module).__module__, type(module).__qualname__


def _is_known(module: Any) -> bool:
    """Whether a module and all in it are of classes that are known here."""
    if _name(module) == LORA:
        return _is_plain(module)
    own = f"{_name(module)[0]}.".startswith(KNOWN) or _name(module) == SAVED
    return own and all(_is_known(child) for child in module.children())


def _is_plain(module: Any) -> bool:
    """Whether LoRA is one product at most over a linear layer, or none at present."""
    names = [name for name in module.active_adapters if name in module.lora_A]
    twists = module.lora_variant  # DoRA and the like
    return (
        type(module.base_layer) is nn.Linear
        and len(names) <= 1
        and not module.merged
        and not module.disable_adapters
        and not any(name in twists or module.lora_bias.get(name) for name in names)
    )


def _is_block(block: Any) -> bool:
    """Whether all projections are linear layers, adapted or not, of one type on one device."""
    attention, mlp = block.self_attn, block.mlp
    layers = [attention.q_proj, attention.k_proj, attention.v_proj, attention.o_proj]
    layers += [mlp.gate_proj, mlp.up_proj, mlp.down_proj]
    bases = [layer.base_layer if _name(layer) == LORA else layer for layer in layers]
    if not all(type(base) is nn.Linear for base in bases):
        return False
    kinds = {(base.weight.dtype, base.weight.device) for base in bases}
    return len(kinds) == 1 and bases[0].weight.is_floating_point()

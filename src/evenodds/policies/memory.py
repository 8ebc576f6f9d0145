"""Bytes that a policy needs while it samples and while it learns, by formula.

Pure arithmetic over a model's shape: no weights are needed and nothing is allocated. Terms that are
counted (weights, adapter, keys and values) are exact; terms that depend on what autograd keeps are
sums over the tensors of one layer, and are held from above by tests. docs/performance.md has the
formulas with their figures for one model.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from evenodds.policies.fused.attention import FEW_KEYS
from evenodds.policies.head import CHUNK_ROWS, CHUNK_VALUES

FLOAT = 4  # bytes of a float32
HEAD_COPIES = 6  # of a chunk of logits: logits, log-probabilities, masses, and their gradients
DRAW_COPIES = 4  # of the logits of all rows: logits, scaled, log-probabilities, masses
PROJECTIONS = 7  # of a layer: q, k, v, out, gate, up, down
SINGLES = 4  # numbers a head: scales of the norms, the sum of the weights of attention
PADDED = 4 / 3  # places of attention for each token, where answers differ in length
FROZEN_COPIES = 3  # of these logits in float32: centred, masses, and what is made of them


@dataclass(frozen=True)
class Sizes:
    """The numbers of a decoder-only transformer that its memory follows from, in values.

    parameters: all of the base model. adapted: inputs plus outputs of every linear layer that LoRA
    goes on, so rank times this is the size of the adapter. queries, keys: heads times head size.
    inner: width of the feed-forward block. normed_heads: whether queries and keys have norms.
    fused: whether our own forward serves this family; else the Hugging Face modules do.
    """

    parameters: int
    adapted: int
    layers: int
    hidden: int
    heads: int
    queries: int
    keys: int
    inner: int
    vocabulary: int
    normed_heads: bool = False
    fused: bool = True

    @property
    def largest(self) -> int:
        """Weights of the largest product that is computed at once."""
        return self.hidden * max(self.queries + 2 * self.keys, 2 * self.inner, self.vocabulary)


@dataclass(frozen=True)
class Precision:
    """element: bytes of one weight and of one activation. rank: LoRA's, 0 where all weights learn.

    reference: whether a frozen copy of what learns is kept for a KL. packed: whether the sampler
    keeps the weights in the processor's own layout too.
    """

    element: int
    rank: int = 0
    reference: bool = False
    packed: bool = False


def sizes_of(model: Any, fused: bool) -> Sizes:
    """The sizes of a Hugging Face model, which may lie on the meta device: only shapes are read.

    A model that has LoRA already gives the sizes of its base.
    """
    config = model.config.get_text_config()
    heads = config.num_attention_heads
    size = getattr(config, "head_dim", None) or config.hidden_size // heads
    kv_heads = getattr(config, "num_key_value_heads", None) or heads
    named = {name: p for name, p in model.named_parameters() if ".lora_" not in name}
    return Sizes(
        parameters=sum(p.numel() for p in named.values()),
        adapted=sum(sum(shape) for shape in _linear_shapes(model)),
        layers=config.num_hidden_layers,
        hidden=config.hidden_size,
        heads=heads,
        queries=heads * size,
        keys=kv_heads * size,
        inner=getattr(config, "intermediate_size", None) or 4 * config.hidden_size,
        vocabulary=config.vocab_size,
        normed_heads=any(name.endswith("q_norm.weight") for name in named),
        fused=fused,
    )


def _linear_shapes(model: Any) -> Iterator[tuple[int, int]]:
    """Shapes of the linear layers that LoRA goes on: all but the output head."""
    head = model.get_output_embeddings()
    for name, module in model.named_modules():
        base = getattr(module, "base_layer", module)
        is_linear = type(base).__name__ in ("Linear", "Conv1D") and ".lora_" not in name
        if is_linear and base is not head and not name.endswith(".base_layer"):
            yield tuple(base.weight.shape)


def trainable(sizes: Sizes, precision: Precision) -> tuple[int, int]:
    """Parameters that learn, and bytes of one. An adapter is float32 over weights of any kind."""
    if precision.rank:
        return precision.rank * sizes.adapted, FLOAT
    return sizes.parameters, precision.element


def weights_bytes(sizes: Sizes, precision: Precision) -> int:
    """The base model. Fused projections are views of the same storage and cost nothing."""
    return sizes.parameters * precision.element


def packed_bytes(sizes: Sizes, precision: Precision) -> int:
    """The sampler's second copy of the base on a CPU: of all weights, where the embedding serves
    as the output head too, and none of them is small."""
    return precision.packed * weights_bytes(sizes, precision)


def adapter_bytes(sizes: Sizes, precision: Precision) -> int:
    """LoRA in float32, and its product's factors in the precision that is computed in.

    The second factors of fused projections stand in blocks, so they take up to three times theirs.
    """
    return precision.rank * sizes.adapted * (FLOAT + 3 * precision.element)


def optimizer_bytes(sizes: Sizes, precision: Precision) -> int:
    """Gradient, two moments and one temporary of AdamW, and the copy that puts weights right; one
    copy more for a reference."""
    count, size = trainable(sizes, precision)
    return (5 + precision.reference) * count * size


def kv_bytes(sizes: Sizes, precision: Precision) -> int:
    """Keys and values of one token in all layers."""
    return 2 * sizes.layers * sizes.keys * precision.element


def draw_bytes(sizes: Sizes, rows: int) -> int:
    """What drawing one token for each of `rows` takes: float32 over the vocabulary."""
    return DRAW_COPIES * rows * sizes.vocabulary * FLOAT


def prefill_bytes(sizes: Sizes, precision: Precision, tokens: int) -> int:
    """Values alive at once in a layer while prompts of `tokens` in all are run, nothing kept."""
    width = 2 * sizes.hidden + 2 * sizes.queries + 2 * sizes.keys + 3 * sizes.inner
    return tokens * width * (precision.element + FLOAT) // 2


@dataclass(frozen=True)
class Pass:
    """A micro-batch. tokens: of prompts and answers. prompt, answer: tokens of one; each answer
    keeps a copy of its prompt's keys and values. cpu: where it is computed."""

    tokens: int
    prompt: int = 0
    answer: int = 1
    cpu: bool = False

    @property
    def copied(self) -> float:
        """Tokens of prompts that are kept once more, for each token."""
        return self.prompt / self.answer

    @property
    def scored(self) -> int:
        """Keys of each query whose weights are kept."""
        return min(self.prompt + self.answer, FEW_KEYS) if self.cpu else 0


def layer_bytes(sizes: Sizes, precision: Precision, one: Pass) -> int:
    """What autograd keeps of one token in one layer, summed over its saved tensors."""
    if not sizes.fused:
        return _modules_layer(sizes, precision)
    return _fused_layer(sizes, precision, one)


def _fused_layer(sizes: Sizes, precision: Precision, one: Pass) -> int:
    """Of our own forward, all in the precision of the weights.

    What the two norms read and what they give; queries, keys and values before their norms, where
    there are any; in the padded places of attention all of them rotated, queries scaled, keys and
    values joined with those of the prompt, the output, and on a CPU the weights of few keys; the
    output in line; gate and up side by side, and their product; LoRA's low ranks.
    """
    three = sizes.queries + 2 * sizes.keys
    attention = three + 2 * sizes.queries + 2 * sizes.keys * (1 + one.copied)
    attention += sizes.heads * one.scored
    values = 4 * sizes.hidden + sizes.normed_heads * three + PADDED * attention
    values += sizes.queries + 3 * sizes.inner + PROJECTIONS * precision.rank
    return int(precision.element * values) + FLOAT * SINGLES * sizes.heads


def _modules_layer(sizes: Sizes, precision: Precision) -> int:
    """Of Hugging Face's modules.

    In the precision of the weights: the two normalised inputs of the projections; queries, keys,
    values and the output of attention, keys and values repeated where heads are grouped; gate, its
    activation, up and their product. In float32: what the norms read. Where all weights learn, the
    norms keep their outputs too. With an adapter in float32 over weights of another precision, a
    float32 copy of the input of each adapted layer.
    """
    normed = 2 * sizes.hidden + sizes.normed_heads * (sizes.queries + sizes.keys)
    kept = 2 * sizes.hidden + 4 * sizes.queries + 4 * sizes.inner
    single = PROJECTIONS * precision.rank + SINGLES * sizes.heads
    total = precision.element * kept + FLOAT * (normed + single)
    if not precision.rank:
        total += precision.element * normed
    elif precision.element < FLOAT:
        total += FLOAT * (5 * sizes.hidden + sizes.queries + sizes.inner)
    return total


def activation_bytes(sizes: Sizes, precision: Precision, one: Pass, checkpointing: bool) -> int:
    """What a micro-batch takes below the head, forward and backward.

    checkpointing: only the input of each layer is kept, and one layer at a time is computed again.
    One layer more stands for the gradients under way.
    """
    layer = layer_bytes(sizes, precision, one)
    kept = sizes.layers * (sizes.hidden * precision.element if checkpointing else layer)
    ends = sizes.hidden * (2 * FLOAT + 2 * precision.element)  # the last norm, and its gradient
    under_way = 2 * layer if checkpointing else layer
    return one.tokens * (kept + under_way + ends) + _mask_bytes(sizes, precision, one)


def _mask_bytes(sizes: Sizes, precision: Precision, one: Pass) -> int:
    """Which keys each query sees, as a truth value and as what is added to its score."""
    repeats = sizes.queries // max(1, sizes.keys)
    pairs = one.tokens * (one.prompt + one.answer) * repeats
    return sizes.fused * int(PADDED * pairs * (1 + precision.element))


def head_bytes(sizes: Sizes, precision: Precision, tokens: int) -> int:
    """Logits of one chunk and what is made of them; it does not grow with the tokens beyond.

    A head that does not learn takes less: no gradient of it is computed.
    """
    if precision.rank and sizes.fused:
        values = min(tokens, CHUNK_ROWS) * sizes.vocabulary
        return values * (precision.element + FROZEN_COPIES * FLOAT)
    values = min(tokens * sizes.vocabulary, max(CHUNK_VALUES, sizes.vocabulary))
    return HEAD_COPIES * FLOAT * values

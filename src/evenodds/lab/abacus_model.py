"""The bundled model's shape and its character tokenizer."""

from __future__ import annotations

from typing import Any

END = "<|end|>"
PAD = "<|pad|>"
CHARACTERS = "0123456789*=+#<~"
HIDDEN, LAYERS, HEADS, KV_HEADS, HEAD_SIZE, INNER = 128, 4, 4, 2, 32, 256


def make_tokenizer() -> Any:
    """A fast tokenizer with one token a character, and an end token."""
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    names = [PAD, END, *CHARACTERS]
    vocabulary = {name: number for number, name in enumerate(names)}
    inner = Tokenizer(models.WordLevel(vocabulary, unk_token=PAD))
    inner.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated")
    inner.decoder = decoders.Fuse()
    return PreTrainedTokenizerFast(
        tokenizer_object=inner,
        eos_token=END,
        pad_token=PAD,
        unk_token=PAD,
        clean_up_tokenization_spaces=False,
    )


def make_model(tokenizer: Any) -> Any:
    """A Qwen3 of 0.6 M parameters, randomly initialised from torch's current seed."""
    from transformers import Qwen3Config, Qwen3ForCausalLM

    config = Qwen3Config(
        vocab_size=len(tokenizer),
        hidden_size=HIDDEN,
        intermediate_size=INNER,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        num_key_value_heads=KV_HEADS,
        head_dim=HEAD_SIZE,
        max_position_embeddings=256,
        rope_parameters={"rope_type": "default", "rope_theta": 1000.0},
        tie_word_embeddings=False,
        pad_token_id=tokenizer.pad_token_id,
        eos_token_id=tokenizer.eos_token_id,
        bos_token_id=None,
    )
    config.prompt_style = "bare"  # read by evenodds: it knows `12*34=` and nothing else
    return Qwen3ForCausalLM(config)

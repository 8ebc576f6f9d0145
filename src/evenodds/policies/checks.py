"""What a folder must hold before its model is believed: whole, finite, with a tokenizer that fits.

Each raises `UsageError` in one line for the first thing that is wrong.
"""

from __future__ import annotations

import re
import sys
from typing import Any

import torch

from evenodds.errors import UsageError

CHECKED = 2_000_000_000  # parameters up to which every weight is looked at
LONG = 200  # characters of a library's message that are shown


def one_line(error: BaseException) -> str:
    """The message of a library, cut at the end of a sentence or else of a word."""
    text = " ".join(str(error).split()) or type(error).__name__
    if len(text) > LONG:
        head = text[: LONG + 1]
        ends = [found.end() for found in re.finditer(r"[.!?](?=\s)", head)]
        text = head[: ends[-1]] if ends else head.rpartition(" ")[0] + " …"
    return text if text.endswith((".", "!", "?", "…")) else text + "."


def require_docstrings(optimized: int = sys.flags.optimize) -> None:
    """Raise `UsageError` where Python took docstrings away, without which transformers fails."""
    if optimized >= 2:
        raise UsageError(
            "Python runs without docstrings (-OO, or PYTHONOPTIMIZE=2), and transformers reads "
            "them. Start it without that, or with PYTHONOPTIMIZE=1."
        )


def require_complete(model: Any, info: dict[str, Any], name: str) -> None:
    """Every weight came from the file; transformers leaves what is missing at random values.

    info: what `from_pretrained` returns with `output_loading_info=True`.
    """
    config = model.config
    tied = getattr(model, "_tied_weights_keys", None) if config.tie_word_embeddings else None
    missing = sorted(set(info["missing_keys"]) - set(tied or ()))
    if missing:
        raise UsageError(
            f"the weights of {name!r} lack {missing[0]!r} ({len(missing)} missing in all). "
            "Give a folder with all weights."
        )
    for key, got, wanted in sorted(info["mismatched_keys"]):
        raise UsageError(
            f"the weights of {name!r} do not fit its config.json: {key!r} has shape {tuple(got)}, "
            f"wanted {tuple(wanted)}. Mend the folder."
        )


def require_finite(model: Any, name: str) -> None:
    """No NaN and no infinity in the weights; very large models are believed."""
    if model.num_parameters() >= CHECKED:
        return
    for key, value in model.named_parameters():
        if value.numel() and not torch.stack(value.detach().aminmax()).isfinite().all():
            raise UsageError(
                f"the weights of {name!r} are not finite: {key!r} holds NaN or infinity. "
                "Give sound weights."
            )


def _usable_ids(tokenizer: Any) -> set[int]:
    """Ids that text can bring: not the special tokens that nothing here writes."""
    special = {i: str(t) for i, t in tokenizer.added_tokens_decoder.items() if t.special}
    template = str(getattr(tokenizer, "chat_template", None) or "")
    written = {i for i, token in special.items() if token in template}
    named = {tokenizer.bos_token_id, tokenizer.eos_token_id, tokenizer.unk_token_id}
    return (set(tokenizer.get_vocab().values()) - set(special)) | written | (named - {None})


def require_fitting(model: Any, tokenizer: Any, name: str) -> None:
    """Every id that the tokenizer gives has a row in the embedding."""
    rows = int(model.get_input_embeddings().weight.shape[0])
    largest = max(_usable_ids(tokenizer), default=0)
    if largest >= rows:
        raise UsageError(
            f"the tokenizer of {name!r} gives ids up to {largest}, the model knows {rows} tokens. "
            "Save the tokenizer that belongs to the model."
        )

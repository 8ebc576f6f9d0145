"""What a folder must hold before its model is believed: whole, finite, with a tokenizer that fits.

Each raises `UsageError` in one line for the first thing that is wrong.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterable
from typing import Any

import torch

from evenodds.errors import UsageError

CHECKED = 2_000_000_000  # parameters up to which every weight is looked at
LAYER = re.compile(r"(.*?)\.(\d+)\.")  # a layer, by its stem and number
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
    cut = _layers_left_out(model, info.get("unexpected_keys") or ())
    if cut:
        raise UsageError(
            f"the weights of {name!r} do not fit its config.json: they have a layer {cut[-1]}, and "
            f"it knows layers 0 to {cut[0] - 1} alone. Mend num_hidden_layers in its config.json."
        )


def _layers_left_out(model: Any, unread: Iterable[str]) -> list[int]:
    """Numbers of layers in the file that the model does not have, where they follow on its own.

    unread: names of weights that nothing took. Layers for several tokens at once, which some
    families keep behind the others, are left out on purpose.
    """
    if getattr(model.config, "num_nextn_predict_layers", 0):
        return []
    own = [found for name, _ in model.named_parameters() if (found := LAYER.match(name))]
    count: dict[str, int] = {}
    for found in own:
        count[found[1]] = max(count.get(found[1], 0), int(found[2]) + 1)
    named = (found for name in unread if (found := LAYER.match(name)))
    return sorted({int(f[2]) for f in named if int(f[2]) >= count.get(f[1], math.inf)})


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

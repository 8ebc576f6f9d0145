"""Text to token ids and back, with the stop set: the one place that touches a tokenizer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenodds.domain import Prompt
from evenodds.errors import UsageError

TAIL = 64  # characters of the prompt that a verifier may see


@dataclass(frozen=True)
class Codec:
    """A tokenizer and the ids that end a completion (there may be several)."""

    tokenizer: Any
    stop_ids: frozenset[int]

    def render(self, prompt: Prompt) -> str:
        """The prompt as text: conversations go through the tokenizer's chat template."""
        if isinstance(prompt, str):
            return prompt
        if not getattr(self.tokenizer, "chat_template", None):
            raise UsageError(
                "this tokenizer has no chat template. Use --task.style few_shot or bare."
            )
        messages = [dict(message) for message in prompt]
        return self.tokenizer.apply_chat_template(
            messages, tokenize=False, add_generation_prompt=True
        )

    def encode(self, prompt: Prompt) -> NDArray[np.int64]:
        """Ids of a prompt. A chat template writes its own special tokens; plain text gets the
        tokenizer's default ones."""
        text = self.render(prompt)
        ids = self.tokenizer.encode(text, add_special_tokens=isinstance(prompt, str))
        if not ids:
            raise UsageError(f"the prompt {text[:40]!r} has no tokens. Give a longer prompt.")
        return np.asarray(ids, dtype=np.int64)

    def tail(self, prompt: Prompt) -> str:
        return self.render(prompt)[-TAIL:]

    def decode(self, ids: Iterable[int]) -> str:
        """Text of ids without a final stop token; other special tokens stay visible."""
        kept = [int(i) for i in ids]
        if kept and kept[-1] in self.stop_ids:
            kept.pop()
        return self.tokenizer.decode(kept, skip_special_tokens=False)

    def require_readable(self, text: str) -> None:
        """Raise `UsageError` if the tokenizer has no token for some of the text."""
        tokenizer = self.tokenizer
        used = {tokenizer.bos_token_id, tokenizer.eos_token_id}
        unknown = {tokenizer.unk_token_id, tokenizer.pad_token_id} - used - {None}
        ids = tokenizer.encode(text, add_special_tokens=False)
        if not unknown.isdisjoint(ids):
            raise UsageError(
                f"this policy has no tokens for some of {text[:60]!r}. "
                "Choose another policy, task or --task.style."
            )

    @property
    def pad_id(self) -> int:
        """Any valid id: what is padded is never looked at."""
        pad = self.tokenizer.pad_token_id
        return int(pad) if pad is not None else min(self.stop_ids, default=0)

    @cached_property
    def _pieces(self) -> list[str]:
        return [self.tokenizer.decode([i]) for i in range(len(self.tokenizer))]

    def may_end(self, stop_strings: Sequence[str], vocabulary: int) -> NDArray[np.bool_]:
        """[vocabulary] True for tokens after which one of the strings could have been completed.

        A string ends inside some token, so that token's text holds its last character; tokens that
        decode to a replacement character hold part of one and must be looked at too.
        """
        ends = {text[-1] for text in stop_strings} | {"\ufffd"}
        result = np.zeros(vocabulary, dtype=bool)
        hits = [i for i, piece in enumerate(self._pieces) if not ends.isdisjoint(piece)]
        result[[i for i in hits if i < vocabulary]] = True
        return result


def stop_ids_of(tokenizer: Any, *configs: Any) -> frozenset[int]:
    """Every id that ends a turn: the tokenizer's and those of the model's and generation config."""
    found: set[int] = set()
    for value in (tokenizer.eos_token_id, *(getattr(c, "eos_token_id", None) for c in configs)):
        if value is not None:
            found.update([value] if isinstance(value, int) else value)
    return frozenset(int(i) for i in found)

"""Text to token ids and back, with the stop set: the one place that touches a tokenizer."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenodds.domain import PROMPT_TAIL, Prompt
from evenodds.errors import UsageError
from evenodds.policies.checks import one_line

SMALL = 64  # tokens up to which a vocabulary is shown whole


def require_unicode(text: str) -> None:
    """Raise `UsageError` for half characters (lone surrogates), which no tokenizer takes."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise UsageError(
            f"the text {text[:60]!r} is no Unicode: half a character at {error.start}. "
            "Save it as UTF-8."
        ) from None


@contextmanager
def unbroken() -> Generator[None]:
    """A tokenizer whose library gives up, as on a pattern that searches too long, is an error in
    one line: the library's own is no `Exception`, and would end the process."""
    try:
        yield
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        raise UsageError(
            f"the tokenizer cannot read a text: {one_line(error)} Mend its tokenizer.json."
        ) from None


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
        from evenodds.policies.chat_template import render_chat

        tokenizer = self.tokenizer
        try:
            return render_chat(tokenizer.get_chat_template(), prompt, tokenizer.special_tokens_map)
        except Exception as error:  # a template is a program: whatever it raises
            raise UsageError(
                f"the chat template cannot be used: {one_line(error)} "
                "Use --task.style bare or few_shot."
            ) from error

    def encode(self, prompt: Prompt) -> NDArray[np.int64]:
        """Ids of a prompt. A chat template writes its own special tokens; plain text gets the
        tokenizer's default ones."""
        text = self.render(prompt)
        require_unicode(text)
        with unbroken():
            ids = self.tokenizer.encode(text, add_special_tokens=isinstance(prompt, str))
        if not ids:
            raise UsageError(f"the prompt {text[:40]!r} has no tokens. Give a longer prompt.")
        return np.asarray(ids, dtype=np.int64)

    def tail(self, prompt: Prompt) -> str:
        return self.render(prompt)[-PROMPT_TAIL:]

    def decode(self, ids: Iterable[int]) -> str:
        """Text of ids without a final stop token; other special tokens stay visible."""
        kept = [int(i) for i in ids]
        if kept and kept[-1] in self.stop_ids:
            kept.pop()
        with unbroken():
            return self.tokenizer.decode(kept, skip_special_tokens=False)

    def require_readable(self, text: str) -> None:
        """Raise `UsageError` if the tokenizer has no token for some of the text."""
        require_unicode(text)
        tokenizer = self.tokenizer
        used = {tokenizer.bos_token_id, tokenizer.eos_token_id}
        unknown = {tokenizer.unk_token_id, tokenizer.pad_token_id} - used - {None}
        ids = tokenizer.encode(text, add_special_tokens=False)
        if not unknown.isdisjoint(ids):
            raise UsageError(
                f"this policy has no tokens for some of {text[:60]!r}.{self._alphabet()} "
                "Choose another policy, task or --task.style."
            )

    def _alphabet(self) -> str:
        """A sentence with all that a small tokenizer knows; nothing for a large one."""
        known = set(self.tokenizer.get_vocab()) - set(self.tokenizer.all_special_tokens)
        return f" It knows {' '.join(sorted(known))} alone." if len(known) <= SMALL else ""

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

"""The grammar of answers: which tokens may come next, decided by a small automaton.

An answer to `3+4+9=` is the bare number, `16`, or the work and then the number, `13;3+13=16`.
Numbers have one or two digits and no leading zero. What is not allowed has probability exactly 0,
for the sampler and for the learner alike, since both ask the same two tables.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenodds.errors import UsageError

PAD, END = "<pad>", "<end>"
DIGITS = "0123456789"
TOKENS = (PAD, END, *DIGITS, "+", "=", ";")
LONGEST = len("88;88+88=88") + 1
"""Tokens of the longest answer, its end token included."""

_AFTER = ((";", END), ("+",), ("=",), (END,))  # what may follow each number of an answer
_PROMPT, _DONE = 0, 1


@dataclass(frozen=True)
class Letters:
    """One token a character, with the few methods that `policies.Codec` asks of a tokenizer."""

    chat_template: None = None
    pad_token_id: int = TOKENS.index(PAD)
    eos_token_id: int = TOKENS.index(END)

    def encode(self, text: str, add_special_tokens: bool = False) -> list[int]:
        """Raises `UsageError` for a character that is no token."""
        for letter in text:
            if letter not in TOKENS:
                raise UsageError(
                    f"the GRU has no token for {letter!r}. Got the prompt {text[:40]!r}. "
                    f"Use {''.join(TOKENS[2:])} alone."
                )
        return [TOKENS.index(letter) for letter in text]

    def decode(self, ids: Iterable[int], skip_special_tokens: bool = False) -> str:
        return "".join(TOKENS[i] for i in ids)

    def __len__(self) -> int:
        return len(TOKENS)


@dataclass(frozen=True)
class Grammar:
    """follow [states, tokens]: the state after a token. allowed [states, tokens]: what may come.

    State 0 is inside the prompt, which ends with its first `=`. A token that is not allowed leads
    to the state of a finished answer, in which nothing but the end token may come: so every state
    allows something, and no distribution is empty.
    """

    follow: NDArray[np.int64]
    allowed: NDArray[np.bool_]

    @property
    def start(self) -> int:
        """The state in which a row begins."""
        return _PROMPT


def make_grammar() -> Grammar:
    """The two tables. A number's states: nothing read, a zero, one digit, two digits."""
    states = 2 + 4 * len(_AFTER)
    follow = np.full((states, len(TOKENS)), _DONE, dtype=np.int64)
    allowed = np.zeros(follow.shape, dtype=bool)
    follow[_PROMPT], allowed[_PROMPT] = _PROMPT, True
    follow[_PROMPT, TOKENS.index("=")] = _number(0)
    allowed[_DONE, TOKENS.index(END)] = True

    def edge(state: int, token: str, target: int) -> None:
        follow[state, TOKENS.index(token)] = target
        allowed[state, TOKENS.index(token)] = True

    for field, ends in enumerate(_AFTER):
        empty, zero, one, two = range(_number(field), _number(field) + 4)
        for digit in DIGITS:
            edge(empty, digit, zero if digit == "0" else one)
            edge(one, digit, two)
        for token in ends:
            for state in (zero, one, two):
                edge(state, token, _DONE if token == END else _number(field + 1))
    return Grammar(follow, allowed)


def _number(field: int) -> int:
    """The state before the first digit of a number of the answer."""
    return 2 + 4 * field

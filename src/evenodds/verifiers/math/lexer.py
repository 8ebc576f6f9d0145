"""The tokens of a cleaned text: numbers, names, functions, words, signs."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import NamedTuple

from evenodds.verifiers.math.tree import MAX_TOKENS, NotMathError
from evenodds.verifiers.math.vocabulary import (
    CONSTANTS,
    FUNCTIONS,
    GREEK,
    JOINS,
    RELATIONS,
    SETS,
    SIGNS,
    SMALL_WORDS,
    SPECIALS,
    UNITS,
    WORD_CONSTANTS,
)


class Token(NamedTuple):
    """kind: number, name, constant, function, word, text (`\\text{…}`), and, sign, relation, set,
    special, cell, line, end.

    text: what it stands for, commands under one name. is_spaced: whether a space stands before it.
    """

    kind: str
    text: str
    is_spaced: bool = False


END = Token("end", "")

_TOKEN = re.compile(
    r"\\text\{(?P<text>[^{}]{0,200})\}"
    r"|(?P<number>(?:[0-9]{1,1500}(?:\.[0-9]{1,1500}|\.(?=\s?\\overline))?|\.[0-9]{1,1500})"
    r"(?:[eE][-+]?[0-9]{1,4}(?![0-9.a-zA-Z]))?)"
    r"|\\(?P<command>[a-zA-Z]{1,40})"
    r"|(?P<escaped>\\[{}|])"
    r"|(?P<word>[^\W\d_]{1,60})"
    r"|(?P<space>\s{1,1500})"
    r"|(?P<sign>\.\.\.|\*\*|<=|>=|!=|==|=<|.)",
    re.DOTALL,
)
_VOWELS = re.compile("[aeiouAEIOU]")


def tokenize(text: str) -> list[Token]:
    """The tokens of a cleaned text. Raises NotMathError where there are too many."""
    tokens: list[Token] = []
    is_spaced = False
    for match in _TOKEN.finditer(text):
        if match.lastgroup == "space":
            is_spaced = True
            continue
        tokens += _tokens(match, is_spaced, tokens[-1] if tokens else END)
        is_spaced = False
        if len(tokens) > MAX_TOKENS:
            raise NotMathError("it is too long")
    return tokens


def _tokens(match: re.Match[str], is_spaced: bool, before: Token) -> list[Token]:
    kind, text = match.lastgroup or "", match[match.lastgroup or 0]
    if kind == "number":
        return [Token("number", text, is_spaced)]
    if kind == "sign":
        return [_sign(text, is_spaced)]
    if kind == "escaped":
        return [Token("sign", SIGNS[text[1]], is_spaced)]
    if kind == "command":
        return [_command(text, is_spaced)]
    if kind == "text":
        return _words(text)
    return _word(text, is_spaced, before)


def _sign(text: str, is_spaced: bool) -> Token:
    if text in RELATIONS:
        return Token("relation", RELATIONS[text], is_spaced)
    if text == "\x01" or text == "\x02":
        return Token("cell" if text == "\x01" else "line", text, is_spaced)
    return Token("sign", SIGNS.get(text, text) if text == "**" else text, is_spaced)


def _command(text: str, is_spaced: bool) -> Token:
    if text in RELATIONS:
        return Token("relation", RELATIONS[text], is_spaced)
    if text in SIGNS:
        return Token("sign", SIGNS[text], is_spaced)
    if text in SETS:
        return Token("set", SETS[text], is_spaced)
    if text in SPECIALS:
        return Token("special", SPECIALS[text], is_spaced)
    if text in FUNCTIONS:
        return Token("function", text, is_spaced)
    if text in CONSTANTS:
        return Token("constant", CONSTANTS[text], is_spaced)
    if text in ("circ", "degree"):
        return Token("sign", "°", is_spaced)
    if text in GREEK:
        return Token("name", "\\" + text, is_spaced)
    if text in JOINS:
        return Token("and", JOINS[text], is_spaced)
    raise NotMathError(f"the command \\{text} is not read")


def _words(text: str) -> list[Token]:
    """Words in `\\text{…}`: a connective, or a word that names or measures."""
    plain = text.strip()
    if plain.lower() in JOINS:
        return [Token("and", JOINS[plain.lower()], True)]
    if plain in ("", ",", ";", ":"):
        return [Token("sign", plain, True)] if plain else []
    return [_text_token(plain)]


def _text_token(plain: str) -> Token:
    if plain.isdigit():
        return Token("number", plain, True)
    return Token("text", plain, True)


def _word(text: str, is_spaced: bool, before: Token) -> list[Token]:
    if len(text) == 1:
        return [Token("name" if text.isascii() else "word", text, is_spaced)]
    if text == "sqrt":
        return [Token("special", text, is_spaced)]
    if text in FUNCTIONS:
        return [Token("function", text, is_spaced)]
    if text in WORD_CONSTANTS:
        return [Token("constant", WORD_CONSTANTS[text], is_spaced)]
    if text.lower() in JOINS:
        return [Token("and", JOINS[text.lower()], is_spaced)]
    if text in GREEK:
        return [Token("name", "\\" + text, is_spaced)]
    if is_product(text) and not (before.kind == "number" and text in UNITS):
        return [Token("name", letter, is_spaced and i == 0) for i, letter in enumerate(text)]
    return [Token("word", text, is_spaced)]


def is_product(text: str) -> bool:
    """Whether letters side by side are a product, such as `xy`, `ABC` or `pqr`, and no word."""
    if not text.isascii() or text in SMALL_WORDS:
        return False
    if len(text) == 2 or text.isupper():
        return len(text) <= 5
    steps = {ord(b) - ord(a) for a, b in pairwise(text)}
    return len(text) <= 5 and (steps == {1} or not _VOWELS.search(text))

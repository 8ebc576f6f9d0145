"""Multiple choice: the letter of a gold, and of a short answer."""

from __future__ import annotations

import re

_GOLD_LETTER = re.compile(r"\(?([A-J])\)?[.:)]?\Z")
_LABEL = re.compile(
    r"[\s$]{0,4}(?:\\(?:text|textbf|mathrm|mathbf|bf)\s?\{\s?)?\(\s?[A-E]\s?\)\s{0,2}(?:\}[\s~\\]{0,3}"
    r"|[\s~\\]{1,3})(?=[^\s}])"
)
_GOLD_START = re.compile(r"\(?([A-J])(?:\)|[.:])\s|([A-J])\s(?=[A-Z])")
_GOLD_END = re.compile(r"(?:^|\n|\bis\s)\s{0,4}\(([A-J])\)\s")
_STYLE = re.compile(
    r"\\(?:text|textbf|mathrm|mathbf|textit|boxed|mathcal)\s?\{|[{}$]|\*(?!\s?[0-9])|\\[()\[\]]"
)
MAX_TEXT = 4_000


def plain(text: str) -> str:
    """A text without the styling that may stand around a letter."""
    return _STYLE.sub(" ", text).strip()


def gold_letter(gold: str) -> str | None:
    """The letter of a gold that is a choice: `C`, `(C)`, `C. x = 42`, `A Peter`; else None."""
    bare = plain(gold)
    alone = _GOLD_LETTER.match(bare.strip(" ."))
    if alone:
        return alone[1]
    start = _GOLD_START.match(bare)
    if start:
        return start[1] or start[2]
    end = _GOLD_END.search(gold)
    return end[1] if end else None


def without_label(text: str) -> str:
    """`\\textbf{(C) } 42` without its letter, where something follows it."""
    label = _LABEL.match(text)
    return text[label.end() :] if label else text


def tail_of(text: str) -> str:
    """What follows the letter of a choice: `42` in `D) 42`."""
    found = re.match(r"\W{0,3}[A-J][).:]\s{0,4}(\S.{0,400})\Z", plain(text), re.DOTALL)
    return found[1] if found else ""


def letter_of(text: str) -> str | None:
    """The letter that a short answer is, such as `(C)` or `C. x = 42`."""
    bare = plain(text).strip(" .")
    alone = _GOLD_LETTER.match(bare) or re.match(r"\(?([A-J])(?:\)|[.:])\s", bare)
    return alone[1] if alone else None

"""Whether an answer that is not worked out only repeats the question."""

from __future__ import annotations

import re

from evenodds.domain import Prompt, as_text
from evenodds.verifiers.math.clean import clean, key

MAX_PROMPT = 20_000
_RUN = re.compile(r"[-+*/^()!0-9. \\a-z{}]{3,200}")
_NUMBER = re.compile(r"[0-9]{1,40}(?:\.[0-9]{1,40})?")
_PLAIN = re.compile(r"\\(?:[dt]?frac|text|mathrm|boxed|left|right|%|\$)|\\[,;:! ]")
_FORMULA = re.compile(r"[\\^√π+*]|[a-z]\(")
_OPERATOR = re.compile(r"[-+*/^!]|\\(?:cdot|times|div|frac|binom)")


def repeats(prompt: Prompt, text: str) -> bool:
    """Whether an expression stands in the question as it is, or reordered, or with little added."""
    asked, mine = clean(as_text(prompt)[-MAX_PROMPT:]), clean(text)
    if key(mine) in key(asked):
        return True
    numbers = sorted(_NUMBER.findall(mine))
    return any(_is_within(run, numbers) for run in _RUN.findall(asked))


def is_formula(text: str) -> bool:
    """Whether more stands there than numbers and words: a root, a function, a power, a sum."""
    return _FORMULA.search(_PLAIN.sub("", text)) is not None


def _is_within(run: str, mine: list[str]) -> bool:
    theirs = sorted(_NUMBER.findall(run))
    if len(theirs) < 2 or len(mine) > len(theirs) + 2 or not _OPERATOR.search(run):
        return False
    rest = list(mine)
    for number in theirs:
        if number not in rest:
            return False
        rest.remove(number)
    return True

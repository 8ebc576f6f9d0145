"""Labelled parts: two values that a text gives to two questions, where one value is asked for.

`(a) 41 (b) 42` and `minimum \\boxed{41}, maximum \\boxed{42}` answer twice. Bounded patterns only.
"""

from __future__ import annotations

import re

from evenodds.verifiers.objection import Objection

LONGEST = 60
_LABEL = (
    r"(?:\(?(?:[a-h]|[ivx]{1,4}|[1-9])\)|[1-9]\.(?=\s)"
    r"|\b(?:case|part|answer|question)\s\(?(?:[a-h]|[ivx]{1,4}|[1-9])\b\)?[.:]?)"
)
_LEAD = r"(?:[\s$*:=]|\\[(\[]|\b[a-zA-Z]\b|\b(?:we get|there are|it is|the answer is)\b){0,8}"
_VALUE = r"(-?[0-9](?:[0-9.,/]{0,30}[0-9])?)"
_LABELLED = re.compile(
    rf"(?<![\w(]){_LABEL}{_LEAD}{_VALUE}(?:[\s$*.,;]|\\[)\]]|\band\b){{1,8}}"
    rf"(?:[^\W\d_]{{2,20}}(?:[\s.,;]|\band\b){{1,6}})?{_LABEL}{_LEAD}\Z",
    re.IGNORECASE,
)
_NTH = re.compile(r"\b(?:second|third|fourth|fifth|2nd|3rd|other)\s\Z", re.IGNORECASE)
_FIRST = re.compile(
    r"\b(?:first|1st|one)\s(?:final\s)?answer(?:\sis)?[\s:=$*]{1,6}" + _VALUE, re.IGNORECASE
)
_CORRECTED = re.compile(
    r"\b(?:wrong|incorrect|mistake|revised|corrected|better|check(?:ed)?)\b", re.IGNORECASE
)
_WORD = re.compile(r"[^\W\d_]{2,60}")
_MATH_MARKS = re.compile(r"\\(?:[()\[\],;:! ]|quad|qquad|text\s?\{)")
_BEGINS_LABELLED = re.compile(rf"(?:\A|[.\n;,])[\s$*]{{0,6}}(?:and\s)?{_LABEL}", re.IGNORECASE)
# words that say that the second value follows from the first one, or is the one that counts
_FOLLOWS = re.compile(
    r"\b(?:so|hence|therefore|thus|then|total|sum|final|finally|overall|altogether|answer|result"
    r"|gives|giving|get|gets|means|yields|equals|because|since|which|that|with|when|where|from|but"
    r"|not|it|no|wrong|correct|actually|wait|rather|instead|plus|minus|times|by|of|step)\b",
    re.IGNORECASE,
)


def is_parted(gap: str) -> bool:
    """Whether two boxes with `gap` between them answer two questions of one line or list."""
    if len(gap) > LONGEST or "=" in gap or "\n\n" in gap:
        return False
    is_labelled = _BEGINS_LABELLED.search(gap) is not None
    if not is_labelled and ("\n" in gap or re.search(r"[.!?:]\s", gap)):
        return False
    words = len(_WORD.findall(_MATH_MARKS.sub(" ", gap)))
    return 0 < words + is_labelled <= 4 and _FOLLOWS.search(gap) is None


def earlier_part(text: str, start: int, value: str, is_phrase: bool) -> Objection | None:
    """The objection to the value at `start` where a part before it has another value."""
    before = text[max(0, start - 160) : start]
    if is_phrase and _NTH.search(before):
        found = next(iter([*_FIRST.finditer(text, max(0, start - 2_000), start)][-1:]), None)
        if found and _CORRECTED.search(text, found.end(), start):
            return None
    else:
        found = _LABELLED.search(before)
    if found is None or found[1] in re.findall(_VALUE, value[-80:]):
        return None
    return Objection("another part has another value", is_several=True)

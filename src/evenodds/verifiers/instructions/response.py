"""An answer as the checks read it: its words, lines, sentences and paragraphs, each found once.

Every scan is one pass over the text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

_WORD = re.compile(r"\w+")
_JOINED_WORD = re.compile(r"\w+(?:['’-]\w+){0,20}")
_SENTENCE_END = re.compile(r"[.!?…]{1,8}[\"'”’)\]*_]{0,4}(?=\s|\Z)|[。！？]")
_BLANK_LINES = re.compile(r"\n[ \t]{0,40}\n")
_DIVIDER = re.compile(r"\*\*\*")
_LAST_WORD = re.compile(r"[\w.]{1,12}\Z")
_ABBREVIATIONS = frozenset(
    re.findall(
        r"\S+",
        "mr mrs ms dr prof st sr jr vs etc fig no vol approx dept est inc ltd co e.g i.e a.m p.m "
        "u.s u.k cf al gen rev hon capt lt col sgt",
    )
)


@dataclass(frozen=True)
class Response:
    """The text of an answer after its reasoning."""

    text: str

    @cached_property
    def folded(self) -> str:
        """Without a difference between upper and lower case."""
        return self.text.casefold()

    @cached_property
    def words(self) -> list[str]:
        """Runs of letters, digits and underscores: `don't` is two, as IFEval counts."""
        return _WORD.findall(self.text)

    @cached_property
    def joined_words(self) -> list[str]:
        """Words in which hyphens and apostrophes do not end a word: `don't` is one."""
        return _JOINED_WORD.findall(self.text)

    @cached_property
    def lines(self) -> list[str]:
        return self.text.split("\n")

    @cached_property
    def sentences(self) -> int:
        """How many sentences: ends that are none are skipped, and what is left over is one."""
        count, start = 0, 0
        for end in _SENTENCE_END.finditer(self.text):
            if _WORD.search(self.text, start, end.start()) and not self._is_inside(end.start()):
                count, start = count + 1, end.end()
        return count + bool(_WORD.search(self.text, start))

    def _is_inside(self, dot: int) -> bool:
        """Whether a full stop only ends an abbreviation, an initial, or the number of a list.

        Dots of omission end a sentence only where the next word is not in lower case.
        """
        if self.text[dot] not in ".…":
            return False
        if self.text.startswith(("..", "…"), dot):
            return self.text[dot : dot + 12].lstrip(".… \n")[:1].islower()
        before = _LAST_WORD.search(self.text[max(0, dot - 12) : dot])
        word = before[0] if before else ""
        is_initial = len(word) == 1 and word.isalpha() and word.isupper() and word != "I"
        line = self.text[max(0, dot - 8) : dot].rpartition("\n")[2].strip(" *#>")
        is_number = word.isdecimal() and len(word) < 4 and line == word
        return word.lower() in _ABBREVIATIONS or is_initial or is_number

    @cached_property
    def blocks(self) -> list[str]:
        """Paragraphs between blank lines; empty ones do not count."""
        return [block for block in _BLANK_LINES.split(self.text) if block.strip()]

    @cached_property
    def divided(self) -> list[str]:
        """Paragraphs between `***`; an empty one counts unless it is the first or the last."""
        parts = [part.strip() for part in _DIVIDER.split(self.text)]
        if parts and not parts[0]:
            parts = parts[1:]
        return parts[:-1] if parts and not parts[-1] else parts


def count(word: str, response: Response, *, whole: bool) -> int:
    """How often a word or phrase occurs, whatever its case; `whole`: not as a part of a word."""
    needle = word.casefold()
    if not whole:
        return response.folded.count(needle)
    text, found, at = response.folded, 0, response.folded.find(needle)
    while at >= 0:
        end = at + len(needle)
        if not _is_within(text, at, needle[0]) and not _is_within(text, end, needle[-1]):
            found += 1
        at = text.find(needle, end)
    return found


def _is_within(text: str, at: int, edge: str) -> bool:
    """Whether a word goes on across the place `at`; `edge` is the needle's sign at that place."""
    if not _is_wordlike(edge) or not 0 < at < len(text):
        return False
    return _is_wordlike(text[at - 1]) and _is_wordlike(text[at])


def _is_wordlike(sign: str) -> bool:
    return sign.isalnum() or sign == "_"

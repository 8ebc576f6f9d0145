"""Where the final answer stands in a text, for mathematics: marks, and ways to cut them.

Every scanner takes linear time: one pass, or patterns whose repeats are bounded.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from evenodds.verifiers.extract import (
    MOST,
    Mark,
    are_parts,
    boxes,
    hashes,
    joined,
    last_number,
    money,
    outermost,
    phrase_start,
    tags,
)
from evenodds.verifiers.math.vocabulary import FUNCTIONS
from evenodds.verifiers.remarks import conclusion_end

MAX_WHOLE = 300
_DELIMITER = re.compile(r"\$\$|(?<!\\)\$|\\[()\[\]]")
_CLOSING = {"$$": "$$", "$": "$", "\\(": "\\)", "\\[": "\\]"}
_SENTENCE_END = re.compile(r"\n|[.!?。](?=\s|$|[^\x00-\x7f])")
_PHRASE_CUT = re.compile(
    r"[;:](?=\s|$)|,\s(?=[^\W\d_]{2})|\s[-–—]\s(?=[^\W\d_]{2})"
    r"|\s(?=(?:because|since|as|so|which|where|when|while|but|for|after|by|with|from|that|if)\b)"
)
_REMARK = re.compile(r",\s(?:as|which|since|because|so|hence|thus|but|while)\b")
_GAP = re.compile(
    r"(?:[\s,;/&$.*=:]|\\[()\[\],;!]|\\quad|\\qquad|\\text\s?\{[^{}]{0,40}\}"
    r"|[a-zA-Z]_?\{?[0-9a-zA-Z]{0,2}\}?\s?=|\b(?:[a-z]{2,12}\s){0,2}(?:and|or|und|oder|et|ou)\b"
    r"|\(?\b[a-hivx1-9]{1,3}[).]|\b(?:case|part|answer)\s\(?[0-9a-h]\)?"
    r"|\b(?:maybe|perhaps|possibly)\b){0,40}",
    re.IGNORECASE,
)

_PREMISE = re.compile(r"\b(?:as|since|because|when|if|for|given|with|where)\s\Z", re.IGNORECASE)
_JOIN = re.compile(r"[,;&]|\b(?:and|or|und|oder|et|ou)\b")


def box_cluster(text: str) -> list[Mark]:
    """The last box, with those before it that belong to the same answer."""
    marks = boxes(text)
    return _cluster(text, outermost(text, marks))


def _cluster(text: str, marks: list[Mark]) -> list[Mark]:
    cluster = marks[-1:]
    for mark in reversed(marks[-MOST:-1]):
        gap = text[mark.end : cluster[0].start]
        if mark.end > cluster[0].start or len(gap) > 120:
            break
        if not _is_gap(gap) and not are_parts(text, mark, cluster[0]):
            break
        cluster.insert(0, mark)
    return cluster


def _is_gap(gap: str) -> bool:
    """Whether only connectives and names stand between two boxes: one answer in two boxes."""
    if "\n\n" in gap or ". " in gap:
        return False
    is_display = "$$" in gap or "\\]" in gap
    return _GAP.fullmatch(gap) is not None and not (is_display and not _JOIN.search(gap))


def tag_cluster(text: str) -> list[Mark]:
    return joined(text, tags(text))


def hash_mark(text: str) -> list[Mark]:
    return hashes(text)[-1:]


def phrase_marks(text: str) -> list[Mark]:
    """What follows the last `answer is`, cut at the sentence, then at its first clause."""
    found = phrase_start(text)
    if found is None:
        return []
    start, value = found
    end = _sentence_end(text, value)
    closed = len(text) - end > 1 or text.endswith("\n")
    marks = [Mark(text[value:end], "'answer is'", start, end, closed)]
    cut = _PHRASE_CUT.search(text, value + 1, end)
    if cut:
        clause = Mark(text[value : cut.start()], "'answer is'", start, cut.start(), True)
        marks = [clause] if _REMARK.match(text, cut.start(), end) else [*marks, clause]
    return marks + money(text, start, value)


def is_final(text: str, start: int) -> bool:
    """Whether the word `final` stands before an `answer is`."""
    return text[max(0, start - 8) : start].strip(" *_").lower().endswith("final")


def _sentence_end(text: str, start: int) -> int:
    """The end of the sentence; a formula in it is passed as a whole."""
    at = start
    for _ in range(24):
        end = _SENTENCE_END.search(text, at)
        opening = _DELIMITER.search(text, at)
        if opening is None or (end and end.start() < opening.start()):
            return end.start() if end else len(text)
        closing = _CLOSING.get(opening[0])
        close = text.find(closing, opening.end()) if closing else -1
        if close < 0 or close - opening.end() > 2_000:
            return end.start() if end else len(text)
        at = close + len(closing or "")
    return at


def formula_marks(text: str) -> list[Mark]:
    """The last formula in math marks, with those joined to it; none if a number follows it."""
    end = conclusion_end(text)
    marks = list(_formulas(text[:end]))
    if not marks or re.search("[0-9]", text[marks[-1].end : end]):
        return []
    marks = _without_premises(text, marks)
    return _cluster(text, marks)


def _without_premises(text: str, marks: list[Mark]) -> list[Mark]:
    """The marks behind the last `since $n > 0$`, where one of them follows it."""
    for i in range(len(marks) - 2, max(-1, len(marks) - 4), -1):
        if _PREMISE.search(text[max(0, marks[i].start - 12) : marks[i].start]):
            return marks[i + 1 :]
    return marks


def _formulas(text: str) -> Iterator[Mark]:
    if "$" not in text and "\\" not in text:
        return
    opening: re.Match[str] | None = None
    for delimiter in _DELIMITER.finditer(text):
        if opening is None:
            opening = delimiter if delimiter[0] in _CLOSING else None
        elif delimiter[0] == _CLOSING[opening[0]]:
            inside = text[opening.end() : min(delimiter.start(), opening.end() + 2_000)]
            if inside.strip():
                yield Mark(inside, "formula", opening.start(), delimiter.end())
            opening = None
        elif delimiter[0] in ("\\(", "\\["):
            opening = delimiter


def whole_marks(text: str) -> list[Mark]:
    """The lines of a short text as one list, then its last line that is not empty."""
    end = len(text.rstrip())
    start = text.rfind("\n", 0, end) + 1
    first = len(text) - len(text.lstrip())
    marks: list[Mark] = []
    if end - first <= MAX_WHOLE and start > first:
        lines = text[first:end].replace("\n", ", ")
        marks.append(Mark(lines, "whole text", first, end, False))
    if 0 < end - start <= MAX_WHOLE:
        how = "whole text" if start <= first else "last line"
        label = _ANSWER_LABEL.match(text, start, end)
        start = label.end() if label else start
        marks.append(Mark(text[start:end], how, start, end, False))
    return marks


_BOLD_END = re.compile(r"(?<=\b(?:is|be)\s)\*\*([^\W\d_][^*\n.?!]{0,60})(?:\*\*[.!]?|[.!]\*\*)\Z")
_ANSWER_LABEL = re.compile(r"\s{0,9}\*{0,2}A:\*{0,2}\s{1,3}(?=\S)")  # `A: 45`, behind `Q: …`
_WORD = re.compile(r"(?<![\\{a-zA-Z])[a-zA-Z]{2,40}(?![a-zA-Z])|[^\W\d_\x00-\x7f]{2,40}")
_MINUS = re.compile("[\u2212\ufe63\uff0d\u2010\u2011]|(?<=[\\s($])\u2013(?=[0-9.])")
_NOT_A_WORD = FUNCTIONS | {"sqrt", "pi", "and", "or"}


def tail_mark(text: str) -> list[Mark]:
    """The formula that the text ends with, behind its last word: `so we get x^2 + 1.`"""
    text = text.rstrip()
    start = max(0, len(text) - 200)
    for word in _WORD.finditer(text, start):
        if word[0] not in _NOT_A_WORD:
            start = word.end()
    tail = text[start:]
    if start == 0 or not re.search("[0-9a-zA-Z]", tail):
        return []
    return [Mark(tail, "last formula", start, len(text), False)]


def bold_words(text: str) -> list[Mark]:
    """The one piece in bold that ends a sentence of one line: `The function is **even**.`"""
    text = text.rstrip()
    start = max(text.rfind("\n") + 1, len(text) - MAX_WHOLE)
    found = _BOLD_END.search(text, start)
    if found is None or text.count("**", start) != 2:
        return []
    return [Mark(found[1], "bold words", found.start(1), found.end(1), False)]


def number_mark(text: str) -> list[Mark]:
    """The last number; every sign that looks like a minus is one."""
    return last_number(text if text.isascii() else _MINUS.sub("-", text))


SCANNERS: dict[str, Callable[[str], list[Mark]]] = {
    "box": box_cluster,
    "answer tags": tag_cluster,
    "####": hash_mark,
    "'answer is'": phrase_marks,
    "formula": formula_marks,
    "whole text": whole_marks,
    "last formula": tail_mark,
    "last number": number_mark,
}
EXPLICIT = frozenset(["box", "answer tags"])
VARIANTS = frozenset(["'answer is'", "whole text"])
"""Scanners whose marks are cuts of one answer, tried in turn; those of others are its parts."""

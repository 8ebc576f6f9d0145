"""Where in a text the final answer stands. Every way to find it is a policy with a name.

All scanners run in linear time: one pass, or patterns whose repeats are bounded.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from evenodds.verifiers.parts import is_parted
from evenodds.verifiers.remarks import before_power, bold_value, conclusion_end


@dataclass(frozen=True)
class Mark:
    """An answer that was found: its text, which policy found it, and where it stands.

    start, end: the span in the text, marks included. is_closed: whether its end was written too.
    """

    text: str
    how: str
    start: int
    end: int
    is_closed: bool = True


MOST = 64  # marks that stand side by side are compared up to this many
LONGEST_BOX = 2_000
"""Nothing is read further into a box: the slice stays small for thousands of nested boxes."""

_BOX = re.compile(r"\\(?:boxed|fbox|framebox)\s{0,2}\{")
_BRACE = re.compile(r"\\\\|\\[{}]|[{}]")
_TAG = re.compile(r"<(/?)answer\s{0,4}>", re.IGNORECASE)
_HASHES = re.compile(r"(?<!#)####(?!#)")
_PHRASE = re.compile(
    r"\b(?:answer|réponse|respuesta|antwort|resposta|risposta|ответ)"
    r"[*_ ]{0,4}(?:\bis\b|\best\b|\bist\b|\bes\b|[:=]|(?=\\[(\[]|\$))"
    r"|答案\s{0,2}[:是]?",
    re.IGNORECASE,
)
_FILLER = re.compile(
    r"(?:[\s*:=_`]|\\[(\[]|(?:therefore|thus|simply|just|exactly|equal to|equals|given by|now"
    r"|indeed|approximately|about|is)\b){0,24}",
    re.IGNORECASE,
)
_VALUE_START = re.compile(
    r"[-+$€£.(]?\s?(?:\\[$(]\s?)?[-0-9.\\({]|[a-zA-Z]\s?=|(?:minus|negative) [0-9]"
)
_MONEY = re.compile(
    r"(?<![0-9.,])-?[0-9](?:[0-9.,]{0,30}[0-9])?\s?\\?[$€£]|\\?[$€£]\s?-?[0-9](?:[0-9.,]{0,30}[0-9])?"
)
_PHRASE_END = re.compile(
    r"\n|\s\((?!or\b|maybe|perhaps|actually|wait|not\b)(?=[a-z]{2})|[.;:!?](?=\s|$)|,\s(?=[^\W\d_])|\\[)\]]"
    r"|\s(?=(?:because|since|as|so|which|where|when|while|but|for|after|by|with|from|in)\b)"
)
_JOIN = re.compile(r"(?:[\s,;/&$.*]|\\[()\[\]]|\b(?:or|and|oder|und|ou|et|maybe|perhaps)\b){0,40}")


def boxes(text: str) -> list[Mark]:
    """Every `\\boxed{…}` and `\\fbox{…}`, in order; a double backslash before it is read too."""
    if "box" not in text:
        return []
    closing = _closing_braces(text)
    return [_box(text, match, closing.get(match.end() - 1)) for match in _BOX.finditer(text)]


def outermost(text: str, marks: list[Mark]) -> list[Mark]:
    """The marks up to the box around the last one, where it says more: `\\boxed{\\boxed{4}2}`."""
    if len(marks) < 2:
        return marks
    last = marks[-1]
    for i, mark in enumerate(marks[-MOST:-1], max(0, len(marks) - MOST)):
        if mark.end > last.end and mark.is_closed:
            rest = text[mark.start : last.start] + text[last.end : mark.end]
            return marks[: i + 1] if re.search(r"\w", rest.replace("boxed", "")) else marks
    return marks


def _box(text: str, match: re.Match[str], close: int | None) -> Mark:
    if close is None:
        return Mark("", "box", match.start(), len(text), is_closed=False)
    inside = text[match.end() : min(close, match.end() + LONGEST_BOX)]
    return Mark(inside, "box", match.start(), close + 1)


def _closing_braces(text: str) -> dict[int, int]:
    """For every opening brace that is closed, where: one pass with a stack."""
    stack: list[int] = []
    closing: dict[int, int] = {}
    for brace in _BRACE.finditer(text):
        if brace[0] == "{":
            stack.append(brace.start())
        elif brace[0] == "}" and stack:
            closing[stack.pop()] = brace.start()
    return closing


def stated(gold: str) -> str:
    """The answer of a gold that is a worked solution: what its last closed box holds, or what
    follows its only `####`; else all of it.
    """
    gold = gold.strip()
    marks = boxes(gold)
    if marks and marks[-1].is_closed:
        return marks[-1].text.strip()
    head, separator, answer = gold.rpartition("####")
    return answer.strip() if separator and "####" not in head else gold


def tags(text: str) -> list[Mark]:
    """Every `<answer>…</answer>`, in order; the last may lack its end, where a stop string cut."""
    if "<" not in text:
        return []
    found: list[Mark] = []
    opened: re.Match[str] | None = None
    for tag in _TAG.finditer(text):
        if not tag[1]:
            opened = tag
        elif opened is not None:
            inside = text[opened.end() : tag.start()]
            found.append(Mark(inside, "answer tags", opened.start(), tag.end()))
            opened = None
    if opened is not None:
        found.append(Mark(text[opened.end() :], "answer tags", opened.start(), len(text), False))
    return found


def tagged(text: str) -> Mark | None:
    """The last pair of answer tags."""
    found = tags(text)
    return found[-1] if found else None


def hashes(text: str) -> list[Mark]:
    """What follows each of the last `####`, to the end of its line or the next one."""
    starts = [match.start() for match in _HASHES.finditer(text)] if "####" in text else []
    return [_hash(text, start, end) for start, end in pairwise([*starts[-MOST:], len(text)])]


def _hash(text: str, start: int, limit: int) -> Mark:
    line = text.find("\n", start, limit)
    end = limit if line < 0 else line
    return Mark(text[start + 4 : end].strip(), "####", start, end, is_closed=end < len(text))


def phrases(text: str) -> list[Mark]:
    """The last `answer is` or `Answer:` with a value right behind it; a heading is none."""
    found = phrase_start(text)
    if found is None:
        return []
    first, start = found
    if not _VALUE_START.match(text, start):
        return money(text, first, start)
    cut = _PHRASE_END.search(text, start + 1)
    end = cut.start() if cut else len(text)
    # a full stop that ends a text may yet be a decimal point
    closed = len(text) - end > 1 or text.endswith("\n")
    return [Mark(text[start:end], "'answer is'", first, end, closed)]


def phrase_start(text: str) -> tuple[int, int] | None:
    """Where the last `answer is` begins, and where what it says begins; None without one."""
    found = list(_PHRASE.finditer(text))
    if not found:
        return None
    last = found[-1]
    filler = _FILLER.match(text, last.end())
    return last.start(), filler.end() if filler else last.end()


def money(text: str, first: int, start: int) -> list[Mark]:
    """The one sum of money in the line behind a phrase: `Answer: she pays 220 $ in 12 months`."""
    line = text[start : start + 300].partition("\n")[0]
    found = _MONEY.search(line)
    if found is None or sum(line.count(sign) for sign in "$€£") != 1:
        return []
    end = start + found.end()
    return [Mark(found[0], "'answer is'", first, end, len(text) - end > 1)]


_RUN_TOKEN = re.compile(
    r"(?P<math>\\[a-zA-Z]{1,20}|\\[()\[\]$,!;:% ]|[0-9.,]{0,400}[0-9](?:[eE][-+]?[0-9]{1,12})?"
    r"|[-+*/^=(){}\[\]!%≈$_ ]|(?<=[0-9])x(?=[0-9])|(?<=[0-9]\{),(?=\}[0-9]{3}))"
    r"|(?P<stop>[^\W\d_]{1,60}|.)",
    re.DOTALL,
)
_AFTER = re.compile(
    r"(?:[^\s,;<\\]|<(?!/?[a-zA-Z]{1,10}>)|\\(?:text|textbf|mathrm|mbox)\s?\{[^{}]{0,80}\}|\\[^\s]){0,60}"
)
_EMPHASIS = re.compile(r"(?<![^\s([{:=,;])(?:\*{1,3}|_{1,3})(?=[^\s*_])")
_BOLD_SIDE = re.compile(r"(?<=[=≈:]\s)\*\*(?=[^\s*])|(?<=[=≈:])\*\*(?=[^\s*])")
_EXCLAIMED = re.compile(r"\s{0,2}-?[0-9][0-9.,]{0,40}!")
_CLOCK = re.compile(r"(?<![0-9:])[0-9]{1,2}:\Z")
_SCALE_AFTER = re.compile(
    r"\s{1,2}(?:\\?%|percent\b|pct\b|thousand\b|million\b|billion\b|trillion\b|[ap]\.?m\b|[AP]\.?M\b)"
)
_ALGEBRA_AFTER = re.compile(
    r"\s{1,2}(?:[*/^+=<>≈](?!\*)|-\s?[a-zA-Z0-9\\]\b|[xyznkt]\b"
    r"|\\(?:pi|sqrt|cdot|times|frac|ln|log|sin|cos|tan|if|le|ge|lt|gt|ne|approx|pm))"
)
_WORDED = re.compile(r"\b(x|times|plus|minus|negative|by|of|over|from|to|than)\s{1,3}\Z")
_UNIT_WORD = re.compile(r"[^\W\d_]{2} \Z")
_NOT_BEFORE = re.compile(r"(?:\bnot|n['’]t|\bnever|\bneither)\b[^.\n]{0,12}\Z", re.IGNORECASE)
RUN_WINDOW = 240
LONGEST_SENTENCE = 200
_NUMBERS = re.compile(r"[0-9](?:[0-9.,/]*[0-9])?")


def is_sentence_of_one(text: str) -> bool:
    """Whether a text is short and holds one number: `The total is 11.`"""
    return len(text) <= LONGEST_SENTENCE and len(_NUMBERS.findall(text)) == 1


def last_number(text: str) -> list[Mark]:
    """The formula that holds the last digit: `48+360=408` whole, not only its last number.

    Words, semicolons, line breaks, and commas with a space behind them end it, so that the last
    digit of `12*34` or of `\\sqrt{17}` is never taken for an answer.
    """
    limit = conclusion_end(text)
    bold = bold_value(text, limit)
    least, limit = bold or (0, limit)
    last = max(text.rfind(digit, least, limit) for digit in "0123456789") + 1
    if last == 0:
        return []
    start = _past_emphasis(text, _run_start(text, max(least, last - RUN_WINDOW), last))
    before = before_power(text, start)
    if before is not None:
        start = _past_emphasis(text, _run_start(text, max(least, before - RUN_WINDOW), before))
    end = _run_end(text, last, limit)
    found = _BOLD_SIDE.sub("", text[start:end])
    if _EXCLAIMED.fullmatch(found) and start and not text[end:].strip():
        found = found[:-1]  # `it is 45!` says 45, loudly
    return [Mark(found, "last number", start, end, is_closed=end < len(text))]


def _run_end(text: str, last: int, limit: int) -> int:
    suffix = _AFTER.match(text, last, limit)
    end = suffix.end() if suffix else last
    scale = _SCALE_AFTER.match(text, end)
    if scale:
        return scale.end()
    return min(len(text), end + 40) if _ALGEBRA_AFTER.match(text, end) else end


def _run_start(text: str, window: int, last: int) -> int:
    start = max(window, text.rfind(";", window, last) + 1, text.rfind("\n", window, last) + 1)
    for token in _RUN_TOKEN.finditer(text, start, last):
        if token.lastgroup == "stop":
            start = token.end()
    while start < last and text[start] in " )]}":
        start += 1
    clock = _CLOCK.search(text, max(window, start - 3), start)
    if clock:
        return clock.start()
    return _past_words(text, start, last) if start else start


def _past_emphasis(text: str, start: int) -> int:
    """The start behind the stars of `**24**`, which are no sign of a product there."""
    emphasis = _EMPHASIS.match(text, start)
    return emphasis.end() if emphasis else start


def _past_words(text: str, start: int, last: int) -> int:
    """The start once words take part in the formula: `minus 3`, `12 x 34 = 408`, `2 h * 4 = 8`.

    Of an equation that words began only the last side is kept, for the other side is not whole.
    """
    worded = _WORDED.search(text, max(0, start - 24), start)
    equals = text.rfind("=", start, last)
    if equals >= 0 and (worded or _follows_words(text, start)):
        return equals
    return worded.start() if worded and worded[1] in ("minus", "negative") else start


def _follows_words(text: str, start: int) -> bool:
    before = text[max(0, start - 4) : start].rstrip(" ")
    if text[start] in "-+*/^_=":
        return (
            text[start] in "-+*/" and _UNIT_WORD.match(text, max(0, start - 3), start) is not None
        )
    return bool(before) and before[-1] not in "\n;:.,($"


POLICIES: dict[str, Callable[[str], list[Mark]]] = {
    "box": boxes,
    "answer tags": tags,
    "####": hashes,
    "'answer is'": phrases,
    "last number": last_number,
}


def joined(text: str, marks: Sequence[Mark]) -> list[Mark]:
    """The last mark with those before it that only `or`, `and` or punctuation parts from it.

    No more than the last `MOST` are looked at.
    """
    cluster = list(marks[-1:])
    for mark in reversed(marks[-MOST:-1]):
        between = _JOIN.match(text, mark.end, max(mark.end, cluster[0].start))
        is_near = between is not None and between.end() >= cluster[0].start
        if mark.end > cluster[0].start or not (is_near or are_parts(text, mark, cluster[0])):
            break
        cluster.insert(0, mark)
    return cluster


def are_parts(text: str, mark: Mark, other: Mark) -> bool:
    """Whether two boxes with numbers answer two questions: `Case 1: … Case 2: …`."""
    if mark.how != "box" or other.start - mark.end > 2 * RUN_WINDOW:
        return False
    if _NOT_BEFORE.search(text, max(0, mark.start - 20), mark.start):
        return False
    has_numbers = all(re.search("[0-9]", box.text[:RUN_WINDOW]) for box in (mark, other))
    return has_numbers and is_parted(text[mark.end : other.start])

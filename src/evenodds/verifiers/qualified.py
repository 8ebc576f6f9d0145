"""Words beside a value that make another answer of it, doubt it, or call it wrong."""

from __future__ import annotations

import re

from evenodds.verifiers.objection import Objection

_OPENING = r"(?:[\s$*(:=]|\\[(\[]|\\text\{|\b(?:a|an|the|to|be|it|is|exactly)\b){0,8}\Z"

# in a sentence about the answer these relate it to a value; elsewhere they may belong to a story
_RELATED = re.compile(
    r"\b(?:answer|result|solution)\b[^.!?\n]{0,40}?\b(?:(?:less|greater|more|fewer|larger|smaller"
    r"|bigger|higher|lower|other|different) than|at least|at most|up to|close to|near|twice|double"
    r"|triple|half(?: of)?|different from|differs from|opposite of|negative of|reciprocal of"
    r"|inverse of|square of|root of|multiple of|factor of|divisor of|no longer|hardly|scarcely"
    r"|unlikely to|anything but|everything but|all but|except|excluding"
    r"|(?:number|value) (?:after|before|between)|one more than|one less than|cube of|log of"
    r"|(?:[0-9]{1,9}|two|three|four|five|six|ten|hundred) times|successor of|predecessor of)"
    + _OPENING,
    re.IGNORECASE,
)
_EXCEPTED = re.compile(
    r"\b(?:rather than|instead of|anything but|everything but|all but|except(?: for)?|unlike)"
    + _OPENING,
    re.IGNORECASE,
)
_DOUBTED = re.compile(
    r"\b(?:doubt(?:s|ed|ful)?|not sure|unsure|false|wrong to (?:say|think|claim)|nobody would"
    r"|no one would|unlikely)\s{1,2}(?:that\s|if\s|whether\s)?(?:(?!\bbut\b)[^.,;:!?\n]){0,40}\Z",
    re.IGNORECASE,
)
_SUPPOSED = re.compile(
    r"(?:\b(?:suppose|supposing|assume|assuming|imagine|whether|if)\s(?:that\s)?"
    r"|\b(?:some(?:one|body)?|people|he|she|they|student|friend|teacher|book|bob|alice)\s[^.:\n]{0,20}"
    r"\b(?:claim|say|said|think|thought|believe|guess|insist)[a-z]{0,3}\s(?:that\s)?[\"'“”*]{0,3})"
    r"(?:the\s|my\s|our\s|an?\s)?(?:final\s|correct\s)?"
    r"(?:(?:answer|result|solution)\s(?:is|was|were|would be|equals)\s?)?[\s$*\"'“”]{0,3}\Z",
    re.IGNORECASE,
)
# denials in other languages, before and behind the value
_ABROAD = re.compile(
    r"(?:不是|不等于|不等於|并非|並非|错误答案\s?(?:是|为)?|\bno es|\bnão é|\bnon è|\bnie(?: jest)?"
    r"|\bikke|\binte|\bniet|\bnem|\bkhông phải(?: là)?|\bне(?: равен| равно| равна)?|\bليس(?:ت)?)"
    r"[\s:：$*]{0,4}\Z",
    re.IGNORECASE,
)
_ABROAD_AFTER = re.compile(
    r"[0-9][\s$*)}]{0,4}(?:では(?:な|あり)|じゃな|[이가은는]?\s?아니|[이가은는]?\s?아닙"
    r"|değil|नहीं|不是|是错)"
)
_HIDDEN = re.compile(
    r"(?:(?<![0-9\\])%\s{0,4}|\\[hv]?phantom\s?\{\s?|<!--[^>\n]{0,80}|\\iffalse\b[^\n]{0,80})\Z"
)
_CANCELLED = re.compile(r"\\(?:[bx]?cancel|sout|st)\s{0,3}\{\s{0,3}(?:\${1,2}|\\[(\[])?\s{0,3}\Z")
_STRUCK = re.compile(r"~~[\s$*]{0,4}\Z")
_SIGN_BEFORE = re.compile(r"(?:¬|\\l?not\s|\\neg\s)[\s$*(]{0,4}\Z")

_CALLED_WRONG = re.compile(
    r"[\s$*)\]}\"'”]{0,6}(?:\.\s{1,2}|[,;:]\s|\s?[-–—]\s)?[\"'”]?(?:,\s)?(?:\bbut\s)?"
    r"(?:\b(?:this|that|which|it|he|she|they)\s)?(?:is|was|are|were)\s"
    r"(?:the\s|a\s|an\s)?"
    r"(?:wrong|incorrect|false|mistaken|impossible|excluded|ruled out|trap|mistake)\b"
    r"|[\s$*)\]}\"'”]{0,6}[,;:.]?\s(?:which|this|that|but that) (?:leads|is a contradiction|fails)"
    r"|[\s$*]{0,4}\((?:wrong|incorrect|false)\b|[\s$*]{0,4}[✗✘❌]",
    re.IGNORECASE,
)
_OTHERWISE = re.compile(
    r"[\s$*)\]}]{0,6},?\s{0,2}if\b[^.\n]{0,60}\b(?:else|otherwise)\b", re.IGNORECASE
)
_POWERED = re.compile(r"[\s$*)]{0,4}\s(?:squared|cubed|factorial|hundred)\b", re.IGNORECASE)
_ALSO = re.compile(
    r"[\s$*)\]}.;,]{0,6}(?:\bas well as\b|\bor is it\b)|[\s$*)\]}]{0,6}(?:\.{2,3}|…)\s{0,2}or\b",
    re.IGNORECASE,
)


def is_denied(text: str) -> bool:
    """Whether words of other languages behind a value deny it, such as `42ではない`."""
    return not text.isascii() and _ABROAD_AFTER.search(text) is not None


def qualification(before: str, after: str, is_boxed: bool, value: str = "") -> Objection | None:
    """What words around a value make of it, and whether they offer another; None if they do not.

    before: what precedes the value, with the words that lead to it. after: what follows. A box may
    be related to what precedes it: in `n is at least \\boxed{5}` the answer is 5.
    """
    if not is_boxed and (_RELATED.search(before) or _EXCEPTED.search(before)):
        return Objection("words before it make another value of it")
    if not is_boxed and _POWERED.match(after):
        return Objection("words behind it make another value of it")
    if _ABROAD.search(before) or is_denied(value[-20:] + after[:20]):
        return Objection("the answer is negated")
    if _HIDDEN.search(before):
        return Objection("it stands in a comment, or is not shown")
    if _SUPPOSED.search(before):
        return Objection("it is only supposed, or said by others")
    if _DOUBTED.search(before):
        return Objection("words before it doubt it")
    struck = _STRUCK.search(before) and after[:2] == "~~"
    if struck or _SIGN_BEFORE.search(before) or _CANCELLED.search(before):
        return Objection("it is struck out or negated")
    if _CALLED_WRONG.match(after):
        return Objection("the answer is called wrong by what follows")
    if _OTHERWISE.match(after) or _ALSO.match(after):
        return Objection("another answer is offered with it", is_several=True)
    return None

"""What stands around an answer and takes it back: negation, hedging, retraction, algebra."""

from __future__ import annotations

import re

from evenodds.verifiers.extract import Mark
from evenodds.verifiers.objection import Objection, reordered
from evenodds.verifiers.parts import earlier_part
from evenodds.verifiers.qualified import qualification
from evenodds.verifiers.sums import follows_false_sum
from evenodds.verifiers.unannounced import fragment, unannounced

_NOT = re.compile(
    r"(?:\b(?:not|never|cannot|neither|nor|nicht|pas)|n['’]t|≠|\\neq?)"
    r"(?:[ \t:=*$]|\\[(\[]|\b(?:be|been|equal|equals|to|the|a|an|number|value|exactly|simply|just"
    r"|necessarily|actually|really|final|correct|right|answer|is|true|that|think|believe|say)\b){0,24}\Z",
    re.IGNORECASE,
)
_WRONG_ANSWER = re.compile(
    r"\b(?:wrong|incorrect|false|bad|trap)\s{1,3}(?:final )?(?:answer|result|value)\b"
    r"[\s:=*$]{0,4}(?:(?:is|was|would be)[\s:=*$]{0,4})?\Z|\b(?:wrong|incorrect)\s?:\s{0,2}\Z",
    re.IGNORECASE,
)
_DENIED = re.compile(
    r"[\s$*).\\\]]{0,6}(?:is|was|would be|seems)\s"
    r"(?:wrong|incorrect|false|not (?:right|correct|the))"
    r"|[\s$*).\\\]]{0,6}(?:\?\s{0,2}no\b|is not\b)",
    re.IGNORECASE,
)
_HEDGE_BEFORE = re.compile(
    r"[0-9](?:[\s$*)}.°%]|\\[)\]%]){0,6}(?:[^\W\d_]{1,20}\s{1,2})?"
    r"(?:\bor\b|\boder\b|\bou\b|或)\s{0,2}(?:maybe|perhaps|possibly|even|is it)?[\s$*(]{0,4}\Z"
    r"|[0-9](?:[\s$*)}°%]|\\[)\]%]){0,4}(?:[^\W\d_]{1,20}\s{1,2}(?=and\b|und\b|et\b))?(?:,|;\s|/|&|\band\b|\bto\b|\bund\b|\bet\b)[\s$*(]{0,4}\Z",
    re.IGNORECASE,
)
_HEDGE_AFTER = re.compile(
    r"(?:[\s$*)}.]|\\[)\]%]){0,6}(?:[^\W\d_]{1,20}\s{1,2})?"
    r"(?:,?\s{0,2}\bor\s{1,2}(?:maybe|perhaps|possibly)\b"
    r"|(?:,?\s{0,2}\bor\b|/|\boder\b|\bou\b)\s{0,2}(?:maybe|perhaps|possibly|even)?"
    r"[\s$*(\\]{0,4}[-+]?[0-9])",
    re.IGNORECASE,
)
_OR_PERHAPS = re.compile(r"\bor\s{1,2}(?:maybe|perhaps|possibly)[\s$*(\\]{0,4}\Z", re.IGNORECASE)
_COULD_BE = re.compile(
    r"\b((?:could|might|may|can) be|perhaps|maybe|possibly)\b[^0-9]{0,12}[0-9].{0,60}?\b\1"
    r"[\s$*(]{0,4}\Z",
    re.IGNORECASE | re.DOTALL,
)
# `x = 41, x = 42`
_SAME_NAME = re.compile(
    r"\b([a-zA-Z])\s?=\s?[-+0-9./]{1,30}[\s$]{0,3}(?:,|;|or|and)(?:\s(?:or|and))?[\s$]{0,3}\1\s?=\Z"
)
_ASKED = re.compile(r"\W{0,3}\?\s[^\n]{0,60}[0-9]")
_NO = re.compile(r"\s{0,2}(?:no|nope|wrong)\b", re.IGNORECASE)
_RETRACTED = re.compile(
    r"\b(?:wait|actually|correction|scratch that|i was wrong|that is wrong|that's wrong|mistake"
    r"|not exactly|not quite"
    r"|no,|sorry|on second thought|rather)",
    re.IGNORECASE,
)
# `x > 42` is no answer of 42; `<b>42` and `=> 42` are
_RELATED = re.compile(r"(?<!<)(?<!</)\b[a-zA-Z0-9]{1,3}[\s$)}]{0,3}(?:[<>]=?|[≤≥≠])[\s$({]{0,3}\Z")
_FUNCTION = re.compile(
    r"(?:[√∛]|(?<![a-zA-Z])\\?(?:log|ln|lg|sqrt|sin|cos|tan|exp)|\broot of)[\s$*({]{0,3}\Z"
)
_CODE = re.compile(
    r"__|\b(?:import|lambda|eval|exec|system|open|print|subprocess|def|return|os\.\w{1,20})\s?\("
    r"|\bimport\s\w|\\(?:input|include|write|openin|def|catcode)\b"
)
_BINARY = re.compile(r"\s{0,2}[-+*/^_]")


def is_program(text: str, mark: Mark) -> bool:
    """Whether a number that no mark announces stands in program code, in the line of the mark."""
    start = max(text.rfind("\n", 0, mark.start) + 1, mark.start - 300)
    return _CODE.search(text, start, mark.end) is not None


def objection(text: str, mark: Mark) -> Objection | None:
    """Why an answer does not stand by what is around it; None where it stands."""
    before = text[max(0, mark.start - 90) : mark.start]
    # a phrase may hold the denial itself, between its first word and its value
    lead = text[mark.start : mark.end - len(mark.text)] if mark.how == "'answer is'" else ""
    turned = reordered(before + text[mark.start : mark.end + 20])
    if turned is not None:
        return turned
    if _NOT.search(before + lead) or _WRONG_ANSWER.search(before + lead):
        return Objection("the answer is negated")
    if mark.text.rstrip(" .*").endswith("~~"):
        return Objection("it is struck out")
    after = text[mark.end : mark.end + 2_000]
    if _DENIED.match(after) or (mark.text[-1:] == "?" and _NO.match(after)):
        return Objection("the answer is taken back by what follows")
    qualified = qualification(before + lead, after, mark.how == "box", mark.text)
    if qualified is not None:
        return qualified
    if _OR_PERHAPS.search(before):
        return Objection("it is offered beside another answer", is_several=True)
    around = None
    if mark.how in ("last number", "formula"):
        around = fragment(text[text.rfind("\n", 0, mark.start) + 1 : mark.start], after[:20])
    if mark.how == "last number":
        around = around or _around_number(before, mark) or unannounced(before, after)
    if mark.how in ("last number", "'answer is'"):
        around = around or earlier_part(text, mark.start, mark.text, mark.how != "last number")
    if around is not None:
        return around
    if _HEDGE_AFTER.match(after) or _ASKED.match("?" * mark.text.endswith("?") + after):
        return Objection("another answer is offered with it", is_several=True)
    retracted = _RETRACTED.search(after)
    if retracted and re.search("[0-9]", after[retracted.end() :]):
        return Objection("another number follows a change of mind", is_several=True)
    return None


def _around_number(before: str, mark: Mark) -> Objection | None:
    if mark.text[:1] == "=" and follows_false_sum(before, mark.text):
        return Objection("two different numbers are called equal", is_several=True)
    if "=" not in mark.text and _HEDGE_BEFORE.search(before):
        return Objection("it is one of several numbers", is_several=True)
    if _COULD_BE.search(before):
        return Objection("it is one of several guesses", is_several=True)
    if _SAME_NAME.search(before + mark.text[: mark.text.find("=") + 1]):
        return Objection("it is one of several values of a name", is_several=True)
    if _RELATED.search(before):
        return Objection("it is the bound of a relation")
    if _FUNCTION.search(before):
        return Objection("it is part of an expression")
    if _BINARY.match(mark.text) and _is_operand(before, mark.text):
        return Objection("it is part of an expression")
    return None


def _is_operand(before: str, text: str) -> bool:
    """Whether a sign at the front of `text` joins it to what stands before, as in `n-1`."""
    if text[0] in "-+" and len(text) > 1 and text[1] not in " " and not before[-1:].isalnum():
        # `x -1` with a lone letter is algebra; `is -1` is a negative number
        word = before.split()[-1:] or [""]
        return len(word[0]) == 1 and word[0].isalpha()
    before = before.rstrip(" ")
    return bool(before) and before[-1] not in ":\n=,("

"""The `math` verifier: extract the final answer, read it, compare it exactly with the gold."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from evenodds.domain import Completion, Problem, Status, Stop, Verdict, as_text
from evenodds.verifiers.choice import read_words
from evenodds.verifiers.context import is_program, objection
from evenodds.verifiers.extract import Mark, is_sentence_of_one
from evenodds.verifiers.math import choice, compare, echo
from evenodds.verifiers.math.claim import Claim, Gold, join_claims, read_claim, read_gold
from evenodds.verifiers.math.find import (
    EXPLICIT,
    SCANNERS,
    VARIANTS,
    bold_words,
    is_final,
    phrase_marks,
)
from evenodds.verifiers.math.policy import DEFAULT, Policy
from evenodds.verifiers.objection import Objection, reordered
from evenodds.verifiers.qualified import is_denied
from evenodds.verifiers.unannounced import LONGEST_LEAD, fragment
from evenodds.verifiers.verdicts import (
    CUT,
    final_text,
    gold_unreadable,
    paid,
    taken_back,
    unpaid,
)

# `$` with a line break behind it begins no formula, in TeX's dialects that people read
_BROKEN = re.compile(
    r"(?:(?<![$\\])\$(?!\$)|\\\()[ \t]{0,9}\n\s{0,9}[^\s$\\]{1,80}\s{0,9}\n[ \t]{0,9}(?:\$|\\\))"
)
ALIKE = ("written as the gold is", "written alike", "the same choice")
_OPEN_ENDED = frozenset(
    ["last number", "last formula", "whole text", "last line", "formula", "bold words"]
)


@dataclass(frozen=True)
class Found:
    """An answer that was found: what it claims, how it was found, whether it was finished.

    refusal: why it does not stand, whatever it claims; is_several: for being one of several.
    """

    claim: Claim
    how: str
    is_closed: bool
    refusal: str = ""
    is_several: bool = False


def judge(problem: Problem, completion: Completion, policy: Policy = DEFAULT) -> Verdict:
    """Pays 1 for an answer that is mathematically the gold, found in the order of the policy.

    A completion that the budget cut is paid only where its answer was explicit and complete.
    Several different answers are not paid, nor is a negated one. Never raises.
    """
    gold = read_gold(problem.answer, policy)
    if gold.refusal:
        return gold_unreadable(gold.refusal)
    text = final_text(completion)
    if isinstance(text, Verdict):
        return text
    found = find(text, gold, policy)
    if found is None:
        return unpaid(completion, Status.NO_ANSWER, "no answer was found")
    if completion.stop is Stop.BUDGET and not found.is_closed:
        return _unpaid(completion, Status.TRUNCATED, found, CUT)
    return _compared(problem, completion, found, gold, policy)


def _compared(
    problem: Problem, completion: Completion, found: Found, gold: Gold, policy: Policy
) -> Verdict:
    if found.refusal:
        status = Status.SEVERAL_ANSWERS if found.is_several else Status.WRONG
        return _unpaid(completion, status, found, found.refusal)
    how = equal(found.claim, gold, policy)
    if how is None:
        status, note = _refusal(found.claim, gold)
        return _unpaid(completion, status, found, note)
    if found.claim.is_unworked and found.claim.key != gold.claim.key:
        if not policy.arithmetic:
            return _unpaid(completion, Status.WRONG, found, "it is not worked out")
        if echo.repeats(problem.prompt, found.claim.text):
            return _unpaid(completion, Status.WRONG, found, "it repeats the question")
    if how not in ALIKE and _is_asked(problem, found, gold, policy):
        return _unpaid(completion, Status.WRONG, found, "it repeats the question")
    return paid(completion, found.claim.text.strip(), f"{found.how}; {how}")


def _is_asked(problem: Problem, found: Found, gold: Gold, policy: Policy) -> bool:
    """Whether a formula is the one that the question ends with: √12 where it is to be simplified.

    A number or a fraction of numbers is not meant: 0.5 is an answer, whatever was asked.
    """
    if not echo.is_formula(found.claim.text):
        return False
    asked = find(as_text(problem.prompt)[-echo.MAX_PROMPT :], gold, policy)
    return asked is not None and asked.claim.key == found.claim.key


def _refusal(claim: Claim, gold: Gold) -> tuple[Status, str]:
    if claim.is_several:
        return Status.SEVERAL_ANSWERS, claim.note
    if not claim.values and not claim.key:
        return Status.NO_ANSWER, claim.note or "it is empty"
    if not claim.values:
        return Status.WRONG, f"not the gold, and not understood: {claim.note}"
    several = all(map(compare.is_several, claim.values))
    if several and gold.claim.values and not any(map(compare.is_several, gold.claim.values)):
        return Status.SEVERAL_ANSWERS, "it offers several values"
    return Status.WRONG, "compared exactly, and different"


def _unpaid(completion: Completion, status: Status, found: Found, note: str) -> Verdict:
    return unpaid(completion, status, f"{found.how}; {note}", found.claim.text.strip())


def equal(claim: Claim, gold: Gold, policy: Policy) -> str | None:
    """How a claim is the gold, in words; None where it is not, or is not understood."""
    if claim.is_several:
        return None
    if claim.key and claim.key == gold.claim.key:
        return "written as the gold is"
    letter = choice.letter_of(claim.text) if gold.letter else None
    if letter is not None:
        is_same = letter == gold.letter and not _contradicts(claim, gold, policy)
        return "the same choice" if is_same else None
    for left in gold.claim.values:
        for right in claim.values:
            how = compare.same(left, right, policy)
            if how is not None:
                return how
    return None


def _contradicts(claim: Claim, gold: Gold, policy: Policy) -> bool:
    """Whether two choices of one letter go on with different values: `D) 42` and `D) 72`."""
    tails = [choice.tail_of(each.text) for each in (claim, gold.claim)]
    if not all(tails):
        return False
    mine, theirs = (read_claim(tail, policy, is_gold=True) for tail in tails)
    return bool(mine.values and theirs.values) and equal(mine, Gold(theirs), policy) is None


def find(text: str, gold: Gold, policy: Policy = DEFAULT) -> Found | None:
    """The final answer by the first mark of the policy's order that holds one."""
    last: Found | None = None
    for name in policy.order:
        if name == "last formula" and gold.is_number:
            continue
        marks = SCANNERS[name](text)
        if not marks:
            continue
        if name == "whole text" and not gold.is_several:
            marks = [*marks[-1:], *bold_words(text)] if gold.is_word else marks[-1:]
        if gold.letter and name not in EXPLICIT and name != "####":
            return _chosen(text, policy, gold)
        found = (
            _first(text, marks, policy, gold) if name in VARIANTS else _read(text, marks, policy)
        )
        if name == "answer tags" and gold.is_number and len(marks) == 1:
            found = _in_sentence(marks[-1], found, gold, policy)
        if name == "box":
            found = _last_word(text, marks[-1], found, gold, policy)
        if name in EXPLICIT or _is_understood(found, gold):
            return _unless_taken_back(text, marks[-1], found) if gold.letter else found
        last = last or found
    return _chosen(text, policy, gold) if gold.letter else last


def _in_sentence(mark: Mark, found: Found, gold: Gold, policy: Policy) -> Found:
    """What a sentence with one number in answer tags says: `The total is 11.`"""
    text = mark.text.strip()
    is_read = bool(found.refusal or found.claim.values)
    if is_read or not is_sentence_of_one(text):
        return found
    inner = find(text, gold, replace(policy, order=("'answer is'", "formula", "last number")))
    return replace(inner, how=found.how, is_closed=found.is_closed) if inner else found


def _last_word(text: str, box: Mark, found: Found, gold: Gold, policy: Policy) -> Found:
    """The answer in the box, unless a later `final answer is` names one."""
    marks = phrase_marks(text)
    if not marks or marks[-1].start < box.end or not is_final(text, marks[-1].start):
        return found
    later = _first(text, marks, policy, gold)
    return later if _is_understood(later, gold) else found


def _unless_taken_back(text: str, mark: Mark, found: Found) -> Found:
    """A choice in a mark, unless the text changes its mind behind it."""
    against = taken_back(text, mark) if found.how == mark.how else None
    return replace(found, refusal=against.note) if against and not found.refusal else found


def _is_understood(found: Found, gold: Gold) -> bool:
    """Whether a text says something of the gold's sort: words are no answer where a value is."""
    claim = found.claim
    if claim.key == gold.claim.key or found.refusal or claim.is_several:
        return True
    values = [value for value in claim.values if value.kind != "text"]
    return bool(values or (claim.values and all(v.kind == "text" for v in gold.claim.values)))


def _first(text: str, marks: Sequence[Mark], policy: Policy, gold: Gold) -> Found:
    """The first cut of an answer that is understood."""
    found = [_read(text, [mark], policy) for mark in marks]
    return next((each for each in found if _is_understood(each, gold)), found[-1])


def _read(text: str, marks: Sequence[Mark], policy: Policy) -> Found:
    last = marks[-1]
    if not last.is_closed and last.how == "box":
        return Found(Claim("", "", note="the last box is not closed"), last.how, False)
    closed = last.is_closed and last.how not in _OPEN_ENDED
    against = _against(text, last)
    claim = join_claims([read_claim(mark.text, policy) for mark in marks])
    if against is not None:
        return Found(claim, last.how, closed, against.note, against.is_several)
    return Found(claim, last.how, closed)


def _against(text: str, mark: Mark) -> Objection | None:
    if _BROKEN.search(text, mark.start, mark.end + 40):
        return Objection("an inline formula is broken over lines")
    if mark.how in _OPEN_ENDED and is_program(text, mark):
        return Objection("it is program code")
    if mark.how in ("whole text", "last line"):
        if is_denied(mark.text):
            return Objection("the answer is negated")
        return reordered(mark.text) or _fragment(mark.text)
    if mark.how in ("last formula", "bold words"):
        mark = replace(mark, how="last number")
    return objection(text, mark)


def _fragment(text: str) -> Objection | None:
    """The objection to a line that is a condition or a bound, such as `discard x = 42`."""
    found = re.search("[0-9][0-9.,]{0,40}", text[:LONGEST_LEAD])
    if found is None or not text[0].isalpha():
        return None
    return fragment(text[: found.start()], text[found.end() :])


def _chosen(text: str, policy: Policy, gold: Gold) -> Found | None:
    reading = read_words(text[-choice.MAX_TEXT :], {})
    if reading.letter is not None:
        return Found(Claim(reading.letter, reading.letter), "the letter that it settles on", False)
    if reading.status is not Status.NO_ANSWER:
        several = reading.status is Status.SEVERAL_ANSWERS
        return Found(Claim("", ""), "letters", False, reading.note, several)
    marks = SCANNERS["whole text"](text)
    return _first(text, marks, policy, gold) if marks else None

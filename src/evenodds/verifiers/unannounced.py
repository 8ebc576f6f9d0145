"""Words before the last number of a text that say it is no answer.

No mark announces such a number, so that it is read with suspicion: `twice 64`, `divisible by 64`,
`Problem 64` and `we reject 64` state another value, or none.
"""

from __future__ import annotations

import re

from evenodds.verifiers.objection import Objection

LONGEST_LEAD = 60
_FILLED = (
    r"(?:[\s$*(:=]|\\[(\[]|\b(?:it|is|be|that|the|a|an|of|value|number|x|y|n|to|as|of)\b){0,10}\Z"
)

_OPERAND = re.compile(
    r"(?:\b(?:less|greater|more|fewer|larger|smaller|bigger|higher|lower) than|\bexceeds?"
    r"|\b(?:twice|double|triple|half|mod|modulo|divisible by|divided by|multiplied by)"
    r"|\b(?:third|quarter|fifth|tenth|opposite|negative|reciprocal|inverse|square|cube|multiples?"
    r"|divisors?|factors?|digits?|logarithm|log|percent|%) of|[0-9]\s?% of|\bbase)"
    r"(?:[\s$*(]|\\[(\[]|\b(?:of|the|a|number)\b){0,6}\Z",
    re.IGNORECASE,
)
_LABEL = re.compile(
    r"(?:\A|[\n.]\s?|\b(?:see|from|in|by|cf\.?|of)\s)[\s*(]{0,3}(?:page|line|row|note|lecture|ref)"
    r"s?[\s$*(#]{1,4}\Z"
    r"|(?:(?:\A|[\n.;,(])\s?see|\bcf\.?|\brefer to|\bfollows from|\breference)\s[\s(]{0,3}\[?\Z|"
    r"\b(?:problem|question|step|example|figure|theorem|lemma|chapter|section|exercise|equation"
    r"|version|table|method|reason(?: no\.)?)[\s$*(#]{0,4}\Z",
    re.IGNORECASE,
)
_REJECTED = re.compile(
    r"(?:\b(?:hardly|scarcely|far from|no way|impossible|reject(?:s|ed|ing)?|discard(?:s|ed|ing)?"
    r"|exclud(?:e|es|ed|ing)|differs? from|(?:other|different) than|rule(?:s|d)? out"
    r"|(?:any|every|each) (?:number|value|integer|thing) but|tempted to (?:say|answer|think)"
    r"|(?:might|may|could) (?:think|say|guess|believe|assume|answer)"
    r"|mistake (?:is|was|would be) to (?:say|answer|think|write)"
    r"|(?:students?|people|some|others?) (?:would )?(?:answer|say|think|write)s?)\b)" + _FILLED,
    re.IGNORECASE,
)
_GUESSED = re.compile(r"\b(?:perhaps|maybe|possibly)\b" + _FILLED, re.IGNORECASE)
_OPERAND_AFTER = re.compile(
    r"[\s$*)]{0,4}\s(?:dozen\b|is (?:only\s)?an? (?:factor|divisor|(?:upper|lower) bound|term)\b"
    r"|(?:more|less|fewer|greater|larger|smaller|bigger) than\s(?:\$|\\\(|(?:twice|half)\s)?"
    r"[a-zA-Z]\b)",
    re.IGNORECASE,
)
_FRAGMENT = re.compile(
    r"[\s>*#-]{0,6}(?:(?:so|then|hence|thus)[\s,]{1,2})?(?:when|if|for|at|where|unless|given"
    r"|(?:we\s)?(?:discard|reject|exclude|ignore)"
    r"|(?:(?:it|the (?:value|result))(?: is|'s)\s)?(?:at most|at least|up to))\b"
    r"(?:[\s$*(]|\\[(\[]|=|\b[a-zA-Z]\b|\b(?:value|of|number|the)\b){1,8}\Z",
    re.IGNORECASE,
)
_ENDED = re.compile(r"(?:[\s.!$*)\]}]|\\[)\]]){0,9}\Z")
_REJECTED_AFTER = re.compile(
    r"[\s$*).\\\]]{0,6}(?:is|was|must be|can be|are)\s(?:also\s)?(?:rejected|discarded|extraneous"
    r"|excluded|invalid|not valid|not allowed|ruled out|eliminated)\b",
    re.IGNORECASE,
)


def unannounced(before: str, after: str) -> Objection | None:
    """What the words around an unannounced number make of it; None where they leave it alone."""
    if _OPERAND.search(before) or _OPERAND_AFTER.match(after):
        return Objection("words before it make another value of it")
    if _LABEL.search(before):
        return Objection("it only numbers something")
    if _REJECTED.search(before) or _REJECTED_AFTER.match(after):
        return Objection("it is rejected, or said by others")
    return None


def fragment(line: str, after: str) -> Objection | None:
    """The objection to a value whose line is only a condition, a bound, a rejection, or a guess.

    line: what precedes the value in its line: `when x =`, `at most`, `discard`.
    """
    if len(line) < LONGEST_LEAD and _FRAGMENT.match(line) and _ENDED.match(after):
        return Objection("its line is only a condition or a bound")
    if _GUESSED.search(line[-LONGEST_LEAD:]):
        return Objection("it is only a guess")
    return None

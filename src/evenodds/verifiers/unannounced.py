"""Words before the last number of a text that say it is no answer.

No mark announces such a number, so that it is read with suspicion: `twice 64`, `divisible by 64`,
`Problem 64` and `we reject 64` state another value, or none.
"""

from __future__ import annotations

import re

from evenodds.verifiers.objection import Objection

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
_REJECTED_AFTER = re.compile(
    r"[\s$*).\\\]]{0,6}(?:is|was|must be|can be|are)\s(?:also\s)?(?:rejected|discarded|extraneous"
    r"|excluded|invalid|not valid|not allowed|ruled out|eliminated)\b",
    re.IGNORECASE,
)


def unannounced(before: str, after: str) -> Objection | None:
    """What the words around an unannounced number make of it; None where they leave it alone."""
    if _OPERAND.search(before):
        return Objection("words before it make another value of it")
    if _LABEL.search(before):
        return Objection("it only numbers something")
    if _REJECTED.search(before) or _REJECTED_AFTER.match(after):
        return Objection("it is rejected, or said by others")
    return None

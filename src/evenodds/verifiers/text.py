"""The `text` verifier: the final answer is the gold text, by one of three stated comparisons."""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Annotated, Literal, cast

from annotated_types import Gt

from evenodds.domain import Completion, Problem, Status, Verdict
from evenodds.errors import UsageError
from evenodds.verifiers import reasoning
from evenodds.verifiers.extract import Mark
from evenodds.verifiers.kind import Kind
from evenodds.verifiers.verdicts import (
    Place,
    final_answer,
    gold_unreadable,
    paid,
    spellings,
    unpaid,
)

MAX_CHARACTERS = 20_000
"""A longer answer is compared exactly only."""


@dataclass(frozen=True)
class Policy:
    """How an answer is found and compared.

    order: where the final answer may stand. `last line` is the whole text for a gold of several
    lines.
    compare: `exact`, character for character; `normalized`, without case, punctuation, articles
    and Unicode forms; `f1`, the overlap of words once normalized.
    golds: `one`, or `list`: the gold is a JSON list of texts, and any of them is right.
    threshold: an answer counts as right from this F1 on.
    dense: the score is the F1 itself, not 0 or 1; right still takes the threshold.
    longest: an answer of more than this many times the words of the gold has an F1 of 0, so that
    naming every word that could matter does not pay.
    """

    order: tuple[Place, ...] = ("answer tags", "last line")
    compare: Literal["exact", "normalized", "f1"] = "exact"
    golds: Literal["one", "list"] = "one"
    threshold: float = 1.0
    dense: bool = False
    longest: Annotated[float, Gt(0)] = 3.0

    def __post_init__(self) -> None:
        if not 0 < self.threshold <= 1:
            raise UsageError(f"threshold is a share above 0 and up to 1. Got {self.threshold}.")


DEFAULT = Policy()


def text(problem: Problem, completion: Completion, policy: Policy = DEFAULT) -> Verdict:
    """Right when the final answer is the gold, or one of the golds, as the policy compares.

    A gold of one line is also met by the last non-empty line, for work may come first. A
    completion that the budget cut is paid only for an answer in closed marks. Never raises.
    """
    golds = read_golds(problem.answer, policy.golds)
    if isinstance(golds, str):
        return gold_unreadable(golds)
    if any("\n" in gold for gold in golds):
        policy = replace(policy, order=tuple(_whole(place) for place in policy.order))
    answer = final_answer(completion, policy.order)
    if isinstance(answer, Verdict):
        return answer
    if policy.compare != "exact" and len(answer.text) > MAX_CHARACTERS:
        note = f"{answer.how}; an answer of {len(answer.text)} characters is not compared"
        return unpaid(completion, Status.WRONG, note, answer.text)
    if policy.compare == "f1":
        return _by_overlap(completion, answer, golds, policy)
    if policy.compare == "normalized":
        golds = tuple(normalized(gold) for gold in golds)
        is_right = normalized(answer.text) in golds
    else:
        is_right = any(text in golds for text in spellings(answer))
    note = f"{answer.how}; {'the gold' if is_right else 'not the gold'}, {policy.compare}"
    if is_right:
        return paid(completion, answer.text, note)
    return unpaid(completion, Status.WRONG, note, answer.text)


def _whole(place: Place) -> Place:
    return "whole text" if place == "last line" else place


@lru_cache(maxsize=4096)
def read_golds(gold: str, form: Literal["one", "list"] = "one") -> tuple[str, ...] | str:
    """The accepted answers, or why the gold names none."""
    if form == "one":
        return (gold.strip(),) if gold.strip() else "it is empty"
    try:
        rows = json.loads(gold)
    except (ValueError, RecursionError):
        return "it is no JSON list"
    if not isinstance(rows, list):
        return "it is no JSON list"
    texts = [row.strip() for row in cast(list[object], rows) if isinstance(row, str)]
    if not texts or len(texts) < len(cast(list[object], rows)) or not all(texts):
        return "it is no JSON list of texts that hold something"
    return tuple(texts)


def _by_overlap(
    completion: Completion, answer: Mark, golds: tuple[str, ...], policy: Policy
) -> Verdict:
    said = words(answer.text)
    overlap, note = max(_overlap(said, words(gold), policy.longest) for gold in golds)
    is_right = overlap >= policy.threshold
    note = f"{answer.how}; F1 {overlap:.3f}{note}"
    parts = {"f1": overlap}
    score = overlap if policy.dense else float(is_right)
    if is_right:
        return paid(completion, answer.text, note, score, parts)
    return unpaid(completion, Status.WRONG, note, answer.text, score, parts)


def _overlap(said: list[str], gold: list[str], longest: float) -> tuple[float, str]:
    if len(said) > max(longest * len(gold), 1):
        return 0.0, f": {len(said)} words for a gold of {len(gold)}"
    if bool(_NEGATIONS & {*said}) != bool(_NEGATIONS & {*gold}):
        return 0.0, ": one of answer and gold is negated"
    return f1(said, gold), ""


def f1(said: list[str], gold: list[str]) -> float:
    """The harmonic mean of precision and recall over words, each counted as often as it stands."""
    shared = sum((Counter(said) & Counter(gold)).values())
    return 2 * shared / (len(said) + len(gold)) if shared else 0.0


_NEGATIONS = frozenset(
    {"not", "no", "never", "none", "neither", "nor", "without", "cannot", "cant", "dont", "doesnt"}
    | {"didnt", "isnt", "arent", "wasnt", "werent", "wont", "wouldnt", "shouldnt", "couldnt"}
    | {"hasnt", "havent", "hadnt", "nicht", "kein", "keine", "pas", "non", "不", "没", "無", "无"}
    | {"neq", "ne", "≠"}
)
ARTICLES = frozenset({"a", "an", "the"})
# NFKC would make 102 of 10², and none of the signs between digits may go: 3.14 is not 314
_RAISED = {ord(sign): f"^{plain}" for sign, plain in zip("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789", strict=True)}
_UNSEEN = {ord(sign): None for sign in "\u00ad\u200b\u200c\u200d\u2060\ufeff"}
_WRAPPED = re.compile(
    r"\\{1,2}(?:text|textbf|textit|textrm|textsf|mathrm|mathbf|mathsf|mbox|boxed|fbox|operatorname)"
    r"\s?\{([^{}]{0,400})\}"
)
_MATH = re.compile(r"\\{1,2}[()\[\]]|\\(?:quad|;|,|!| )")
_KEPT = frozenset("#%&@/")
_IN_NUMBERS = re.compile(
    r"(?<=[0-9])[.,:](?=[0-9])|(?<![\w)])[-−](?=\.?[0-9])|(?<![\w.])\.(?=[0-9])"
)
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\s\u3040-\u30ff\u3400-\u9fff]{1,200}")


def normalized(text: str, articles: frozenset[str] = ARTICLES) -> str:
    """The text as `normalized` compares it.

    Without LaTeX's `\\text{…}` and math marks; NFKC, but for raised digits; case folded; hyphens
    are spaces; other punctuation goes, but for signs inside numbers, `# % & @ /` and symbols such
    as `+` and `$`; the articles a, an and the go; white space is one space. Articles and signs stay
    where nothing would be left without them.
    """
    text = unwrapped(text).translate(_RAISED).translate(_UNSEEN)
    text = unicodedata.normalize("NFKC", text).casefold()
    kept = {match.start() for match in _IN_NUMBERS.finditer(text)}
    plain = "".join(_plain(sign, at in kept) for at, sign in enumerate(text)).split()
    return " ".join([w for w in plain if w not in articles] or plain or text.split())


def unwrapped(text: str) -> str:
    """The text without the LaTeX that sets it: `\\text{…}` and its kin, math marks at its ends."""
    if "\\" in text:
        for _ in range(3):  # wrappers stand in each other no deeper than this
            text = _WRAPPED.sub(r"\1", text)
        text = _MATH.sub(" ", text)
    whole = text.strip(" .\n*")
    return whole[1:-1] if len(whole) > 1 and whole[0] == "$" == whole[-1] else text


def _plain(sign: str, is_kept: bool) -> str:
    if sign.isalnum() or is_kept or sign in _KEPT:
        return "-" if sign == "−" else sign
    kind = unicodedata.category(sign)
    if kind == "Pd":
        return " "
    return "" if kind[0] == "P" else sign


def words(text: str) -> list[str]:
    """The words of the normalized text; each Chinese or Japanese character is a word."""
    return _WORD.findall(normalized(text))


KIND = Kind(
    name="text",
    summary="the final answer is the gold text: exactly, normalized, or by the F1 of its words",
    gold="the text; with policy golds = list, a JSON list of the accepted texts",
    judge=text,
    policy=DEFAULT,
    limits={"characters_read": reasoning.MAX_CHARACTERS, "characters_compared": MAX_CHARACTERS},
)

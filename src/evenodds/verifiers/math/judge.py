"""The `math` verifier: extract the final answer, read it, compare it exactly with the gold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from evenodds.domain import Completion, Problem, Prompt, Status, Stop, Verdict
from evenodds.verifiers.context import DIRECTION, objection
from evenodds.verifiers.extract import Mark
from evenodds.verifiers.math import choice, compare
from evenodds.verifiers.math.claim import Claim, Gold, join_claims, read_claim, read_gold
from evenodds.verifiers.math.clean import key
from evenodds.verifiers.math.find import EXPLICIT, SCANNERS, VARIANTS
from evenodds.verifiers.math.policy import DEFAULT, Policy
from evenodds.verifiers.reasoning import final_part


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
        return Verdict(0.0, Status.GOLD_UNREADABLE, note=f"the gold answer: {gold.refusal}")
    final = final_part(completion.text, completion.prompt_tail)
    if final is None:
        return _unpaid(completion, Status.NO_ANSWER, None, "the reasoning was never closed")
    found = find(final, gold, policy)
    if found is None:
        return _unpaid(completion, Status.NO_ANSWER, None, "no answer was found")
    if completion.stop is Stop.BUDGET and not found.is_closed:
        return _unpaid(completion, Status.TRUNCATED, found, "cut before the answer was complete")
    return _compared(problem, completion, found, gold, policy)


def _compared(
    problem: Problem, completion: Completion, found: Found, gold: Gold, policy: Policy
) -> Verdict:
    if found.refusal:
        status = Status.SEVERAL_ANSWERS if found.is_several else Status.WRONG
        return _unpaid(completion, status, found, found.refusal)
    how = equal(found.claim, gold, policy)
    if how is None:
        return _unpaid(completion, *_refusal(found.claim, gold))
    if found.claim.is_unworked and found.claim.key != gold.claim.key:
        if not policy.arithmetic:
            return _unpaid(completion, Status.WRONG, found, "it is not worked out")
        if _repeats(problem.prompt, found.claim.text):
            return _unpaid(completion, Status.WRONG, found, "it repeats the question")
    status = Status.TRUNCATED if completion.stop is Stop.BUDGET else Status.RIGHT
    return Verdict(1.0, status, found.claim.text.strip()[:200], f"{found.how}; {how}")


def _refusal(claim: Claim, gold: Gold) -> tuple[Status, Found, str]:
    found = Found(claim, "", False)
    if claim.is_several:
        return Status.SEVERAL_ANSWERS, found, claim.note
    if not claim.values and not claim.key:
        return Status.NO_ANSWER, found, "it is empty"
    if not claim.values:
        return Status.WRONG, found, f"not the gold, and not understood: {claim.note}"
    several = all(map(compare.is_several, claim.values))
    if several and gold.claim.values and not any(map(compare.is_several, gold.claim.values)):
        return Status.SEVERAL_ANSWERS, found, "it offers several values"
    return Status.WRONG, found, "compared exactly, and different"


def _unpaid(completion: Completion, status: Status, found: Found | None, note: str) -> Verdict:
    if completion.stop is Stop.BUDGET:
        status = Status.TRUNCATED
    if found is None:
        return Verdict(0.0, status, None, note)
    text = found.claim.text.strip()[:200]
    return Verdict(0.0, status, text, f"{found.how}; {note}" if found.how else note)


def equal(claim: Claim, gold: Gold, policy: Policy) -> str | None:
    """How a claim is the gold, in words; None where it is not, or is not understood."""
    if claim.is_several:
        return None
    if claim.key and claim.key == gold.claim.key:
        return "written as the gold is"
    if gold.letter and choice.letter_of(claim.text) == gold.letter:
        return "the same choice"
    for left in gold.claim.values:
        for right in claim.values:
            how = compare.same(left, right, policy)
            if how is not None:
                return how
    return None


def _repeats(prompt: Prompt, text: str) -> bool:
    """Whether an expression stands in the question as it is."""
    asked = prompt if isinstance(prompt, str) else " ".join(turn["content"] for turn in prompt)
    return key(text) in key(asked[-20_000:])


def find(text: str, gold: Gold, policy: Policy = DEFAULT) -> Found | None:
    """The final answer by the first mark of the policy's order that holds one."""
    last: Found | None = None
    for name in policy.order:
        marks = SCANNERS[name](text)
        if not marks:
            continue
        if gold.letter and name not in EXPLICIT and name != "####":
            return _chosen(text, policy, gold)
        found = (
            _first(text, marks, policy, gold) if name in VARIANTS else _read(text, marks, policy)
        )
        if name in EXPLICIT or _is_understood(found, gold):
            return found
        last = last or found
    return _chosen(text, policy, gold) if gold.letter else last


def _is_understood(found: Found, gold: Gold) -> bool:
    claim = found.claim
    return bool(claim.values or found.refusal or claim.is_several or claim.key == gold.claim.key)


def _first(text: str, marks: Sequence[Mark], policy: Policy, gold: Gold) -> Found:
    """The first cut of an answer that is understood."""
    found = [_read(text, [mark], policy) for mark in marks]
    return next((each for each in found if _is_understood(each, gold)), found[-1])


def _read(text: str, marks: Sequence[Mark], policy: Policy) -> Found:
    last = marks[-1]
    if not last.is_closed and last.how == "box":
        return Found(Claim("", "", note="the last box is not closed"), last.how, False)
    closed = last.is_closed and last.how not in (
        "last number",
        "whole text",
        "last line",
        "formula",
    )
    against = _against(text, last)
    claim = join_claims([read_claim(mark.text, policy) for mark in marks])
    if against is not None:
        return Found(claim, last.how, closed, against[0], against[1])
    return Found(claim, last.how, closed)


def _against(text: str, mark: Mark) -> tuple[str, bool] | None:
    if mark.how in ("whole text", "last line"):
        is_turned = DIRECTION.search(mark.text) is not None
        return ("direction marks reorder its characters", False) if is_turned else None
    return objection(text, mark)


def _chosen(text: str, policy: Policy, gold: Gold) -> Found | None:
    letter, is_several = choice.settled(choice.plain(text))
    if letter is not None:
        return Found(Claim(letter, letter), "the letter that it settles on", False)
    if is_several:
        return Found(Claim("", ""), "letters", False, "it names several choices", True)
    marks = SCANNERS["whole text"](text)
    return _first(text, marks, policy, gold) if marks else None

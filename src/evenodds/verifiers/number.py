"""The `number` verifier: extract the final answer, make it canonical, compare exactly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from evenodds.domain import Completion, Problem, Status, Stop, Verdict
from evenodds.verifiers import canonical, grammar, reasoning
from evenodds.verifiers.canonical import DEFAULT, Policy, clean, plain_text, read, same
from evenodds.verifiers.context import is_program, objection
from evenodds.verifiers.extract import POLICIES, Mark, is_sentence_of_one, joined, outermost, stated
from evenodds.verifiers.grammar import Refused, Value
from evenodds.verifiers.kind import Kind
from evenodds.verifiers.verdicts import CUT, final_text, gold_unreadable, paid, unpaid


@dataclass(frozen=True)
class Found:
    """A final answer as read: its text, how it was found, and its value or why it has none."""

    text: str
    how: str
    value: Value | Refused
    is_closed: bool


def number(problem: Problem, completion: Completion, policy: Policy = DEFAULT) -> Verdict:
    """Pays 1 for the right number, found in the order of the policy and compared exactly; else 0.

    A completion that the budget cut has status `truncated`. It is paid only where the answer was
    already explicit and complete, such as a closed box: the last number of a cut text may lack
    digits. Several different final answers are not paid, nor is a negated one. Never raises.
    """
    gold = read_gold(problem.answer, policy)
    if isinstance(gold, Refused):
        return gold_unreadable(gold.note)
    text = final_text(completion)
    if isinstance(text, Verdict):
        return text
    found = find(plain_text(text)[-reasoning.MAX_CHARACTERS :], policy)
    if found is None:
        return unpaid(completion, Status.NO_ANSWER, "no number was found")
    if completion.stop is Stop.BUDGET and not found.is_closed:
        return _unpaid(completion, Status.TRUNCATED, found, CUT)
    return _compared(problem, completion, found, gold, policy)


def _compared(
    problem: Problem, completion: Completion, found: Found, gold: Value, policy: Policy
) -> Verdict:
    if isinstance(found.value, Refused):
        if found.value.is_unworked and _is_verbatim(found.text, problem.answer):
            return paid(completion, found.text, f"{found.how}; written as the gold is")
        return _unpaid(completion, _refusal(found.value), found, found.value.note)
    how = same(found.value, gold, policy.tolerance)
    if how is None:
        return _unpaid(completion, Status.WRONG, found, "compared exactly, and different")
    return paid(completion, found.text, f"{found.how}; {how}")


def _refusal(refused: Refused) -> Status:
    if refused.is_several:
        return Status.SEVERAL_ANSWERS
    return Status.NO_ANSWER if refused.is_empty else Status.WRONG


def _is_verbatim(text: str, gold: str) -> bool:
    """Whether an answer that is not worked out repeats a gold that is not worked out either."""
    return len(text) < 200 and "".join(clean(text).split()) == "".join(clean(gold).split())


def _unpaid(completion: Completion, status: Status, found: Found, note: str) -> Verdict:
    return unpaid(completion, status, f"{found.how}; {note}", found.text)


@lru_cache(maxsize=4096)
def read_gold(text: str, policy: Policy = DEFAULT) -> Value | Refused:
    """The gold as a number. Gold is trusted, so sums and products in it are worked out."""
    return read(stated(text), replace(policy, arithmetic=True))


def find(text: str, policy: Policy = DEFAULT) -> Found | None:
    """The final answer by the first mark of `policy.order` that is there; None if none is.

    A `####` without a readable value is a heading, and leaves the word to the next policy.
    """
    for name in policy.order:
        marks = POLICIES[name](text)
        marks = outermost(text, marks) if name == "box" else marks
        if not marks:
            continue
        found = _found(text, marks, policy)
        if not _is_heading(found):
            return found
    return None


def _is_heading(found: Found) -> bool:
    """Whether a `####` only heads a section: words stand behind it, not a value."""
    return found.how == "####" and isinstance(found.value, Refused) and found.text[:1].isalpha()


def _in_sentence(value: Value | Refused, text: str, policy: Policy) -> Value | Refused:
    """What a sentence with one number in answer tags says: `The total is 11.`"""
    if isinstance(value, Value) or not is_sentence_of_one(text):
        return value
    inner = find(text, replace(policy, order=("'answer is'", "last number")))
    return inner.value if inner else value


def _found(text: str, marks: Sequence[Mark], policy: Policy) -> Found:
    last = marks[-1]
    if not last.is_closed and last.how == "box":
        return Found("", last.how, Refused("the last box is not closed", is_empty=True), False)
    if last.how == "last number" and is_program(text, last):
        return Found(last.text.strip(), last.how, Refused("it is program code"), False)
    against = objection(text, last)
    if against is not None:
        refused = Refused(against.note, is_several=against.is_several)
        return Found(last.text.strip(), last.how, refused, last.is_closed)
    values = [read(mark.text.strip(), policy) for mark in joined(text, marks)]
    numbers = {value.number for value in values if isinstance(value, Value)}
    value = values[-1]
    if len(marks) == 1 and last.how == "answer tags":
        value = _in_sentence(value, last.text.strip(), policy)
    if len(numbers) > 1 and isinstance(value, Value):
        value = Refused("different answers side by side", is_several=True)
    return Found(last.text.strip(), last.how, value, last.is_closed and last.how != "last number")


KIND = Kind(
    name="number",
    summary="one number: int, decimal, fraction, mixed, scientific, percent; compared exactly",
    gold="a number; sums and products in it are worked out; `… #### 42` is read as 42",
    judge=number,
    policy=DEFAULT,
    limits={
        "characters_read": reasoning.MAX_CHARACTERS,
        "characters_of_an_answer": canonical.MAX_CHARACTERS,
        "tokens_of_an_answer": grammar.MAX_TOKENS,
        "depth": grammar.MAX_DEPTH,
        "exponent": grammar.MAX_EXPONENT,
        "bits": grammar.MAX_BITS,
    },
)

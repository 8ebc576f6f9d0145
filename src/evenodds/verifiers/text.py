"""The `text` verifier: the final answer is, character for character, the gold answer."""

from __future__ import annotations

from dataclasses import dataclass

from evenodds.domain import Completion, Problem, Status, Stop, Verdict
from evenodds.verifiers import reasoning
from evenodds.verifiers.extract import tagged
from evenodds.verifiers.kind import Kind
from evenodds.verifiers.reasoning import final_part


@dataclass(frozen=True)
class Policy:
    """Nothing to choose yet."""


def text(problem: Problem, completion: Completion, policy: Policy = Policy()) -> Verdict:
    """Right when the final answer equals the gold exactly, white space at its ends aside.

    The final answer is what stands in the last `<answer>` tags; without tags, all that follows
    the reasoning. A gold of one line is also met by the last non-empty line, for work may come
    first. A completion that the budget cut is paid only for an answer in closed tags.
    """
    gold = problem.answer.strip()
    if not gold:
        return Verdict(0.0, Status.GOLD_UNREADABLE, note="the gold answer is empty")
    final = final_part(completion.text, completion.prompt_tail)
    if final is None:
        return _without(completion, "the reasoning was never closed")
    answer, how = _answer(final, completion.stop, gold)
    if not answer:
        return _without(completion, how)
    if answer == gold:
        return Verdict(1.0, _cut(completion, Status.RIGHT), answer, f"{how}, exactly the gold")
    return Verdict(0.0, _cut(completion, Status.WRONG), answer, f"{how}, not the gold")


def _answer(final: str, stop: Stop, gold: str) -> tuple[str, str]:
    tag = tagged(final)
    if tag is not None and (tag.is_closed or stop is not Stop.BUDGET):
        return tag.text.strip(), "in answer tags"
    if stop is Stop.BUDGET:
        return "", "cut by the budget before an answer was closed"
    whole = final.strip()
    if "\n" in gold or "\n" not in whole:
        return whole, "the whole text"
    return whole[whole.rfind("\n") + 1 :].strip(), "the last line"


def _without(completion: Completion, note: str) -> Verdict:
    return Verdict(0.0, _cut(completion, Status.NO_ANSWER), note=note)


def _cut(completion: Completion, status: Status) -> Status:
    return Status.TRUNCATED if completion.stop is Stop.BUDGET else status


KIND = Kind(
    name="text",
    summary="the final answer is the gold, character for character",
    gold="the text",
    judge=text,
    policy=Policy(),
    limits={"characters_read": reasoning.MAX_CHARACTERS},
)

"""The `instructions` verifier: does an answer do what it was told, as far as a program can see.

Checks in the manner of IFEval: a number of words, no commas, a title, an ending. All are decided
from the text alone, in linear time, without a download.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from evenodds.domain import Completion, Problem, Status, Stop, Verdict
from evenodds.verifiers import reasoning
from evenodds.verifiers.instructions.checks import RULES, has_words
from evenodds.verifiers.instructions.gold import MAX_INSTRUCTIONS, Named, checks_of
from evenodds.verifiers.instructions.response import Response
from evenodds.verifiers.json_gold import BadGold
from evenodds.verifiers.kind import Kind
from evenodds.verifiers.reasoning import final_part
from evenodds.verifiers.verdicts import final_text, gold_unreadable


@dataclass(frozen=True)
class Policy:
    """How strictly an answer is checked, and what is paid for a part.

    mode: `strict` checks the answer as it is. `loose` is IFEval's: a check also passes where the
    answer follows it without its first line, its last line, both, or its asterisks.
    score: `all` pays 1 where every check passes, else 0; `share` pays the share that passes.
    keywords: `word` counts a keyword as a word of its own; `part`, as IFEval does, also inside a
    longer word: `war` in `toward`.
    """

    mode: Literal["strict", "loose"] = "strict"
    score: Literal["all", "share"] = "all"
    keywords: Literal["word", "part"] = "word"


DEFAULT = Policy()


def instructions(problem: Problem, completion: Completion, policy: Policy = DEFAULT) -> Verdict:
    """Pays for instructions that the answer follows; its parts hold 1 or 0 for each of them.

    The answer is all that follows the reasoning. One without a letter or a digit is no answer, and
    follows nothing. One that the budget cut is not paid, for its end is not known. Never raises.
    """
    try:
        checks = checks_of(problem, policy.keywords == "word")
    except BadGold as error:
        return gold_unreadable(str(error))
    if completion.stop is Stop.BUDGET:
        return Verdict(0.0, Status.TRUNCATED, note="cut by the budget: its end is not known")
    final = final_text(completion)
    if isinstance(final, Verdict):
        return final
    if _is_read_in_part(completion.text):
        note = f"an answer of more than {reasoning.MAX_CHARACTERS} characters is not read"
        return Verdict(0.0, Status.WRONG, note=note)
    if not has_words(final):
        return Verdict(0.0, Status.NO_ANSWER, note="the answer holds no letter and no digit")
    return _judged(final, checks, policy)


def _is_read_in_part(text: str) -> bool:
    """Whether only the end of the answer was read: what is not seen cannot be found free of commas.

    A long text whose reasoning closes within what is read has been read whole.
    """
    if len(text) <= reasoning.MAX_CHARACTERS:
        return False
    return final_part(text[-reasoning.MAX_CHARACTERS :], "<think>") is None


def _judged(final: str, checks: tuple[Named, ...], policy: Policy) -> Verdict:
    responses = [Response(text) for text in _variants(final, policy.mode)]
    parts = {c.name: float(any(map(c.follows, responses))) for c in checks}
    failed = [name for name, passed in parts.items() if not passed]
    share = (len(parts) - len(failed)) / len(parts)
    score = share if policy.score == "share" else float(not failed)
    status = Status.WRONG if failed else Status.RIGHT
    note = f"not followed: {', '.join(failed)}" if failed else f"all {len(parts)} followed"
    return Verdict(score, status, final.strip()[:200], f"{policy.mode}; {note}"[:400], parts)


def _variants(text: str, mode: str) -> list[str]:
    """The texts of which one must follow a check: the answer, and in loose mode seven more."""
    if mode == "strict":
        return [text]
    lines = text.split("\n")
    cut = ["\n".join(rows).strip() for rows in (lines[1:], lines[:-1], lines[1:-1])]
    texts = [text, *cut]
    plain = [variant.replace("*", "") for variant in texts]
    return [variant for variant in dict.fromkeys([*texts, *plain]) if has_words(variant)]


KIND = Kind(
    name="instructions",
    summary="instructions that a program can check, in the manner of IFEval: words, case, format",
    gold='JSON {"instructions": [{"id": "punctuation:no_comma"}, …]}, or IFEval\'s own '
    '{"instruction_id_list": […], "kwargs": […]}',
    judge=instructions,
    policy=DEFAULT,
    gold_is="table",
    limits={
        "characters_read": reasoning.MAX_CHARACTERS,
        "instructions": MAX_INSTRUCTIONS,
        "kinds_of_instruction": len(RULES),
    },
)

__all__ = ["KIND", "Policy", "instructions"]

"""Finds the program in a completion."""

from __future__ import annotations

import builtins
import re
from dataclasses import dataclass

from evenodds.domain import Completion, Status, Stop, Verdict
from evenodds.verifiers.code.gold import Asserts, Check, Pairs, Tests, head_of
from evenodds.verifiers.code.policy import Policy
from evenodds.verifiers.fences import fences, in_language
from evenodds.verifiers.verdicts import final_text, unpaid

LANGUAGES = ("python", "python3", "py", "py3", "python-repl")
_DEFINED = re.compile(r"^[ \t]{0,80}(?:async )?def (\w+)", re.MULTILINE)
_CALLED = re.compile(r"\b([^\W\d]\w*)\(")
_OUTSIDE = re.compile(r"^(?=[^\s#)\]}])", re.MULTILINE)


@dataclass(frozen=True)
class Program:
    """A program as found. is_fenced: whether marks said that it is one, not prose."""

    text: str
    how: str
    is_fenced: bool = True


def find(completion: Completion, tests: Tests, policy: Policy) -> Program | Verdict:
    """The program of a completion, with what its prompt began; or the verdict where there is none.

    Of several fenced blocks the last that defines the function asked for, else the last.
    """
    text = final_text(completion)
    if isinstance(text, Verdict):
        return text
    is_cut = completion.stop is Stop.BUDGET
    blocks = fences(text)
    chosen = in_language(blocks, LANGUAGES, or_none=policy.fence == "any")
    if chosen:
        names = asked_for(tests)
        block = next((m for m in reversed(chosen) if _defines(m.text, names)), chosen[-1])
        if is_cut and not chosen[-1].is_closed:
            return unpaid(completion, Status.TRUNCATED, "cut before the program was complete")
        return Program(_whole(block.text, tests), "the last python fence")
    if policy.fence == "python" or blocks:
        return unpaid(completion, Status.NO_ANSWER, "no python fence was found")
    if is_cut:
        return unpaid(completion, Status.TRUNCATED, "cut before a fence was closed")
    if not text.strip():
        return unpaid(completion, Status.NO_ANSWER, "the answer is empty")
    return Program(_whole(text, tests), "the whole answer", is_fenced=False)


def asked_for(tests: Tests) -> frozenset[str]:
    """The names of functions of which the program is to define one; none for one that prints."""
    if isinstance(tests, Pairs):
        return frozenset()
    if tests.name:
        return frozenset({tests.name})
    called = _CALLED.findall("\n".join(tests.tests[:3])) if isinstance(tests, Asserts) else []
    return frozenset(called) - {*dir(builtins)}


def _defines(text: str, names: frozenset[str]) -> bool:
    return any(name in names for name in _DEFINED.findall(text))


def _binds(text: str, name: str) -> bool:
    """Whether it is assigned or imported: `add = lambda a, b: a + b`, `from m import add`."""
    assigned = rf"{name}[ \t]{{0,9}}(?::[^=\n]{{0,99}})?=(?!=)"
    imported = rf"(?:from|import)\s.{{0,200}}\b{name}\b"
    return re.search(rf"^(?:{assigned}|{imported})", text, re.MULTILINE) is not None


def _whole(text: str, tests: Tests) -> str:
    """The program behind the helpers of its prompt, or as the end of the function that it began."""
    if not isinstance(tests, Check):
        return text
    if _defines(text, asked_for(tests)) or _binds(text, tests.name):
        return f"{head_of(tests)}\n{text}"
    end = _OUTSIDE.search(text)  # a continuation ends where the function does
    return tests.prompt + (text[: end.start()] if end else text)

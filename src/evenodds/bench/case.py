"""A case of the bench: one completion, and whether it must be paid."""

from __future__ import annotations

from dataclasses import dataclass

from evenodds.domain import Completion, Problem, Stop

CATEGORIES = (
    "right forms",
    "wrong values",
    "wrong derivation",
    "negation",
    "hedging",
    "several answers",
    "reasoning only",
    "retraction",
    "format games",
    "injection",
    "code injection",
    "unicode",
    "hostile size",
    "hang",
    "truncated",
    "forgery",
)
"""Every kind of attempt that the bench makes, in the order of its table."""


@dataclass(frozen=True)
class Case:
    """One attempt at a verifier.

    kind: the verifier's kind, or `function`. category: one of `CATEGORIES`.
    expected: True must be paid, False must not be; None is a choice of policy, which is counted
    and shown but never a fault. note: what the attempt is.
    """

    kind: str
    category: str
    problem: Problem
    completion: Completion
    expected: bool | None
    note: str = ""


@dataclass(frozen=True)
class Subject:
    """A problem with spellings of its gold, and answers that are not it: bare, without a frame.

    right: each is the gold in another form. wrong: each is plausible and differs from the gold.
    either: spellings on which graders differ; a policy decides.
    """

    problem: Problem
    right: tuple[str, ...]
    wrong: tuple[str, ...]
    either: tuple[str, ...] = ()


def made(
    kind: str,
    category: str,
    problem: Problem,
    text: str,
    expected: bool | None,
    note: str = "",
    stop: Stop = Stop.END_TOKEN,
    prompt_tail: str = "",
) -> Case:
    """A case from its text."""
    return Case(kind, category, problem, Completion(text, stop, prompt_tail), expected, note)


def asked(kind: str, number: int, prompt: str, gold: str, **columns: object) -> Problem:
    """A problem of the bench's own."""
    return Problem(f"bench/{kind}/{number}", prompt, gold, "bench", columns=columns)

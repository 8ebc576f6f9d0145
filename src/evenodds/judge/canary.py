"""Canaries: problems whose right answer nobody can know. A verifier that pays for one is broken.

The gold of a canary is drawn at random, long enough that no answer hits it by luck, in a form that
the verifier reads. Whether it does is tried first: the verifier must find the canary's own answer
right, and the true answer of the problem not. A verifier that never looks at the gold, or that
cannot read such a one, has no canaries: what it says of them would mean nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from evenodds.domain import Completion, Problem, Verdict
from evenodds.judge.audit import is_right

Rng = np.random.Generator
Ask = Callable[[Sequence[tuple[Problem, Completion]]], Sequence[Verdict]]
"""Judges pairs of a problem and a completion, in order."""
Gold = tuple[str, str]
"""A gold, and an answer that is right by it."""

LETTERS = [*"bcdfghjklmnpqrstvwxz"]
FORMS = ("«R»", "\\boxed{«R»}", "<answer>«R»</answer>", "#### «R»", "Answer: «R»")
"""Texts around a bare answer, for verifiers that want to see where the answer stands."""


def _number(rng: Rng) -> Gold:
    """Fifteen digits: the chance to hit them is one in 9 · 10^14."""
    text = str(int(rng.integers(10**14, 10**15)))
    return text, text


def _words(rng: Rng) -> Gold:
    """Two words of ten consonants each, of which there are 20^20."""
    text = " ".join("".join(rng.choice(LETTERS, 10)) for _ in range(2))
    return text, text


def _value(rng: Rng) -> Gold:
    """A JSON object that is itself the gold."""
    text = json.dumps({"value": _words(rng)[0]})
    return text, text


def _table(rng: Rng) -> Gold:
    """The table that the kind `json` reads by default."""
    text, _ = _value(rng)
    return json.dumps({"value": json.loads(text)}), text


MAKERS: dict[str, Callable[[Rng], Gold]] = {
    "number": _number,
    "words": _words,
    "JSON value": _value,
    "JSON table": _table,
}
"""Golds that nobody can know, by what they look like."""


@dataclass(frozen=True)
class Canary:
    """How golds are made that this verifier reads. kind: a name in `MAKERS`."""

    kind: str

    def problem(self, problem: Problem, *seed: int) -> Problem:
        """The problem with a gold that nobody can know; the same seed gives the same one."""
        gold, _ = MAKERS[self.kind](np.random.default_rng(seed))
        return replace(problem, answer=gold)


def find_canary(problem: Problem, right: str, ask: Ask) -> Canary | None:
    """The first kind of canary that the verifier reads and holds apart from a right answer.

    problem, right: one of the task's with its right answer. None where no kind passes.
    """

    def any_right(fake: Problem, answer: str) -> bool:
        texts = [form.replace("«R»", answer) for form in FORMS]
        return any(map(is_right, ask([(fake, Completion(text)) for text in texts])))

    for kind, make in MAKERS.items():
        gold, own = make(np.random.default_rng(0))
        fake = replace(problem, answer=gold)
        if any_right(fake, own) and not any_right(fake, right):
            return Canary(kind)
    return None

"""The `math` verifier: mathematical answers of every form, read and compared exactly.

`find` says where the answer stands, `clean`, `lexer`, `parser`, `special` and `statement` read it
into a `tree`, `resolve` and `regions` say what it claims, `compare` and `equal` compare claims by
way of `exact` (rationals and residues) and `numeric` (many digits), `judge` makes the verdict.
"""

from __future__ import annotations

from evenodds.verifiers import reasoning
from evenodds.verifiers.kind import Kind
from evenodds.verifiers.math import exact, numeric, parser, tree
from evenodds.verifiers.math.judge import judge
from evenodds.verifiers.math.policy import DEFAULT, Policy

KIND = Kind(
    name="math",
    summary="a mathematical answer: number, formula, equation, interval, set, tuple, matrix",
    gold="a value, formula, equation, set, words or a choice, in LaTeX or plain; or in a box",
    judge=judge,
    policy=DEFAULT,
    runs="inline",
    limits={
        "characters_read": reasoning.MAX_CHARACTERS,
        "characters_of_an_answer": tree.MAX_CHARACTERS,
        "tokens_of_an_answer": tree.MAX_TOKENS,
        "depth": tree.MAX_DEPTH,
        "exponent_of_a_decimal": parser.MAX_EXPONENT,
        "bits": exact.MAX_BITS,
        "digits": numeric.DIGITS,
    },
)

__all__ = ["DEFAULT", "KIND", "Policy", "judge"]

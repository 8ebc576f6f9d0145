"""Formulas that are compared at points: which identities hold, and that nobody can aim at them."""

from __future__ import annotations

import subprocess
import sys

import pytest

from evenodds.domain import Completion, Problem, Verdict
from evenodds.verifiers.math import exact, judge, sampled
from evenodds.verifiers.math.tree import sym

OLD_PRIME = 2**255 - 19


def judged(answer: str, gold: str) -> Verdict:
    return judge(Problem("key", "?", gold, "task"), Completion(f"\\boxed{{{answer}}}"))


@pytest.mark.parametrize(
    ("gold", "answer"),
    [
        ("a", "\\sqrt{a^2}"),
        ("a", "(a^4)^{1/4}"),
        ("a^3", "a^2\\sqrt{a^2}"),
        ("a", "a + |a - 500| + a - 500"),
        ("a", "a + |a - 7| - (7 - a)"),
        ("a", "\\arcsin(\\sin a)"),
        ("1", "\\frac{\\sqrt{a^2}}{a}"),
        ("\\sin a", "\\sqrt{1 - \\cos^2 a}"),
        ("\\frac{\\pi}{2} - \\arctan a", "\\arctan\\frac{1}{a}"),
        ("\\ln a", "\\ln|a|"),
        ("\\ln|a|", "\\ln(-a)"),
        ("\\sqrt{ab}", "\\sqrt{|ab|}"),
        ("e^{ia}", "\\cos a - i\\sin a"),
        ("\\sqrt{a} + \\sqrt{b}", "\\sqrt{a + b}"),
    ],
)
def test_what_is_equal_on_one_side_only_is_not_the_same_formula(gold: str, answer: str) -> None:
    assert judged(answer, gold).score == 0.0
    assert judged(gold, answer).score == 0.0


@pytest.mark.parametrize(
    ("gold", "answer"),
    [
        ("|a|", "\\sqrt{a^2}"),
        ("a^2", "\\sqrt{a^4}"),
        ("\\sqrt{ab}", "\\sqrt{a}\\sqrt{b}"),
        ("5a\\sqrt{2a}", "\\sqrt{50a^3}"),
        ("a", "e^{\\ln a}"),
        ("\\ln(ab)", "\\ln a + \\ln b"),
        ("2\\ln a", "\\ln(a^2)"),
        ("|a|^2", "a^2"),
        ("\\sqrt{a - 900}\\sqrt{4}", "2\\sqrt{a-900}"),
        ("\\arcsin\\frac{a}{1}", "\\frac{\\pi}{2} - \\arccos a"),
        ("e^{ia}", "\\cos a + i \\sin a"),
        ("\\sqrt{-1-a^2}", "i\\sqrt{1+a^2}"),
        ("(-1)^n", "(-1)^{n+2}"),
        ("\\sqrt{b}\\sin 2a", "2b^{1/2}\\sin a\\cos a"),
        ("e^{10a}\\sqrt{2}", "(e^{5a})^2 2^{1/2}"),
    ],
)
def test_what_is_equal_where_both_are_real_is_the_same_formula(gold: str, answer: str) -> None:
    assert judged(answer, gold).score == 1.0, judged(answer, gold)


@pytest.mark.parametrize(
    ("gold", "answer"),
    [
        ("\\pi", f"\\pi + {OLD_PRIME}"),
        ("\\sqrt{2}", f"\\sqrt{{{OLD_PRIME + 2}}}"),
        ("x", f"x + {OLD_PRIME}y"),
        ("x", "x + 2^{255} - 19"),
        ("i", str(pow(2, (OLD_PRIME - 1) // 4, OLD_PRIME))),
        ("y = 2x", f"y = {OLD_PRIME + 2}x"),
    ],
)
def test_a_known_prime_makes_no_wrong_answer_right(gold: str, answer: str) -> None:
    assert judged(answer, gold).score == 0.0


def test_prime_and_points_are_secrets_of_the_process() -> None:
    program = (
        "from evenodds.verifiers.math import exact, tree;"
        "print(exact.PRIME, exact.residue(tree.sym('x'), 1))"
    )
    seen = {
        subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=True
        ).stdout
        for _ in range(2)
    }
    seen.add(f"{exact.PRIME} {exact.residue(sym('x'), 1)}\n")
    assert len(seen) == 3
    assert pow(exact.IMAGINARY, 2, exact.PRIME) == exact.PRIME - 1
    assert exact.PRIME.bit_length() == 192


def test_the_points_depend_on_both_formulas_and_on_nothing_else() -> None:
    one, same, other = (
        sampled.points(sym("x"), sym(name), is_real=True) for name in ("y", "y", "z")
    )
    assert one == same
    assert not {point.seed for point in one} & {point.seed for point in other}
    assert {point.sign for point in one} == {"+", "-", "each"}

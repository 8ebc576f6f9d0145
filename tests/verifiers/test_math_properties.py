"""Properties of the math verifier over random values, random forms and random texts.

EVENODDS_FUZZ multiplies the number of examples.
"""

from __future__ import annotations

import os
import random
from fractions import Fraction

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from evenodds.domain import Completion, Problem, Status, Stop, Verdict
from evenodds.verifiers.math import judge

FUZZ = int(os.environ.get("EVENODDS_FUZZ", "1"))
RIGHT = (Status.RIGHT, Status.TRUNCATED)


def judged(answer: str, gold: str, stop: Stop = Stop.END_TOKEN) -> Verdict:
    return judge(Problem("key", "?", gold, "task"), Completion(answer, stop))


def many(count: int) -> settings:
    return settings(max_examples=count * FUZZ, deadline=None, derandomize=FUZZ == 1)


fractions = st.fractions(-1000, 1000, max_denominator=60)
whole = st.integers(-(10**9), 10**9)


def spellings(value: Fraction) -> list[str]:
    """The accepted ways to write a rational number."""
    top, bottom = value.numerator, value.denominator
    ways = [str(value), f"\\frac{{{top}}}{{{bottom}}}", f"\\dfrac{{{2 * top}}}{{{2 * bottom}}}"]
    ways += [f"x = {value}", f"{top}/{bottom}", f"{value} \\text{{ cm}}"]
    if top < 0:
        ways += [
            f"-\\frac{{{-top}}}{{{bottom}}}",
            f"\\frac{{{-top}}}{{-{bottom}}}",
            f"−{-top}/{bottom}",
        ]
    if bottom == 1:
        ways += [f"{top}.0", f"{top:,}", f"{top}."]
    elif bottom in (2, 4, 5, 8, 10, 20, 40, 50):
        ways.append(str(float(value)))
    if bottom > 1 and top > bottom:
        ways.append(f"{top // bottom}\\frac{{{top % bottom}}}{{{bottom}}}")
    return ways


PLACES = [
    "{}",
    "\\boxed{{{}}}",
    "So the result is $\\boxed{{{}}}$.",
    "First \\boxed{{1234}}.\n\nLater: \\boxed{{{}}}",
    "<think>17 or 18?</think>\nThe answer is ${}$.",
    "<answer>{}</answer>",
    "We see it.\n#### {}",
]


@many(40)
@given(fractions)
def test_a_value_is_right_in_every_spelling_and_place(value: Fraction) -> None:
    gold = random.Random(str(value)).choice(spellings(value)[:3])
    for place in PLACES:
        for way in spellings(value):
            verdict = judged(place.format(way), gold)
            assert verdict.score == 1.0, (place, way, gold, verdict)


@many(40)
@given(fractions, fractions)
def test_another_value_is_never_right(value: Fraction, other: Fraction) -> None:
    assume(value != other)
    for place in PLACES:
        for way in spellings(other):
            verdict = judged(place.format(way), str(value))
            assert verdict.score == 0.0, (place, way, value, verdict)


names = st.sampled_from("xyzab")


def tree(leaf: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    def grown(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        two = st.tuples(inner, inner)
        return st.one_of(
            two.map(lambda pair: f"({pair[0]}+{pair[1]})"),
            two.map(lambda pair: f"({pair[0]}-{pair[1]})"),
            two.map(lambda pair: f"{pair[0]}\\cdot {pair[1]}"),
            two.map(lambda pair: f"\\frac{{{pair[0]}}}{{1+({pair[1]})^2}}"),
            inner.map(lambda text: f"\\sqrt{{1+({text})^2}}"),
            inner.map(lambda text: f"\\sin({text})"),
        )

    return st.recursive(leaf, grown, max_leaves=6)


formulas = tree(st.one_of(names, st.integers(1, 30).map(str), st.just("\\pi")))


@many(40)
@given(formulas, names)
def test_a_formula_is_itself_rewritten_and_nothing_else(text: str, name: str) -> None:
    for rewritten in (
        f"({text})",
        f"0+{text}",
        f"{name}+{text}-{name}",
        f"\\frac{{3({text})}}{{3}}",
        f"\\left({text}\\right)^1",
    ):
        assert judged(f"\\boxed{{{rewritten}}}", text).score == 1.0, rewritten
    for changed in (
        f"({text})+1",
        f"2({text}+1)",
        f"\\sqrt{{({text})^2+1}}",
        f"({text})+10^{{-12}}",
    ):
        assert judged(f"\\boxed{{{changed}}}", text).score == 0.0, changed


@many(40)
@given(st.lists(fractions, min_size=2, max_size=5, unique=True), st.randoms())
def test_order_counts_in_tuples_and_not_in_lists(
    values: list[Fraction], chance: random.Random
) -> None:
    shuffled = list(values)
    chance.shuffle(shuffled)
    gold, answer = (", ".join(map(str, each)) for each in (values, shuffled))
    assert judged(f"\\boxed{{{answer}}}", gold).score == 1.0
    assert judged(f"\\boxed{{\\{{{answer}\\}}}}", f"\\{{{gold}\\}}").score == 1.0
    is_same = float(values == shuffled)
    assert judged(f"\\boxed{{({answer})}}", f"({gold})").score == is_same
    assert judged(f"\\boxed{{{answer}, 5000}}", gold).score == 0.0
    fewer = ", ".join(map(str, shuffled[1:]))
    assert judged(f"\\boxed{{{fewer}}}", gold).score == 0.0


@many(40)
@given(fractions, fractions, st.sampled_from(["()", "[]", "[)", "(]"]), st.sampled_from("xtk"))
def test_an_interval_is_its_inequality(
    low: Fraction, high: Fraction, brackets: str, name: str
) -> None:
    assume(low < high)
    signs = ["\\le" if bracket in "[]" else "<" for bracket in brackets]
    interval = f"{brackets[0]}{low}, {high}{brackets[1]}"
    chain = f"{low} {signs[0]} {name} {signs[1]} {high}"
    for gold, answer in ((interval, chain), (chain, interval), (chain, f"{name} \\in {interval}")):
        assert judged(f"\\boxed{{{answer}}}", gold).score == 1.0, (gold, answer)
    for other in ("()", "[]", "[)", "(]"):
        if other != brackets:
            answer = f"\\boxed{{{other[0]}{low}, {high}{other[1]}}}"
            assert judged(answer, chain).score == 0.0


@many(40)
@given(st.tuples(whole, whole, whole), st.integers(-9, 9))
def test_an_equation_is_itself_times_a_constant(numbers: tuple[int, int, int], factor: int) -> None:
    a, b, c = numbers
    assume(factor and a and b and c)
    gold = f"{a}x + {b}y = {c}".replace("+ -", "- ")
    scaled = f"{factor * a}x + {factor * b}y - {factor * c} = 0".replace("+ -", "- ").replace(
        "- -", "+ "
    )
    assert judged(f"\\boxed{{{scaled}}}", gold).score == 1.0, (gold, scaled)
    moved = f"{a}x + {b}y = {c + 1}".replace("+ -", "- ")
    assert judged(f"\\boxed{{{moved}}}", gold).score == 0.0


PIECES = [
    *(
        "\\frac",
        "{",
        "}",
        "(",
        ")",
        "[",
        "]",
        "\\{",
        "\\}",
        "x",
        "y",
        "2",
        "42",
        "^",
        "_",
        "\\sqrt",
    ),
    *("+", "-", "*", "/", ",", ";", "\\sin", "\\ln", "=", "<", "\\le", "\\boxed{", "$", "\\text{"),
    *(" or ", " and ", "!", "|", "\\pi", "e", "i", "9", "0", "1e9", "%", "\\cup", "\\setminus"),
    *("\\begin{pmatrix}", "\\end{pmatrix}", "&", "\\\\", "\\pm", "1/3", "..", "\n", "\\infty"),
    *("\\in", "~", ":", "the answer is ", "####", "\\binom", "\\log_", "°", "'", "√", "²", "½"),
    *("\u202e", "\ud800", "\x00", "<think>", "</think>", "<answer>", "A", "B.", "(C)", "not "),
    *("\\mathbb{R}", "\\emptyset", "\\overline{3}", "0.", "p.m.", "cm", "\\cdot", "\\angle"),
]


@many(250)
@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join), st.sampled_from(list(Stop)))
def test_pieces_in_any_order_give_a_verdict(answer: str, stop: Stop) -> None:
    for gold in ("42", "x+\\sqrt{3}", "(0,1]", "D", answer):
        verdict = judged(answer, gold, stop)
        assert verdict.score in (0.0, 1.0)
        assert (verdict.score == 1.0) <= (verdict.status in RIGHT)


@many(150)
@given(st.text(max_size=200), st.text(max_size=40))
def test_any_text_and_any_gold_give_a_verdict(answer: str, gold: str) -> None:
    assert judged(answer, gold).score in (0.0, 1.0)


def test_random_formulas_give_a_verdict_and_are_never_the_gold() -> None:
    chance = random.Random(4)
    for _ in range(1_000 * FUZZ):
        answer = "".join(chance.choices(PIECES[:60], k=chance.randint(1, 25)))
        verdict = judged("\\boxed{" + answer, "7319+\\sqrt{31}")
        assert verdict.score == 0.0, (answer, verdict)


@pytest.mark.parametrize("prose", ["{}", "Take 7 and 9.\nThen {}\nand that is all 3 of us wanted."])
def test_prose_around_a_box_changes_nothing(prose: str) -> None:
    for answer, gold, score in (("x+1", "1+x", 1.0), ("x+2", "1+x", 0.0), ("(1,2)", "(1,2)", 1.0)):
        assert judged(prose.format(f"\\boxed{{{answer}}}"), gold).score == score

"""The expression verifier: given numbers make a target, and no trick does."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenodds.domain import Completion, Problem, Status, Stop, Verdict
from evenodds.verifiers import find_verifier
from evenodds.verifiers.expression import DEFAULT, Policy, expression, read_gold, worked_out
from tests.verifiers.hostile import SMALL, slowest

GOLD = '{"numbers": [3, 5, 3, 8], "target": 40}'
SOLVED = "8 * 5 * 3 / 3"


def judged(
    answer: str,
    gold: str = GOLD,
    policy: Policy = DEFAULT,
    stop: Stop = Stop.END_TOKEN,
    columns: dict[str, object] | None = None,
) -> Verdict:
    problem = Problem("key", "prompt", gold, "task", columns=columns or {})
    return expression(problem, Completion(answer, stop), policy)


PAID = [
    SOLVED,
    "8*5*3/3",
    "8 × 5 × 3 ÷ 3",
    "8 · 5 · (3 / 3)",
    "8 x 5 x (3 / 3)",
    "(8*5)*(3/3) = 40",
    "8*5+3-3",
    "8*5+3−3",
    "[8*5]+(3-3)",
    "\\boxed{8 \\times 5 \\cdot \\frac{3}{3}}",
    "$8 \\times 5 \\times \\left(3 \\div 3\\right) = 40$",
    "<answer>8*5*3/3</answer>",
    "<answer> 8*5*3/3 = 40 </answer>",
    "Let me try.\n8*5*3/3",
    "Answer: 8*5*3/3",
    "The answer is 8*5*3/3 = 40.",
    "**8*5*3/3**",
    "3 * 8 * 5 / 3",
    "3/3*8*5",
    "8/(3/(3*5))",
    "<think>3*5</think>8*5*3/3",
]


@pytest.mark.parametrize("answer", PAID)
def test_solutions_are_paid(answer: str) -> None:
    verdict = judged(answer)
    assert (verdict.score, verdict.status) == (1.0, Status.RIGHT), verdict
    assert verdict.parts == {"readable": 1.0, "numbers": 1.0, "value": 1.0}


UNPAID = [
    ("40", "more often than it is given"),
    ("8*5", "leaves out 3"),
    ("8*5*3/3*1", "uses 1"),
    ("8*5*5*3/3/5", "uses 5 more often"),
    ("3+5+3+8", "it makes 19"),
    ("8*5*3/3 = 41", "said to equal 41"),
    ("3+5+3+8 = 40", "it makes 19"),
    ("8*5*3/3 = 8*5", "not one whole number"),
    ("8*5 = 40 = 8*5*3/3", "not one whole number"),
    ("40 = 8*5*3/3", "not one whole number"),
    ("8*5*3/3 == 40", "not one whole number"),
    ("35 + 5", "more often"),
    ("3 3 + 5", "where a sign is needed"),
    ("8(5)(3)/3", "where a sign is needed"),
    ("-8*5*3/-3", "where a number is needed"),
    ("8*5+-3+3", "where a number is needed"),
    ("+8*5*3/3", "where a number is needed"),
    ("8**5", "where a number is needed"),
    ("8//5", "where a number is needed"),
    ("8^5", "has no place"),
    ("5!/3 + 3*0*8", "has no place"),
    ("8.0*5*3/3", "has no place"),
    ("8e0*5*3/3", "has no place"),
    ("08*5*3/3", "zeros in front"),
    ("8*5*3/3 or 8*5", "has no place"),
    ("8*5*3/3, 8*5+3-3", "has no place"),
    ("8*5*3/(3-3)", "divides by zero"),
    ("8*5/0*3*3", "divides by zero"),
    ("(8*5*3/3", "do not match"),
    ("(8*5]*3/3", "do not match"),
    ("8*5*3/3)", "where a sign is needed"),
    ("()", "where a number is needed"),
    ("8*5*3/", "too early"),
    ("sum([8,5,3,3])", "has no place"),
    ("__import__('os')", "has no place"),
    ("8 if 5 else 3", "has no place"),
    ("8*5%3", "has no place"),
    ("8<5", "has no place"),
    ("9" * 13, "too many digits"),
    ("(" * 41 + "8*5*3/3" + ")" * 41, "where a number is needed"),
    ("+".join("3" * 200), "numbers and signs"),
    ("3+" * 600, "too many for an expression"),
    ("8*5*٣/3", "has no place"),
    ("8*5*³/3", "has no place"),
]


@pytest.mark.parametrize(("answer", "note"), UNPAID)
def test_tricks_are_not_paid(answer: str, note: str) -> None:
    verdict = judged(answer)
    assert (verdict.score, verdict.status) == (0.0, Status.WRONG), verdict
    assert note in verdict.note


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        ("", Status.NO_ANSWER),
        (f"<think>{SOLVED}", Status.NO_ANSWER),
        (f"<think>{SOLVED}</think>", Status.NO_ANSWER),
        ("\\boxed{8*5*3/3", Status.NO_ANSWER),
        ("the answer is not \\boxed{8*5*3/3}", Status.WRONG),
        ("<answer>8*5</answer><answer>8*5*3/3</answer>", Status.SEVERAL_ANSWERS),
    ],
)
def test_what_is_no_final_answer_is_not_paid(answer: str, status: Status) -> None:
    verdict = judged(answer)
    assert (verdict.score, verdict.status) == (0.0, status), verdict


def test_a_cut_answer_is_paid_only_in_closed_marks() -> None:
    assert judged(SOLVED, stop=Stop.BUDGET).score == 0.0
    assert judged(f"<answer>{SOLVED}</answer>", stop=Stop.BUDGET).score == 1.0


@pytest.mark.parametrize(
    ("answer", "numbers", "target", "policy", "score"),
    [
        ("8*5", [8, 5, 3], 40, Policy(use="at most once"), 1.0),
        ("8*5*3/3", [8, 5, 3], 40, Policy(use="at most once"), 0.0),
        ("3/2*4", [2, 3, 4], 6, DEFAULT, 1.0),
        ("3/2*4", [2, 3, 4], 6, Policy(steps="whole"), 0.0),
        ("3-4+5", [3, 4, 5], 4, Policy(steps="whole"), 1.0),
        ("3-4+5", [3, 4, 5], 4, Policy(steps="positive"), 0.0),
        ("3-5", [3, 5], -2, DEFAULT, 1.0),
        ("3-5 = -2", [3, 5], -2, DEFAULT, 1.0),
        ("1/3", [1, 3], 0, DEFAULT, 0.0),
    ],
)
def test_policies(
    answer: str, numbers: list[int], target: int, policy: Policy, score: float
) -> None:
    gold = json.dumps({"numbers": numbers, "target": target})
    assert judged(answer, gold, policy).score == score


def test_golds_of_known_data_sets() -> None:
    assert judged(SOLVED, '{"nums": [3, 5, 3, 8], "target": 40.0}').score == 1.0
    assert judged(SOLVED, "40", columns={"nums": [3, 5, 3, 8]}).score == 1.0
    assert judged(SOLVED, "see columns", columns={"numbers": [3, 5, 3, 8], "target": 40}).score == 1


@pytest.mark.parametrize(
    "gold",
    [
        "",
        "40",
        "[1, 2]",
        '{"numbers": [], "target": 1}',
        '{"numbers": [1, 2]}',
        '{"numbers": ["1"], "target": 1}',
        '{"numbers": [1.5], "target": 1}',
        '{"numbers": [true], "target": 1}',
        '{"numbers": [1], "target": 1e400}',
        '{"numbers": [1], "target": NaN}',
        '{"numbers": [1], "target": 1e15}',
    ],
)
def test_golds_that_cannot_be_read(gold: str) -> None:
    assert judged("1", gold).status is Status.GOLD_UNREADABLE


operations = st.sampled_from("+-*")


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.lists(st.integers(0, 99), min_size=1, max_size=8), st.data())
def test_it_works_out_what_python_works_out(numbers: list[int], data: st.DataObject) -> None:
    text = str(numbers[0])
    for number in numbers[1:]:
        text = f"{text}{data.draw(operations)}{number}"
        text = f"({text})" if data.draw(st.booleans()) else text
    value, used = worked_out(text, Fraction(0))
    assert value == eval(text)
    assert sorted(used) == sorted(numbers)
    gold = json.dumps({"numbers": numbers, "target": int(value)})
    assert judged(text, gold).score == 1.0 or abs(value) >= 10**12


@pytest.mark.parametrize("text", SMALL)
def test_hostile_texts(text: str) -> None:
    assert judged(text).score == 0.0


@settings(max_examples=300, deadline=None, derandomize=True)
@given(
    st.text(alphabet="3580+-*/()= x\\", max_size=40)
    | st.lists(st.sampled_from(SMALL) | st.text(max_size=20)).map("".join),
    st.just(GOLD) | st.text(max_size=20),
    st.sampled_from(list(Stop)),
)
def test_any_text_gives_a_verdict(text: str, gold: str, stop: Stop) -> None:
    assert judged(text, gold, stop=stop).score in (0.0, 1.0)


def test_its_time_is_linear_in_the_text() -> None:
    assert slowest(expression, Problem("key", "prompt", GOLD, "task"), 1_000_000) < 2


def test_it_is_registered() -> None:
    verifier = find_verifier("expression", {"use": "at most once"})
    assert verifier(Problem("k", "p", GOLD, "t"), Completion("8*5")).score == 1.0
    assert not isinstance(read_gold(GOLD, {}), str)

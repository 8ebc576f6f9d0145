"""The number verifier: what it pays, what it refuses, and that nothing makes it fail."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenodds.domain import Completion, Problem, Status, Stop, Verdict
from evenodds.verifiers.canonical import Policy
from evenodds.verifiers.number import number

CASES = Path(__file__).parents[2].parent / "shared" / "cases"
NUMERIC_KINDS = {"decimal", "fraction", "integer", "percent"}
# refused by policy: radicals belong to another verifier, and sums are for the answerer to work out
REFUSED_BY_POLICY = {"$\\sqrt{17}$", "Answer \\( (9+1) \\)"}


def judged(answer: str, gold: str, stop: Stop = Stop.END_TOKEN, tail: str = "") -> Verdict:
    return number(Problem("key", "prompt", gold, "task"), Completion(answer, stop, tail))


PAID = [
    ("First \\boxed{2}, then corrected: \\boxed{3}", "3"),
    ("Final: \\boxed{3/7}", "0.428571"),
    ("\\\\boxed{42}", "42"),
    ("\\fbox{42}", "42"),
    ("\\boxed{\\boxed{42}}", "42"),
    ("\\boxed{12}\n\n**Answer** \\boxed{12}", "12"),
    ("<answer>42</answer>", "42"),
    ("work 7\n#### 1,234", "1234"),
    ("#### Step 2\nThe answer is 7", "7"),
    ("4*12=48;30*12=360;48+360=408", "408"),
    ("12 x 34 = 408", "408"),
    ("12 × 34 = 408", "408"),
    ("10 hours * 4 = 40.", "40"),
    ("5 minus 3 = 2", "2"),
    ("The answer is **42**.", "42"),
    ("**Answer:** 42 apples", "42"),
    ("The answer is\n\n42", "42"),
    ("The answer is 12, not 13", "12"),
    ("The answer is 42, because 43 is odd", "42"),
    ("It is not hard to see that the answer is \\boxed{42}", "42"),
    ("So she has $1,234.50 left.", "1234.5"),
    ("Answer: she will still owe 220 $ after 12 months", "220"),
    ("1e5", "100000"),
    ("\\boxed{1.5 \\times 10^{3}}", "1500"),
    ("\\boxed{\\frac{1}{3^{80}}}", "$\\frac{1}{3^{80}}$"),
    ("\\boxed{\\tfrac83}", "8/3"),
    ("3 1/2", "3.5"),
    ("3½", "3.5"),
    ("−5", "-5"),
    ("minus 3", "-3"),
    ("４２", "42"),
    ("\\boxed{1{,}000}", "1000"),
    ("1 000 000", "1000000"),
    ("4 million", "4000000"),
    ("50%", "50"),
    ("\\boxed{42\\text{ cm}^2}", "42"),
    ("x = 42", "42"),
    ("<b>42</b>", "42"),
    ("more are red than not\n#### 22", "22"),
    ("so => 42", "42"),
    ("> 42", "42"),
    ("0408", "408"),
    ("408.0", "408"),
    ("-0", "0"),
    ("0.333333333", "1/3"),
    ("12", "6*2"),
]


@pytest.mark.parametrize(("answer", "gold"), PAID)
def test_right_answers_are_paid(answer: str, gold: str) -> None:
    verdict = judged(answer, gold)
    assert (verdict.score, verdict.status) == (1.0, Status.RIGHT), verdict


UNPAID = [
    ("the reference number 42 is mentioned, but the answer is 41", "42", Status.WRONG),
    ("1/0", "0", Status.WRONG),
    ("none", "5", Status.NO_ANSWER),
    ("", "5", Status.NO_ANSWER),
    ("\\boxed{}", "5", Status.NO_ANSWER),
    ("\\boxed{42", "42", Status.NO_ANSWER),
    ("12*34", "408", Status.WRONG),
    ("12*34", "34", Status.WRONG),
    ("\\boxed{12*34}", "408", Status.WRONG),
    ("12x34", "408", Status.WRONG),
    ("the answer is **not** #### 42", "42", Status.WRONG),
    ("the answer is not 42", "42", Status.WRONG),
    ("The answer isn't \\boxed{42}", "42", Status.WRONG),
    ("I don't think the answer is 42", "42", Status.WRONG),
    ("wrong answer: 42", "42", Status.WRONG),
    ("\\boxed{42} is wrong", "42", Status.WRONG),
    ("it is 12, not 13", "13", Status.WRONG),
    ("the answer is 41 or 42", "42", Status.SEVERAL_ANSWERS),
    ("the answer is 42 or maybe 41", "42", Status.SEVERAL_ANSWERS),
    ("41 or 42", "42", Status.SEVERAL_ANSWERS),
    ("41 apples or 42", "42", Status.SEVERAL_ANSWERS),
    ("\\boxed{41} or \\boxed{42}", "42", Status.SEVERAL_ANSWERS),
    ("\\boxed{1},\\boxed{2},\\boxed{3}", "3", Status.SEVERAL_ANSWERS),
    ("<answer>41</answer><answer>42</answer>", "42", Status.SEVERAL_ANSWERS),
    ("\\boxed{42} or 41", "42", Status.SEVERAL_ANSWERS),
    ("\\boxed{41, 42}", "42", Status.SEVERAL_ANSWERS),
    ("\\boxed{x=41, y=42}", "42", Status.SEVERAL_ANSWERS),
    ("The answer is 42. Wait, it is 41", "42", Status.SEVERAL_ANSWERS),
    ("43=42", "42", Status.SEVERAL_ANSWERS),
    ("42 \\approx 43", "42", Status.SEVERAL_ANSWERS),
    ("1e99999999", "42", Status.WRONG),
    ("1e999999999999999999", "42", Status.WRONG),
    ("7^{7^7}", "7", Status.WRONG),
    ("9**9**9**9", "9", Status.WRONG),
    ("42!", "42", Status.WRONG),
    ("5 \\pi", "5", Status.WRONG),
    ("\\sqrt{17}", "17", Status.WRONG),
    ("2x", "2", Status.WRONG),
    ("n-1", "-1", Status.WRONG),
    ("x_42", "42", Status.WRONG),
    ("101010_2", "2", Status.WRONG),
    ("\\boxed{2x+4y-3=0}", "0", Status.WRONG),
    ("x > 42", "42", Status.WRONG),
    ("42<x", "42", Status.WRONG),
    ("(1,2)", "1.2", Status.SEVERAL_ANSWERS),
    ("$x \\geq 42$", "42", Status.WRONG),
    ("4 million", "4", Status.WRONG),
    ("50%", "0.5", Status.WRONG),
    ("\\boxed{\\frac{1}{3^{81}}}", "$\\frac{1}{3^{80}}$", Status.WRONG),
    ("0.3333", "1/3", Status.WRONG),
    ("41.9999999", "42", Status.WRONG),
    ("42.0000000000001", "42", Status.WRONG),
    ("10000000", "10000000.5", Status.WRONG),
    ("100000000000000000001", "100000000000000000000", Status.WRONG),
    ("3", "-3", Status.WRONG),
    ("\u202e24", "42", Status.WRONG),
    ("\u202e42", "42", Status.WRONG),
]


@pytest.mark.parametrize(("answer", "gold", "status"), UNPAID)
def test_other_answers_are_not_paid(answer: str, gold: str, status: Status) -> None:
    verdict = judged(answer, gold)
    assert (verdict.score, verdict.status) == (0.0, status), verdict


@pytest.mark.parametrize("gold", ["", "(see figure)", "x+1", "2x+4y-3=0", "nan", "10-2\\sqrt{5}"])
def test_an_unreadable_gold_is_said_to_be_so_and_never_paid(gold: str) -> None:
    verdict = judged(gold, gold)
    assert (verdict.score, verdict.status) == (0.0, Status.GOLD_UNREADABLE)


def test_the_worked_gold_of_gsm8k_is_reduced() -> None:
    assert judged("18", "She makes 9 * 2 = $18\n#### 18").score == 1.0


@pytest.mark.parametrize(
    ("answer", "tail", "score", "status"),
    [
        ("<think>maybe \\boxed{17}</think> The answer is 23.", "", 0.0, Status.WRONG),
        ("<think>it must be 17 because", "", 0.0, Status.NO_ANSWER),
        ("<think>it is \\boxed{17}</think>", "", 0.0, Status.NO_ANSWER),
        ("17 it is.\n</think>\n\\boxed{17}", "<think>\n", 1.0, Status.RIGHT),
        ("it is \\boxed{17}", "<think>\n", 0.0, Status.NO_ANSWER),
        ("\\boxed{17}", "<think>\n\n</think>\n\n", 1.0, Status.RIGHT),
        ("\\boxed{17}", "Reason inside <think> tags.", 1.0, Status.RIGHT),
        ("</think>\\boxed{17}", "", 1.0, Status.RIGHT),
        ("<think>" + "a" * 200_000 + "\\boxed{17}", "", 0.0, Status.NO_ANSWER),
        ("<|im_start|>Answer: \\boxed{17}<|im_end|>", "", 1.0, Status.RIGHT),
        ("17<|endoftext|>", "", 1.0, Status.RIGHT),
        ("1<|x|>7", "", 0.0, Status.WRONG),
    ],
)
def test_an_answer_inside_reasoning_does_not_count(
    answer: str, tail: str, score: float, status: Status
) -> None:
    verdict = judged(answer, "17", tail=tail)
    assert (verdict.score, verdict.status) == (score, status), verdict


@pytest.mark.parametrize(
    ("answer", "score"),
    [
        ("48+360=408", 0.0),  # more digits might have come
        ("The answer is 408.", 0.0),  # so might decimals
        ("#### 408", 0.0),
        ("<answer>408", 0.0),
        ("\\boxed{408", 0.0),
        ("\\boxed{408} and", 1.0),
        ("<answer>408</answer>", 1.0),
        ("#### 408\n", 1.0),
        ("The answer is 408. Now", 1.0),
        ("\\boxed{407} and", 0.0),
    ],
)
def test_a_cut_completion_is_paid_only_for_a_finished_answer(answer: str, score: float) -> None:
    verdict = judged(answer, "408", Stop.BUDGET)
    assert (verdict.score, verdict.status) == (score, Status.TRUNCATED), verdict


def test_policies_change_what_is_read() -> None:
    problem = Problem("key", "prompt", "0.5", "task")
    ratio = Policy(percent="ratio")
    assert number(problem, Completion("50%"), ratio).score == 1.0
    worked = Policy(arithmetic=True)
    assert number(problem, Completion("\\boxed{0.25+0.25}"), worked).score == 1.0
    assert number(problem, Completion("0,5"), Policy(decimal_comma=False)).score == 0.0
    boxes_only = number(problem, Completion("0.5"), Policy(order=("box",)))
    assert boxes_only.status is Status.NO_ANSWER


def test_the_verdict_says_what_was_read_and_how() -> None:
    verdict = judged("The answer is \\boxed{3/7}.", "0.428571")
    assert verdict.extracted == "3/7"
    assert verdict.note == "box; equal within a relative 1e-06"


HOSTILE = [
    "\\boxed{" * 5_000,
    "\\boxed{" * 5_000 + "41" + "}" * 5_000 + "{",
    "{" * 5_000 + "42" + "}" * 5_000 + "!",
    "(" * 5_000 + "42" + ")" * 4_999,
    "\\boxed{" + "{" * 900 + "41" + "}" * 900 + "}",
    "\\boxed{" + "-" * 500 + "42}",
    "\\frac{1}{1+" * 3_000 + "1" + "}" * 3_000,
    "\\boxed{7^{7^{7^{7}}}}",
    "\\boxed{10**10**10}",
    "\\boxed{" + "9" * 100_000 + "}",
    "9" * 1_000_000,
    "1," * 500_000,
    "a" * 1_000_000,
    "\\text{" * 100_000,
    "<answer>" * 100_000,
    "<think>" * 100_000,
    "#### " * 100_000,
    "answer is " * 100_000,
    "answer is $" * 50_000,
    "\\" * 100_000 + "41",
    "\x00" * 1_000,
    "\ud800" * 1_000 + "41",
    "\u202e24\u202c",
    "1\u0301" * 10_000 + "!",
    "^" * 10_000 + "42",
    "= " * 50_000 + "41",
    "\\boxed{(" + "1+" * 700 + "1)}",
    "\\boxed{" + "(1+" * 400 + "1" + ")" * 400 + "}",
    "\\boxed{" + "2^" * 700 + "2}",
    "\\boxed{1" + "/3" * 600 + "}",
    "\\boxed{" + "\\frac" * 250 + "42}",
    "__import__('os').system('true') or 41",
]


@pytest.mark.parametrize("answer", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_texts_are_quick_and_never_paid(answer: str) -> None:
    started = time.process_time()
    verdict = judged(answer, "42")
    assert verdict.score == 0.0, verdict
    assert time.process_time() - started < 2


PIECES = [
    "\\boxed{", "}", "{", "\\frac", "\\text{", "<answer>", "</answer>", "<think>", "</think>",
    "####", "answer is", "Answer:", "42", "41", "7", "1e9", ".", ",", " ", "\n", "=", "≈", "-",
    "+", "*", "/", "^", "(", ")", "$", "%", "!", "or", "and", "not", "\\\\", "½", "٤", "x", "_",
    "million", "<|im_end|>", "\u202e", "\ud800", "\x00", "²", "minus", "wait", "**",
]  # fmt: skip


@settings(max_examples=400, deadline=None, derandomize=True)
@given(st.lists(st.sampled_from(PIECES), max_size=24).map("".join), st.sampled_from(list(Stop)))
def test_pieces_in_any_order_give_a_verdict(answer: str, stop: Stop) -> None:
    for gold in ("42", "1/3", answer):
        verdict = judged(answer, gold, stop)
        assert verdict.score in (0.0, 1.0)
        assert (verdict.score == 1.0) <= (verdict.status in (Status.RIGHT, Status.TRUNCATED))


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.text(max_size=200), st.text(max_size=40))
def test_any_text_and_any_gold_give_a_verdict(answer: str, gold: str) -> None:
    assert judged(answer, gold).score in (0.0, 1.0)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.integers(-(10**12), 10**12), st.integers(-(10**12), 10**12))
def test_whole_numbers_are_equal_exactly_when_they_are(answer: int, gold: int) -> None:
    for form in ("{}", "\\boxed{{{}}}", "The answer is {}.", "#### {}", "work=3;7={}"):
        if form.startswith("work") and answer != 7:
            continue
        assert judged(form.format(answer), str(gold)).score == float(answer == gold)
        assert judged(form.format(answer), str(answer)).score == 1.0
    assert judged(f"{answer:,}", str(answer)).score == 1.0


def test_a_short_answer_costs_at_most_a_tenth_of_a_millisecond() -> None:
    problem = Problem("key", "prompt", "408", "task")
    completion = Completion("The answer is \\boxed{408}.")
    best = min(_seconds(problem, completion) for _ in range(5))
    assert best / 500 < 1e-4


def _seconds(problem: Problem, completion: Completion) -> float:
    started = time.process_time()
    for _ in range(500):
        number(problem, completion)
    return time.process_time() - started


@pytest.mark.skipif(not CASES.is_dir(), reason="the sample of cases is not beside this checkout")
def test_the_numeric_forms_of_the_sample_are_decided() -> None:
    refused: list[str] = []
    for line in (CASES / "verifier-forms.jsonl").read_text().splitlines():
        case = json.loads(line)
        verdict = judged(case["answer"], case["gold"])
        if not case["right"]:
            assert verdict.score == 0.0, (case, verdict)
        elif case["kind"] in NUMERIC_KINDS and verdict.score == 0.0:
            refused.append(case["answer"])
    assert set(refused) <= REFUSED_BY_POLICY


@pytest.mark.skipif(not CASES.is_dir(), reason="the sample of cases is not beside this checkout")
def test_the_attacks_of_the_sample_are_not_paid() -> None:
    for line in (CASES / "verifier-attacks.jsonl").read_text().splitlines():
        case = json.loads(line)
        answer = eval(case["make"]) if "make" in case else case.get("answer")
        if answer is None:
            continue
        started = time.process_time()
        verdict = judged(answer, case["gold"])
        assert time.process_time() - started < 2, case["name"]
        if case["expected"] is not None:
            assert verdict.score == float(case["expected"]), (case["name"], verdict)

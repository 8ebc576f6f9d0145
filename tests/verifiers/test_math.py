"""The math verifier: what it pays, what it refuses, and that nothing makes it fail or slow."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from evenodds.domain import Completion, Problem, Status, Stop, Verdict
from evenodds.verifiers.math import KIND, Policy, judge
from tests.verifiers.math_cases import PAID, UNPAID


def judged(
    answer: str,
    gold: str,
    policy: Policy = KIND.policy,
    prompt: str = "?",
    stop: Stop = Stop.END_TOKEN,
) -> Verdict:
    return judge(Problem("key", prompt, gold, "task"), Completion(answer, stop), policy)


@pytest.mark.parametrize(("gold", "answer"), [pair for pairs in PAID.values() for pair in pairs])
def test_right_answers_are_paid(gold: str, answer: str) -> None:
    verdict = judged(answer, gold)
    assert (verdict.score, verdict.status) == (1.0, Status.RIGHT), verdict


@pytest.mark.parametrize(("gold", "answer"), [pair for pairs in UNPAID.values() for pair in pairs])
def test_other_answers_are_not_paid(gold: str, answer: str) -> None:
    verdict = judged(answer, gold)
    assert verdict.score == 0.0, verdict
    assert verdict.status in (Status.WRONG, Status.NO_ANSWER, Status.SEVERAL_ANSWERS)


@pytest.mark.parametrize("gold", ["", " ", "$$", "(see figure)", "nan", "1/0", "\\text{}", "-"])
def test_an_unreadable_gold_is_said_to_be_so_and_never_paid(gold: str) -> None:
    for answer in (gold, "3", "\\boxed{3}"):
        verdict = judged(answer, gold)
        assert (verdict.score, verdict.status) == (0.0, Status.GOLD_UNREADABLE)


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        ("\\boxed{}", Status.NO_ANSWER),
        ("\\boxed{x", Status.NO_ANSWER),
        ("<think>\\boxed{x}", Status.NO_ANSWER),
        ("", Status.NO_ANSWER),
        ("\\boxed{x, y}", Status.SEVERAL_ANSWERS),
        ("\\boxed{x} or \\boxed{y}", Status.SEVERAL_ANSWERS),
        ("\\boxed{7 = 8}", Status.SEVERAL_ANSWERS),
        ("\\boxed{y}", Status.WRONG),
        ("\\boxed{\\int y}", Status.WRONG),
    ],
)
def test_the_status_says_why_nothing_is_paid(answer: str, status: Status) -> None:
    assert judged(answer, "x").status is status


def test_the_verdict_says_what_was_read_and_how() -> None:
    verdict = judged("So it is \\boxed{\\sqrt{50}}.", "5\\sqrt2")
    assert verdict.extracted == "\\sqrt{50}"
    assert verdict.note.startswith("box; equal to")


@pytest.mark.parametrize(
    ("answer", "score"),
    [
        ("\\boxed{x+1} and", 1.0),
        ("<answer>x+1</answer>", 1.0),
        ("The answer is $x+1$. Now", 1.0),
        ("The answer is $x+1", 0.0),
        ("so it is $x+1$", 0.0),
        ("x+1", 0.0),
        ("\\boxed{x+1", 0.0),
    ],
)
def test_a_cut_completion_is_paid_only_for_a_finished_answer(answer: str, score: float) -> None:
    verdict = judged(answer, "x+1", stop=Stop.BUDGET)
    assert (verdict.score, verdict.status) == (score, Status.TRUNCATED), verdict


@pytest.mark.parametrize(
    ("policy", "answer", "gold", "score"),
    [
        (Policy(percent="unit"), "14\\%", "14", 1.0),
        (Policy(percent="unit"), "14\\%", "0.14", 0.0),
        (Policy(percent="ratio"), "14\\%", "14", 0.0),
        (Policy(percent="ratio"), "14\\%", "0.14", 1.0),
        (Policy(decimal_comma=False), "3,25", "3.25", 0.0),
        (Policy(decimal_comma=False), "3,25", "3, 25", 1.0),
        (Policy(units=False), "9 miles", "9", 0.0),
        (Policy(arithmetic=False), "4 + 5", "9", 0.0),
        (Policy(arithmetic=False), "4 + 5", "4 + 5", 1.0),
        (Policy(rounded_gold=0), "\\sqrt{7}", "2.6458", 0.0),
        (Policy(names=False), "x = 6", "6", 0.0),
        (Policy(choices=False), "I believe D is correct", "D", 0.0),
        (Policy(), "I believe D is correct", "D", 1.0),
        (Policy(), "Vitamin C is good for you.", "C", 0.0),
        (Policy(), "Point C lies on the line", "C", 0.0),
        (Policy(), "\\boxed{C}. No wait, it is D.", "C", 0.0),
        (Policy(), "\\boxed{C}. No wait, it is D. The final answer is D.", "D", 1.0),
        (Policy(synonyms=False), "no solution", "\\emptyset", 0.0),
        (Policy(order=("box",)), "6", "6", 0.0),
    ],
)
def test_policies_change_what_is_paid(policy: Policy, answer: str, gold: str, score: float) -> None:
    assert judged(answer, gold, policy).score == score


@pytest.mark.parametrize(
    ("prompt", "answer", "score"),
    [
        ("What is 17*23?", "17*23", 0.0),
        ("What is 17*23?", "\\boxed{17 \\cdot 23}", 0.0),
        ("What is 17*23?", "23 \\times 17", 0.0),
        ("What is 17*23?", "17*23+0", 0.0),
        ("What is 17*23?", "391", 1.0),
        ("What is 17*23?", "17*23 = 391", 1.0),
        ("How many eggs are there in all?", "400 - 9", 1.0),
    ],
)
def test_a_repeated_question_is_no_answer(prompt: str, answer: str, score: float) -> None:
    assert judged(answer, "391", prompt=prompt).score == score


@pytest.mark.parametrize("struck", ["\\cancel{$7$}", "\\sout{$7$}", "\\xcancel{\\(7\\)}"])
def test_a_formula_that_is_struck_out(struck: str) -> None:
    assert judged(f"The answer is {struck}.", "7").score == 0.0
    assert judged(f"The answer is {struck} $8$", "8").score == 1.0


@pytest.mark.parametrize(
    ("answer", "score"),
    [
        ("$10\\pi$ cm", 1.0),
        ("\\boxed{10\\pi}", 1.0),
        ("10\\pi\\text{ cm}", 1.0),
        ("The answer is $10\\pi$ cm.", 1.0),
        ("$11\\pi$ cm", 0.0),
        ("\\boxed{10}", 0.0),
        ("\\boxed{10\\pi\\text{ m}}", 0.0),
    ],
)
def test_words_behind_a_formula_of_the_gold_are_words(answer: str, score: float) -> None:
    assert judged(answer, "$10\\pi$ cm").score == score


@pytest.mark.parametrize(
    ("prompt", "answer", "gold", "score"),
    [
        ("Simplify $\\sqrt{12}$.", "$\\sqrt{12}$", "2\\sqrt{3}", 0.0),
        ("Simplify \\sqrt{12}.", "Simplify \\sqrt{12}.", "2\\sqrt{3}", 0.0),
        ("What is sin(pi/3)?", "What is sin(pi/3)?", "\\frac{\\sqrt{3}}{2}", 0.0),
        ("Expand $(x+1)^2$.", "\\boxed{(x+1)^2}", "x^2+2x+1", 0.0),
        ("Simplify $\\sqrt{12}$.", "\\sqrt{4}\\sqrt{3}", "2\\sqrt{3}", 1.0),
        ("Expand $(x+1)^2$.", "1 + 2x + x^2", "x^2+2x+1", 1.0),
        ("Simplify $\\frac{(x+1)^2}{x+1}$.", "x+1", "1+x", 1.0),
        ("Which is larger, $\\frac{3}{2}$ or $\\sqrt{3}$?", "\\sqrt{3}", "\\sqrt3", 1.0),
        ("Write 0.5 as a fraction or decimal: 0.5", "0.5", "\\frac{1}{2}", 1.0),
        ("Which is larger, 1/3 or 2/4?", "2/4", "1/2", 1.0),
        ("Is $x^2+1$ a square?", "$x^2+1$", "$x^2+1$", 1.0),
    ],
)
def test_a_repeated_formula_is_no_answer(prompt, answer, gold, score) -> None:
    assert judged(answer, gold, prompt=prompt).score == score


HOSTILE = [
    "\\boxed{" * 5_000,
    "\\boxed{" + "(" * 5_000 + "42" + ")" * 5_000 + "}",
    "\\boxed{" + "\\frac{1}{1+" * 3_000 + "1" + "}" * 3_000 + "}",
    "\\boxed{7^{7^{7^{7}}}}",
    "\\boxed{9**9**9**9}",
    "\\boxed{" + "x^" * 200 + "x}",
    "\\boxed{(((9!)!)!)}",
    "\\boxed{100000!}",
    "\\boxed{10^{10^{10}}}",
    "\\boxed{e^{e^{e^{e^{9}}}}}",
    "\\boxed{(x+y+z+1)^{200}}",
    "\\boxed{(\\sqrt2)^{999999}}",
    "\\boxed{\\sinh(\\sinh(\\sinh(\\sinh(9))))}",
    "\\boxed{1e999}",
    "\\boxed{" + "+".join(f"\\sqrt{{{i}}}" for i in range(2, 120)) + "}",
    "\\boxed{" + "+".join(f"\\frac{{1}}{{{n}!}}" for n in range(2950, 3000)) + "}",
    "\\boxed{" + ",".join(f"\\sqrt{{{i}}}" for i in range(2, 60)) + "}",
    "\\boxed{" + "\\cup".join(f"(\\sqrt{{{i}}},\\sqrt{{{i}.5}})" for i in range(40)) + "}",
    "\\boxed{" + "+".join(f"\\frac{{x+{i}}}{{y-{i}}}" for i in range(1, 50)) + "=0}",
    "\\boxed{\\begin{pmatrix}"
    + "\\\\".join("&".join("1" * 90) for _ in range(90))
    + "\\end{pmatrix}}",
    "\\boxed{" + "-" * 500 + "42}",
    "\\boxed{" + "|" * 400 + "}",
    "\\boxed{" + "9" * 100_000 + "}",
    "\\boxed{" + "\\text{" * 10_000 + "}",
    "x+" * 100_000 + "x",
    "$" * 100_000 + "41",
    "$4$ or " * 20_000 + "$41$",
    "A or B " * 50_000,
    "the answer is " * 50_000,
    "the answer is $" * 50_000,
    "a" * 1_000_000,
    "1," * 500_000,
    "(" * 1_000_000,
    "\\" * 100_000 + "41",
    "\ud800" * 1_000 + "41",
    "\x00" * 1_000,
    "__import__('os').system('true')",
]


@pytest.mark.parametrize("answer", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_texts_are_quick_and_never_paid(answer: str) -> None:
    for gold in ("42", "x+\\sqrt{3}", "2x+3y=1", "C"):
        started = time.process_time()
        verdict = judged(answer, gold)
        assert verdict.score == 0.0, verdict
        assert time.process_time() - started < 2


def test_a_short_answer_takes_less_than_a_third_of_a_millisecond() -> None:
    pairs = [("\\frac{3}{4}", "0.75"), ("x^2-1", "(x-1)(x+1)"), ("[1,2)", "1 \\le x < 2")]
    judged("\\boxed{1}", "1")
    for gold, answer in pairs:
        best = min(_seconds(f"The answer is \\boxed{{{answer}}}.", gold) for _ in range(5))
        assert best < 1e-3, (gold, best)


def _seconds(answer: str, gold: str) -> float:
    started = time.process_time()
    for _ in range(50):
        judged(answer, gold)
    return (time.process_time() - started) / 50


def test_threads_do_not_disturb_each_other() -> None:
    pairs = [("\\sin 2a", "2 \\sin a \\cos a", 1.0), ("\\sqrt{2}", "\\sqrt{2}+10^{-9}", 0.0)]
    with ThreadPoolExecutor(8) as pool:
        scores = list(pool.map(lambda pair: judged(pair[1], pair[0]).score, pairs * 40))
    assert scores == [score for _, _, score in pairs] * 40


def test_heavy_libraries_are_not_loaded_for_rational_answers() -> None:
    import subprocess
    import sys

    code = (
        "import sys\n"
        "from evenodds.verifiers.math import judge\n"
        "from evenodds.domain import Problem, Completion\n"
        "assert judge(Problem('k', 'p', 'x^2-1', 't'), Completion('(x-1)(x+1)')).score == 1\n"
        "assert not {'mpmath', 'sympy', 'torch'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=50)


def _with_other_digits(gold: str) -> list[str]:
    return [
        gold[:at] + str((int(sign) + 3) % 10) + gold[at + 1 :]
        for at, sign in enumerate(gold)
        if sign in "0123456789"
    ]


@pytest.mark.parametrize("gold", sorted({gold for pairs in PAID.values() for gold, _ in pairs}))
def test_a_gold_meets_itself_and_not_itself_with_another_digit(gold: str) -> None:
    for place in ("\\boxed{{{}}}", "The final answer is ${}$.", "<answer>{}</answer>"):
        if "boxed" not in gold and "####" not in gold:
            assert judged(place.format(gold), gold).score == 1.0, place
    if "cup" in gold:
        return  # [1,5] with [2,5] is [1,2] with [2,5]
    for changed in _with_other_digits(gold):
        assert judged(f"\\boxed{{{changed}}}", gold).score == 0.0, changed

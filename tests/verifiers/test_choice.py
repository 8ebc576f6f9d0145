"""The choice verifier: what counts as settling on an option, and what does not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenodds.domain import Completion, Problem, Prompt, Status, Stop, Verdict
from evenodds.verifiers import find_verifier
from evenodds.verifiers.choice import DEFAULT, Policy, choice, of_prompt, read_gold
from evenodds.verifiers.letters import read_choice
from tests.verifiers.hostile import SMALL, slowest

CASES = Path(__file__).parents[2].parent / "shared" / "cases"
LISTED = "What is x?\nA. x = 40\nB. 7\nC. x = 41\nD. x = 42"


def judged(
    answer: str,
    gold: str,
    stop: Stop = Stop.END_TOKEN,
    prompt: Prompt = "prompt",
    columns: dict[str, object] | None = None,
    policy: Policy = DEFAULT,
) -> Verdict:
    problem = Problem("key", prompt, gold, "task", columns=columns or {})
    return choice(problem, Completion(answer, stop), policy)


LETTERS = [
    ("C", "C"),
    ("c", "C"),
    ("(c)", "C"),
    ("A.", "A"),
    ("A)", "A"),
    ("[[A]]", "A"),
    ("{A}", "A"),
    ('"A"', "A"),
    ("'A'", "A"),
    ("<b>A</b>", "A"),
    ("**B**", "B"),
    ("B。", "B"),
    (": B", "B"),
    ("C. x = 42", "C"),
    ("(C) Cecile", "C"),
    ("C Paris", "C"),
    ("Option C", "C"),
    ("option B.", "B"),
    ("C)", "C"),
    ("My answer: B) 7", "B"),
    ("The answer is B.", "B"),
    ("the answer is (b)", "B"),
    ("Answer: C", "C"),
    ("answer: c", "C"),
    ("**Answer:** C", "C"),
    ("**Answer: C**", "C"),
    ("Answer is C.", "C"),
    ("The answer: **C**", "C"),
    ("The answer is: \n\nC", "C"),
    ("The answer is \\textbf{(E) }12", "E"),
    ("The correct answer is: C", "C"),
    ("The correct answer is option C: Paris", "C"),
    ("The correct option is (D) Paris", "D"),
    ("The answer to this question is D", "D"),
    ("The best choice would be B", "B"),
    ("Final Answer: The final answer is C", "C"),
    ("The answer is A because it holds", "A"),
    ("I think D is correct.", "D"),
    ("I believe A is correct.", "A"),
    ("I think **B** is correct", "B"),
    ("A is the answer", "A"),
    ("B must be the right answer", "B"),
    ("I choose C", "C"),
    ("I'd go with D", "D"),
    ("So, B.", "B"),
    ("Hence C", "C"),
    ("It's D", "D"),
    ("D. it can't be A or B", "D"),
    ("B不是 A", "B"),
    ("\n答案: B", "B"),
    ("答案是B", "B"),
    ("答案：Ｃ", "C"),
    ("选B", "B"),
    ("B是正确的", "B"),
    ("Ответ: B", "B"),
    ("La respuesta es C", "C"),
    ("La réponse est B", "B"),
    ("Die Antwort ist D", "D"),
    ("\\textbf{A}", "A"),
    ("$\\text{(C)}.$", "C"),
    ("B\n\nExplanation: A is too small", "B"),
    ("A is too small.\nSo B fits.\n\nThe answer is B", "B"),
    ("A, no wait, B", "B"),
    ("The answer is A. Wait, B.", "B"),
    ("The answer is A. The answer is B.", "B"),
    ("The answer is not A but B.", "B"),
    ("The answer isn't A, it's B", "B"),
    ("Not A, but B", "B"),
    ("Is the answer A? No, it is B", "B"),
    ("If the answer is A, x is 5. So the answer is D", "D"),
    ("The answer is C, not D", "C"),
    ("C, not D", "C"),
    ("C rather than D", "C"),
    ("The answer is B, C is wrong because x", "B"),
    ("B is correct and A is wrong", "B"),
    ("D is incorrect. C is correct", "C"),
    ("The answer is A. Actually, B and C are wrong.", "A"),
    ("The answer is B.\nA. 1\nB. 2\nC. 3", "B"),
    ("It is not hard to see that the answer is A", "A"),
    ("The answer is B and I am sure", "B"),
]


@pytest.mark.parametrize(("text", "letter"), LETTERS)
def test_a_letter_is_read(text: str, letter: str) -> None:
    assert read_choice(text).letter == letter, read_choice(text)


NO_LETTERS = [
    ("", Status.NO_ANSWER),
    ("42", Status.NO_ANSWER),
    ("A peter went home", Status.NO_ANSWER),
    ("A Peter", Status.NO_ANSWER),
    ("I am Peter", Status.NO_ANSWER),
    ("A = 5", Status.NO_ANSWER),
    ("C = 5 so fine", Status.NO_ANSWER),
    ("Let A be a set", Status.NO_ANSWER),
    ("the answer is a dog", Status.NO_ANSWER),
    ("The answer is A dog", Status.NO_ANSWER),
    ("The answer is I think", Status.NO_ANSWER),
    ("angle A is right", Status.NO_ANSWER),
    ("Vitamin C is best", Status.NO_ANSWER),
    ("B-trees are the answer", Status.NO_ANSWER),
    ("A's are best", Status.NO_ANSWER),
    ("ABCD", Status.NO_ANSWER),
    ("A B C D", Status.NO_ANSWER),
    ("It could be A, B, C or D", Status.NO_ANSWER),
    ("none of them", Status.NO_ANSWER),
    ("If the answer is A, then x is 5", Status.NO_ANSWER),
    ("not A", Status.NO_ANSWER),
    ("The answer is not A.", Status.WRONG),
    ("The answer isn't A", Status.WRONG),
    ("The answer is not necessarily A", Status.WRONG),
    ("I don't think the answer is A", Status.WRONG),
    ("The wrong answer is A", Status.WRONG),
    ("I would not choose C", Status.WRONG),
    ("不选B", Status.WRONG),
    ("A is not correct", Status.WRONG),
    ("A is wrong", Status.WRONG),
    ("Neither A nor B is correct", Status.WRONG),
    ("The answer is A. Wait, that's wrong.", Status.WRONG),
    ("A is correct. No: A is wrong", Status.WRONG),
    ("A or B", Status.SEVERAL_ANSWERS),
    ("A and B", Status.SEVERAL_ANSWERS),
    ("A, B", Status.SEVERAL_ANSWERS),
    ("A/B/C/D", Status.SEVERAL_ANSWERS),
    ("Answer: A, B", Status.SEVERAL_ANSWERS),
    ("The answer is A or B", Status.SEVERAL_ANSWERS),
    ("The answer is A, or maybe B", Status.SEVERAL_ANSWERS),
    ("The answer is either A or B", Status.SEVERAL_ANSWERS),
    ("both A and B are correct", Status.SEVERAL_ANSWERS),
    ("答案是 A 或 B", Status.SEVERAL_ANSWERS),
    ("A. 1\nB. 2\nC. 3\nD. 42", Status.SEVERAL_ANSWERS),
    ("The answer is A. Actually B or C", Status.SEVERAL_ANSWERS),
]


@pytest.mark.parametrize(("text", "status"), NO_LETTERS)
def test_no_letter_is_read(text: str, status: Status) -> None:
    reading = read_choice(text)
    assert reading.letter is None
    if text != "not A":  # what is only denied may be found or not, but is never paid
        assert reading.status is status, reading


MARKED = [
    ("\\boxed{C}", "C", Status.RIGHT),
    ("\\boxed{\\text{C}}", "C", Status.RIGHT),
    ("$\\boxed{\\text{(C)}}.$", "\\(\\boxed{\\text{C}}\\).", Status.RIGHT),
    ("\\boxed{C. x = 41}", "C", Status.RIGHT),
    ("<answer>C</answer>", "C", Status.RIGHT),
    ("<answer>The answer is (C).</answer>", "C", Status.RIGHT),
    ("#### C", "C", Status.RIGHT),
    ("#### Analysis\nThe answer is C", "C", Status.RIGHT),
    ("x = \\boxed{42}. So the answer is C", "C", Status.RIGHT),
    ("The answer is A\n\\boxed{C}", "C", Status.RIGHT),
    ("\\boxed{A} hm \\boxed{C}", "C", Status.RIGHT),
    ("<think>\\boxed{A}</think>\\boxed{C}", "C", Status.RIGHT),
    ("\\boxed{C", "C", Status.NO_ANSWER),
    ("\\boxed{}", "C", Status.NO_ANSWER),
    ("\\boxed{42}", "C", Status.NO_ANSWER),
    ("<think>C", "C", Status.NO_ANSWER),
    ("<think>C</think>", "C", Status.NO_ANSWER),
    ("\\boxed{A, C}", "C", Status.SEVERAL_ANSWERS),
    ("\\boxed{A} or \\boxed{C}", "C", Status.SEVERAL_ANSWERS),
    ("\\boxed{C} or A", "C", Status.SEVERAL_ANSWERS),
    ("A or \\boxed{C}", "C", Status.SEVERAL_ANSWERS),
    ("<answer>A</answer><answer>C</answer>", "C", Status.SEVERAL_ANSWERS),
    ("<answer>A</answer> or C", "C", Status.SEVERAL_ANSWERS),
    ("the answer is not \\boxed{C}", "C", Status.WRONG),
    ("\\boxed{C} is wrong", "C", Status.WRONG),
    ("\\boxed{C}, no wait, A", "C", Status.WRONG),
    ("\\boxed{not C}", "C", Status.NO_ANSWER),
    ("\\boxed{\u202eC}", "C", Status.WRONG),
    ("\u202eC is correct", "C", Status.WRONG),
]


@pytest.mark.parametrize(("text", "gold", "status"), MARKED)
def test_marks_come_before_words(text: str, gold: str, status: Status) -> None:
    verdict = judged(text, gold)
    assert (verdict.score, verdict.status) == (float(status is Status.RIGHT), status), verdict


@pytest.mark.parametrize(
    ("text", "score"),
    [
        ("\\boxed{C}", 1.0),
        ("<answer>C</answer> as", 1.0),
        ("<answer>C", 0.0),
        ("The answer is C", 0.0),
        ("C", 0.0),
        ("\\boxed{A}", 0.0),
    ],
)
def test_a_cut_answer_is_paid_only_in_a_closed_mark(text: str, score: float) -> None:
    verdict = judged(text, "C", Stop.BUDGET)
    assert (verdict.score, verdict.status) == (score, Status.TRUNCATED), verdict


SPOKEN = [  # a text, a gold, and whether it is paid
    ("The answer is A, B, C, and D.", "A", False),
    ("The answer is (A) (B) (C) (D)", "A", False),
    ("The answer is A; B", "A", False),
    ("The answer is A | B", "A", False),
    ("The answer is A (or B)", "A", False),
    ("The answer is A. Or B.", "A", False),
    ("A\nB\nC\nD", "D", False),
    ("A\nB\nC\nD", "A", False),
    ("A) no\nB) no\nC) yes\nD) no", "D", False),
    ("A) no\nB) no\nC) yes\nD) no", "A", False),
    ("Let us check.\nA. 1 is odd\nB. 2 is even\nC. 3 is odd\nD. 4 is even", "D", False),
    ("\\boxed{A}\n\\boxed{B}\n\\boxed{C}\n\\boxed{D}", "D", False),
    ("\\boxed{ABCD}", "A", False),
    ("\\boxed{A \\text{ or } B}", "A", False),
    ("The answer is anything but A.", "A", False),
    ("The answer is everything except A", "A", False),
    ("The answer is neither A nor B", "A", False),
    ("The answer can't be A", "A", False),
    ("The answer could be A", "A", False),
    ("It would be wrong to say the answer is A", "A", False),
    ("It is false that the answer is A", "A", False),
    ("Nobody thinks the answer is A", "A", False),
    ("I doubt that the answer is A", "A", False),
    ("Some say the answer is A but it's B", "A", False),
    ("It is hard to say whether the answer is A", "A", False),
    ("The answer is none of A, B", "A", False),
    ("A is an incorrect answer", "A", False),
    ("A is never correct", "A", False),
    ("A is almost correct", "A", False),
    ("Only A is incorrect", "A", False),
    ("I choose not A", "A", False),
    ("I reject A", "A", False),
    ("Grade A beef is best", "A", False),
    ("All except A", "A", False),
    ("A through D", "A", False),
    ("A–D", "A", False),
    ("\\boxed{B A}", "B", False),
    ("B A", "B", False),
    ("A'", "A", False),
    ("A\u0304", "A", False),
    ("¬A", "A", False),
    ("-A", "A", False),
    ("A1", "A", False),
    ("A -> B", "A", False),
    ("A > B", "A", False),
    ("Answer: A+B", "A", False),
    ("答案不是A", "A", False),
    ("The answer is A... no, B", "A", False),
    ("<answer>B or C</answer>", "B", False),
    ("A, B and C are wrong, so D", "D", True),
    ("Eliminate A, B, C. The answer is D", "D", True),
    ("(A) is wrong. (B) is wrong. (C) is right. (D) is wrong.", "C", True),
    ("Answer A is wrong, B is right", "B", True),
    ("The correct answer is not B; the correct answer is C", "C", True),
    ("The correct answer is A\n\nLet me double check: B gives 5, C gives 7.", "A", True),
    ("Answer: B (not C)", "B", True),
    ("Answer: B and not C", "B", True),
    ("Answer: B, since C is negative", "B", True),
    ("### Answer\nD", "D", True),
    ("## Final Answer: **D**", "D", True),
    ("The final answer is $\\text{D}$.", "D", True),
    ("答案选 D。", "D", True),
    ("所以正确答案是D。", "D", True),
    ("正确选项为：C", "C", True),
    ("故选C", "C", True),
    ("应该选择 B 选项", "B", True),
    ("答案不是A，而是B", "B", True),
    ("Therefore, the correct answer is:\n\n**C) Paris**", "C", True),
    ("The correct answer is **C**: Paris, because Lyon (A) is not.", "C", True),
    ("Hence, the answer is (C) 12 and not (A) 13.", "C", True),
    ("Thus, option C is correct.", "C", True),
    ("The answer is: D) All of the above", "D", True),
    ("I would pick option (B).", "B", True),
    ("Answer - C", "C", True),
    ("<answer>Option B</answer>", "B", True),
    ("The answer is A, I mean B", "B", True),
]


@pytest.mark.parametrize(("text", "gold", "is_paid"), SPOKEN)
def test_how_people_write_it(text: str, gold: str, is_paid: bool) -> None:
    verdict = judged(text, gold)
    assert (verdict.score == 1.0) == is_paid, verdict


GOLDS = [
    ("C", "C"),
    ("C. x = 42", "C"),
    ("(C) Cecile", "C"),
    ("\\textbf{A}", "A"),
    ("\\(\\boxed{\\text{C}}\\).", "C"),
    ("A Peter\nCelina bum", "A"),
    ("Alina and the answer is\n(C) Cecile", "C"),
    ("Peter", None),
    ("", None),
    ("A or B", None),
]


@pytest.mark.parametrize(("gold", "letter"), GOLDS)
def test_golds(gold: str, letter: str | None) -> None:
    assert read_gold(gold).letter == letter


OPTIONS = [
    ("x = 42", "D", 1.0),
    ("x=42", "D", 1.0),
    ("The answer is x = 42.", "D", 1.0),
    ("\\boxed{x = 42}", "D", 1.0),
    ("Answer: 7", "B", 1.0),
    ("D. x = 42", "D", 1.0),
    ("The answer is (D) x = 42.", "D", 1.0),
    ("D. x = 41", "D", 0.0),
    ("The answer is D, x = 41", "D", 0.0),
    ("x = 41", "D", 0.0),
    ("A 7", "B", 0.0),
    ("x = 40\n7\nx = 41\nx = 42", "D", 0.0),
    ("The answer is x = 41.\nWait, no. So D.", "D", 1.0),
    ("The answer is x = 41.\nWait, no. So D.", "C", 0.0),
    ("The answer is x = 41.\nSorry: the answer is x = 42", "D", 1.0),
    ("It is hard.\nx = 42", "D", 1.0),
    ("The answer is A 7", "B", 0.0),
    ("the answer is not x = 42", "D", 0.0),
    ("x = 42 or x = 41", "D", 0.0),
]


@pytest.mark.parametrize(("text", "gold", "score"), OPTIONS)
def test_the_text_of_an_option_is_an_answer(text: str, gold: str, score: float) -> None:
    assert judged(text, gold, prompt=LISTED).score == score
    chat: Prompt = ({"role": "user", "content": LISTED},)
    assert judged(text, gold, prompt=chat).score == score
    columns: dict[str, object] = {"choices": ["x = 40", "7", "x = 41", "x = 42"]}
    assert judged(text, gold, columns=columns).score == score


def test_a_gold_pays_itself() -> None:
    for gold, letter in GOLDS:
        assert judged(gold, gold).score == float(letter is not None)


def test_a_gold_may_be_an_options_text_or_index() -> None:
    assert judged("D", "x = 42", prompt=LISTED).score == 1.0
    assert judged("C", "x = 42", prompt=LISTED).score == 0.0
    assert judged("D", "3", policy=Policy(index="zero")).score == 1.0
    assert judged("C", "3", policy=Policy(index="one")).score == 1.0
    assert judged("C", "3").status is Status.GOLD_UNREADABLE
    assert judged("x = 42", "C. x = 42").score == 1.0
    assert judged("x = 42", "C. x = 42", policy=Policy(options=False)).score == 0.0


@pytest.mark.parametrize(
    ("prompt", "options"),
    [
        (LISTED, {"A": "x = 40", "B": "7", "C": "x = 41", "D": "x = 42"}),
        ("Pick: (A) 1 (B) 2 (C) 3", {"A": "1", "B": "2", "C": "3"}),
        ("A. 0\nB. 9\n\nNow:\nA) 1\nB) 2", {"A": "1", "B": "2"}),
        ("A. Turing was born when?", {}),
        ("What is 2 + 2?", {}),
    ],
)
def test_options_of_a_prompt(prompt: str, options: dict[str, str]) -> None:
    assert of_prompt(prompt) == options


@pytest.mark.parametrize(
    "column",
    [
        ["x", "y"],
        ["A) x", "B) y"],
        {"A": "x", "B": "y"},
        {"text": ["x", "y"], "label": ["A", "B"]},
    ],
)
def test_options_of_a_column(column: object) -> None:
    assert judged("y", "B", columns={"options": column}).score == 1.0
    assert judged("y", "A", columns={"options": column}).score == 0.0


@pytest.mark.skipif(not CASES.is_dir(), reason="the cases lie beside the repository")
def test_shared_cases() -> None:
    text = (CASES / "verifier-forms.jsonl").read_text(encoding="utf-8")
    rows = [json.loads(line) for line in text.splitlines()]
    rows = [row for row in rows if row["kind"] == "multiple-choice"]
    wrong = [r for r in rows if (judged(r["answer"], r["gold"]).score == 1.0) != r["right"]]
    assert rows
    assert not wrong


def test_it_is_registered() -> None:
    verifier = find_verifier("choice", {"index": "zero"})
    assert verifier(Problem("k", "p", "1", "t"), Completion("B")).score == 1.0


@pytest.mark.parametrize("text", SMALL)
def test_hostile_texts(text: str) -> None:
    assert judged(text, "J").score == 0.0


@settings(max_examples=300, deadline=None, derandomize=True)
@given(
    st.lists(st.sampled_from([*SMALL, *(text for text, _ in LETTERS)]) | st.text(max_size=20)),
    st.text(max_size=20) | st.sampled_from("ABCJ"),
    st.sampled_from(list(Stop)),
)
def test_any_text_gives_a_verdict(pieces: list[str], gold: str, stop: Stop) -> None:
    assert judged(" ".join(pieces), gold, stop, prompt=LISTED).score in (0.0, 1.0)


def test_its_time_is_linear_in_the_text() -> None:
    problem = Problem("key", LISTED, "B", "task")
    assert slowest(choice, problem, 1_000_000) < 2

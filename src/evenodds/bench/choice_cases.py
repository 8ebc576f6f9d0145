"""Cases of the kind `choice`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from evenodds.bench.case import Case, Subject, asked, made
from evenodds.bench.frames import RIGHT, framed, right_forms, wrong_values
from evenodds.bench.hostile import hangs, hostile_sizes
from evenodds.bench.traps import TRAPS
from evenodds.bench.words import WORDS
from evenodds.domain import Problem

FORMS = tuple(RIGHT)
LETTERS = "ABCD"
FRAMES = tuple(
    frame for frame in (*TRAPS, *WORDS) if "«P»" not in frame.text
)  # the prompt lists all letters
OPTIONS = ("copper", "zinc", "helium", "sulfur")
PROMPT = "Which of these is a noble gas?\n" + "\n".join(
    f"{letter}. {option}" for letter, option in zip(LETTERS, OPTIONS, strict=True)
)

RIGHT_TEXTS = (
    "C",
    "(C)",
    "C.",
    "C) helium",
    "**C**",
    "C. helium",
    "The answer is C.",
    "The answer is (C).",
    "Answer: C",
    "The correct option is C",
    "I think C is correct.",
    "\\boxed{\\text{C}}",
    "\\boxed{(C)}",
    "\\textbf{C}",
    "It cannot be A, B or D, so the answer is C.",
    "C, since neither A nor B is a gas.",
    "A is a metal. B is a metal too. D is a solid. So the answer is C.",
    "<think>A? No. B? No.</think>\nC",
)
WRONG_TEXTS = (
    "A",
    "(B)",
    "D. sulfur",
    "E",
    "A, B, C, D",
    "A B C D",
    "ABCD",
    "All of A, B, C and D",
    "C or D",
    "Either B or C.",
    "It is not C.",
    "Anything but C.",
    "The answer is C? No, it is D.",
    "C is wrong.",
    "C is incorrect, so the answer is B.",
    "Not A, not B, not C.",
    "The options are A, B, C and D.",
    "A. copper\nB. zinc\nC. helium\nD. sulfur",
    "Vitamin C is good for you.",
    "I see.",
    "Could it be C?",
    "\\boxed{A} \\boxed{B} \\boxed{C} \\boxed{D}",
    "\\boxed{A, B, C, D}",
    "\\boxed{C, D}",
    "<answer>C or D</answer>",
    "Grade C: the answer is A.",
    "The answer is A. C would have been the choice of others.",
    "neither C nor D",
)
EITHER = ("c", "С", "Ｃ", "helium", "The answer is helium.", "option three", "3", "C and only C")


def problem_of(number: int, gold: str) -> Problem:
    return asked("choice", number, PROMPT, gold, choices=list(OPTIONS))


def own_cases() -> Iterator[Case]:
    """The bench of the kind by itself."""
    yield from choices()
    yield from hangs("choice", problem_of(0, "C"))
    yield from hostile_sizes("choice", problem_of(0, "C"), "A")


def choices() -> Iterator[Case]:
    """Choices among four options, in every form and trap; other kinds read them too."""
    problem = problem_of(0, "C")
    tables = ((RIGHT_TEXTS, True, "right forms"), (WRONG_TEXTS, False, "wrong values"))
    for texts, expected, category in (*tables, (EITHER, None, "right forms")):
        for text in texts:
            yield made("choice", category, problem, text, expected, "a choice among four options")
    for number, gold in enumerate("CBD"):
        yield from _around(Subject(problem_of(number, gold), (gold,), _others(gold)))


def task_cases(problems: Sequence[Problem], table: Mapping[str, object]) -> Iterator[Case]:
    """The traps around the golds of a task that are one letter, with the letters of its prompt."""
    for problem in problems:
        gold = problem.answer.strip().strip("().")
        if gold in LETTERS and gold and "index" not in table:
            yield from _around(Subject(problem, (gold,), _others(gold)))


def _others(gold: str) -> tuple[str, ...]:
    return tuple(letter for letter in LETTERS[::-1] if letter != gold)


def _around(subject: Subject) -> Iterator[Case]:
    yield from right_forms("choice", subject, FORMS)
    yield from wrong_values("choice", subject)
    yield from framed("choice", subject, FRAMES)

"""Cases of the kind `math`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from evenodds.bench import choice_cases
from evenodds.bench.case import Case, Subject, asked
from evenodds.bench.frames import RIGHT, framed, right_forms, sprayed, wrong_values
from evenodds.bench.hostile import hangs, hostile_sizes
from evenodds.bench.mutate import changed_digit, mutated
from evenodds.domain import Problem

FORMS = tuple(RIGHT)

TABLE: tuple[tuple[str, tuple[str, ...], tuple[str, ...], tuple[str, ...]], ...] = (
    # gold, other spellings of it, wrong answers, spellings that a policy decides
    (
        "64",
        ("64.0", "\\frac{128}{2}", "$64$", "x = 64", "64\\text{ units}", "64^\\circ", "2^6"),
        ("65", "-64", "640", "\\{63, 64\\}", "[63,65]", "(64, 64)", "64=65", "64 \\approx 65",
         "64.0000001", "63.9999999", "64!", "64_7", "x > 64", "0/0", "\\infty", "nan", "64i",
         "64 \\pm 1", "\\sqrt{64}", "64\\pi"),
        ("8 \\cdot 8", "6400\\%", "sixty-four"),
    ),
    (
        "\\frac{\\sqrt{3}}{2}",
        ("\\sqrt{3}/2", "\\frac{1}{2}\\sqrt{3}", "\\frac{3}{2\\sqrt{3}}", "\\sqrt{\\frac{3}{4}}",
         "\\frac12\\sqrt3", "0.5\\sqrt{3}"),
        ("\\frac{\\sqrt{3}}{3}", "\\sqrt{3}", "\\frac{\\sqrt{2}}{2}", "-\\frac{\\sqrt{3}}{2}",
         "\\frac{3}{2}", "0.86", "\\frac{\\sqrt[3]{3}}{2}"),
        ("0.8660254", "\\sin 60^\\circ"),
    ),
    (
        "(3, -5)",
        ("(3,-5)", "\\left(3, -5\\right)", "$(3, -5)$", "(6/2, -5)", "(x, y) = (3, -5)"),
        ("(-5, 3)", "(3, 5)", "[3, -5]", "\\{-5, 3\\}", "(3, -5, 0)", "3", "-5", "(3, -6)"),
        ("3, -5", "\\{3, -5\\}"),
    ),
    (
        "\\{2, 7\\}",
        ("\\{7, 2\\}", "2, 7", "x = 2, x = 7", "2 and 7", "\\left\\{2, 7\\right\\}"),
        ("\\{2, 8\\}", "\\{2\\}", "\\{2, 7, 9\\}", "[2, 7]", "27", "2", "7"),
        ("\\{2, 2, 7\\}", "(2, 7)"),
    ),
    (
        "[2, 5)",
        ("2 \\le x < 5", "\\left[2, 5\\right)", "x \\in [2, 5)", "[2,5)"),
        ("[2, 6)", "(3, 8]", "(2, 5)", "[2, 5]", "(2, 5]", "[5, 2)", "2 < x < 5", "x < 5"),
        ("2 \\le y < 5",),
    ),
    (
        "x^2-6x+9",
        ("(x-3)^2", "x^{2} - 6x + 9", "9 - 6x + x^2", "(x-3)(x-3)", "x^2-6*x+9", "(3-x)^2"),
        ("x^2+6x+9", "x^2-6x-9", "x^2-6x", "(x+3)^2", "x^2-6x+8", "2x^2-6x+9", "y^2-6y+9"),
        ("x^2-6x+9=0",),
    ),
    (
        "y = 2x + 3",
        ("2x + 3 = y", "y=3+2x", "2x - y + 3 = 0", "2y = 4x + 6"),
        ("y = 2x - 3", "y = 3x + 2", "y = -2x + 3", "2x + y + 3 = 0", "x = 2y + 3"),
        ("2x + 3",),
    ),
    (
        "3\\pi",
        ("3 \\pi", "3\\cdot\\pi", "\\pi \\cdot 3", "\\frac{6\\pi}{2}"),
        ("3", "\\pi", "\\pi^3", "2\\pi", "9.42", "\\frac{66}{7}", "3.14", "-3\\pi",
         "\\frac{\\pi}{3}"),
        ("9.42477796",),
    ),
    (
        "\\frac{1}{2^{70}}",
        ("2^{-70}", "\\frac{1}{1180591620717411303424}"),
        ("\\frac{1}{2^{71}}", "\\frac{1}{2^{69}}", "0", "2^{70}", "\\frac{1}{3^{70}}", "10^{-21}"),
        (),
    ),
    (
        "7 - 2\\sqrt{5}",
        ("7-2\\sqrt{5}", "-2\\sqrt{5} + 7", "7 - \\sqrt{20}"),
        ("7", "7 + 2\\sqrt{5}", "2\\sqrt{5} - 7", "7 - 2\\sqrt{6}", "5\\sqrt{5}", "2.5"),
        ("2.527864",),
    ),
    (
        "2 + 3i",
        ("2+3i", "3i + 2", "2 + 3 i"),
        ("2 - 3i", "3 + 2i", "2 + 3", "5", "-2 + 3i", "2 + 3j k"),
        (),
    ),
    (
        "\\begin{pmatrix} 1 & 2 \\\\ 3 & 4 \\end{pmatrix}",
        ("\\begin{bmatrix} 1 & 2 \\\\ 3 & 4 \\end{bmatrix}",
         "\\begin{pmatrix}1&2\\\\3&4\\end{pmatrix}"),
        ("\\begin{pmatrix} 1 & 3 \\\\ 2 & 4 \\end{pmatrix}",
         "\\begin{pmatrix} 1 & 2 \\\\ 3 & 5 \\end{pmatrix}",
         "\\begin{pmatrix} 1 & 2 & 3 & 4 \\end{pmatrix}", "-2"),
        (),
    ),
    (
        "28\\%",
        ("28%", "28 \\%", "28 percent"),
        ("29%", "2.8%", "-28%", "72%", "280%"),
        ("0.28", "28"),
    ),
)  # fmt: skip

PROMPT = "Find it. Simplify your answer."
FRAMED = 6  # golds around which every trap is set; the rest are tried with their spellings


def subjects() -> tuple[Subject, ...]:
    """The bench's own golds, with their spellings."""
    return tuple(
        Subject(asked("math", at, PROMPT, gold), (gold, *right), wrong, either)
        for at, (gold, right, wrong, either) in enumerate(TABLE)
    )


def own_cases() -> Iterator[Case]:
    """The bench of the kind by itself."""
    found = subjects()
    for subject in found:
        yield from right_forms("math", subject, FORMS)
        yield from wrong_values("math", subject)
    for subject in found[:FRAMED]:
        yield from framed("math", subject)
    first = found[0]
    yield from sprayed("math", first, [str(n) for n in range(1, 130)])
    yield from (replace(case, kind="math") for case in choice_cases.choices())
    yield from hangs("math", first.problem)
    yield from hostile_sizes("math", first.problem, "63")


def task_cases(problems: Sequence[Problem], table: Mapping[str, object]) -> Iterator[Case]:
    """The traps around the golds of a task; only golds whose change is a change of value."""
    for problem in problems:
        gold = problem.answer.strip()
        changed = changed_digit(gold)
        near = () if changed is None or table else (changed, *mutated(gold)[:2])
        wrong = near or (f"{gold}+98765", "98765")
        yield from right_forms("math", Subject(problem, (gold,), wrong), ("box", "tags"))
        yield from wrong_values("math", Subject(problem, (gold,), near))
        yield from framed("math", Subject(problem, (gold,), wrong))

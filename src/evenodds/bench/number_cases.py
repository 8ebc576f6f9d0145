"""Cases of the kind `number`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from evenodds.bench.case import Case, Subject, asked
from evenodds.bench.frames import RIGHT, framed, right_forms, sprayed, wrong_values
from evenodds.bench.hostile import hangs, hostile_sizes
from evenodds.bench.mutate import mutated
from evenodds.domain import Problem

FORMS = tuple(RIGHT)

TABLE: tuple[tuple[str, tuple[str, ...], tuple[str, ...], tuple[str, ...]], ...] = (
    # gold, other spellings of it, wrong answers, spellings that a policy decides
    (
        "64",
        ("64.0", "+64", "64.", "$64$", "\\$64", "64 dollars", "64\\text{ units}", "\\frac{128}{2}",
         "128/2", "6.4e1", "6.4 \\times 10^{1}", "\\text{64}", "x = 64", "64 m²", "**64**",
         "60 + 4 = 64", "64.00"),
        ("65", "63", "-64", "640", "46", "6.4", "64.0001", "63.9999999", "64.0000000000001",
         "65=64", "64=65", "64 \\approx 65", "[63,65]", "\\{63, 64\\}", "(64, 64)", "64_7",
         "x > 64", "64 \\text{ if } 1=1 \\text{ else } 0", "64!", "\\sqrt{64}", "64^2", "1/64",
         "64i", "64x", "6 4 7", "0/0", "1/0", "nan", "inf", "-inf", "\\infty", "-", ".", "()",
         "64/0", "1E400", "64 - 1", "64e64", "64..1", "6,4,", "64,65", "64;65", "0x64"),
        ("--64", "6400\\%", "sixty-four", "٦٤", "６４", "8 \\cdot 8", "2^6", "64L", "1000000_2",
         "064", "64 or 64", "6\u200b4", "64%"),
    ),
    (
        "-17",
        ("-17.0", "\u221217", "- 17", "-\\frac{34}{2}", "$-17$", "minus 17", "-17 °C", "-1.7e1"),
        ("17", "-18", "-16", "-170", "-1.7", "17-", "--17", "1-17", "(17)^{-1}", "-17.00001"),
        ("(-17)", "(17)", "\u201317"),
    ),
    (
        "0.375",
        (".375", "0.3750", "3/8", "\\frac{3}{8}", "\\frac38", "\\dfrac{6}{16}", "3.75e-1",
         "3.75 \\times 10^{-1}", "0,375", "\\tfrac{3}{8}"),
        ("0.376", "0.374", "375", "-0.375", "8/3", "0.37", "0.0375", "3.75", "\\frac{3}{80}",
         "\\frac{8}{3}", "0.3.75", "3/8/1000"),
        ("37.5\\%", "0.37500001", "3⁄8"),
    ),
    (
        "\\frac{7}{12}",
        ("7/12", "\\frac{14}{24}", "\\dfrac7{12}", "$\\frac{7}{12}$",
         "\\frac{7}{12} \\text{ meters}", "7 / 12"),
        ("12/7", "\\frac{7}{13}", "0.58", "7/122", "-7/12", "7.12", "\\frac{7}{1}2", "7", "12",
         "\\frac{7}{12^{2}}"),
        ("0.58333333", "0.5833333333333333"),
    ),
    (
        "2500000",
        ("2,500,000", "2 500 000", "2.5e6", "2.5 \\times 10^6", "2.5 million", "$2,500,000",
         "2{,}500{,}000", "2\\,500\\,000", "2500000.00"),
        ("250000", "25000000", "2.5", "2,500", "2,500,001", "2500000.5", "2.5e7", "2 500 001"),
        ("2.500.000", "2'500'000", "25,00,000", "2_500_000"),
    ),
    (
        "3\\frac{1}{2}",
        ("3.5", "7/2", "\\frac{7}{2}", "3 1/2", "3½", "3\\frac12"),
        ("31/2", "3/2", "3.2", "1/2", "3", "-3.5", "\\frac{3}{2}", "35"),
        ("3 + 1/2", "3,5"),
    ),
    (
        "28\\%",
        ("28%", "28 \\%", "28 percent", "28 pct"),
        ("2.8%", "0.028", "29%", "-28%", "280%", "72%"),
        ("0.28", "28", "28/100"),
    ),
    (
        "300000000000000000000",
        ("3e20", "3 \\times 10^{20}", "300,000,000,000,000,000,000"),
        ("300000000000000000001", "299999999999999999999", "3e21", "3e19", "3.0000000000000001e20"),
        (),
    ),
    (
        "0.0000004",
        ("4e-7", "4 \\times 10^{-7}", "\\frac{4}{10000000}"),
        ("0.0000003", "4e-8", "0", "0.00000040001", "5e-7"),
        (),
    ),
)  # fmt: skip

PROMPT = "How much is it in all? There are 3 boxes of 5, and 2 are lost."


def subjects() -> tuple[Subject, ...]:
    """The bench's own golds, with their spellings."""
    return tuple(
        Subject(asked("number", at, PROMPT, gold), (gold, *right), wrong, either)
        for at, (gold, right, wrong, either) in enumerate(TABLE)
    )


def own_cases() -> Iterator[Case]:
    """The bench of the kind by itself: every form, trap and hostile text."""
    first, *rest = subjects()
    for subject in (first, *rest):
        yield from right_forms("number", subject, FORMS)
        yield from wrong_values("number", subject)
    for subject in (first, *rest[:4]):
        yield from framed("number", subject)
    yield from sprayed("number", first, [str(n) for n in range(1, 130)])
    yield from hangs("number", first.problem)
    yield from hostile_sizes("number", first.problem, "63")


def task_cases(problems: Sequence[Problem], table: Mapping[str, object]) -> Iterator[Case]:
    """The same traps around the golds of a task.

    With a tolerance of the task's own only answers of another sign or size are wrong for certain.
    """
    for problem in problems:
        gold = problem.answer.strip()
        wrong = (f"-9{gold}", f"{gold}00") if "tolerance" in table else mutated(gold)
        subject = Subject(problem, (gold,), wrong)
        yield from right_forms("number", subject, FORMS)
        yield from wrong_values("number", subject)
        yield from framed("number", subject)

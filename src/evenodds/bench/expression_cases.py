"""Cases of the kind `expression`: the numbers of a puzzle, each used once, make a target."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from evenodds.bench.case import Case, Subject, asked, made
from evenodds.bench.frames import framed, right_forms, wrong_values
from evenodds.bench.hostile import hangs, hostile_sizes
from evenodds.domain import Problem

FORMS = ("bare", "box", "tags", "hashes", "answer colon", "tags after reasoning", "last line")
SUBJECTS = (
    # numbers, target, right, wrong
    (
        (3, 5, 7, 2),
        34,
        ("5*7-3+2", "2+5*7-3", "(5*7)-(3-2)", "5 × 7 − 3 + 2", "5*7-3+2 = 34", "((5*7)-3)+2"),
        (
            "5*7-3",
            "34",
            "5*7-3+2+0",
            "17*2",
            "5*7-1",
            "3+5+7+2",
            "5*7-3+2 = 35",
            "35-3+2",
            "57-23",
            "5*7-3*2",
            "2*(5+7)+3+7",
            "5**7-3+2",
            "5*7-3+2+3-3",
            "3^2*5-7-4",
            "int('34')",
            "5*7-3+2; 34",
            "5*7-3+2 or 34",
            "[34][0]",
            "0x22",
            "--34",
            "(5*7-3+2",
            "5*7-3+2)",
            "5*7-3+2!",
            "3 5 7 2",
            "34 = 34",
            "target",
            "5,7,3,2",
            "5*7-3.0+2",
            "5/0+7-3+2",
            "５*７-３+２+0",
        ),
    ),
    (
        (8, 3, 8, 3),
        24,
        ("8/(3-8/3)", "8 ÷ (3 − 8 ÷ 3)", "8/(3-(8/3))"),
        ("8*3", "8+8+3+3", "8*3*8/8", "8*3+8-8", "24", "8/(3-8/3)+0", "8/(3-3)"),
    ),
)


def own_cases() -> Iterator[Case]:
    """The bench of the kind by itself."""
    for at, (numbers, target, right, wrong) in enumerate(SUBJECTS):
        gold = json.dumps({"numbers": numbers, "target": target})
        prompt = f"Using each of {', '.join(map(str, numbers))} once, make {target}."
        problem = asked("expression", at, prompt, gold)
        subject = Subject(problem, right, wrong)
        yield from right_forms("expression", subject, FORMS)
        yield from wrong_values("expression", subject)
        yield from framed("expression", subject)
        yield from hangs("expression", problem)
        yield from hostile_sizes("expression", problem, str(target))


def task_cases(problems: Sequence[Problem], table: Mapping[str, object]) -> Iterator[Case]:
    """Shortcuts to the target of each puzzle that use none or not all of its numbers."""
    for problem in problems:
        numbers, target = _puzzle(problem)
        if not numbers:
            continue
        texts = [str(target), f"{target}+0", f"{target}*1", f"{target}={target}", "", "target"]
        texts += [f"{numbers[0]}-{numbers[0]}+{target}", f"int('{target}')", "0", f"({target})"]
        for text in texts:
            for frame in ("{}", "<answer>{}</answer>", "\\boxed{{{}}}", "#### {}"):
                filled = frame.format(text)
                if not (len(numbers) == 1 and numbers[0] == target):
                    yield made("expression", "wrong values", problem, filled, False, "a shortcut")


def _puzzle(problem: Problem) -> tuple[list[int], object]:
    """The numbers and the target of a puzzle, from its gold or its columns; else no numbers."""
    try:
        found = json.loads(problem.answer)
    except ValueError:
        found = None
    row = cast(Mapping[str, Any], found if isinstance(found, dict) else problem.columns)
    numbers = row.get("numbers", row.get("nums"))
    return ([*numbers] if isinstance(numbers, list | tuple) else []), row.get("target")

"""Cases of the kind `text`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from evenodds.bench.case import Case, Subject, asked
from evenodds.bench.frames import framed, right_forms, sprayed, wrong_values
from evenodds.bench.hostile import hangs, hostile_sizes
from evenodds.bench.mutate import mutated, others
from evenodds.domain import Problem

FORMS = (
    "bare",
    "new line",
    "tags",
    "tags after work",
    "tags after reasoning",
    "bare after reasoning",
    "last line",
)

TABLE = (
    ("Reykjavik", ("Oslo", "Reykjavi", "Reykjavikk", "Rykjavik", "Reykjavik Oslo", "kivajkyeR")),
    ("gnirps", ("spring", "gnirp", "ngirps", "gnirps gnirps")),
    ("the blue whale", ("the blue shark", "blue", "whale", "the blue whale shark", "not it")),
    ("São Paulo", ("Sao Jose", "São", "Rio de Janeiro", "São Paulo, Rio")),
)

PROMPT = "Name it, and nothing else."


def subjects() -> tuple[Subject, ...]:
    """The bench's own golds."""
    return tuple(
        Subject(asked("text", at, PROMPT, gold), (gold,), wrong, (gold.upper(), f"{gold}."))
        for at, (gold, wrong) in enumerate(TABLE)
    )


def own_cases() -> Iterator[Case]:
    """The bench of the kind by itself."""
    found = subjects()
    for subject in found:
        yield from _around(subject)
    yield from sprayed("text", found[0], [f"city {n}" for n in range(110)])
    yield from hangs("text", found[0].problem)
    yield from hostile_sizes("text", found[0].problem, "Oslo")


def task_cases(problems: Sequence[Problem], table: Mapping[str, object]) -> Iterator[Case]:
    """The same traps around the golds of a task; wrong answers are other problems' golds."""
    golds = [problem.answer for problem in problems]
    for problem in problems:
        gold = problem.answer.strip()
        # a lenient comparison may take a word more or a misspelt one for the gold
        near = () if table else mutated(gold)
        wrong = (*others(golds, gold, 3), *near)
        if wrong and not ("golds" in table and gold.startswith("[")):
            yield from _around(Subject(problem, (gold,), wrong))


def _around(subject: Subject) -> Iterator[Case]:
    yield from right_forms("text", subject, FORMS)
    yield from wrong_values("text", subject)
    yield from framed("text", subject)

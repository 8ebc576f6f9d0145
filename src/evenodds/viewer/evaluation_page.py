"""The page of the held-out problems, and that of the answers to one of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from evenodds.records import read_known
from evenodds.report.pictures import Picture, level_pictures, tries_pictures
from evenodds.report.text import mark_of, one_line, safe
from evenodds.viewer.compared import Learned
from evenodds.viewer.filters import whole
from evenodds.viewer.listing import tail_of
from evenodds.viewer.pages import Place, picture_values, render
from evenodds.viewer.problems import (
    KINDS,
    SORTS,
    Asked,
    Count,
    Problem,
    asked_of,
    chosen,
    problems_of,
)
from evenodds.viewer.turns import FilterLink, turns

PAGE = 60
SIDES = (("before", "base"), ("after", "final"))
COLUMNS = (
    *("problem_key", "level", "gold", "prompt", "completion", "status", "extracted", "note"),
    *("of", "kind"),
)
MOST_BYTES = 32 * 2**20  # of a file whose prompts are read for a list
MOST_TEXT = 6000  # characters of an answer


@dataclass(frozen=True)
class ProblemRow:
    """One problem, safe to show. words: the end of its prompt, or its key where that is all."""

    key: str
    words: str
    href: str
    label: str
    kind: str
    change: str
    before: str
    after: str
    greedy: str


@dataclass(frozen=True)
class AnswerRow:
    """One answer to a held-out problem, safe to show. mark: right, wrong or unjudged.

    is_greedy: it is the model's likeliest answer, and not one of the sampled ones.
    """

    is_greedy: bool
    text: str
    status: str
    mark: str
    extracted: str
    note: str


def evaluation_page(place: Place, query: Mapping[str, str]) -> str:
    """Rates and pictures, and the problems with what became of each. query: filters and `page`."""
    run, asked = place.source.record(), asked_of(query)
    learned = place.source.learned()
    prompts = _prompts(place)
    every = [replace(p, prompt=prompts.get((p.level, p.key), "")) for p in problems_of(run)]
    found = chosen(every, asked)
    turn = turns(place, "evaluation", asked.pairs(), query, len(found), PAGE)
    shown = found[turn.first - 1 : turn.last]
    answers = any(_answers_file(place, name) for _, name in SIDES)
    return render(
        place,
        "evaluation.html.j2",
        "evaluation",
        learned=learned,
        rows=learned.comparison.rows if learned.comparison else [],
        pictures=[picture_values(item) for item in pictures(learned)],
        problems=bool(every),
        has={"before": run.base is not None},
        asked=asked,
        kinds=_kinds(place, every, asked),
        levels=sorted({problem.level: problem.label for problem in every}.items()),
        sorts=[(name, words) for name, (words, _) in SORTS.items()],
        shown=[_row(place, problem, answers) for problem in shown],
        turns=turn,
    )


def pictures(learned: Learned) -> list[Picture]:
    """Those of the report, or fewer while there is less."""
    if not learned.ready:
        return []
    return [*level_pictures(learned.run), *tries_pictures(learned.run)]


def _kinds(place: Place, problems: Sequence[Problem], asked: Asked) -> list[FilterLink]:
    under = chosen(problems, Asked("", asked.level, asked.q))
    counts = Counter(problem.kind for problem in under)
    names = [("", "all", len(under)), *((kind, kind, counts[kind]) for kind in KINDS)]
    return [
        FilterLink(words, place.to("evaluation", asked.pairs(kind=kind)), count, asked.kind == kind)
        for kind, words, count in names
    ]


def _row(place: Place, problem: Problem, has_answers: bool) -> ProblemRow:
    at = {"level": problem.level, "key": problem.key}
    change = problem.change
    return ProblemRow(
        key=one_line(problem.key, 120),
        words=problem.prompt or one_line(problem.key, 120),
        href=place.to("evaluation/answers", at) if has_answers and place.live else "",
        label=one_line(problem.label, 40),
        kind=problem.kind,
        change="" if change is None else f"{100 * change:+.0f} points".replace("-", "−"),
        before=_count(problem.before),
        after=_count(problem.after),
        greedy=f"{_mark(problem.before)} → {_mark(problem.after)}",
    )


def _prompts(place: Place) -> dict[tuple[int, str], str]:
    """The ends of the prompts by level and key; nothing where no answers were recorded."""
    files = [path for _, name in SIDES if (path := _answers_file(place, name))]
    if not files or files[-1].stat().st_size > MOST_BYTES:
        return {}
    found: dict[tuple[int, str], str] = {}
    for row in read_known(files[-1], ("level", "problem_key", "prompt", "of")):
        level, at = row.get("level"), str(row.get("problem_key"))
        if isinstance(level, int) and (level, at) not in found and row.get("of", "task") == "task":
            found[level, at] = tail_of(str(row.get("prompt") or ""))
    return found


def _count(count: Count | None) -> str:
    return "–" if count is None else f"{count.right} of {count.tries}"


def _mark(count: Count | None) -> str:
    if count is None or count.greedy is None:
        return "–"
    return "✓" if count.greedy else "✗"


def _answers_file(place: Place, name: str) -> Path | None:
    path = place.source.folder / "evaluation" / f"{name}.parquet"
    return path if path.is_file() else None


def answers_page(place: Place, query: Mapping[str, str]) -> str | None:
    """The recorded answers to one problem; None where no such problem was measured.

    query: `level` and `key`, which are only compared with those of the records.
    """
    level, key = whole(query.get("level")), query.get("key", "")
    known = [p for p in problems_of(place.source.record()) if (p.level, p.key) == (level, key)]
    if not known:
        return None
    found = {
        title: _rows_of(_answers_file(place, name), known[0].level, key) for title, name in SIDES
    }
    first = next((rows[0] for rows in found.values() if rows), {})
    return render(
        place,
        "answers.html.j2",
        "evaluation",
        key=one_line(key, 200),
        label=one_line(known[0].label, 40),
        gold=one_line(str(first.get("gold") or ""), 300),
        prompt=safe(str(first.get("prompt") or ""))[-MOST_TEXT:],
        sides=[(title, *_apart([_answer(row) for row in rows])) for title, rows in found.items()],
    )


def _apart(answers: Sequence[AnswerRow]) -> tuple[list[AnswerRow], str]:
    """The sampled answers before the greedy one, and how many of the judged ones are right."""
    sampled = [answer for answer in answers if not answer.is_greedy]
    judged = [answer.mark for answer in sampled if answer.mark != "unjudged"]
    shown = f"{judged.count('right')} of {len(judged)} sampled right" if sampled else ""
    return [*sampled, *(answer for answer in answers if answer.is_greedy)], shown


def _rows_of(path: Path | None, level: int, key: str) -> list[dict[str, Any]]:
    """The answers to one problem of the task itself."""
    rows = (
        [] if path is None else read_known(path, COLUMNS, {"problem_key": [key], "level": [level]})
    )
    return [row for row in rows if row.get("of", "task") == "task"]


def _answer(row: Mapping[str, Any]) -> AnswerRow:
    status, extracted = str(row.get("status") or ""), row.get("extracted")
    return AnswerRow(
        is_greedy=row.get("kind") == "greedy",
        text=safe(str(row.get("completion") or ""))[:MOST_TEXT],
        status=one_line(status.replace("_", " "), 40),
        mark=mark_of(status),
        extracted="" if extracted is None else one_line(str(extracted), 300),
        note=one_line(str(row.get("note") or ""), 300),
    )

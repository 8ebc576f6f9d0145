"""`report.html`: a page that tells a run's story, from the question to how to repeat it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from evenodds.report import beside, where
from evenodds.report.checks import HEAD, bench_of, question, question_rows
from evenodds.report.comparison import Comparison, overall_side, sides
from evenodds.report.cost import cost_rows
from evenodds.report.facts import commands, facts, flattened, progress
from evenodds.report.findings import Findings, worse_sentence
from evenodds.report.pictures import (
    Picture,
    level_pictures,
    ratio_sentence,
    training_pictures,
    tries_pictures,
)
from evenodds.report.record import RunRecord
from evenodds.report.samples import sample_groups
from evenodds.report.signs import alarm_sentence, declared, flat_of, is_watched, raised_of
from evenodds.report.story import changes, headline, left_out, sharpening, warnings
from evenodds.report.text import counted, one_line, safe, shortened
from evenodds.statistics import percent

PAGES = Path(__file__).parent / "page"
SHOWN_ABOVE = ("level", "source")
"""Measures that have a table of their own, and are repeated only where they got worse."""
LONGEST = 1500  # characters of a text of the run that stands by itself


def render(found: Findings) -> str:
    """The page as text. Everything from the run is escaped; only the pictures are markup."""
    values = {
        **_opening(found),
        **_result(found),
        **_beside(found),
        **_course(found.run),
        **_repeat(found.run),
    }
    return _environment().get_template("page.html.j2").render(values)


@cache  # it keeps the templates that it compiled, which takes longer than to fill them
def _environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(PAGES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"tokens": _tokens, "safe_text": safe, "share": _share, "joined": _joined}
    made.filters["cut"] = _cut
    return made


def _cut(text: str) -> str:
    return shortened(text, LONGEST)


def _tokens(value: float | None) -> str:
    return "–" if value is None else f"{value:.1f}"


def _share(value: float | None) -> str:
    return percent(value, 1)


def _joined(sentence: str) -> str:
    """A number and its percent sign stay on one line."""
    return sentence.replace(" %", "\u00a0%")


def _marked(picture: Picture) -> Mapping[str, Any]:
    return {"title": picture.title, "svg": Markup(picture.svg), "caption": picture.caption}


def _opening(found: Findings) -> dict[str, Any]:
    """What to take away, the question, the verifier, and what was trained."""
    run = found.run
    return {
        "name": safe(run.name),
        "warnings": _warnings(run),
        "conclusion": found.conclusion,
        "unfinished": _unfinished(run),
        "comparison": run.comparison,
        "question": question(run),
        "question_rows": question_rows(run),
        "bench": bench_of(run),
        "bench_head": HEAD,
        "facts": facts(run),
    }


def _result(found: Findings) -> dict[str, Any]:
    """Whether it learned, and where."""
    run, compared = found.run, found.run.comparison
    return {
        "headline": "" if compared is None else headline(compared),
        "caution": beside.caution(found),
        "held_out": [_marked(picture) for picture in tries_pictures(run)],
        "notes": [] if compared is None else _notes(compared),
        "single": _single(run),
        "where": "" if compared is None else where.sentence(compared, found.conclusion.evidence),
        "where_pictures": [_marked(picture) for picture in level_pictures(run)],
        "rows": [] if compared is None else compared.rows,
        "sources": [] if compared is None else compared.sources,
        "coverage": "" if compared is None else where.coverage(compared),
        "turned_lists": where.turned_lists(found),
    }


def _beside(found: Findings) -> dict[str, Any]:
    """What got worse beside what got better, the audit, and the cost."""
    return {
        "measures": [m for m in found.measures if m.group not in SHOWN_ABOVE or m in found.worse],
        "worse_sentence": worse_sentence(found),
        "measures_note": beside.NOTE,
        "control_sentence": beside.control_sentence(found),
        "canaries": found.conclusion.evidence.canaries,
        "audit_sentences": beside.audit_sentences(found),
        "disputed": beside.disputed(found),
        "cost": cost_rows(found.cost),
    }


def _course(run: RunRecord) -> dict[str, Any]:
    """What happened step by step."""
    return {
        "training": [_marked(item) for item in training_pictures(run)] if run.metrics else [],
        "ratio": ratio_sentence(run),
        "alarm_sentence": alarm_sentence(run),
        "alarms": raised_of(run),
        "flat": flat_of(run),
        "declared": declared(run) if is_watched(run) else [],
        "groups": sample_groups(run.folder, run.levels),
    }


def _repeat(run: RunRecord) -> dict[str, Any]:
    return {
        "commands": commands(run),
        "passports": {name: flattened(values) for name, values in run.passports.items() if values},
        "config": flattened(run.config),
        "settings": flattened((run.final or run.base or {}).get("settings", {})),
    }


def _unfinished(run: RunRecord) -> str | None:
    if run.final is not None and run.base is not None:
        return None
    odd = [f"{name} is there but cannot be read as an evaluation." for name in run.unreadable]
    said = (
        f"This run is not complete: it is under way, or was stopped after step "
        f"{progress(run)['steps']}."
    )
    first = []
    if run.base is not None:
        rate = overall_side(run.base).sampled
        first = [f"Before training, the base solves {rate} of held-out problems, sampled."]
    return " ".join([said, *first, *odd])


def _warnings(run: RunRecord) -> list[str]:
    """What a reader must know before any number: that little was trained, or little measured."""
    done = progress(run)
    skipped, steps = done["skipped_steps"], len(run.metrics)
    found: list[str] = []
    if 2 * skipped > steps:
        reasons = Counter(str(row["skipped"]) for row in run.metrics if "skipped" in row)
        found.append(
            f"{skipped:,} of {counted(steps, 'step')} made no update, most often because: "
            f"{one_line(reasons.most_common(1)[0][0], 300)}."
        )
    return found + ([] if run.comparison is None else warnings(run.comparison))


def _notes(found: Comparison) -> list[str]:
    notes = [*changes(found), sharpening(found.curves), left_out(found)]
    return [note for note in notes if note]


def _single(run: RunRecord) -> list[Mapping[str, Any]]:
    """Rows for the only evaluation that there is."""
    evaluation = run.base or run.final
    if run.comparison is not None or evaluation is None:
        return []
    names = ("level", "label", "problems", "side")
    return [dict(zip(names, row, strict=True)) for row in sides(evaluation)]

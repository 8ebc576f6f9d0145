"""`report.html`: the page that tells what a run did, and `summary.json` with the same numbers."""

from __future__ import annotations

import json
import os
import secrets
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from evenodds.report.comparison import Comparison, finite, overall_side, sides
from evenodds.report.facts import commands, facts, flattened, progress
from evenodds.report.pictures import Picture, held_out_pictures, ratio_sentence, training_pictures
from evenodds.report.record import RunRecord, read_run
from evenodds.report.samples import sample_groups
from evenodds.report.story import (
    by_level,
    changes,
    headline,
    problems_sentence,
    sharpening,
    warnings,
)
from evenodds.report.text import counted, one_line, safe

TEMPLATE = "template.html.j2"


def write_page(folder: Path) -> Path:
    """Both files, each put in place at once. Raises `UsageError` where the folder is no run."""
    run = read_run(folder)
    _put(folder / "summary.json", json.dumps(summary(run), indent=1) + "\n")
    _put(folder / "report.html", render(run))
    return folder / "report.html"


def _put(target: Path, text: str) -> None:
    """Put a file in place at once: a reader sees the old one or the new one, never a part.

    A report can be written again from the records, so it is not forced to the disk. The temporary
    name is one that the run's own clean-up removes should this process be killed here.
    """
    temporary = target.parent / f".evenodds-tmp-{os.getpid()}-{secrets.token_hex(4)}"
    try:
        temporary.write_text(text, encoding="utf-8")
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)


def summary(run: RunRecord) -> dict[str, Any]:
    """The run in numbers, for machines: null where something was not measured."""
    found = run.comparison
    return {
        "format": "evenodds-summary-1",
        "run": run.name,
        "finished": run.final is not None,
        "headline": None if found is None else headline(found),
        "progress": finite(progress(run)),
        "comparison": None if found is None else found.to_dict(),
    }


def render(run: RunRecord) -> str:
    """The page as text. Everything from the run is escaped; only the pictures are markup."""
    found = run.comparison
    template = _environment().get_template(TEMPLATE)
    return template.render(
        name=safe(run.name),
        headline=_headline(run),
        unfinished=_unfinished(run),
        warnings=_warnings(run),
        notes=[] if found is None else _notes(found),
        facts=facts(run),
        held_out=[_marked(picture) for picture in held_out_pictures(run)],
        comparison=found,
        rows=[] if found is None else found.rows,
        single=_single(run),
        training=[_marked(item) for item in training_pictures(run)] if run.metrics else [],
        ratio=ratio_sentence(run),
        groups=sample_groups(run.folder, run.levels),
        commands=commands(run),
        passports={name: flattened(values) for name, values in run.passports.items() if values},
        config=flattened(run.config),
        settings=flattened((run.final or run.base or {}).get("settings", {})),
    )


def _environment() -> Environment:
    loader = FileSystemLoader(Path(__file__).parent)
    made = Environment(
        loader=loader,
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"tokens": _tokens, "safe_text": safe, "share": _share, "joined": _joined}
    return made


def _tokens(value: float | None) -> str:
    return "–" if value is None else f"{value:.1f}"


def _share(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.1f} %"


def _joined(sentence: str) -> str:
    """A number and its percent sign stay on one line."""
    return sentence.replace(" %", "\u00a0%")


def _marked(picture: Picture) -> Mapping[str, Any]:
    return {"title": picture.title, "svg": Markup(picture.svg), "caption": picture.caption}


def _headline(run: RunRecord) -> str:
    if run.comparison is not None:
        return headline(run.comparison)
    if run.base is not None:
        rate = overall_side(run.base).sampled
        return f"Before training, the base solves {rate} of held-out problems, sampled."
    return "Held-out problems have not been measured, so whether it learned is not known."


def _unfinished(run: RunRecord) -> str | None:
    if run.final is not None and run.base is not None:
        return None
    missing = " and ".join(
        name for name, value in (("base", run.base), ("trained", run.final)) if value is None
    )
    odd = [f"{name} is there but cannot be read as an evaluation." for name in run.unreadable]
    said = (
        f"This run is not complete: it is under way, or was stopped after step "
        f"{progress(run)['steps']}. The evaluation of the {missing} model is missing, so nothing "
        "is claimed about what was learned."
    )
    return " ".join([said, *odd])


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
    notes = [by_level(found), *changes(found), problems_sentence(found), sharpening(found.curves)]
    if found.unmatched:
        notes.append(f"{found.unmatched} problems were judged on one side only and are left out.")
    return [note for note in notes if note]


def _single(run: RunRecord) -> list[Mapping[str, Any]]:
    """Rows for the only evaluation that there is."""
    evaluation = run.base or run.final
    if run.comparison is not None or evaluation is None:
        return []
    names = ("level", "label", "problems", "side")
    return [dict(zip(names, row, strict=True)) for row in sides(evaluation)]

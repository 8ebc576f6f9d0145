"""`report.md`: the report for a pull request, in a screen and a half."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from evenodds.report.beside import caution, control_sentence
from evenodds.report.changes import Measure
from evenodds.report.checks import bench_of, question
from evenodds.report.comparison import overall_side, sides
from evenodds.report.cost import cost_rows
from evenodds.report.escape import md_block, md_text
from evenodds.report.facts import facts, repeat_command
from evenodds.report.findings import Findings, worse_sentence
from evenodds.report.series import spread
from evenodds.report.signs import alarm_sentence, raised_of
from evenodds.report.story import by_itself, left_out
from evenodds.report.text import shortened

LEVELS = 16
"""Levels that the table shows, spread over the ladder where there are more."""
WORSE = 8
"""Things that got worse which are listed."""
ALARMS = 5
TRAINED = ("Policy", "Objective", "Each step", "Steps", "Seed")
INTERVALS = (
    "Brackets hold 95 % intervals over held-out problems, paired by problem; they say nothing of "
    "how a run with another seed would end. Charts, answers and alarms are in report.html."
)


def markdown(found: Findings) -> str:
    """The report as Markdown. Whatever comes from the run is escaped, and no path is absolute."""
    run, conclusion = found.run, found.conclusion
    lines = [
        f"## {md_text(run.name, 100)}: {conclusion.kind.replace('_', ' ')}",
        "",
        f"**{md_text(conclusion.sentence)}**",
        "",
        md_text(question(run)),
        "",
        *results(found),
        *_section("What got worse", _worse(found)),
        *_section("Alarms and checks", _signs(found)),
        *_section("Cost", _items(cost_rows(found.cost))),
        *_section("How to repeat it", _repeat(found)),
        "",
        md_text(INTERVALS),
    ]
    return "\n".join(lines) + "\n"


def _section(title: str, lines: Sequence[str]) -> list[str]:
    return ["", f"### {title}", "", *lines] if any(lines) else []


def results(found: Findings) -> list[str]:
    """The table of levels, what stands beside it, and how to read it where that is not plain."""
    said, compared = caution(found), found.run.comparison
    apart = f"{left_out(compared)} {by_itself(compared)}".strip() if compared is not None else ""
    above, below = ([md_text(text), ""] if text else [] for text in (said, apart))
    return [*above, *table(found), "", *below, *beside_items(found)]


def table(found: Findings) -> list[str]:
    """Solve rates by level before and after, or of the only evaluation that there is."""
    compared = found.run.comparison
    if compared is None:
        return _single(found)
    rows = [row for row in compared.rows if row.level is not None]
    shown = [rows[at] for at in spread(len(rows), LEVELS)]
    cells = [
        (row.label, str(row.problems), str(row.before.sampled), str(row.after.sampled),
         row.gain.points(), row.verdict)
        for row in [*shown, *(row for row in compared.rows if row.level is None)]
    ]  # fmt: skip
    left = f"{len(rows) - len(shown)} other levels are in report.html."
    more = ["", left] if len(shown) < len(rows) else []
    return [*grid(("level", "problems", "before", "after", "change", "verdict"), cells), *more]


def grid(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """A table; the first column at the left, all others at the right."""
    lines = [head, ["---", *("--:" for _ in head[1:])]]
    texts = [[md_text(cell, 120) for cell in row] for row in rows]
    return [f"| {' | '.join(row)} |" for row in [*lines, *texts]]


def _single(found: Findings) -> list[str]:
    evaluation = found.run.base or found.run.final
    if evaluation is None:
        return []
    which = "base" if found.run.base is not None else "trained"
    rows = [(label, str(count), str(side.sampled)) for _, label, count, side in sides(evaluation)]
    if len(rows) > 1:
        rows = [*rows[:LEVELS], ("all levels", "", str(overall_side(evaluation).sampled))]
    return grid(("level", "problems", f"right answers, {which} model"), rows)


def beside_items(found: Findings) -> list[str]:
    """What the table of sampled answers does not show: greedy, several tries, control, audit."""
    kept = [one for one in found.measures if one.group in ("greedy", "tries", "control", "audit")]
    most = f"@{found.conclusion.k})"
    shown = [one for one in kept if one.group != "tries" or one.what.endswith(most)]
    return [f"- {md_text(one.sentence)}" for one in shown]


def _worse(found: Findings) -> list[str]:
    """What got worse, the largest groups of things first; empty where nothing was compared."""
    worse = found.worse
    if not found.measures:
        return []
    said = f"{worse_sentence(found)} {control_sentence(found)}"
    return [md_text(said), "", *worse_items(worse)]


def worse_items(worse: Sequence[Measure]) -> list[str]:
    items = [f"- {md_text(measure.sentence)}" for measure in worse[:WORSE]]
    return [*items, f"- and {len(worse) - WORSE} more"] if len(worse) > WORSE else items


def _signs(found: Findings) -> list[str]:
    run = found.run
    alarms = raised_of(run)
    said = [alarm_sentence(run), bench_of(run).verdict]
    items = [
        f"- step {alarm.step}, {md_text(alarm.name)}: {md_text(alarm.reason)}"
        for alarm in alarms[:ALARMS]
    ]
    return [md_text(" ".join(said)), *([""] if items else []), *items]


def _items(rows: Iterable[tuple[str, str]]) -> list[str]:
    return [f"- {name.lower()}: {md_text(shortened(value, 240))}" for name, value in rows]


def _repeat(found: Findings) -> list[str]:
    run = found.run
    trained = _items((name, value) for name, value in facts(run) if name in TRAINED)
    package = str(run.passports["checker"].get("package") or "")
    commit = str(run.passports["environment"].get("evenodds_commit") or "")
    made = ", ".join(filter(None, [package, f"commit {commit[:12]}" if commit else ""]))
    made = [f"- made with: {md_text(made)}"] if made else []
    return [*trained, *made, "", *md_block([repeat_command(run)], "sh")]

"""The same run for a terminal: state, conclusion, curves, ladder, alarms, groups worth a look."""

from __future__ import annotations

import shlex
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from evenodds.alarms.flat import diagnose
from evenodds.report.comparison import Comparison
from evenodds.report.record import RunRecord
from evenodds.report.series import of_metric
from evenodds.report.signs import Raised
from evenodds.report.text import bar, one_line, short, shortened, sparkline
from evenodds.statistics import percent
from evenodds.viewer.coin import by_coin, share_words, shown
from evenodds.viewer.compared import Learned, learned
from evenodds.viewer.data import Source
from evenodds.viewer.ladder import levels_of
from evenodds.viewer.listing import tails
from evenodds.viewer.overview_page import newest_alarms
from evenodds.viewer.state import time_words
from evenodds.viewer.table import KINDS, Groups
from evenodds.viewer.why_page import last_lines

WIDTH = 100
NAME = 18
PAID_WORDS = {
    "solve rate": "share paid",
    "all wrong": "none paid",
    "only just solved": "fewest paid",
    "newest all wrong": "newest none paid",
    "most disagreement": "audit unlike the coin",
}
PATIENCE = 8.0  # seconds that a run without groups.jsonl is counted for
CURVES = (
    ("reward", "reward"),
    ("solve_rate", "solve rate"),
    ("difficulty", "difficulty"),
    ("groups/mixed", "mixed groups"),
    ("groups/all_wrong", "all wrong"),
    ("entropy", "entropy, nats"),
    ("completions/mean_length", "tokens an answer"),
    ("completions/clipped_ratio", "truncated"),
    ("clip_ratio/region_mean", "clipped tokens"),
    ("kl", "KL to the start"),
    ("heldout/pass@1", "held-out pass@1"),
    ("time/step", "seconds a step"),
)


def overview_lines(source: Source, width: int = WIDTH) -> Iterator[str]:
    """The overview, no line wider than `width` columns. All text of the run is made safe."""
    run, state = source.record(), source.state()
    yield shortened(f"{one_line(run.name, 60)}   {state.words} · {time_words(state)}", width)
    if state.doing:
        yield f"{state.doing} …"
    found = learned(run) if run.base is not None and run.final is not None else Learned(run)
    if found.sentence:
        yield ""
        yield from _wrapped(f"{found.kind}: {found.sentence}", width)
    if found.comparison is not None:
        yield from _held_out(found.comparison, width)
    yield from _curves(run, width)
    yield from _ladder(run, width)
    yield from _alarms(newest_alarms(source), width)
    yield from _why(source, run, width)
    yield from _groups(source, width)


def _wrapped(words: str, width: int, first: str = "", later: str = "") -> list[str]:
    return textwrap.wrap(words, width, initial_indent=first, subsequent_indent=later)


def _heading(words: str) -> list[str]:
    return ["", words.upper()]


def _held_out(found: Comparison, width: int) -> Iterator[str]:
    yield from _heading("held-out problems, sampled: before → after")
    for row in found.rows:
        rates = f"{percent(row.before.sampled.mean)} → {percent(row.after.sampled.mean)}"
        label = shortened(one_line(row.label), NAME)
        yield shortened(
            f"{label:<{NAME}} {rates:>14}   {row.gain.points():<24} {row.verdict}", width
        )


def _curves(run: RunRecord, width: int) -> Iterator[str]:
    known = [(name, of_metric(run.metrics, key).ys) for key, name in CURVES]
    known = [(name, values) for name, values in known if values]
    if not known:
        return
    yield from _heading(f"over {len(run.metrics):,} steps: first ten, last ten, all")
    words = PAID_WORDS if by_coin(run) else {}
    for name, values in known:
        ends = [short(float(np.mean(part))) for part in (values[:10], values[-10:])]
        bars = sparkline(values, width - NAME - 24) if min(values) < max(values) else ""
        yield f"{words.get(name, name):<{NAME}} {ends[0]:>8} → {ends[1]:<8}  {bars}".rstrip()


def _ladder(run: RunRecord, width: int) -> Iterator[str]:
    levels = levels_of(run)
    if len(levels) < 2:
        return
    rate = "a coin paid" if by_coin(run) else "was right"
    yield from _heading(f"the ladder: height is the share that {rate}; right, what is believed")
    for level in levels:
        label = shortened(one_line(level.label), NAME)
        cells = "".join(" " if rate is None else bar(rate) for rate in level.cells)
        cells = cells[: width - NAME - 8]
        believed = "" if level.believed is None else percent(level.believed)
        yield f"{label:<{NAME}} {cells}  {believed}".rstrip()


def _alarms(rows: Sequence[Raised], width: int) -> Iterator[str]:
    if not rows:
        return
    yield from _heading(f"alarms: {len(rows)}")
    for row in rows[:8]:
        ended = ", ended the run" if row.stops else ""
        yield from _wrapped(f"! step {row.step}: {row.name}{ended}. {row.reason}", width, "", "  ")
        yield from _wrapped(row.remedy, width, "  ", "  ")


def _why(source: Source, run: RunRecord, width: int) -> Iterator[str]:
    findings = [f for f in diagnose(run.config, run.metrics, last_lines(source)) if f.flat]
    if not findings or not run.metrics:
        return
    yield from _heading("why the reward is flat")
    for found in findings[:3]:
        words = f"{found.cause}: {found.evidence}. {found.remedy}".replace("..", ".")
        yield from _wrapped(one_line(words), width, "- ", "  ")


def _groups(source: Source, width: int) -> Iterator[str]:
    groups = source.groups()
    if source.index.thread is not None:
        source.index.thread.join(PATIENCE)
        groups = source.groups()
    picked = worth_a_look(groups)
    if not picked:
        return
    yield from _heading(f"groups worth a look, of {len(groups):,}")
    spots = {
        place: (int(groups["step"][place]), int(groups["group"][place])) for _, place in picked
    }
    prompts = tails(source, list(spots.values()))
    coin = by_coin(source.record())
    for why, place in picked:
        why = PAID_WORDS.get(why, why) if coin else why
        step, group = spots[place]
        said = share_words(groups["right"][place], groups["judged"][place], coin)
        line = f"{f'{step}/{group}':<9} {why:<22} {said:<15} {prompts.get((step, group), '')}"
        yield shortened(line, width)
    step, group = spots[picked[0][1]]
    run = shlex.quote(str(source.folder))
    yield f"one of them: evenodds inspect {run} --text --group {step}/{group}"


def worth_a_look(groups: Groups) -> list[tuple[str, int]]:
    """Why, and the place of a group: the newest of the largest under each heading; none twice."""
    if not len(groups):
        return []
    kind, rate = groups.kind(), groups.rate()
    found: dict[int, str] = {}

    def take(why: str, score: Any, count: int = 1) -> None:
        """The `count` highest scores above zero; of equals the newest."""
        order = np.argsort(score, kind="stable")[::-1]
        fresh = [int(place) for place in order if score[place] > 0 and int(place) not in found]
        found.update(dict.fromkeys(fresh[:count], why))

    take("most disagreement", groups["disagree"])
    take("most truncated", groups["truncated"])
    take("most near-duplicates", groups["duplicates"])
    take("not judged", kind == KINDS.index("unjudged"))
    take("longest", groups["tokens"])
    take("only just solved", np.where(kind == KINDS.index("mixed"), 1 - rate, 0))
    take("newest all wrong", (kind == KINDS.index("wrong")), 2)
    take("newest mixed", (kind == KINDS.index("mixed")), 2)
    return [(why, place) for place, why in found.items()]


def group_lines(
    rows: Sequence[Mapping[str, Any]], width: int = WIDTH, coin: bool = False
) -> Iterator[str]:
    """One group: the prompt, and each answer with its verdict, reward and advantage.

    rows: of `Source.group`, at least one. coin: a coin paid for them.
    """
    first = rows[0]
    right = sum(row.get("status") == "right" for row in rows)
    yield shortened(
        f"step {first.get('step')}, group {first.get('group')}   level {first.get('level')} · "
        f"{share_words(right, len(rows), coin)} · "
        f"{one_line(str(first.get('problem_key') or ''), 60)}",
        width,
    )
    yield from _heading("prompt")
    yield from _block(str(first.get("prompt") or ""), width)
    yield from _wrapped(f"expected: {one_line(str(first.get('gold') or ''), 500)}", width)
    for place, row in enumerate(rows):
        yield ""
        yield from _wrapped(_verdict(place, row, coin), width, "", "   ")
        yield from _block(str(row.get("completion") or ""), width)


def _verdict(place: int, row: Mapping[str, Any], coin: bool) -> str:
    _, sign, status = shown(str(row.get("status") or ""), coin)
    parts = [f"{sign} answer {row.get('answer', place)}", status]
    parts += [f"{name} {_number(row.get(name))}" for name in ("reward", "advantage")]
    parts += [f"read as {row['extracted']}"] if row.get("extracted") is not None else []
    parts += [str(row["note"])] if row.get("note") else []
    parts += [f"audit: {row['audit_status']}"] if row.get("audit_status") else []
    parts += [f"not in the loss: {row['why']}"] if row.get("why") else []
    return one_line(" · ".join(parts), 1000)


def _number(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, int | float) else "–"


def _block(words: str, width: int) -> Iterator[str]:
    """Text of the run, indented, each of its lines wrapped."""
    for line in words.split("\n"):
        safe = one_line(line, 4000)
        yield from textwrap.wrap(
            safe, width - 4, initial_indent="  │ ", subsequent_indent="  │ ", drop_whitespace=False
        ) or ["  │"]

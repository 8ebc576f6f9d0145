"""A few answers worth a look: of problems gained and lost, and where verifier and audit differ.

These are chosen by their result, unlike the answers from training, and the page says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evenodds.records import read_known, rollout_files
from evenodds.report.pairs import Pair
from evenodds.report.record import RunRecord
from evenodds.report.samples import PROMPT_TAIL, Answer, answer_of
from evenodds.report.text import level_name, mark_of, safe, shortened, tail

Row = Mapping[str, Any]
COLUMNS = (
    *("problem_key", "level", "gold", "prompt", "completion", "reward", "status", "extracted"),
    *("note", "audit_status", "audit_note", "step", "advantage", "of", "kind"),
)
TASK, DRAWN = "task", "sampled"
PROBLEMS = 4
"""Problems of each sort that are shown."""
ANSWERS = 6
"""Answers on which verifier and audit differ that are shown."""
FILES = 40
"""Rollout files, the newest, that are looked through for such answers."""


@dataclass(frozen=True)
class Turned:
    """A problem that was gained or lost, with an answer from before and one from after.

    counts: right of judged answers, before and after. An answer is None where none was kept.
    """

    name: str
    level: str
    gold: str
    before: Answer | None
    after: Answer | None
    counts: tuple[str, str]


@dataclass(frozen=True)
class Disputed:
    """An answer that the verifier and the audit judge differently."""

    where: str
    prompt: str
    gold: str
    answer: Answer
    audit: str


def gained_of(run: RunRecord, pairs: Sequence[Pair]) -> list[Turned]:
    """Problems that are solved only after training, those solved most often first."""
    found = [p for p in _fair(pairs) if not p.before["right"] and p.after["right"]]
    return _turned(run, found, lambda p: p.after["right"] / p.after["tries"])


def lost_of(run: RunRecord, pairs: Sequence[Pair]) -> list[Turned]:
    """Problems that were solved only before training, those solved most often first."""
    found = [p for p in _fair(pairs) if p.before["right"] and not p.after["right"]]
    return _turned(run, found, lambda p: p.before["right"] / p.before["tries"])


def _fair(pairs: Sequence[Pair]) -> list[Pair]:
    """Those with as many judged answers before as after, as `Coverage` counts them."""
    return [pair for pair in pairs if pair.before["tries"] == pair.after["tries"]]


def _turned(run: RunRecord, pairs: Sequence[Pair], most: Callable[[Pair], float]) -> list[Turned]:
    chosen = sorted(pairs, key=lambda p: (-most(p), str(p.before["key"])))[:PROBLEMS]
    keys = [str(pair.before["key"]) for pair in chosen]
    before, after = (_by_key(run.folder, name, keys) for name in ("base", "final"))
    return [_one(run, pair, before, after) for pair in chosen]


def _one(
    run: RunRecord,
    pair: Pair,
    before: Mapping[str, Sequence[Row]],
    after: Mapping[str, Sequence[Row]],
) -> Turned:
    key = str(pair.before["key"])
    first, second = before.get(key, ()), after.get(key, ())
    row = next(iter((*first, *second)), None)
    lost = bool(pair.before["right"])
    return Turned(
        name=tail(safe(str(row["prompt"])), PROMPT_TAIL) if row else safe(key),
        level=safe(level_name(run.levels, pair.level)),
        gold=safe(str(row.get("gold") or "")) if row else "",
        before=_first(first, right=lost),
        after=_first(second, right=not lost),
        counts=(_count(pair.before), _count(pair.after)),
    )


def _count(problem: Row) -> str:
    return f"{int(problem['right'])} of {int(problem['tries'])}"


def _first(rows: Iterable[Row], right: bool) -> Answer | None:
    """The first answer of that sort; one of the other sort where there is none."""
    listed = list(rows)
    wanted = [row for row in listed if (row.get("status") == "right") == right]
    chosen = next(iter([*wanted, *listed]), None)
    return None if chosen is None else answer_of(chosen)


def _by_key(folder: Path, name: str, keys: Sequence[str]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    if keys:
        path = folder / "evaluation" / f"{name}.parquet"
        for row in drawn_rows(path, {"problem_key": keys}):
            found.setdefault(str(row["problem_key"]), []).append(row)
    return found


def disputed_of(run: RunRecord) -> list[Disputed]:
    """Answers of the trained policy on which the two differ; where none was kept, of training.

    What the verifier pays and the audit refuses comes first, for that is what training feeds on.
    """
    rows = _differing(drawn_rows(run.folder / "evaluation" / "final.parquet"))
    where = "after training"
    if not rows:
        files = [*rollout_files(run.folder).values()][-FILES:]
        for path in reversed(files):
            rows += _differing(drawn_rows(path))
            if len(rows) >= ANSWERS:
                break
        where = ""
    paid = _spread([row for row in rows if row.get("status") == "right"], ANSWERS)
    refused = _spread([row for row in rows if row.get("status") != "right"], ANSWERS - len(paid))
    return [_disputed(row, where) for row in (*paid, *refused)]


def _spread(rows: Sequence[Row], most: int) -> list[Row]:
    """Answers to different problems, evenly spread; several to one only where these are few."""
    firsts: dict[object, Row] = {}
    for row in rows:
        firsts.setdefault(row.get("problem_key"), row)
    chosen = [*firsts.values()]
    if len(chosen) <= most:
        others = [row for row in rows if not any(row is one for one in chosen)]
        return [*chosen, *others[: most - len(chosen)]]
    return [chosen[at * len(chosen) // most] for at in range(most)] if most else []


def _differing(rows: Iterable[Row]) -> list[Row]:
    """As `judge.audit.disagrees` has it: both could judge, and only one says right."""
    both = [row for row in rows if row.get("status") and row.get("audit_status")]
    return [
        row
        for row in both
        if {mark_of(row["status"]), mark_of(row["audit_status"])} == {"right", "wrong"}
    ]


def _disputed(row: Row, where: str) -> Disputed:
    note = str(row.get("audit_note") or "")
    said = str(row.get("audit_status") or "").replace("_", " ")
    return Disputed(
        where=where or f"step {row.get('step')}",
        prompt=tail(safe(str(row.get("prompt") or row.get("problem_key") or "")), PROMPT_TAIL),
        gold=safe(str(row.get("gold") or "")),
        answer=answer_of(row),
        audit=safe(shortened(f"{said}; {note}" if note else said, 300)),
    )


def drawn_rows(path: Path, only: Mapping[str, Sequence[Any]] | None = None) -> list[Row]:
    """The sampled answers to the task itself in a file; rollouts of training are all of these."""
    rows = read_known(path, COLUMNS, only)
    return [row for row in rows if row.get("of", TASK) == TASK and row.get("kind", DRAWN) == DRAWN]

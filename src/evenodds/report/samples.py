"""A few groups of answers out of the thousands that a run recorded, chosen without looking."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evenodds.records import read_known, rollout_files
from evenodds.report.series import spread
from evenodds.report.text import level_name, mark_of, safe, tail

COLUMNS = (
    *("step", "problem_key", "level", "group", "prompt", "completion", "reward"),
    *("status", "extracted", "note", "advantage", "gold"),
)
GROUPS, ANSWERS = 12, 4
MOST_TEXT, PROMPT_TAIL = 1500, 240


@dataclass(frozen=True)
class Answer:
    """One answer of a group, safe to show. mark: `right`, `wrong` or `unjudged`."""

    text: str
    status: str
    mark: str
    reward: str
    advantage: str
    extracted: str
    note: str


@dataclass(frozen=True)
class SampleGroup:
    """One problem with some of its answers. prompt: its end; whole_prompt: all, if longer."""

    step: int
    level: str
    prompt: str
    whole_prompt: str | None
    gold: str
    right: int
    size: int
    answers: tuple[Answer, ...]


def sample_groups(folder: Path, levels: Sequence[str] = ()) -> list[SampleGroup]:
    """Twelve groups spread over the run by place alone; the answers shown mix right and wrong."""
    files = [*rollout_files(folder).values()]
    if not files:
        return []
    slots = [files[index * len(files) // GROUPS] for index in range(GROUPS)]
    if len(files) >= GROUPS:
        slots = [files[index] for index in spread(len(files), GROUPS)]
    found: list[SampleGroup] = []
    for path in dict.fromkeys(slots):
        groups = _read(path)
        start = len(found)  # another place in each file, so that no one level is always first
        for nth in range(min(slots.count(path), len(groups))):
            found.append(_sample(groups[(start + nth * 5) % len(groups)], levels))
    return found


def _read(path: Path) -> list[list[Mapping[str, Any]]]:
    """Rows by group."""
    groups: dict[Any, list[Mapping[str, Any]]] = {}
    for row in read_known(path, COLUMNS):
        groups.setdefault(row.get("group", row.get("problem_key")), []).append(row)
    return list(groups.values())


def _sample(rows: Sequence[Mapping[str, Any]], levels: Sequence[str]) -> SampleGroup:
    first = rows[0]
    level = int(first.get("level") or 0)
    prompt = safe(str(first.get("prompt", "")))
    return SampleGroup(
        step=int(first.get("step") or 0),
        level=safe(level_name(levels, level)),
        prompt=tail(prompt, PROMPT_TAIL),
        whole_prompt=prompt if len(prompt) > PROMPT_TAIL else None,
        gold=safe(str(first.get("gold", ""))),
        right=sum(row.get("status") == "right" for row in rows),
        size=len(rows),
        answers=tuple(answer_of(row) for row in _mixed(rows)),
    )


def _mixed(rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Up to four answers: two right and two wrong where both exist, first drawn first."""
    right = [row for row in rows if row.get("status") == "right"]
    other = [row for row in rows if row.get("status") != "right"]
    half = ANSWERS // 2
    kept_right = right[: max(half, ANSWERS - len(other))]
    return [*kept_right, *other[: ANSWERS - len(kept_right)]]


def answer_of(row: Mapping[str, Any]) -> Answer:
    """An answer as a row of a rollout file has it, safe to show and shortened."""
    status = str(row.get("status", ""))
    text = safe(str(row.get("completion", "")))
    left_out = len(text) - MOST_TEXT
    return Answer(
        text=text if left_out <= 0 else f"{text[:MOST_TEXT]}… ({left_out} characters left out)",
        status=safe(status.replace("_", " ")),
        mark=mark_of(status),
        reward=_signed(row.get("reward"), ""),
        advantage=_signed(row.get("advantage"), "+"),
        extracted=safe(_extracted(row.get("extracted"), status)),
        note=safe(str(row.get("note") or "")),
    )


def _extracted(extracted: Any, status: str) -> str:
    """What was read; empty where a function judged the text without saying what it read."""
    if extracted is not None:
        return str(extracted)
    return "" if status in {"right", "wrong"} else "nothing"


def _signed(value: Any, sign: str) -> str:
    return "–" if not isinstance(value, int | float) else format(value, f"{sign}.2f")

"""What a run cost: time and where it went, tokens, and tokens for each prompt that taught."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from evenodds.report.record import RunRecord
from evenodds.report.series import is_number, taught
from evenodds.report.text import counted, duration

PARTS = ("sample", "judge", "reference", "learn", "load", "write")
"""The clock fields of a step; what is left of it is `other`."""


@dataclass(frozen=True)
class Cost:
    """Seconds, answer tokens, and prompts; None where the records do not say.

    parts: seconds of all steps by what they were spent on. evaluation: seconds of both evaluations.
    informative: groups whose answers were not all paid alike, the only ones that teach. idle: the
    share of the tokens that went into other groups. memory: peak resident memory in MB.
    """

    seconds: float | None
    evaluation: float | None
    parts: Mapping[str, float]
    tokens: int | None
    groups: int | None
    informative: int | None
    idle: float | None
    memory: float | None

    @property
    def tokens_per_informative(self) -> float | None:
        return self.tokens / self.informative if self.tokens and self.informative else None

    @property
    def tokens_per_second(self) -> float | None:
        steps = sum(self.parts.values())
        return self.tokens / steps if self.tokens and steps else None

    def to_dict(self) -> dict[str, Any]:
        more = {
            "tokens_per_informative_prompt": self.tokens_per_informative,
            "tokens_per_second": self.tokens_per_second,
        }
        return {**asdict(self), **more}


def cost_of(run: RunRecord) -> Cost:
    last = run.metrics[-1] if run.metrics else {}
    evaluation = [record.get("seconds") for record in (run.base, run.final) if record is not None]
    known = [float(seconds) for seconds in evaluation if is_number(seconds)]
    groups, informative = _groups(run)
    tokens = last.get("num_tokens")
    return Cost(
        seconds=_known(last.get("time/elapsed")),
        evaluation=sum(known) if known else None,
        parts=_parts(run.metrics),
        tokens=int(tokens) if is_number(tokens) else None,
        groups=groups,
        informative=informative,
        idle=_idle(run.groups),
        memory=most_memory(run),
    )


def _known(value: Any) -> float | None:
    return float(value) if is_number(value) else None


def _parts(rows: Iterable[Mapping[str, Any]]) -> dict[str, float]:
    """Seconds by part, the longest first; empty where the steps have no clock."""
    rows = list(rows)
    found = {part: _total(rows, f"time/{part}") for part in PARTS}
    rest = _total(rows, "time/step") - sum(found.values())
    found["other"] = max(0.0, rest)
    return {part: found[part] for part in sorted(found, key=lambda name: -found[name])}


def _total(rows: Iterable[Mapping[str, Any]], name: str) -> float:
    return sum((float(v) for row in rows if is_number(v := row.get(name))), start=0.0)


def _groups(run: RunRecord) -> tuple[int | None, int | None]:
    """Groups that were sampled in all steps, and how many of them taught."""
    pairs = [(row.get("groups/drawn"), taught(row)) for row in run.metrics]
    rows = [(drawn, share) for drawn, share in pairs if is_number(drawn) and share is not None]
    if not rows:
        return None, None
    return int(sum(drawn for drawn, _ in rows)), round(sum(drawn * share for drawn, share in rows))


def most_memory(run: RunRecord) -> float | None:
    """Peak resident memory in MB over all sittings, each of which begins to count anew."""
    seen = [row["time/memory_mb"] for row in run.metrics if is_number(row.get("time/memory_mb"))]
    return max(seen, default=None)


def _idle(lines: Iterable[Mapping[str, Any]]) -> float | None:
    """The share of the answer tokens that lie in groups without signal."""
    total = idle = 0.0
    for line in lines:
        mixed, tokens = line.get("mixed"), line.get("tokens")
        if not isinstance(mixed, list) or not isinstance(tokens, list):
            continue
        for is_mixed, count in zip(mixed, tokens, strict=False):
            if is_number(count):
                total += count
                idle += 0 if is_mixed else count
    return idle / total if total else None


def cost_rows(cost: Cost) -> list[tuple[str, str]]:
    """What a reader wants to know of the cost, as far as it is known."""
    rows = [
        ("Time", _time(cost)),
        ("Where it went", _where(cost)),
        ("Tokens sampled", _tokens(cost)),
        ("Prompts that taught", _informative(cost)),
        ("Tokens for each of these", _each(cost)),
        ("Memory", f"at most {cost.memory:,.0f} MB" if cost.memory else ""),
    ]
    return [(name, value) for name, value in rows if value]


def _time(cost: Cost) -> str:
    if cost.seconds is None:
        return ""
    if not cost.evaluation:
        return f"{duration(cost.seconds)} up to the last step"
    return (
        f"{duration(cost.seconds)} up to the last step; the evaluations took "
        f"{duration(cost.evaluation)} in all"
    )


def _where(cost: Cost) -> str:
    total = sum(cost.parts.values())
    if not total:
        return ""
    names = {"sample": "sampling", "judge": "waiting for verdicts", "learn": "learning"}
    names |= {"load": "handing over weights", "write": "waiting for the disk"}
    shown = [
        f"{names.get(part, part)} {100 * seconds / total:.0f} %"
        for part, seconds in cost.parts.items()
        if seconds >= 0.005 * total
    ]
    return f"of {duration(total)} in steps: {', '.join(shown)}"


def _tokens(cost: Cost) -> str:
    if cost.tokens is None:
        return ""
    speed = cost.tokens_per_second
    return f"{cost.tokens:,}" + (f", {speed:,.0f} a second over whole steps" if speed else "")


def _informative(cost: Cost) -> str:
    if cost.groups is None or cost.informative is None or not cost.groups:
        return ""
    share = 100 * cost.informative / cost.groups
    return (
        f"{cost.informative:,} of {counted(cost.groups, 'group')} ({share:.0f} %) had answers "
        "that were paid differently; the others have nothing to learn from"
    )


def _each(cost: Cost) -> str:
    each = cost.tokens_per_informative
    if each is None:
        return ""
    idle = "" if cost.idle is None else f"; {100 * cost.idle:.0f} % of all tokens taught nothing"
    return f"{each:,.0f}{idle}"

"""The settings of what shows whether a run taught anything: evaluation, audit, alarms."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from evenodds.domain import SEEDS_OF_A_PART
from evenodds.run.settings import MOST, Section


class EvaluationSection(Section):
    """What is measured before and after, on held-out problems, with a sampling of its own."""

    samples: int = Field(8, ge=1, le=10_000, description="answers sampled for each problem")
    problems: int = Field(40, ge=1, le=100_000, description="held-out problems of a level")
    levels: tuple[int, ...] | None = Field(
        None, min_length=1, description="levels, from 0; default: all", examples=[[0]]
    )
    greedy: bool = Field(True, description="one greedy answer to each problem as well")
    temperature: float = Field(
        1.0, ge=0.01, le=100, description="of the sampled answers, whatever training uses"
    )
    max_tokens: int | None = Field(
        None,
        ge=1,
        le=1_000_000,
        description="budget of one answer; default: that of training",
        examples=[96],
    )
    seed: int = Field(
        1234,
        ge=0,
        lt=SEEDS_OF_A_PART,
        description="the same before and after, never used in training",
    )
    every: int | None = Field(
        None, ge=1, le=MOST, description="steps between evaluations on the way", examples=[50]
    )
    every_problems: int = Field(
        10, ge=1, le=100_000, description="held-out problems of a level in those on the way"
    )
    control: str = Field(
        "auto",
        min_length=1,
        description="a task outside the domain, measured too: its name, a file, or none; "
        "auto: what suits the task",
    )
    control_problems: int = Field(
        20, ge=1, le=100_000, description="held-out problems of each level of the control task"
    )


class AuditSection(Section):
    """A second, independent check of what the verifier pays."""

    verifier: str | None = Field(
        None,
        description="another verifier for the same answers; it pays nothing, it only tells",
        examples=["mine.py:strict"],
    )
    policy: dict[str, Any] = Field({}, description="entries of its policy table")
    canaries: str | None = Field(
        None,
        description="JSONL of prompts without a right answer, which must never be paid",
        examples=["canaries.jsonl"],
    )


class AlarmsSection(Section):
    """Signs of trouble that are looked for at every step; see docs/alarms.md."""

    off: tuple[str, ...] = Field((), description="alarms that are not looked for")
    stop: tuple[str, ...] = Field(
        (), description="alarms that end the run, after saving it", examples=["passk_fall"]
    )
    thresholds: dict[str, Any] = Field(
        {}, description="other thresholds than the defaults, such as entropy_collapse=0.3"
    )

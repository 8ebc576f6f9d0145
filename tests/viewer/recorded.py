"""Recorded groups that tests of the viewer build on."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from evenodds.domain import Limits, Problem, Rollout, Status, Stop, Verdict
from evenodds.records.values import Answer, RecordedGroup


def make_answer(
    reward: float,
    length: int,
    seed: int = 0,
    *,
    shift: float = 0.0,
    passes: int = 1,
    kept: bool = True,
    budget: int = 8,
    stop: Stop = Stop.END_TOKEN,
    reference: bool = False,
    parts: dict[str, float] | None = None,
) -> Answer:
    """An answer whose learner stands `shift` nats, with some noise, beside its sampler."""
    rng = np.random.default_rng([seed, length])
    old = -rng.random(length).astype(np.float32)
    noise = shift * rng.standard_normal(length)
    learned = (old + noise).astype(np.float32) if kept else None
    return Answer(
        rollout=Rollout(
            prompt_ids=np.array([3, 4]),
            ids=rng.integers(2, 17, length),
            logprobs=old,
            stop=stop,
            text="7" * length,
            limits=Limits(budget),
            reference_logprobs=(old - 0.1).astype(np.float32) if reference else None,
        ),
        verdict=Verdict(reward, Status.RIGHT if reward > 0.5 else Status.WRONG, parts=parts or {}),
        audit=None,
        advantage=0.0,
        kept=kept,
        why="" if kept else "its group agreed",
        learned=learned,
        last=None if passes == 1 or learned is None else (learned + 3 * noise).astype(np.float32),
        entropy=rng.random(length).astype(np.float32) if kept else None,
    )


def make_group(answers: Sequence[Answer], number: int = 0, prompt: str = "1*2=") -> RecordedGroup:
    problem = Problem("multiplication/1*2", prompt, "2", "")
    return RecordedGroup(1, number, 0, prompt, problem, tuple(answers))


GOLDEN = make_group(
    [make_answer(r, n, i) for i, (r, n) in enumerate(zip((1, 0, 1), (2, 5, 8), strict=True))]
)
"""The golden group: rewards 1, 0, 1 and lengths 2, 5, 8, at a budget of 8."""

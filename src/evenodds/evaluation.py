"""A policy on held-out problems: fresh generation, counted by problem."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenodds.domain import Group, Limits, Problem, Rollout, Status
from evenodds.judge import Judge, begin
from evenodds.sampling import Sampler
from evenodds.statistics import Estimate, clustered_rate, pass_at_k_curve
from evenodds.tasks import Task

Record = Mapping[str, Any]
"""An evaluation as `Evaluation.to_dict` makes it and a run folder keeps it, or a part of it."""
Values = NDArray[np.float64]


@dataclass(frozen=True)
class EvaluationSettings:
    """samples: answers a problem. problems: held-out problems a level. limits: of one answer.
    levels: those that are measured; None is all.

    Equal settings give equal problems and seeds, whatever the policy.
    """

    limits: Limits
    samples: int = 8
    problems: int = 40
    levels: tuple[int, ...] | None = None
    greedy: bool = True
    seed: int = 1234


@dataclass(frozen=True)
class ProblemResult:
    """tries: answers that could be judged, of which `right` were right; lengths in tokens."""

    key: str
    tries: int
    right: int
    greedy_right: bool | None
    truncated: int
    no_answer: int
    mean_length: float


@dataclass(frozen=True)
class LevelResult:
    """entropy: nats a token, estimated as the mean of -log p over the sampled tokens."""

    level: int
    label: str
    problems: tuple[ProblemResult, ...]
    entropy: float


@dataclass(frozen=True)
class Evaluation:
    """What a policy could do, problem by problem.

    first_note: what the verifier said of the first answer that could not be judged; empty where
    all could be.
    """

    policy: str
    settings: EvaluationSettings
    levels: tuple[LevelResult, ...]
    first_note: str = ""

    def judged(self) -> int:
        """How many sampled answers could be judged. With none, no rate means anything."""
        return sum(problem.tries for level in self.levels for problem in level.problems)

    def summary(self) -> Summary:
        """Rates with intervals, by level and over all levels."""
        return summary_of(self.to_dict())

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON data; the limits are spread into the settings."""
        settings = asdict(self.settings)
        limits = settings.pop("limits")
        levels = [asdict(level) for level in self.levels]
        return {
            "policy": self.policy,
            "settings": settings | limits,
            "first_note": self.first_note,
            "levels": levels,
        }


@dataclass(frozen=True)
class Side:
    """One policy on some problems.

    sampled: solve rate of sampled answers; greedy: share of problems solved by the likeliest
    answer, None where greedy decoding was not run. length: mean answer length in tokens.
    truncated: share of all sampled answers, judged or not, that the token budget cut.
    entropy: nats a token.
    """

    sampled: Estimate
    greedy: Estimate | None = None
    length: float | None = None
    truncated: float | None = None
    entropy: float | None = None


@dataclass(frozen=True)
class Measured:
    """One level, or all of them (`level` is None), in numbers with 95 % intervals.

    answers: sampled ones, of which `judged` could be judged. pass_at: unbiased pass@k by k; a k
    that no problem has enough judged answers for is missing.
    """

    level: int | None
    label: str
    problems: int
    answers: int
    judged: int
    side: Side
    pass_at: Mapping[int, Estimate]

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON data; what could not be measured is null."""
        side = asdict(self.side)
        found = {
            "level": self.level,
            "label": self.label,
            "problems": self.problems,
            "answers": self.answers,
            "judged": self.judged,
            "pass@1": side["sampled"],
            "pass@k": {k: asdict(estimate) for k, estimate in self.pass_at.items()},
            "greedy": side["greedy"],
            "mean_length": side["length"],
            "truncated": side["truncated"],
            "entropy": side["entropy"],
        }
        return finite(found)


@dataclass(frozen=True)
class Summary:
    """An evaluation in numbers. ks: the powers of two up to the number of samples, and that."""

    ks: tuple[int, ...]
    overall: Measured
    levels: tuple[Measured, ...]

    def to_dict(self) -> dict[str, Any]:
        levels = [level.to_dict() for level in self.levels]
        return {"overall": self.overall.to_dict(), "levels": levels}


@dataclass(frozen=True)
class Tally:
    """An evaluation of some problems as arrays [problems]; NaN where nothing was measured.

    samples: answers drawn, judged or not, of which `tries` could be judged.
    """

    tries: Values
    right: Values
    greedy: Values
    length: Values
    truncated: Values
    samples: Values
    entropy: float | None = None

    @property
    def rates(self) -> Values:
        return self.right / self.tries


def summary_of(record: Record) -> Summary:
    """The record of an evaluation in numbers: the one place where it becomes rates."""
    levels = levels_of(record)
    tallies = {number: tally_of(level) for number, level in levels.items()}
    whole = pooled([*tallies.values()])
    ks = doubling(int(max([1.0, *whole.samples])))
    rows = [
        _measured(number, label_of(number, level), tallies[number], ks)
        for number, level in levels.items()
    ]
    return Summary(ks, _measured(None, "all levels", whole, ks), tuple(rows))


def _measured(level: int | None, label: str, tally: Tally, ks: Sequence[int]) -> Measured:
    reached = [k for k in ks if (tally.tries >= k).any()]
    curve = pass_at_k_curve(tally.tries, tally.right, reached)
    return Measured(
        level=level,
        label=label,
        problems=int(tally.tries.size),
        answers=int(tally.samples.sum()),
        judged=int(tally.tries.sum()),
        side=side_of(tally),
        pass_at=dict(zip(reached, curve, strict=True)),
    )


def doubling(most: int) -> tuple[int, ...]:
    """1, 2, 4, … up to `most`, and `most` itself: the k of a pass@k curve."""
    return tuple(sorted({2**power for power in range(most.bit_length())} | {most}))


def levels_of(record: Record) -> dict[int, Record]:
    """The records of the levels by number, each with the `samples` that were drawn a problem."""
    samples = record.get("settings", {}).get("samples")
    levels: Sequence[Record] = record.get("levels", [])
    return {int(level["level"]): {"samples": samples, **level} for level in levels}


def label_of(number: int, level: Record) -> str:
    return str(level.get("label", f"level {number}"))


def tally_of(level: Record, problems: Sequence[Record] | None = None) -> Tally:
    """The problems of a level of `levels_of`, or those among them that are given, as arrays."""
    rows: Sequence[Record] = level.get("problems", []) if problems is None else problems
    tries = np.nan_to_num(_column(rows, "tries"))
    samples = _number(level.get("samples"))
    return Tally(
        tries=tries,
        right=np.nan_to_num(_column(rows, "right")),
        greedy=_column(rows, "greedy_right"),
        length=_column(rows, "mean_length"),
        truncated=_column(rows, "truncated"),
        # a record that does not say how many were drawn: as many as were judged
        samples=tries if samples is None else np.full(tries.shape, samples),
        entropy=_number(level.get("entropy")),
    )


def _column(problems: Sequence[Record], name: str) -> Values:
    found = [problem.get(name) for problem in problems]
    return np.array([math.nan if value is None else float(value) for value in found], np.float64)


def _number(value: Any) -> float | None:
    if not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)


def pooled(tallies: Sequence[Tally]) -> Tally:
    """All problems of all levels; every problem has the same weight."""

    def joined(name: str) -> Values:
        return np.concatenate([np.zeros(0), *(getattr(tally, name) for tally in tallies)])

    weights = [tally.tries.size for tally in tallies if tally.entropy is not None]
    known = [tally.entropy for tally in tallies if tally.entropy is not None]
    entropy = float(np.average(known, weights=weights)) if sum(weights) else None
    names = ("tries", "right", "greedy", "length", "truncated", "samples")
    return Tally(**{name: joined(name) for name in names}, entropy=entropy)


def side_of(tally: Tally, kept: NDArray[np.bool_] | None = None) -> Side:
    """Rates of a tally. kept: the problems whose greedy answer counts; all that have one."""
    known = ~np.isnan(tally.greedy) if kept is None else kept
    ones = np.ones(int(known.sum()))
    return Side(
        sampled=clustered_rate(tally.right, tally.tries),
        greedy=clustered_rate(tally.greedy[known], ones) if ones.size else None,
        length=_per_sample(tally.length * tally.samples, tally.samples),
        truncated=_per_sample(tally.truncated, tally.samples),
        entropy=tally.entropy,
    )


def _per_sample(totals: Values, samples: Values) -> float | None:
    """A total over the answers that were drawn, of the problems where it is known."""
    known = ~np.isnan(totals) & (samples > 0)
    return float(totals[known].sum() / samples[known].sum()) if known.any() else None


def finite(value: Any) -> Any:
    """The value with every number that JSON cannot hold replaced by None."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): finite(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [finite(item) for item in value]
    return value


def _result(group: Group, greedy: Group | None) -> ProblemResult:
    lengths = [rollout.ids.size for rollout in group.rollouts]
    statuses = [verdict.status for verdict in group.verdicts]
    judged = greedy is not None and greedy.verdicts[0].is_judged
    return ProblemResult(
        key=group.problem.key,
        tries=int(group.judged.sum()),
        right=group.right,
        greedy_right=greedy.right == 1 if greedy is not None and judged else None,
        truncated=sum(rollout.is_truncated for rollout in group.rollouts),
        no_answer=statuses.count(Status.NO_ANSWER),
        mean_length=float(np.mean(lengths)),
    )


def _entropy(rollouts: Sequence[Rollout]) -> float:
    drawn = np.concatenate([rollout.logprobs for rollout in rollouts])
    return float(-drawn.mean()) if drawn.size else 0.0


def _first_note(groups: Sequence[Group | None]) -> str:
    """What was said of the first answer that could not be judged, on one line."""
    verdicts = [verdict for group in groups if group for verdict in group.verdicts]
    unjudged = [verdict for verdict in verdicts if not verdict.is_judged]
    return " ".join((unjudged[0].note or str(unjudged[0].status)).split()) if unjudged else ""


def answer_all(
    problems: Sequence[Problem],
    sampler: Sampler,
    judge: Judge,
    samples: int,
    limits: Limits,
    seed: int,
) -> list[Group]:
    """Judged answers to each problem: sampling without learning."""
    prompts = [problem.prompt for problem in problems]
    with begin(judge, problems) as judging:
        rollouts = sampler.sample(prompts, samples, limits, seed, judging.give)
        verdicts = judging.verdicts(rollouts)
    return [Group(*row) for row in zip(problems, rollouts, verdicts, strict=True)]


def evaluate(
    policy: str, sampler: Sampler, judge: Judge, task: Task, settings: EvaluationSettings
) -> Evaluation:
    """Sampled, and greedy if asked, answers to the first held-out problems of every level."""
    wanted = settings.levels or range(len(task.levels))
    chosen = {level: task.held_out(level)[: settings.problems] for level in wanted}
    problems = [problem for held_out in chosen.values() for problem in held_out]
    limits = settings.limits
    groups = answer_all(problems, sampler, judge, settings.samples, limits, settings.seed)
    greedy: list[Group | None] = [None] * len(groups)
    if settings.greedy:
        single = Limits(limits.max_tokens, 0.0, limits.stop_strings)
        greedy = [*answer_all(problems, sampler, judge, 1, single, settings.seed)]
    levels: list[LevelResult] = []
    at = 0
    for number, held_out in chosen.items():
        here = slice(at, at + len(held_out))
        at += len(held_out)
        if not held_out:
            continue
        results = [_result(*pair) for pair in zip(groups[here], greedy[here], strict=True)]
        drawn = [rollout for group in groups[here] for rollout in group.rollouts]
        label = task.levels[number]
        levels.append(LevelResult(number, label, tuple(results), _entropy(drawn)))
    return Evaluation(policy, settings, tuple(levels), _first_note([*groups, *greedy]))

"""What an evaluation found, problem by problem, as values and as plain JSON data."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from evenodds.domain import Limits
from evenodds.evaluation.summary import Summary, summary_of


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

"""What an evaluation found, problem by problem, as values and as plain JSON data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from evenodds.domain import Group, Limits, Verdict
from evenodds.evaluation.summary import Summary, summary_of

Vote = tuple[str, int, bool]
"""An extracted answer, how often it was given, and whether it is right."""


@dataclass(frozen=True)
class EvaluationSettings:
    """samples: answers a problem. problems: held-out problems a level. limits: of one answer.
    levels: those that are measured; None is all.

    Equal settings give equal problems and seeds, whatever the policy. Sampling is the
    evaluation's own: none of it follows from how training samples.
    """

    limits: Limits
    samples: int = 8
    problems: int = 40
    levels: tuple[int, ...] | None = None
    greedy: bool = True
    seed: int = 1234


@dataclass(frozen=True)
class ProblemResult:
    """tries: answers that could be judged, of which `right` were right; lengths in tokens.

    truncated, ended: answers that the budget cut, and that ended by an end token, of all that were
    drawn. source: where the problem comes from; empty where nobody says. votes: what the judged
    answers say, most frequent first: all right ones are one entry, and answers of which nothing
    was extracted are in none. duplicates: answers that nearly repeat an earlier one, as
    `similarity.repeats` has it. strategies: kinds of work among the right answers. entropy: nats a
    token. audit_tries: answers that both the verifier and the audit could judge, of which
    `audit_right` are right by the audit, `disagree` by only one of the two, and `overpaid` by the
    verifier alone; None without audit.
    """

    key: str
    tries: int
    right: int
    greedy_right: bool | None
    truncated: int
    no_answer: int
    mean_length: float
    source: str = ""
    ended: int | None = None
    votes: tuple[Vote, ...] = ()
    duplicates: int | None = None
    strategies: int | None = None
    entropy: float | None = None
    audit_right: int | None = None
    audit_tries: int | None = None
    disagree: int | None = None
    overpaid: int | None = None


@dataclass(frozen=True)
class LevelResult:
    """entropy: nats a token, estimated as the mean of -log p over the sampled tokens."""

    level: int
    label: str
    problems: tuple[ProblemResult, ...]
    entropy: float


@dataclass(frozen=True)
class Canaries:
    """Prompts without a right answer: of `asked` answers `paid` were called right.

    first: the text of the first one that was; empty where none was.
    """

    asked: int
    paid: int
    first: str = ""


@dataclass(frozen=True)
class Answered:
    """Answers of one kind as they were drawn and judged: `sampled` or `greedy`, of the `task`, of
    the `control` task, or to `canaries`.

    audit: [groups][answers] what the audit says of them; None without one.
    """

    of: str
    kind: str
    groups: Sequence[Group]
    audit: Sequence[Sequence[Verdict]] | None = None


@dataclass(frozen=True)
class Evaluation:
    """What a policy could do, problem by problem.

    first_note: what the verifier said of the first answer that could not be judged; empty where
    all could be. control: the same on a task outside of what is learned; control_note: why there
    is none, or how to read it. answers: what was drawn; they are kept beside the record.
    """

    policy: str
    settings: EvaluationSettings
    levels: tuple[LevelResult, ...]
    first_note: str = ""
    task: str = ""
    verifier: str = ""
    control: Evaluation | None = None
    control_note: str = ""
    canaries: Canaries | None = None
    answers: tuple[Answered, ...] = field(default=(), repr=False, compare=False)

    def judged(self) -> int:
        """How many sampled answers could be judged. With none, no rate means anything."""
        return sum(problem.tries for level in self.levels for problem in level.problems)

    def summary(self) -> Summary:
        """Rates with intervals, by level, by source, and over all."""
        return summary_of(self.to_dict())

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON data; the limits are spread into the settings. The answers stay outside."""
        settings = asdict(self.settings)
        limits = settings.pop("limits")
        return {
            "policy": self.policy,
            "task": self.task,
            "verifier": self.verifier,
            "settings": settings | limits,
            "first_note": self.first_note,
            "levels": [asdict(level) for level in self.levels],
            "control": self.control and self.control.to_dict(),
            "control_note": self.control_note,
            "canaries": self.canaries and asdict(self.canaries),
        }

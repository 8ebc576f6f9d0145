"""What a configuration will do, as values: what `evenodds explain` prints, draws or writes as JSON.

`lab.explain` computes them with the code that trains. A number is None where there is none: no end
of a range, or a function of a person's own that gave something that is not finite.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

from evenodds.evaluation import finite

Force = Literal["full", "cut", "capped"]


@dataclass(frozen=True)
class Answer:
    """One answer of the example group.

    score: what the verifier paid, None if it could not judge. reward: with the objective's
    penalties. lengths in tokens. why: the reason for being out of the loss, empty if it is in.
    The weight of a token is the derivative of J by its log-probability, at ratio 1. lowest,
    highest: the range of the answer's weights. total: their sum. share: what the reduction gives
    one of its tokens before its advantage.
    """

    score: float | None
    reward: float | None
    length: int
    is_cut: bool
    advantage: float
    why: str
    lowest: float
    highest: float
    total: float
    share: float


@dataclass(frozen=True)
class Example:
    """A group of answers as the loss sees it. up, down: the sums of its positive and of its
    negative weights, without their sign. tokens, rollouts, max_tokens: what `Extent` counts.
    """

    answers: tuple[Answer, ...]
    up: float
    down: float
    tokens: int
    rollouts: int
    max_tokens: int

    @property
    def absolute(self) -> float:
        """The sum of |weight| over all tokens."""
        return self.up + self.down


@dataclass(frozen=True)
class Span:
    """A range of ratios in which the push is of one kind. low 0, high None: no end there.

    cut: the gradient is exactly 0. capped: the weight of the gradient no longer follows the ratio.
    """

    low: float
    high: float | None
    force: Force


@dataclass(frozen=True)
class Turn:
    """A ratio at which the push changes its sign.

    is_backward_above: against the advantage on its side of higher ratios, else on the other.
    """

    ratio: float
    is_backward_above: bool


@dataclass(frozen=True)
class Curve:
    """The push on a token's log-probability, at an advantage of +1 or -1, by its ratio.

    ratios, pushes: [points], in order, to print. line: (ratio, push), close enough to draw.
    at_one: the push at ratio 1. is_proportional: the push is that times the ratio everywhere.
    turns: where it changes its sign.
    peak, half: the ratio of the strongest push, and that beyond it at which half of it is left;
    None where the push does not fall up to the last ratio looked at (100).
    """

    advantage: float
    ratios: tuple[float, ...]
    pushes: tuple[float | None, ...]
    line: tuple[tuple[float, float | None], ...]
    spans: tuple[Span, ...]
    at_one: float | None
    is_proportional: bool
    peak: float | None
    half: float | None
    turns: tuple[Turn, ...] = ()

    @property
    def edges(self) -> list[float]:
        """The ratios at which the kind of push changes."""
        return [span.low for span in self.spans[1:]]

    @property
    def is_backward(self) -> bool:
        """Whether a token is pushed the other way than its advantage says, at ratio 1."""
        return self.at_one is not None and self.at_one * self.advantage < 0


@dataclass(frozen=True)
class Odds:
    """What to expect of a step whose problems all have the solve rate p.

    informative: the chance that the answers of a group differ. draws: groups for one such group.
    useful, drawn, rounds: of a step, refilling included; expected values.
    mean_advantage: E|A| over all answers, None where advantages depend on other groups.
    """

    p: float
    informative: float
    draws: float | None
    useful: float
    drawn: float
    rounds: float
    mean_advantage: float | None


@dataclass(frozen=True)
class Table:
    """A small table: what is looked at, the names of its columns, and rows of numbers."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[float | None, ...], ...]


@dataclass(frozen=True)
class Explanation:
    """All of it. formula: lines of plain text. groups × group_size answers a step.

    since: what a ratio compares with, as in `twice as likely as when drawn`.
    counted: what `odds` counts as informative, and what it does not count.
    lone: A of the only right answer of a group, and of each other; None where it depends on others.
    """

    recipe: str
    axes: str
    formula: tuple[str, ...]
    example: Example
    up: Curve
    down: Curve
    is_by_sequence: bool
    since: str
    better: str
    worse: str
    odds: tuple[Odds, ...]
    counted: tuple[str, ...]
    lone: tuple[float, float] | None
    groups: int
    group_size: int
    rounds: int
    zero_signal: str
    target: float | None
    tables: tuple[Table, ...]
    remarks: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """The same as plain data that is valid JSON: None stands for what is not finite."""
        return finite(asdict(self))

"""The values that every other room speaks in: problems, rollouts, verdicts, groups.

Everything here is frozen and free of torch. Arrays are numpy until a batch is made of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

from evenodds.errors import UsageError


class Message(TypedDict):
    """One turn of a conversation, as chat templates read it."""

    role: str
    content: str


Prompt = str | tuple[Message, ...]
PLAIN = (str, int, float, bool, bytes, type(None))
"""Values of columns that nobody can change, and of which `repr` says all."""


def as_text(prompt: Prompt) -> str:
    """A prompt as one text; the messages of a conversation on lines of their own."""
    if isinstance(prompt, str):
        return prompt
    return "\n".join(message["content"] for message in prompt)


class Stop(StrEnum):
    """Why a completion ended."""

    END_TOKEN = "end_token"
    STOP_STRING = "stop_string"
    BUDGET = "budget"


class Status(StrEnum):
    """What a verifier found. The last three mean that the answer could not be judged at all."""

    RIGHT = "right"
    WRONG = "wrong"
    NO_ANSWER = "no_answer"
    SEVERAL_ANSWERS = "several_answers"
    TRUNCATED = "truncated"
    GOLD_UNREADABLE = "gold_unreadable"
    TIMEOUT = "timeout"
    ERROR = "error"


PROMPT_TAIL = 64
"""Characters at the end of a prompt that a verifier may see."""

SAME_REWARD = 1e-6
"""Rewards with a smaller spread are equal but for noise: (.5, .5, .5, .5 + 1e-7)."""

NOT_JUDGED = frozenset({Status.GOLD_UNREADABLE, Status.TIMEOUT, Status.ERROR})


@dataclass(frozen=True)
class Problem:
    """A question with a known answer. `key` is unique and stable: a·b and b·a share one.

    columns: the other columns of its row of data, for reward functions that name them.
    """

    key: str
    prompt: Prompt
    answer: str
    task: str
    level: int = 0
    columns: Mapping[str, object] = field(default_factory=dict[str, object], hash=False)


@dataclass(frozen=True)
class Completion:
    """What a verifier may see of a rollout.

    text: the completion, without its end token.
    stop: why it ended; a completion cut by the budget is not a finished answer.
    prompt_tail: the last characters of the prompt, for a chat template may have opened `<think>`.
    """

    text: str
    stop: Stop = Stop.END_TOKEN
    prompt_tail: str = ""


@dataclass(frozen=True)
class Verdict:
    """The judgement of one completion.

    score: the reward; parts: its summands by name. extracted: the answer that was found. note: how
    it was found and compared, or why it is not paid. seconds: the time that judging took.
    """

    score: float
    status: Status
    extracted: str | None = None
    note: str = ""
    parts: Mapping[str, float] = field(default_factory=dict)
    seconds: float = field(default=0.0, compare=False)

    @property
    def is_judged(self) -> bool:
        return self.status not in NOT_JUDGED


@dataclass(frozen=True)
class Limits:
    """How completions are drawn: the distribution, and where they end.

    max_tokens: the budget of one completion; it is L in Dr. GRPO's reduction.
    temperature: 1 samples from the policy as it is; 0 is greedy.
    stop_strings: a completion ends after the first of these; it is cut from the text, not the ids.
    """

    max_tokens: int
    temperature: float = 1.0
    stop_strings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Rollout:
    """One completion with all that is needed to recompute its loss.

    logprobs [len(ids)]: natural log-probabilities under the distribution that was really sampled
    from (after temperature). The end token is among `ids` when it was sampled. `ids` are what the
    sampler drew; they are never encoded again from `text`. reference_logprobs: of the policy that
    training started from, at the same temperature, where a KL is wanted.
    """

    prompt_ids: NDArray[np.int64]
    ids: NDArray[np.int64]
    logprobs: NDArray[np.float32]
    stop: Stop
    text: str
    version: int = 0
    seed: int = 0
    limits: Limits = Limits(max_tokens=0)
    prompt_tail: str = ""
    reference_logprobs: NDArray[np.float32] | None = None

    @property
    def is_truncated(self) -> bool:
        return self.stop is Stop.BUDGET

    @property
    def completion(self) -> Completion:
        return Completion(self.text, self.stop, self.prompt_tail)


@dataclass(frozen=True)
class Group:
    """All answers to one problem, with their verdicts."""

    problem: Problem
    rollouts: Sequence[Rollout]
    verdicts: Sequence[Verdict]

    def __post_init__(self) -> None:
        if len(self.rollouts) != len(self.verdicts):
            raise ValueError(
                f"{self.problem.key}: {len(self.rollouts)} rollouts, {len(self.verdicts)} verdicts"
            )

    @cached_property
    def judged(self) -> NDArray[np.bool_]:
        """[G] False where the answer could not be judged; such answers leave mean and loss."""
        return np.array([verdict.is_judged for verdict in self.verdicts], dtype=bool)

    @cached_property
    def rewards(self) -> NDArray[np.float64]:
        """[number judged] the scores that count."""
        return np.array([v.score for v in self.verdicts if v.is_judged], dtype=np.float64)

    @property
    def right(self) -> int:
        return sum(verdict.status is Status.RIGHT for verdict in self.verdicts)

    @property
    def is_informative(self) -> bool:
        """Whether the rewards differ: a group that agrees has no gradient."""
        return differ(self.rewards)


@dataclass(frozen=True)
class Extent:
    """The denominators of one optimizer step: all micro-batches and ranks, only what is kept.

    tokens: answer tokens in the loss; rollouts: answers that count in the mean over answers;
    max_tokens: the budget of a completion. Nothing else may be a denominator.
    """

    tokens: int
    rollouts: int
    max_tokens: int


def differ(rewards: NDArray[np.float64]) -> bool:
    """Whether rewards [G] differ by more than noise; a single one, or none, has no other."""
    return rewards.size > 1 and float(np.ptp(rewards)) >= SAME_REWARD


EVALUATION_SEEDS = 2**18
"""Seeds of sampling below this are those of evaluations; no training step samples from one."""
SEEDS_OF_A_PART = 2**16


def evaluation_seed(seed: int, part: int = 0) -> int:
    """The seed that one part of an evaluation samples from: its task, its control task, canaries.

    seed: of the evaluation. Raises `UsageError` for one that would leave its part.
    """
    if not 0 <= seed < SEEDS_OF_A_PART:
        raise UsageError(
            f"an evaluation has seeds of its own. Got {seed}. Give 0 to {SEEDS_OF_A_PART - 1}."
        )
    return seed + part * SEEDS_OF_A_PART


def training_seed(drawn: int) -> int:
    """What was drawn for a training step, in [0, 2^32), moved out of the seeds of evaluations.

    So no rollout of an evaluation has the seed of one that was trained on: the three numbers of
    `rollout_seed` differ in the first.
    """
    return drawn if drawn >= EVALUATION_SEEDS else drawn + EVALUATION_SEEDS


def rollout_seed(seed: int, prompt: int, answer: int) -> int:
    """A seed of its own for each rollout, so that what shares a batch changes no draw."""
    return int(np.random.SeedSequence([seed, prompt, answer]).generate_state(1, np.uint64)[0] >> 1)

"""Groups become a batch: advantages are given, denominators are counted once, rows are laid out.

A `Batch` is ragged and numpy. `lay_out` cuts it into micro-batches of tensors, in one of two
layouts that give the same gradients: *padded* rows, sorted by length, for any model; or *packed*,
all tokens in one line, in which a prompt stands once for all answers of its group.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor

from evenodds.credit import whitened
from evenodds.domain import Extent, Group, Limits, Rollout
from evenodds.objectives import Objective, Tokens

Logprobs = NDArray[np.floating]


@dataclass(frozen=True)
class Answer:
    """One answer in the loss. `index` is its place among all rollouts given to `collate`.

    logprobs, all [len(ids)]: old of the sampler, reference of the policy that training started
    from, first of the learner before it first updates on this batch; None where nobody asked yet.
    """

    index: int
    ids: NDArray[np.int64]
    old_logprobs: Logprobs
    advantage: float
    reference_logprobs: Logprobs | None = None
    first_logprobs: Logprobs | None = None


@dataclass(frozen=True)
class PromptAnswers:
    """The answers to one prompt."""

    prompt_ids: NDArray[np.int64]
    answers: tuple[Answer, ...]


@dataclass(frozen=True)
class Batch:
    """All that one optimizer step learns from. `temperature` is what the answers were drawn at."""

    prompts: tuple[PromptAnswers, ...]
    extent: Extent
    temperature: float = 1.0

    @property
    def answers(self) -> list[Answer]:
        return [answer for prompt in self.prompts for answer in prompt.answers]

    def with_first(self, logprobs: Mapping[int, Logprobs]) -> Batch:
        """The batch with the learner's first log-probabilities of each answer, by its index."""
        prompts = tuple(
            replace(
                prompt,
                answers=tuple(
                    replace(answer, first_logprobs=logprobs[answer.index])
                    for answer in prompt.answers
                ),
            )
            for prompt in self.prompts
        )
        return replace(self, prompts=prompts)


def advantages(groups: Sequence[Group], objective: Objective) -> list[NDArray[np.float64]]:
    """[groups][G] the advantage of each rollout; 0 for those that could not be judged.

    Whitening is over the tokens of the answers that are in the loss. Those of a group with a reward
    that is not finite are NaN, and so no update is made of them.
    """
    result = [np.zeros(len(group.rollouts)) for group in groups]
    for group, credit in zip(groups, result, strict=True):
        if group.judged.any():
            credit[group.judged] = _credited(group, objective)
    if not objective.whiten:
        return result
    tokens = [
        np.array([r.ids.size if _in_loss(r, j, objective) else 0 for r, j in _rows(group)])
        for group in groups
    ]
    judged = np.concatenate([group.judged for group in groups])
    values, weights = np.concatenate(result), np.concatenate(tokens)
    judged &= np.isfinite(values)  # else all were NaN, and nobody could say where it came from
    values[judged] = whitened(values[judged], weights[judged].astype(np.float64))
    return np.split(values, np.cumsum([len(credit) for credit in result])[:-1])


def _rows(group: Group) -> Iterator[tuple[Rollout, bool]]:
    return zip(group.rollouts, group.judged.tolist(), strict=True)


def _credited(group: Group, objective: Objective) -> NDArray[np.float64]:
    """A reward that is no number would make its group seem to agree, so it is never compared."""
    if not np.isfinite(group.rewards).all():
        return np.full(group.rewards.shape, np.nan)
    with np.errstate(all="ignore"):  # what overflows ends no run: the learner skips the update
        return objective.credit(group.rewards)


def _in_loss(rollout: Rollout, judged: bool, objective: Objective) -> bool:
    return (
        judged and rollout.ids.size > 0 and not (objective.mask_truncated and rollout.is_truncated)
    )


def collate(groups: Sequence[Group], objective: Objective) -> Batch:
    """The groups as a batch for `objective`. Rollouts of one group share one prompt.

    A group whose advantages are all 0 leaves it, denominators included, unless `zero_signal` is
    keep. Rewards must have their penalties already (`objectives.shaped`).
    """
    prompts: list[PromptAnswers] = []
    index = 0
    for group, credit in zip(groups, advantages(groups, objective), strict=True):
        rows = [
            Answer(
                index + place,
                rollout.ids,
                rollout.logprobs,
                float(credit[place]),
                rollout.reference_logprobs,
            )
            for place, (rollout, judged) in enumerate(_rows(group))
            if _in_loss(rollout, judged, objective)
        ]
        index += len(group.rollouts)
        if rows and (credit.any() or objective.zero_signal == "keep"):
            prompts.append(PromptAnswers(group.rollouts[0].prompt_ids, tuple(rows)))
    if not _has_gradient(prompts, objective):
        prompts = []
    limits = groups[0].rollouts[0].limits if groups else Limits(max_tokens=0)
    answers = [answer for prompt in prompts for answer in prompt.answers]
    extent = Extent(
        tokens=sum(answer.ids.size for answer in answers),
        rollouts=len(answers),
        max_tokens=limits.max_tokens,
    )
    return Batch(tuple(prompts), extent, limits.temperature)


def _has_gradient(prompts: Sequence[PromptAnswers], objective: Objective) -> bool:
    """Whether anything would move: an optimizer's momentum moves also where the gradient is 0."""
    return objective.has_penalty or any(
        answer.advantage != 0 for prompt in prompts for answer in prompt.answers
    )


@dataclass(frozen=True)
class Padded:
    """r rows of s tokens, each a prompt with one answer, padded on the right.

    row, column: where the token stands after which each of n answer tokens was drawn.
    """

    input_ids: Int[Tensor, "r s"]
    row: Int[Tensor, " n"]
    column: Int[Tensor, " n"]


@dataclass(frozen=True)
class Packed:
    """t tokens in one line without padding: first the prompts, then the answers, longest first.

    positions: of each token in its own sequence, an answer's counted on from its prompt.
    at: where the token stands after which each of n answer tokens was drawn.
    prompts, answers: how many tokens each has. prompt_of: the number of each answer's prompt.
    """

    input_ids: Int[Tensor, " t"]
    positions: Int[Tensor, " t"]
    at: Int[Tensor, " n"]
    prompts: NDArray[np.int64]
    answers: NDArray[np.int64]
    prompt_of: NDArray[np.int64]


Cells = Padded | Packed
"""Where the tokens of a micro-batch stand."""


@dataclass(frozen=True)
class MicroBatch:
    """Tensors for one forward pass that asks for n answer tokens of a answers.

    index: for each answer here, its place among all rollouts given to `collate`.
    """

    cells: Cells
    targets: Int[Tensor, " n"]
    old_logprobs: Float[Tensor, " n"]
    advantages: Float[Tensor, " n"]
    rollout: Int[Tensor, " n"]
    lengths: Int[Tensor, " a"]
    index: tuple[int, ...]
    reference_logprobs: Float[Tensor, " n"] | None = None
    first_logprobs: Float[Tensor, " n"] | None = None

    def tokens(
        self, logprobs: Float[Tensor, " n"], entropy: Float[Tensor, " n"] | None = None
    ) -> Tokens:
        """What an objective sees. In the first pass the learner's own are its first ones."""
        first = logprobs.detach() if self.first_logprobs is None else self.first_logprobs
        return Tokens(
            logprobs,
            self.old_logprobs,
            self.advantages,
            self.rollout,
            self.lengths,
            first,
            self.reference_logprobs,
            entropy,
        )


def _tensor(device: torch.device, array: NDArray[np.generic]) -> Tensor:
    return torch.from_numpy(array).to(device, non_blocking=True)


def _known(device: torch.device, values: Sequence[Logprobs | None]) -> Tensor | None:
    """The values of all answers; None where any is missing."""
    found = [value for value in values if value is not None]
    return _tensor(device, np.concatenate(found)) if len(found) == len(values) else None


def _micro(cells: Cells, answers: Sequence[Answer], device: torch.device) -> MicroBatch:
    lengths = np.array([answer.ids.size for answer in answers])
    old = np.concatenate([answer.old_logprobs for answer in answers])
    credit = np.repeat([answer.advantage for answer in answers], lengths).astype(old.dtype)
    tensor = partial(_tensor, device)
    return MicroBatch(
        cells=cells,
        targets=tensor(np.concatenate([answer.ids for answer in answers])),
        old_logprobs=tensor(old),
        advantages=tensor(credit),
        rollout=tensor(np.repeat(np.arange(len(answers)), lengths)),
        lengths=tensor(lengths),
        index=tuple(answer.index for answer in answers),
        reference_logprobs=_known(device, [answer.reference_logprobs for answer in answers]),
        first_logprobs=_known(device, [answer.first_logprobs for answer in answers]),
    )


def _ranges(starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """start, start + 1, ... for each start, as many as its length, one behind the other."""
    first = np.repeat(starts - lengths.cumsum() + lengths, lengths)
    return first + np.arange(lengths.sum())


def _row_length(prompt: PromptAnswers) -> int:
    return prompt.prompt_ids.size + prompt.answers[0].ids.size


def _single(batch: Batch, budget: int) -> Iterator[list[PromptAnswers]]:
    """Answers with a prompt each, longest first, whose padded rows stay within the budget."""
    run: list[PromptAnswers] = []
    rows = [replace(p, answers=(answer,)) for p in batch.prompts for answer in p.answers]
    for row in sorted(rows, key=_row_length, reverse=True):
        if run and _row_length(run[0]) * (len(run) + 1) > budget:
            yield run
            run = []
        run.append(row)
    if run:
        yield run


def _padded(rows: Sequence[PromptAnswers], pad_id: int, device: torch.device) -> MicroBatch:
    starts = np.array([row.prompt_ids.size for row in rows])
    answers = [row.answers[0] for row in rows]
    lengths = np.array([answer.ids.size for answer in answers])
    ids = np.full((len(rows), (starts + lengths).max()), pad_id, dtype=np.int64)
    for cells, row, answer in zip(ids, rows, answers, strict=True):
        sequence = np.concatenate([row.prompt_ids, answer.ids])
        cells[: sequence.size] = sequence
    row = np.repeat(np.arange(len(rows)), lengths)
    tensor = partial(_tensor, device)
    cells = Padded(tensor(ids), tensor(row), tensor(_ranges(starts - 1, lengths)))
    return _micro(cells, answers, device)


def _pieces(prompt: PromptAnswers, budget: int) -> Iterator[PromptAnswers]:
    """The prompt with as many of its answers each as fit the budget, at least one."""
    run: list[Answer] = []
    size = prompt.prompt_ids.size
    for answer in sorted(prompt.answers, key=lambda answer: -answer.ids.size):
        if run and size + answer.ids.size > budget:
            yield PromptAnswers(prompt.prompt_ids, tuple(run))
            run, size = [], prompt.prompt_ids.size
        run.append(answer)
        size += answer.ids.size
    yield PromptAnswers(prompt.prompt_ids, tuple(run))


def _tokens_of(prompt: PromptAnswers) -> int:
    return prompt.prompt_ids.size + sum(answer.ids.size for answer in prompt.answers)


def _grouped(batch: Batch, budget: int) -> Iterator[list[PromptAnswers]]:
    """Prompts with their answers, about as many tokens at a time, and never above the budget."""
    pieces = [piece for prompt in batch.prompts for piece in _pieces(prompt, budget)]
    total = sum(map(_tokens_of, pieces))
    even = total / max(1, math.ceil(total / budget))
    run: list[PromptAnswers] = []
    size = 0
    for piece in pieces:
        tokens = _tokens_of(piece)
        if run and (size + tokens > budget or size >= even):
            yield run
            run, size = [], 0
        run.append(piece)
        size += tokens
    if run:
        yield run


def _packed(groups: Sequence[PromptAnswers], device: torch.device) -> MicroBatch:
    pairs = [(number, answer) for number, group in enumerate(groups) for answer in group.answers]
    pairs.sort(key=lambda pair: -pair[1].ids.size)
    answers = [answer for _, answer in pairs]
    prompt_of = np.array([number for number, _ in pairs])
    prompts = np.array([group.prompt_ids.size for group in groups])
    lengths = np.array([answer.ids.size for answer in answers])
    starts = prompts.sum() + lengths.cumsum() - lengths
    at = _ranges(starts - 1, lengths)
    at[lengths.cumsum() - lengths] = prompts.cumsum()[prompt_of] - 1
    ids = [*(group.prompt_ids for group in groups), *(answer.ids for answer in answers)]
    positions = _ranges(np.append(0 * prompts, prompts[prompt_of]), np.append(prompts, lengths))
    tensor = partial(_tensor, device)
    cells = Packed(
        tensor(np.concatenate(ids)), tensor(positions), tensor(at), prompts, lengths, prompt_of
    )
    return _micro(cells, answers, device)


def lay_out(
    batch: Batch, budget: int, *, pad_id: int, device: torch.device, can_share: bool
) -> Iterator[MicroBatch]:
    """Micro-batches of at most `budget` tokens each, or one answer where it alone is longer.

    can_share: packed, for a model that lets answers see a prompt that stands once; else padded,
    where padding counts as tokens.
    """
    if can_share:
        for groups in _grouped(batch, budget):
            yield _packed(groups, device)
    else:
        for rows in _single(batch, budget):
            yield _padded(rows, pad_id, device)

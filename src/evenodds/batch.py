"""Groups become a batch: advantages are given, denominators are counted once, rows are laid out.

A `Batch` is ragged and numpy. `lay_out` cuts it into micro-batches of tensors, in one of two
layouts that give the same gradients: *padded* rows, sorted by length, or one row for each group in
which the prompt stands once and every answer sees the prompt and itself (*shared*).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy.typing import NDArray
from torch import Tensor

from evenodds.credit import whitened
from evenodds.domain import Extent, Group, Limits, Rollout
from evenodds.errors import RunError
from evenodds.objectives import Objective, Tokens

Logprobs = NDArray[np.floating]

SHARE_IF_CHEAPER_BY = 1.5  # a shared row pays for its wide mask; below this gain padding is faster


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

    Whitening is over the tokens of the answers that are in the loss.
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
    values[judged] = whitened(values[judged], weights[judged].astype(np.float64))
    return np.split(values, np.cumsum([len(credit) for credit in result])[:-1])


def _rows(group: Group) -> Iterator[tuple[Rollout, bool]]:
    return zip(group.rollouts, group.judged.tolist(), strict=True)


def _credited(group: Group, objective: Objective) -> NDArray[np.float64]:
    with np.errstate(all="ignore"):  # what overflows is said below, in one line
        credit = objective.credit(group.rewards)
    if not np.isfinite(credit).all():
        raise RunError(
            f"the advantages of {group.problem.key!r} are not finite, for the rewards "
            f"{group.rewards.tolist()!r:.80}. Mend objective.credit, or the verifier's scores."
        )
    return credit


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
class MicroBatch:
    """Tensors for one forward pass: r rows of s tokens that hold n answer tokens.

    mask: None where plain causal attention over right-padded rows is right, otherwise
        [r, 1, s, s], True where a query may look.
    row, column: where in the rows the hidden state stands that predicts each answer token.
    index: for each answer here, its place among all rollouts given to `collate`.
    """

    input_ids: Int[Tensor, "r s"]
    positions: Int[Tensor, "r s"]
    mask: Bool[Tensor, "r 1 s s"] | None
    row: Int[Tensor, " n"]
    column: Int[Tensor, " n"]
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


@dataclass(frozen=True)
class _Row:
    """One row of a micro-batch: a prompt and the answers that follow it."""

    prompt_ids: NDArray[np.int64]
    answers: tuple[Answer, ...]

    @property
    def length(self) -> int:
        return self.prompt_ids.size + sum(answer.ids.size for answer in self.answers)


def _cut(rows: Sequence[_Row], budget: int) -> Iterator[list[_Row]]:
    """Rows, longest first, in runs whose padded size stays within `budget` tokens."""
    run: list[_Row] = []
    for row in sorted(rows, key=lambda row: -row.length):
        width = run[0].length if run else row.length
        if run and width * (len(run) + 1) > budget:
            yield run
            run = []
        run.append(row)
    if run:
        yield run


def _shared(prompt: PromptAnswers, budget: int) -> Iterator[_Row]:
    """Rows of one prompt with as many of its answers each as fit the budget, at least one."""
    run: list[Answer] = []
    for answer in sorted(prompt.answers, key=lambda answer: -answer.ids.size):
        row = _Row(prompt.prompt_ids, (*run, answer))
        if run and row.length > budget:
            yield _Row(prompt.prompt_ids, tuple(run))
            run = []
        run.append(answer)
    yield _Row(prompt.prompt_ids, tuple(run))


def _laid(batch: Batch, can_share: bool, budget: int) -> list[_Row]:
    shared = [row for prompt in batch.prompts for row in _shared(prompt, budget)]
    padded = [
        _Row(prompt.prompt_ids, (answer,)) for prompt in batch.prompts for answer in prompt.answers
    ]
    saved = sum(row.length for row in padded) / max(1, sum(row.length for row in shared))
    return shared if can_share and saved > SHARE_IF_CHEAPER_BY else padded


def _fill(rows: Sequence[_Row], width: int, pad_id: int) -> tuple[NDArray[np.int64], ...]:
    """ids, positions and block number of every cell; block 0 is the prompt, -1 is padding."""
    ids = np.full((len(rows), width), pad_id, dtype=np.int64)
    positions = np.empty_like(ids)
    blocks = np.full_like(ids, -1)
    for r, row in enumerate(rows):
        start = row.prompt_ids.size
        ids[r, :start], blocks[r, :start] = row.prompt_ids, 0
        positions[r] = np.arange(width)  # padding counts on: a fresh 0 would mean a new sequence
        at = start
        for number, answer in enumerate(row.answers, start=1):
            end = at + answer.ids.size
            ids[r, at:end], blocks[r, at:end] = answer.ids, number
            positions[r, at:end] = start + np.arange(answer.ids.size)
            at = end
    return ids, positions, blocks


def _sources(rows: Sequence[_Row]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Row and column of the hidden state that predicts each answer token.

    The first token of every answer is predicted by the prompt's last cell.
    """
    row_of: list[NDArray[np.int64]] = []
    column_of: list[NDArray[np.int64]] = []
    for r, row in enumerate(rows):
        at = row.prompt_ids.size
        for answer in row.answers:
            columns = np.arange(at - 1, at - 1 + answer.ids.size)
            columns[0] = row.prompt_ids.size - 1
            row_of.append(np.full(answer.ids.size, r))
            column_of.append(columns)
            at += answer.ids.size
    return np.concatenate(row_of), np.concatenate(column_of)


def _mask(blocks: NDArray[np.int64]) -> Bool[Tensor, "r 1 s s"]:
    """A cell sees itself, earlier cells of its own block, and the prompt."""
    block = torch.from_numpy(blocks)
    causal = torch.ones(block.shape[1], block.shape[1], dtype=torch.bool).tril()
    same = block[:, :, None] == block[:, None, :]
    prompt = (block == 0)[:, None, :].expand_as(same)
    return (causal & (same | prompt))[:, None]


def _tensor(device: torch.device, array: NDArray[np.generic]) -> Tensor:
    return torch.from_numpy(array).to(device)


def _known(device: torch.device, values: Sequence[Logprobs | None]) -> Tensor | None:
    """The values of all answers; None where any is missing."""
    found = [value for value in values if value is not None]
    return _tensor(device, np.concatenate(found)) if len(found) == len(values) else None


def _micro(rows: list[_Row], pad_id: int, device: torch.device) -> MicroBatch:
    ids, positions, blocks = _fill(rows, max(row.length for row in rows), pad_id)
    answers = [answer for row in rows for answer in row.answers]
    lengths = np.array([answer.ids.size for answer in answers])
    row, column = _sources(rows)
    shared = any(len(row.answers) > 1 for row in rows)
    old = np.concatenate([answer.old_logprobs for answer in answers])
    credit = np.repeat([answer.advantage for answer in answers], lengths).astype(old.dtype)
    tensor = partial(_tensor, device)
    return MicroBatch(
        input_ids=tensor(ids),
        positions=tensor(positions),
        mask=_mask(blocks).to(device) if shared else None,
        row=tensor(row),
        column=tensor(column),
        targets=tensor(np.concatenate([answer.ids for answer in answers])),
        old_logprobs=tensor(old),
        advantages=tensor(credit),
        rollout=tensor(np.repeat(np.arange(len(answers)), lengths)),
        lengths=tensor(lengths),
        index=tuple(answer.index for answer in answers),
        reference_logprobs=_known(device, [answer.reference_logprobs for answer in answers]),
        first_logprobs=_known(device, [answer.first_logprobs for answer in answers]),
    )


def lay_out(
    batch: Batch, budget: int, *, pad_id: int, device: torch.device, can_share: bool
) -> Iterator[MicroBatch]:
    """Micro-batches of at most `budget` cells each, or one row where a row alone is larger."""
    for rows in _cut(_laid(batch, can_share, budget), budget):
        yield _micro(rows, pad_id, device)

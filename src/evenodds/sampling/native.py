"""The engine in this process: decodes on the learner's own weights with a KV cache.

One prefill a prompt is shared by its group; rows leave when they finish and waiting prompts take
their place. Each rollout has its own seed, so what shares a batch does not change a draw.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from evenodds.domain import Limits, Prompt, Rollout, Stop, rollout_seed
from evenodds.errors import RunError
from evenodds.policies import Codec, Policy
from evenodds.sampling import Finished, Progress
from evenodds.sampling.fused import FusedDecoder
from evenodds.sampling.modules import ModuleDecoder
from evenodds.sampling.transfer import Arrival, sent

PREFILL = 8192  # tokens of prompts that are run at once, padding included
FIRST = 2.0**-25  # the middle of what `random` rounds to 0, where the first token would be drawn
LEAST = 2.0**-125  # of the mass before a token: one whose share would be rounded to 0 is not drawn
BLOCK = 256  # softmax mass is summed in blocks of this many tokens; only one block is searched


def _search(mass: Float[Tensor, "b k"], point: Float[Tensor, "b 1"]) -> Int[Tensor, "b 1"]:
    """First index whose running sum exceeds `point`; never one without mass."""
    running = mass.cumsum(-1)
    index = (running <= point).sum(-1, keepdim=True)
    return torch.minimum(index, (running < running[:, -1:]).sum(-1, keepdim=True))


def draw(
    logits: Float[Tensor, "b v"], uniforms: Float[Tensor, " b"], temperature: float
) -> tuple[Int[Tensor, " b"], Float[Tensor, " b"]]:
    """Tokens and their log-probabilities under softmax(logits / temperature).

    uniforms: one number in (0, 1) a row; it alone decides the draw, by inverse CDF. Temperature 0
    takes the most likely token, whose log-probability under that one-point distribution is 0.
    Log-probabilities of logits that are not finite are NaN.
    """
    if temperature == 0:
        most, token = logits.float().max(-1)
        return token, most - most  # 0, or NaN
    mass = (logits - logits.amax(-1, keepdim=True).float()).div_(temperature).exp_()
    rows, vocabulary = mass.shape
    uniforms = uniforms[:, None]
    if vocabulary <= 2 * BLOCK:
        total = mass.sum(-1, keepdim=True)
        token = _search(mass, uniforms * total)
        return token[:, 0], (mass.gather(-1, token) / total).log_()[:, 0]
    mass = functional.pad(mass, (0, -vocabulary % BLOCK)).view(rows, -1, BLOCK)
    sums = mass.sum(-1)
    total = sums.sum(-1, keepdim=True)
    point = uniforms * total
    block = _search(sums, point)
    before = functional.pad(sums.cumsum(-1), (1, 0)).gather(-1, block)
    here = mass[torch.arange(rows, device=mass.device), block[:, 0]]
    inside = _search(here, (point - before).clamp_(min=LEAST))
    return (block * BLOCK + inside)[:, 0], (here.gather(-1, inside) / total).log_()[:, 0]


class Decoder(Protocol):
    """Rows that grow by a token a step. New rows stand behind the present ones.

    start: forget all rows; none will hold more than `columns` tokens that count. takes_more:
    whether rows can be added to those there are. admit: run each prompt once and give it `copies`
    rows; the logits behind each prompt. step: append a token to each row; the logits behind it.
    drop: forget rows; for each that is left, which one it was. patience: share of finished rows
    that are decoded for nothing before they are dropped, where dropping is not free.
    """

    patience: float

    @property
    def takes_more(self) -> bool: ...
    def refresh(self) -> None: ...
    def start(self, columns: int) -> None: ...
    def admit(self, prompts: Sequence[NDArray[np.int64]], copies: int) -> Float[Tensor, "p v"]: ...
    def step(self, tokens: Int[Tensor, " b"]) -> Float[Tensor, "b v"]: ...
    def drop(self, rows: NDArray[np.int64]) -> NDArray[np.int64]: ...


class Pages:
    """What has been drawn so far: one line for each rollout, and when it is finished."""

    def __init__(self, seeds: Sequence[int], limits: Limits, codec: Codec, vocabulary: int) -> None:
        size = (len(seeds), limits.max_tokens)
        self.limits, self.codec = limits, codec
        self.uniforms = np.zeros(size, dtype=np.float32)
        for row, seed in zip(self.uniforms, seeds, strict=True):
            np.random.default_rng(seed).random(out=row, dtype=np.float32)
        self.uniforms.clip(FIRST, out=self.uniforms)
        self.ids = np.zeros(size, dtype=np.int64)
        self.logprobs = np.zeros(size, dtype=np.float32)
        self.lengths = np.zeros(len(seeds), dtype=np.int64)
        self.stops: list[Stop | None] = [None] * len(seeds)
        self.over = np.zeros(len(seeds), dtype=bool)
        self.is_stop = np.zeros(vocabulary, dtype=bool)
        self.is_stop[[i for i in codec.stop_ids if i < vocabulary]] = True
        strings = limits.stop_strings
        self.may_end = codec.may_end(strings, vocabulary) if strings else None

    @property
    def finished(self) -> int:
        return int(self.over.sum())

    def write(
        self, lines: NDArray[np.int64], tokens: NDArray[np.int64], logprobs: NDArray[np.float32]
    ) -> NDArray[np.int64]:
        """Append a token to each line. Returns the lines that are finished now."""
        at = self.lengths[lines]
        self.ids[lines, at], self.logprobs[lines, at] = tokens, logprobs
        self.lengths[lines] = at + 1
        ended = self.is_stop[tokens]
        full = at + 1 >= self.limits.max_tokens
        matched = self._matched(lines, tokens, ended)
        for where, stop in (
            (full, Stop.BUDGET),
            (matched, Stop.STOP_STRING),
            (ended, Stop.END_TOKEN),
        ):
            for line in lines[where]:
                self.stops[line] = stop
        over = lines[ended | matched | full]
        self.over[over] = True
        return over

    def _matched(
        self, lines: NDArray[np.int64], tokens: NDArray[np.int64], ended: NDArray[np.bool_]
    ) -> NDArray[np.bool_]:
        matched = np.zeros(len(lines), dtype=bool)
        if self.may_end is not None:
            for row in np.flatnonzero(self.may_end[tokens] & ~ended):
                matched[row] = self._cut(self._text(lines[row])) is not None
        return matched

    def _text(self, line: int) -> str:
        return self.codec.decode(self.ids[line, : self.lengths[line]])

    def _cut(self, text: str) -> str | None:
        """The text before the first stop string, None where there is none."""
        found = [text.find(string) for string in self.limits.stop_strings]
        places = [place for place in found if place >= 0]
        return text[: min(places)] if places else None

    def rollout(self, line: int, prompt_ids: NDArray[np.int64], **known: Any) -> Rollout:
        """The finished line as a value. The text is cut at a stop string; the ids are not.

        Raises `RunError` where the policy had no distribution to draw from.
        """
        length, text, stop = self.lengths[line], self._text(line), self.stops[line]
        if not np.isfinite(self.logprobs[line, :length]).all():
            raise RunError(
                "the policy's logits are not finite, so it has no distribution to draw from. "
                "Lower --learner.learning_rate, use --policy.dtype float32, or a sound model."
            )
        cut = self._cut(text)
        return Rollout(
            prompt_ids=prompt_ids,
            ids=self.ids[line, :length].copy(),
            logprobs=self.logprobs[line, :length].copy(),
            stop=stop or Stop.BUDGET,
            text=text if cut is None else cut,
            limits=self.limits,
            **known,
        )


@dataclass
class _Work:
    """What one call of `sample` has to do. waiting: prompts that have no rows yet.

    open: answers of each prompt that are not finished. lines: the line of `pages` that each row of
    the decoder writes on. tokens: the last one of each row, on the device. pending: a draw whose
    tokens the host has not seen yet.
    """

    pages: Pages
    prompts: list[NDArray[np.int64]]
    copies: int
    waiting: deque[int]
    open: NDArray[np.int64]
    tokens: Tensor
    lines: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    pending: Arrival | None = None

    @property
    def longest(self) -> int:
        """Tokens that a row may come to hold."""
        return max(prompt.size for prompt in self.prompts) + self.pages.limits.max_tokens

    def uniforms(self, lines: NDArray[np.int64]) -> Tensor:
        """What decides the next draw of each line."""
        drawn = self.pages.lengths[lines] + (self.pending is not None)
        drawn = drawn.clip(max=self.pages.limits.max_tokens - 1)  # of lines that are over
        return sent(self.pages.uniforms[lines, drawn], self.tokens.device)

    def taken(self, rows: int) -> list[int]:
        """The next prompts whose answers fit into so many rows.

        They are run at once, so their number is bounded by `PREFILL` too. Where nothing is under
        way, one is taken whatever it needs.
        """
        chosen: list[int] = []
        width = 0
        while self.waiting:
            size = self.prompts[self.waiting[0]].size
            rows -= self.copies
            width = max(width, size)
            fits = rows >= 0 and width * (len(chosen) + 1) <= PREFILL
            if not fits and (chosen or len(self.lines)):
                break
            chosen.append(self.waiting.popleft())
        return chosen


@dataclass
class NativeSampler:
    """Samples from `policy`.

    max_rows: answers decoded together. max_cells: places for keys and values of a token, which all
    rows have as many of as the longest may need.
    """

    policy: Policy
    max_rows: int = 256
    max_cells: int = 2**20
    version: int = 0
    progress: Progress | None = None

    def __post_init__(self) -> None:
        self.lags = self.policy.device.type == "cuda"  # the host reads a draw one step late
        self.decoder: Decoder = (
            FusedDecoder(self.policy, self.policy.fused)
            if self.policy.fused is not None
            else ModuleDecoder(self.policy)
        )

    @torch.no_grad()
    def load(self, weights: Any, version: int) -> None:
        """Read the learner's weights again; they live in `policy`, so nothing is passed."""
        self.decoder.refresh()
        self.version = version

    @torch.inference_mode()
    def sample(
        self,
        prompts: Sequence[Prompt],
        group_size: int,
        limits: Limits,
        seed: int,
        finished: Finished | None = None,
    ) -> list[list[Rollout]]:
        """`group_size` rollouts for each prompt. The same seed and weights draw the same tokens."""
        if not prompts:
            return []
        codec = self.policy.codec
        ids = [codec.encode(prompt) for prompt in prompts]
        tails = [codec.tail(prompt) for prompt in prompts]
        seeds = [rollout_seed(seed, p, g) for p in range(len(ids)) for g in range(group_size)]
        pages = Pages(seeds, limits, codec, self.policy.model.config.vocab_size)
        groups: dict[int, list[Rollout]] = {}

        def close(p: int) -> None:
            groups[p] = [
                pages.rollout(
                    line, ids[p], version=self.version, seed=seeds[line], prompt_tail=tails[p]
                )
                for line in range(p * group_size, (p + 1) * group_size)
            ]
            if finished is not None:
                finished(p, groups[p])

        work = _Work(
            pages,
            ids,
            group_size,
            waiting=deque(range(len(ids))),
            open=np.full(len(ids), group_size),
            tokens=torch.zeros(0, dtype=torch.long, device=self.policy.device),
        )
        try:
            self._fill(work, close)
        finally:
            self.decoder.start(0)  # the learner needs the memory now
        return [groups[p] for p in range(len(ids))]

    def _fill(self, work: _Work, close: Callable[[int], None]) -> None:
        """Decode until every line is finished."""
        self.decoder.start(work.longest)
        while True:
            self._leave(work)
            if work.waiting and self._admit(work, close):
                continue
            if not len(work.lines):
                return
            arrived = self._drawn(work, work.lines, self.decoder.step(work.tokens))
            work.tokens = arrived.tokens
            if self.lags:
                work.pending, arrived = arrived, work.pending
            if arrived is not None:
                self._settle(work, arrived, close)

    def _admit(self, work: _Work, close: Callable[[int], None]) -> bool:
        """Give rows to waiting prompts, if there is room. Returns whether there was."""
        if len(work.lines) and not self.decoder.takes_more:
            return False
        copies = work.copies
        rows = min(self.max_rows, self.max_cells // work.longest)
        taken = work.taken(rows - len(work.lines))
        if not taken:
            return False
        if work.pending is not None:
            self._settle(work, work.pending, close)
            work.pending = None
        logits = self.decoder.admit([work.prompts[p] for p in taken], copies)
        new = np.concatenate([np.arange(p * copies, (p + 1) * copies) for p in taken])
        arrived = self._drawn(work, new, logits.repeat_interleave(copies, dim=0))
        self._settle(work, arrived, close)
        work.lines = np.append(work.lines, new)
        work.tokens = torch.cat((work.tokens, arrived.tokens))
        return True

    def _leave(self, work: _Work) -> None:
        """Drop finished rows, as soon as there are enough of them to be worth it."""
        over = work.pages.over[work.lines]
        gone = np.flatnonzero(over)
        if len(gone) and (len(gone) >= self.decoder.patience * len(over)):
            order = self.decoder.drop(gone)
            work.lines = work.lines[order]
            work.tokens = work.tokens[sent(order, work.tokens.device)]

    def _drawn(self, work: _Work, lines: NDArray[np.int64], logits: Tensor) -> Arrival:
        """The next token of each line, on its way to the host."""
        uniforms = work.uniforms(lines)
        return Arrival(lines, *draw(logits, uniforms, work.pages.limits.temperature))

    def _settle(self, work: _Work, arrived: Arrival, close: Callable[[int], None]) -> None:
        """Write down what was drawn; hand over the groups that are complete now."""
        tokens, logprobs = arrived.read()
        live = ~work.pages.over[arrived.lines]
        if not live.all():
            tokens, logprobs = tokens[live], logprobs[live]
        for line in work.pages.write(arrived.lines[live], tokens, logprobs):
            prompt = int(line // work.copies)
            work.open[prompt] -= 1
            if not work.open[prompt]:
                close(prompt)
        if self.progress is not None:
            self.progress(work.pages.finished, len(work.pages.stops))

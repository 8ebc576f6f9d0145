"""The engine in this process: decodes on the learner's own weights with a KV cache.

One prefill a prompt is shared by its group; rows leave when they finish and waiting prompts take
their place. Each rollout has its own seed, so what shares a batch does not change a draw.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from evenodds.domain import Limits, Prompt, Rollout, Stop, rollout_seed
from evenodds.policies import Codec, Policy
from evenodds.sampling import Progress
from evenodds.sampling.fused import FusedDecoder
from evenodds.sampling.modules import ModuleDecoder

LEAVE_SHARE = 8  # finished rows are dropped once they are 1/8 of all: dropping copies the cache
BLOCK = 256  # softmax mass is summed in blocks of this many tokens; only one block is searched


def _search(mass: Float[Tensor, "b k"], point: Float[Tensor, " b"]) -> Int[Tensor, " b"]:
    """First index whose running sum exceeds `point`; never one past the last that has mass."""
    running = mass.cumsum(-1)
    index = (running <= point[:, None]).sum(-1)
    last = mass.shape[-1] - 1 - (mass.flip(-1) > 0).int().argmax(-1)
    return torch.minimum(index, last)


def draw(
    logits: Float[Tensor, "b v"], uniforms: Float[Tensor, " b"], temperature: float
) -> tuple[Int[Tensor, " b"], Float[Tensor, " b"]]:
    """Tokens and their log-probabilities under softmax(logits / temperature).

    uniforms: one number in [0, 1) a row; it alone decides the draw. Temperature 0 takes the most
    likely token, whose log-probability under that one-point distribution is 0.
    """
    if temperature == 0:
        return logits.argmax(-1), torch.zeros(len(logits), device=logits.device)
    logprobs = (logits.float() / temperature).log_softmax(-1)
    rows, vocabulary = logprobs.shape
    mass = functional.pad(logprobs.exp(), (0, -vocabulary % BLOCK)).view(rows, -1, BLOCK)
    sums = mass.sum(-1)
    point = uniforms.to(sums.dtype) * sums.sum(-1)
    block = _search(sums, point)
    before = functional.pad(sums.cumsum(-1), (1, 0)).gather(-1, block[:, None])[:, 0]
    here = mass[torch.arange(rows, device=mass.device), block]
    token = block * BLOCK + _search(here, point - before)
    return token, logprobs.gather(-1, token[:, None])[:, 0]


class Decoder(Protocol):
    """Rows that grow by a token a step. New rows stand behind the present ones."""

    @property
    def takes_more(self) -> bool: ...
    def refresh(self) -> None: ...
    def start(self) -> None: ...
    def admit(self, prompts: Sequence[NDArray[np.int64]], copies: int) -> Float[Tensor, "p v"]: ...
    def step(self, tokens: Int[Tensor, " b"]) -> Float[Tensor, "b v"]: ...
    def keep(self, rows: Int[Tensor, " k"]) -> None: ...


class Pages:
    """What has been drawn so far: one line for each rollout, and when it is finished."""

    def __init__(self, seeds: Sequence[int], limits: Limits, codec: Codec, vocabulary: int) -> None:
        size = (len(seeds), limits.max_tokens)
        self.limits, self.codec = limits, codec
        self.uniforms = np.stack(
            [np.random.default_rng(seed).random(size[1], dtype=np.float32) for seed in seeds]
        )
        self.ids = np.zeros(size, dtype=np.int64)
        self.logprobs = np.zeros(size, dtype=np.float32)
        self.lengths = np.zeros(len(seeds), dtype=np.int64)
        self.stops: list[Stop | None] = [None] * len(seeds)
        self.finished = 0
        self.is_stop = np.zeros(vocabulary, dtype=bool)
        self.is_stop[[i for i in codec.stop_ids if i < vocabulary]] = True
        strings = limits.stop_strings
        self.may_end = codec.may_end(strings, vocabulary) if strings else None

    def write(
        self, lines: NDArray[np.int64], tokens: NDArray[np.int64], logprobs: NDArray[np.float32]
    ) -> NDArray[np.bool_]:
        """Append a token to each line. Returns which of them are finished now."""
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
        over = ended | matched | full
        self.finished += int(over.sum())
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
        """The finished line as a value. The text is cut at a stop string; the ids are not."""
        length, text, stop = self.lengths[line], self._text(line), self.stops[line]
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
class NativeSampler:
    """Samples from `policy`. `max_rows` bounds the rows that are decoded together."""

    policy: Policy
    max_rows: int = 256
    version: int = 0
    progress: Progress | None = None

    def __post_init__(self) -> None:
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
        self, prompts: Sequence[Prompt], group_size: int, limits: Limits, seed: int
    ) -> list[list[Rollout]]:
        """`group_size` rollouts for each prompt. The same seed and weights draw the same tokens."""
        codec = self.policy.codec
        ids = [codec.encode(prompt) for prompt in prompts]
        seeds = [rollout_seed(seed, p, g) for p in range(len(ids)) for g in range(group_size)]
        pages = Pages(seeds, limits, codec, self.policy.model.config.vocab_size)
        self._fill(pages, ids, group_size)
        tails = [codec.tail(prompt) for prompt in prompts]
        return [
            [
                pages.rollout(
                    line, ids[p], version=self.version, seed=seeds[line], prompt_tail=tails[p]
                )
                for line in range(p * group_size, (p + 1) * group_size)
            ]
            for p in range(len(ids))
        ]

    def _fill(self, pages: Pages, prompts: list[NDArray[np.int64]], copies: int) -> None:
        """Decode until every line is finished."""
        waiting = deque(range(len(prompts)))
        self.decoder.start()
        lines = np.zeros(0, dtype=np.int64)  # the line that each row of the decoder writes on
        tokens = np.zeros(0, dtype=np.int64)
        alive = np.zeros(0, dtype=bool)
        while waiting or alive.any():
            lines, tokens, alive = self._leave(lines, tokens, alive, bool(waiting))
            room = (self.max_rows - len(lines)) // copies
            if waiting and (len(lines) == 0 or (room > 0 and self.decoder.takes_more)):
                taken = [waiting.popleft() for _ in range(min(max(room, 1), len(waiting)))]
                logits = self.decoder.admit([prompts[p] for p in taken], copies)
                new = np.concatenate([np.arange(p * copies, (p + 1) * copies) for p in taken])
                drawn, over = self._draw(pages, new, logits.repeat_interleave(copies, dim=0))
                lines, tokens = np.append(lines, new), np.append(tokens, drawn)
                alive = np.append(alive, ~over)
                continue
            logits = self.decoder.step(torch.from_numpy(tokens).to(self.policy.device))
            live = np.flatnonzero(alive)
            chosen = logits if len(live) == len(lines) else logits[torch.from_numpy(live)]
            tokens[live], over = self._draw(pages, lines[live], chosen)
            alive[live] = ~over
            self._tell(pages)

    def _leave(
        self,
        lines: NDArray[np.int64],
        tokens: NDArray[np.int64],
        alive: NDArray[np.bool_],
        crowd: bool,
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
        """Drop finished rows, once there are enough of them to be worth the copy."""
        gone = len(alive) - int(alive.sum())
        if gone == 0 or (gone * LEAVE_SHARE < len(alive) and not (crowd and gone > 15)):
            return lines, tokens, alive
        stay = np.flatnonzero(alive)
        self.decoder.keep(torch.from_numpy(stay).to(self.policy.device))
        return lines[stay], tokens[stay], alive[stay]

    def _draw(
        self, pages: Pages, lines: NDArray[np.int64], logits: Float[Tensor, "b v"]
    ) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        uniforms = torch.from_numpy(pages.uniforms[lines, pages.lengths[lines]])
        tokens, logprobs = draw(logits, uniforms.to(logits.device), pages.limits.temperature)
        drawn = tokens.cpu().numpy()
        return drawn, pages.write(lines, drawn, logprobs.float().cpu().numpy())

    def _tell(self, pages: Pages) -> None:
        if self.progress is not None:
            self.progress(pages.finished, len(pages.stops))

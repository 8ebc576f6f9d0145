"""The memory plan of a run: what it needs, and what it chooses so that it fits.

The sampler's rows, the micro-batch and gradient checkpointing follow from the memory there is. A
plan is made from a model's shape alone, so it can be printed before any weights are there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from evenodds.machine import usable_memory
from evenodds.policies import memory as sizes_in
from evenodds.policies.memory import Pass, Precision, Sizes
from evenodds.run.build import FASTEST, evaluation_budget, policy_options
from evenodds.sampling.packed import LARGE

if TYPE_CHECKING:
    import torch

    from evenodds.policies import Codec, Policy
    from evenodds.run.config import Config
    from evenodds.tasks import Task

SPARE = 0.1  # of the memory is left alone: fragments, and what no formula knows
FIXED = {"cpu": 500 * 10**6, "cuda": 600 * 10**6}  # Python with its libraries; a CUDA context
SMALLEST = 256  # tokens of a pass; checkpointing comes before less
PROMPTS = 200  # of a task, whose longest stands for all


@dataclass(frozen=True)
class Work:
    """What a run asks for. prompt, answer: tokens of the longest. rows: decoded together at most.

    samples: answers of an evaluation to one problem; like a group they are decoded together.
    evaluated: tokens of the longest answer of an evaluation, which is never learned from.
    tokens, checkpointing: micro-batch and gradient checkpointing where they are set, else None.
    """

    device: str
    prompt: int
    answer: int
    group_size: int
    rows: int = 256
    samples: int = 1
    evaluated: int = 0
    tokens: int | None = None
    checkpointing: bool | None = None

    @property
    def longest(self) -> int:
        """Tokens of the longest row that is learned from."""
        return self.prompt + self.answer

    @property
    def slot(self) -> int:
        """Tokens of the longest row that is sampled."""
        return self.prompt + max(self.answer, self.evaluated)

    @property
    def fewest(self) -> int:
        """Rows that the sampler takes however small its bound is: all answers to one prompt."""
        return max(self.group_size, self.samples)


@dataclass(frozen=True)
class MemoryPlan:
    """What was chosen, and what it takes in bytes. memory: all there is; 0 where nobody knows.

    kv_tokens: tokens whose keys and values the sampler may hold at once. fits: whether all of it
    stays within the memory, less a tenth.
    """

    sizes: Sizes
    precision: Precision
    work: Work
    memory: int
    rows: int
    kv_tokens: int
    micro_batch_tokens: int
    gradient_checkpointing: bool

    @property
    def resident(self) -> int:
        """Bytes of tensors that are held as long as the run goes on."""
        return _resident(self.sizes, self.precision)

    @property
    def always(self) -> int:
        """The same with the allowance for libraries."""
        return FIXED.get(self.work.device, FIXED["cpu"]) + self.resident

    @property
    def decoded(self) -> int:
        """Rows that are decoded together at most."""
        return max(self.rows, self.work.fewest)

    @property
    def sampling(self) -> int:
        return self.decoded * _row_bytes(self.sizes, self.precision, self.work)

    @property
    def learning(self) -> int:
        one = one_pass(self.work, self.micro_batch_tokens)
        return _pass_bytes(self.sizes, self.precision, one, self.gradient_checkpointing)

    @property
    def needed(self) -> int:
        """The most at once: sampling and learning take turns."""
        return self.always + max(self.sampling, self.learning)

    @property
    def fits(self) -> bool:
        return not self.memory or self.needed <= (1 - SPARE) * self.memory


def _resident(sizes: Sizes, precision: Precision) -> int:
    return (
        sizes_in.weights_bytes(sizes, precision)
        + sizes_in.packed_bytes(sizes, precision)
        + sizes_in.adapter_bytes(sizes, precision)
        + sizes_in.optimizer_bytes(sizes, precision)
    )


def _row_bytes(sizes: Sizes, precision: Precision, work: Work) -> int:
    """Of one row that is sampled: its slot, its share of the draw, and of its group's prompt."""
    slot = work.slot * sizes_in.kv_bytes(sizes, precision)
    share = -(-work.prompt // work.group_size)
    prefill = sizes_in.prefill_bytes(sizes, precision, share)
    return slot + sizes_in.draw_bytes(sizes, 1) + prefill


def one_pass(work: Work, tokens: int) -> Pass:
    """A micro-batch of so many tokens. Its answers are taken to be half as long as they may be."""
    return Pass(tokens, work.prompt, max(1, work.answer // 2), work.device == "cpu")


def _pass_bytes(sizes: Sizes, precision: Precision, one: Pass, checkpointing: bool) -> int:
    below = sizes_in.activation_bytes(sizes, precision, one, checkpointing)
    return below + sizes_in.head_bytes(sizes, precision, one.tokens)


def choose(sizes: Sizes, precision: Precision, work: Work, memory: int) -> MemoryPlan:
    """The largest of everything that fits into `memory` bytes, up to what is asked or fastest.

    A plan that does not fit is made of the smallest there is, and says so.
    """
    fixed = FIXED.get(work.device, FIXED["cpu"])
    room = int((1 - SPARE) * memory) - fixed - _resident(sizes, precision)
    rows = work.rows
    if memory:
        rows = min(rows, max(0, room) // _row_bytes(sizes, precision, work))
        whole = rows // work.group_size * work.group_size  # groups come whole
        rows = min(work.rows, max(rows if rows == work.rows else whole, work.group_size))
    tokens, checkpointing = _micro_batch(sizes, precision, work, room if memory else None)
    return MemoryPlan(sizes, precision, work, memory, rows, rows * work.slot, tokens, checkpointing)


def _micro_batch(
    sizes: Sizes, precision: Precision, work: Work, room: int | None
) -> tuple[int, bool]:
    """The first way that fits: large before small, and small before computing twice.

    No pass is smaller than the longest row, which is never cut.
    """
    ways = [
        (max(tokens, work.longest), checkpointing)
        for checkpointing in ([False, True] if work.checkpointing is None else [work.checkpointing])
        for tokens in _ladder(work)
    ]
    for tokens, checkpointing in ways:
        needed = _pass_bytes(sizes, precision, one_pass(work, tokens), checkpointing)
        if room is None or needed <= room:
            return tokens, checkpointing
    return ways[-1]


def _ladder(work: Work) -> list[int]:
    """Tokens of a pass, halved from the fastest down; only what is asked where that is set."""
    if work.tokens is not None:
        return [work.tokens]
    top = FASTEST.get(work.device, FASTEST["cuda"])
    return [top >> times for times in range(top.bit_length()) if top >> times >= SMALLEST]


def device_memory(device: torch.device) -> int:
    """Bytes that this process may have there, with those that it has already; 0: nobody knows."""
    import torch

    if device.type == "cuda":
        free, _ = torch.cuda.mem_get_info(device)
        return free + torch.cuda.memory_reserved(device)
    return usable_memory()


def longest_prompt(task: Task, codec: Codec) -> int:
    """Tokens of the longest of up to 200 held-out prompts."""
    problems = [problem for level in range(len(task.levels)) for problem in task.held_out(level)]
    step = max(1, len(problems) // PROMPTS)
    return max(codec.encode(problem.prompt).size for problem in problems[::step])


def work_of(config: Config, device: str, prompt: int) -> Work:
    return Work(
        device=device,
        prompt=prompt,
        answer=config.sampling.max_tokens,
        group_size=config.sampling.group_size,
        rows=config.sampling.max_rows,
        samples=config.evaluation.samples,
        evaluated=evaluation_budget(config),
        tokens=config.learner.micro_batch_tokens,
        checkpointing=config.learner.gradient_checkpointing,
    )


def _memory(config: Config, device: torch.device) -> int:
    given = config.run.memory_gb
    return int(given * 1e9) if given else device_memory(device)


def plan_for(
    config: Config, policy: Policy, task: Task, reference: bool, rank: int | None = None
) -> MemoryPlan:
    """The plan for a policy that is loaded, or for its outline, whose rank is then given.

    reference: whether the objective keeps a frozen copy.
    """
    sizes = sizes_in.sizes_of(policy.model, policy.is_plain_causal)
    if rank is None:
        learns = sum(parameter.numel() for parameter in policy.trainable().values())
        rank = -(-learns // max(1, sizes.adapted)) if policy.is_adapter else 0
    element = policy.model.dtype.itemsize
    large = element < 4 or sizes.largest >= LARGE  # float32 is packed where it is large
    packed = policy.device.type == "cpu" and sizes.fused and large
    precision = Precision(element, rank, reference, packed)
    work = work_of(config, policy.device.type, longest_prompt(task, policy.codec))
    return choose(sizes, precision, work, _memory(config, policy.device))


def plan_ahead(config: Config, task: Task, reference: bool) -> MemoryPlan:
    """The plan for a policy of which the config and the tokenizer are there; weights need not be.

    Raises `UsageError` where even these cannot be read.
    """
    from evenodds.policies.load import outline

    policy, rank = outline(policy_options(config), anywhere=config.run.memory_gb is not None)
    return plan_for(config, policy, task, reference, rank)

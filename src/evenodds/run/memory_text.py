"""The memory plan as a person reads it: a table of what, how much and why."""

from __future__ import annotations

from collections.abc import Iterator

from evenodds.machine import size_text
from evenodds.policies import memory as sizes_in
from evenodds.report.text import one_line
from evenodds.run.memory import FIXED, SPARE, MemoryPlan, one_pass

Line = tuple[str, int, str]
NAMES = {2: "bfloat16", 4: "float32"}


def plan_lines(plan: MemoryPlan, name: str) -> Iterator[str]:
    """The plan in lines of at most 80 columns, what follows from it last."""
    there = size_text(plan.memory) if plan.memory else "an unknown amount of memory"
    yield f"memory plan of {one_line(name, 30)} on {plan.work.device} with {there}, by formula"
    for what, size, why in (*_always(plan), *_in_turn(plan)):
        yield f"  {what:<22} {size_text(size):>9}  {why}"
    yield f"  {'most at once':<22} {size_text(plan.needed):>9}  {_verdict(plan)}"
    rows, tokens, again = _choices(plan)
    yield f"  so: {rows}, {tokens},"
    yield f"      {again}"


def _always(plan: MemoryPlan) -> Iterator[Line]:
    """What is held from the start to the end."""
    sizes, precision = plan.sizes, plan.precision
    kind = NAMES.get(precision.element, f"{precision.element} bytes each")
    fixed = FIXED.get(plan.work.device, FIXED["cpu"])
    weights = sizes_in.weights_bytes(sizes, precision)
    yield "libraries", fixed, "an allowance"
    yield "weights", weights, f"{sizes.parameters / 1e6:,.1f} M parameters in {kind}"
    if precision.packed:
        packed = sizes_in.packed_bytes(sizes, precision)
        yield "  packed for sampling", packed, "the same in the processor's own layout"
    count, _ = sizes_in.trainable(sizes, precision)
    learns = f"{count / 1e6:,.1f} M"
    if precision.rank:
        size = sizes_in.adapter_bytes(sizes, precision)
        yield "adapter", size, f"LoRA of rank {precision.rank}: {learns}, float32 and factors"
    more = ", a frozen copy" if precision.reference else ""
    what = "gradient and optimizer"
    yield what, sizes_in.optimizer_bytes(sizes, precision), f"AdamW on {learns} parameters{more}"


def _in_turn(plan: MemoryPlan) -> Iterator[Line]:
    """Sampling and learning, each with what it is made of."""
    sizes, precision, work = plan.sizes, plan.precision, plan.work
    token = sizes_in.kv_bytes(sizes, precision)
    slots = plan.decoded * work.slot * token
    why = f"{plan.decoded} rows × {work.slot:,} tokens × {token / 1024:,.1f} KiB"
    yield "sampling: KV", slots, why
    yield "  draw and prompts", plan.sampling - slots, "logits of all rows; prompts of a batch"
    tokens, checkpointing = plan.micro_batch_tokens, plan.gradient_checkpointing
    one = one_pass(work, tokens)
    below = sizes_in.activation_bytes(sizes, precision, one, checkpointing)
    how = "only inputs kept" if checkpointing else "all kept"
    each = sizes_in.layer_bytes(sizes, precision, one) * sizes.layers
    yield "or learning: layers", below, f"{tokens:,} tokens × {each / 1e6:,.2f} MB, {how}"
    yield "  output head", plan.learning - below, "one chunk of logits, whatever the tokens"


def _verdict(plan: MemoryPlan) -> str:
    if not plan.memory:
        return "not known whether it fits: --run.memory_gb"
    room = size_text(int((1 - SPARE) * plan.memory))
    return f"{'fits into' if plan.fits else 'MORE than'} {room}: all there is less a tenth"


def _choices(plan: MemoryPlan) -> tuple[str, str, str]:
    """What the run will use; a bound of the setting is told where memory made it smaller."""
    work = plan.work
    cut = f" (of {work.rows})" if plan.rows < work.rows else ""
    return (
        f"{plan.rows} answers at once{cut}",
        f"micro-batches of {plan.micro_batch_tokens:,} tokens",
        f"gradient checkpointing {'on' if plan.gradient_checkpointing else 'off'}",
    )


def refusal(plan: MemoryPlan) -> str:
    """One line for a plan that does not fit."""
    return (
        f"this does not fit the memory. Got {size_text(plan.memory)}, but it takes "
        f"{size_text(plan.needed)} and a tenth to spare. {remedy(plan)}"
    )


def remedy(plan: MemoryPlan) -> str:
    fixed, room = FIXED.get(plan.work.device, FIXED["cpu"]), (1 - SPARE) * plan.memory
    if fixed > room:
        return f"The libraries alone take {size_text(fixed)}: raise --run.memory_gb."
    head = sizes_in.head_bytes(plan.sizes, plan.precision, plan.micro_batch_tokens)
    if plan.always + head > room:  # neither of which gets less with shorter answers
        lora = "" if plan.precision.rank else ", or use --policy.adapter lora"
        return f"Take a smaller policy{lora}."
    if plan.sampling > plan.learning:
        largest = plan.work.samples > plan.work.group_size
        what = "evaluation.samples" if largest else "sampling.group_size"
        return f"Lower --{what} or --sampling.max_tokens."
    is_set = plan.work.tokens is not None
    return f"Lower --{'learner.micro_batch_tokens' if is_set else 'sampling.max_tokens'}."

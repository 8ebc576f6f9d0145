"""What the bits of a step depend on beside its configuration, written down so that a step can be
computed again: threads, the parts that a batch is cut into, and what multiplies matrices."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenodds.machine import cpu_name, usable_cores

if TYPE_CHECKING:
    from evenodds.policies import Policy
    from evenodds.run.memory import MemoryPlan

CHOSEN = ("rows", "kv_tokens", "micro_batch_tokens", "gradient_checkpointing")
"""What the memory plan chose, which need not be the same in another sitting."""

SOME = 1024  # numbers of each tensor that tell one model from another


def prepare_process(threads: int | None = None, repeatable: bool = False) -> None:
    """Threads capped to usable cores; OMP_NUM_THREADS, where it is set, is what is wanted.

    threads: how many there were in an earlier sitting, taken again where there are as many cores.
    repeatable: on a GPU only algorithms that give the same bits each time; a CPU has no others.
    """
    import torch

    cores = usable_cores()
    if "OMP_NUM_THREADS" not in os.environ:
        torch.set_num_threads(min(cores, threads or cores))
    if torch.are_deterministic_algorithms_enabled() != repeatable:
        torch.use_deterministic_algorithms(repeatable)  # seconds of imports, and a temporary folder


def base_mark(policy: Policy) -> str:
    """A mark of the weights that a policy was loaded with: of some numbers of each tensor.

    Call it before anything is learned or restored. It is the same in every precision that the
    weights are loaded in, and another for a model that was trained on. An adapter is left out.
    """
    import torch

    learned = policy.trainable() if policy.is_adapter else {}
    marks = hashlib.sha256()
    for name, value in policy.model.named_parameters():
        if name not in learned:
            some = value.detach().flatten()[:SOME].to(torch.bfloat16).cpu().view(torch.int16)
            marks.update(some.numpy().tobytes())
    return marks.hexdigest()[:16]


def engine_facts(policy: Policy, memory: MemoryPlan | None) -> dict[str, object]:
    """What computes, and in which parts. Equal facts and records give equal bits on a CPU.

    rows, kv_tokens: answers that are decoded together at most, and tokens whose keys and values
    are held at once. micro_batch_tokens, gradient_checkpointing: of the learner. All are None for
    an engine that is not ours.
    """
    import torch

    from evenodds import __version__

    device = policy.device
    is_cuda = device.type == "cuda"
    return {
        "evenodds": __version__,
        "torch": torch.__version__,
        "device": device.type,
        "hardware": torch.cuda.get_device_name(device)
        if is_cuda
        else torch.backends.cpu.get_cpu_capability(),
        "dtype": str(policy.model.dtype).removeprefix("torch."),
        "threads": torch.get_num_threads(),
        "repeatable": device.type == "cpu" or torch.are_deterministic_algorithms_enabled(),
        "cpu": cpu_name(),
        **{name: getattr(memory, name, None) for name in CHOSEN},
    }


def read_sittings(path: Path) -> list[dict[str, Any]]:
    """The facts of each sitting at a run with the step it began after, in order; what is damaged
    or missing is left out."""
    try:
        found: Any = json.loads(path.read_text(encoding="utf-8"))["sittings"]
        return [one for one in found if isinstance(one["after_step"], int)]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return []

"""What the bits of a step depend on beside its configuration, written down so that a step can be
computed again: threads, the parts that a batch is cut into, and what multiplies matrices."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evenodds.policies import Policy
    from evenodds.run.memory import MemoryPlan


def engine_facts(policy: Policy, memory: MemoryPlan) -> dict[str, object]:
    """What computes, and in which parts. Equal facts and records give equal bits on a CPU.

    rows, kv_tokens: answers that are decoded together at most, and tokens whose keys and values
    are held at once. micro_batch_tokens, gradient_checkpointing: of the learner.
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
        "rows": memory.rows,
        "kv_tokens": memory.kv_tokens,
        "micro_batch_tokens": memory.micro_batch_tokens,
        "gradient_checkpointing": memory.gradient_checkpointing,
    }


def read_sittings(path: Path) -> list[dict[str, Any]]:
    """The facts of each sitting at a run with the step it began after, in order; what is damaged
    or missing is left out."""
    try:
        found: Any = json.loads(path.read_text(encoding="utf-8"))["sittings"]
        return [one for one in found if isinstance(one["after_step"], int)]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return []

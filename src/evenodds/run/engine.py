"""What the bits of a step depend on beside its configuration, written down so that a step can be
computed again: threads, the parts that a batch is cut into, and what multiplies matrices."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenodds.machine import cpu_name

if TYPE_CHECKING:
    from evenodds.policies import Policy
    from evenodds.run.memory import MemoryPlan

CHOSEN = ("rows", "kv_tokens", "micro_batch_tokens", "gradient_checkpointing")
"""What the memory plan chose, which need not be the same in another sitting."""


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

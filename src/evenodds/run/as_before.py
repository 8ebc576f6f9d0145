"""A later sitting at a run computes as the one before did, as far as the machine allows it.

How many rows are decoded together, how a batch is cut and how many threads there are decides in
which order numbers are added up, and so the last bits of every weight. What an earlier sitting
chose is therefore taken again, and what cannot be the same is said.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenodds.errors import RunError
from evenodds.run.engine import CHOSEN

if TYPE_CHECKING:
    from evenodds.run.memory import MemoryPlan

Facts = Mapping[str, Any]

WORDS = {  # facts that decide bits -> what a person calls them
    "evenodds": "the version of evenodds",
    "torch": "the version of torch",
    "device": "the device",
    "hardware": "the instructions or the GPU",
    "dtype": "the precision",
    "threads": "the number of threads",
    "repeatable": "run.repeatable",
    "rows": "the rows decoded together",
    "kv_tokens": "the tokens held at once",
    "micro_batch_tokens": "the tokens of a pass",
    "gradient_checkpointing": "gradient checkpointing",
}


def planned_as_before(plan: MemoryPlan, sittings: Sequence[Facts]) -> MemoryPlan:
    """The plan with what the last sitting had chosen, where that fits and was not set otherwise.

    A GPU whose memory another program fills a little more would else be given other parts.
    """
    chosen = {name: sittings[-1].get(name) for name in CHOSEN} if sittings else {}
    if not chosen or any(value is None for value in chosen.values()):
        return plan
    before = replace(plan, **chosen)
    work = plan.work
    tokens = max(work.tokens or before.micro_batch_tokens, work.longest)
    is_what_is_asked = tokens == before.micro_batch_tokens and before.rows <= work.rows
    is_long = before.kv_tokens >= work.slot
    same_way = work.checkpointing in (None, before.gradient_checkpointing)
    return before if is_what_is_asked and is_long and same_way and before.fits else plan


def threads_before(sittings: Sequence[Facts]) -> int | None:
    """How many threads the last sitting had; None where nobody knows."""
    found = sittings[-1].get("threads") if sittings else None
    return found if isinstance(found, int) and found > 0 else None


def changed(sittings: Sequence[Facts], now: Facts) -> str:
    """What decides bits and is not as in the last sitting, in one line; empty where nothing is."""
    before = sittings[-1] if sittings else {}
    found = [
        f"{words} ({before[name]}, now {now[name]})"
        for name, words in WORDS.items()
        if name in before and name in now and before[name] != now[name]
    ]
    if not found:
        return ""
    return f"another sitting than before: {', '.join(found)}. It goes on, but not bit for bit."


def require_same_base(sittings: Sequence[Facts], now: str, run: Path) -> None:
    """Raise `RunError` where the model below an adapter, or a KL's reference, is another one.

    now: the mark of the weights that were loaded, see `base_mark`. Runs of before have none.
    """
    known = [one["base"] for one in sittings if one.get("base")]
    if known and known[0] != now:
        raise RunError(
            f"the run {str(run)!r} began with another model: the weights that policy.name leads to "
            "have changed. Restore them, or start another run."
        )

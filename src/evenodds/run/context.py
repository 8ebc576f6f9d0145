"""Whether prompts and their answers fit into what a policy can read at once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from evenodds.domain import Prompt
from evenodds.errors import UsageError

if TYPE_CHECKING:
    from evenodds.policies import Policy

OF_A_RUN = "sampling.max_tokens, or evaluation.max_tokens"


def require_context(
    policy: Policy, prompts: Iterable[Prompt], budget: int, lower: str = OF_A_RUN
) -> None:
    """Raise `UsageError` where the longest prompt leaves no room for an answer of `budget` tokens.

    lower: the settings that would make it fit.
    """
    room = policy.context
    if room is None:
        return
    longest = max((policy.codec.encode(prompt).size for prompt in prompts), default=0)
    if longest + budget > room:
        raise UsageError(
            f"{policy.name!r} reads {room} tokens at most, but a prompt of {longest} and "
            f"max_tokens of {budget} were asked for. Lower {lower}."
        )

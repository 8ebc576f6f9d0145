"""evenodds: teach a language model a skill that a program can check, and prove that it learned.

From Python: `evenodds.train(problems, grade)`; from a shell: `evenodds train`.
A run that goes on elsewhere, shown live, also in a notebook: `evenodds.watch("runs/NAME")`.
A verifier as a reward function of TRL: `evenodds.trl_reward("number")`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evenodds.judge.trl import trl_reward as trl_reward
    from evenodds.run.api import train as train
    from evenodds.run.watching import watch as watch

__version__ = "0.1.0"
__all__ = ["__version__", "train", "trl_reward", "watch"]


def __getattr__(name: str) -> Any:
    """What is imported when it is asked for: importing the package costs nothing."""
    if name == "train":
        from evenodds.run.api import train

        return train
    if name == "watch":
        from evenodds.run.watching import watch

        return watch
    if name == "trl_reward":
        from evenodds.judge.trl import trl_reward

        return trl_reward
    raise AttributeError(f"module 'evenodds' has no attribute {name!r}")

"""Weights & Biases: online where you are logged in, else offline in the run folder."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from evenodds.sinks.protocol import RunFacts

PROJECT = "evenodds"


class WandbSink:
    """Its own variables count: WANDB_PROJECT, WANDB_ENTITY, WANDB_MODE and so on."""

    def __init__(self, run: RunFacts) -> None:
        import wandb as library  # pyright: ignore

        wandb: Any = library
        mode = os.environ.get("WANDB_MODE")
        if mode is None and not wandb.login(prompt=False):
            mode = "offline"  # nobody is asked for a key in the middle of a run
        self._run: Any = wandb.init(
            project=os.environ.get("WANDB_PROJECT", PROJECT),
            name=run.name,
            id=run.name,  # so that a resumed run goes on in its own curve
            resume="allow",
            config=dict(run.config),
            dir=str(run.folder),
            mode=mode,
            settings=wandb.Settings(silent=True, console="off"),
        )

    def log(self, step: int, values: Mapping[str, float]) -> None:
        self._run.log(dict(values), step=step)

    def summary(self, values: Mapping[str, float]) -> None:
        self._run.summary.update(dict(values))

    def close(self) -> None:
        self._run.finish()

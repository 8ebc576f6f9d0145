"""Trackio: a local dashboard (`trackio show`), or a Space where its own variables say so."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import redirect_stdout
from contextvars import copy_context
from typing import Any

from evenodds.sinks.protocol import RunFacts

PROJECT = "evenodds"


class TrackioSink:
    """Its project is TRACKIO_PROJECT, or `evenodds`."""

    def __init__(self, run: RunFacts) -> None:
        import trackio as library  # pyright: ignore

        trackio: Any = library
        with open(os.devnull, "w") as nowhere, redirect_stdout(nowhere):  # stdout is the run's
            # in a context of its own: what trackio takes for the current run it ends again, and
            # prints that, when Python ends
            self._run: Any = copy_context().run(
                trackio.init,
                project=os.environ.get("TRACKIO_PROJECT", PROJECT),
                name=run.name,
                config=dict(run.config),
                resume="allow",
                embed=False,
            )

    def log(self, step: int, values: Mapping[str, float]) -> None:
        self._run.log(dict(values), step=step)

    def summary(self, values: Mapping[str, float]) -> None:
        self._run.log({f"summary/{name}": value for name, value in values.items()})

    def close(self) -> None:
        with open(os.devnull, "w") as nowhere, redirect_stdout(nowhere):
            self._run.finish()

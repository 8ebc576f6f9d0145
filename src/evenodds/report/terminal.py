"""What a person sees while a run goes on: a live view in a terminal, plain lines elsewhere."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TextIO

from evenodds.report.comparison import Comparison

Sample = tuple[str, str, str, str]
"""Prompt, completion, status and gold answer of one rollout."""


class View(Protocol):
    """Where a run tells how it goes. A view never raises: a lost terminal must not end a run."""

    def start(self, title: str, lines: Sequence[str], levels: Sequence[str] = ()) -> None:
        """Say what begins. levels: labels of the task's levels, to name the difficulty with."""
        ...

    def phase(self, name: str, done: int, total: int) -> None:
        """Progress of something that is not training, an evaluation say."""
        ...

    def step(
        self,
        step: int,
        total_steps: int | None,
        elapsed: float,
        max_time: float | None,
        metrics: Mapping[str, Any],
        sample: Sample | None = None,
    ) -> None:
        """A training step is done; any metric may be missing."""
        ...

    def note(self, text: str) -> None:
        """A line that stays."""
        ...

    def table(self, comparison: Comparison, sentence: str = "") -> None:
        """The final table: base against trained by level, and the sentence to take away.

        sentence: the run's conclusion, which knows of audit and canaries as the comparison does
        not; where there is none, the comparison's own.
        """
        ...

    def close(self) -> None:
        """Leave the terminal as it was; may be called twice."""
        ...


def make_view(stream: TextIO) -> View:
    """A figure in a notebook, the live view where `stream` is a capable terminal, else lines."""
    from evenodds.report.plain import PlainView

    if "IPython" in sys.modules:
        from evenodds.report.notebook import NotebookView, cell, in_notebook

        if in_notebook():
            return NotebookView(cell())
    if not stream.isatty() or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return PlainView(stream)
    from evenodds.report.inert import steerable
    from evenodds.report.live import RichView  # rich is loaded only where it is shown

    return RichView(steerable(stream))

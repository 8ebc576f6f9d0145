"""Event files for TensorBoard, in the run folder's `tensorboard/`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evenodds.sinks.protocol import RunFacts


class TensorBoardSink:
    """Written with tensorboardX, which needs neither TensorFlow nor TensorBoard itself."""

    def __init__(self, run: RunFacts) -> None:
        from tensorboardX import SummaryWriter  # pyright: ignore

        self._writer: Any = SummaryWriter(str(run.folder / "tensorboard"))
        self._last = 0

    def log(self, step: int, values: Mapping[str, float]) -> None:
        self._last = step
        for name, value in values.items():
            self._writer.add_scalar(name, value, step)

    def summary(self, values: Mapping[str, float]) -> None:
        for name, value in values.items():
            self._writer.add_scalar(f"summary/{name}", value, self._last)

    def close(self) -> None:
        self._writer.close()

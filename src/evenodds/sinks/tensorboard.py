"""Event files for TensorBoard, in the run folder's `tensorboard/`."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from evenodds.sinks.protocol import RunFacts


class TensorBoardSink:
    """Written with tensorboardX, which needs neither TensorFlow nor TensorBoard itself.

    Its `SummaryWriter` has a thread of its own, which a full disk ends with a traceback; the queue
    before it is then waited for without an end, as Python ends too. What writes the events says
    of itself what it cannot write.
    """

    def __init__(self, run: RunFacts) -> None:
        from tensorboardX.event_file_writer import EventsWriter  # pyright: ignore

        folder = run.folder / "tensorboard"
        folder.mkdir(parents=True, exist_ok=True)
        self._writer: Any = EventsWriter(str(folder / "events"))
        self._last = 0

    def log(self, step: int, values: Mapping[str, float]) -> None:
        self._last = step
        self._write(values, step)

    def summary(self, values: Mapping[str, float]) -> None:
        self._write({f"summary/{name}": value for name, value in values.items()}, self._last)

    def _write(self, values: Mapping[str, float], step: int) -> None:
        from tensorboardX import summary  # pyright: ignore
        from tensorboardX.proto.event_pb2 import Event  # pyright: ignore

        library: Any = summary
        for name, value in values.items():
            scalar = library.scalar(name, value)
            self._writer.write_event(Event(wall_time=time.time(), step=step, summary=scalar))
        self._writer.flush()

    def close(self) -> None:
        self._writer.close()

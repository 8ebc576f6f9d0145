"""Between the host and the device: neither waits for the other longer than it must."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor


def sent(array: NDArray[Any], device: torch.device) -> Tensor:
    """The array on the device. On CUDA the copy runs beside what the device is doing."""
    tensor = torch.from_numpy(array)
    if device.type != "cuda":
        return tensor.to(device)
    return tensor.pin_memory().to(device, non_blocking=True)


class Arrival:
    """Tokens [n] and log-probabilities [n] that were drawn for lines, on their way to the host.

    `read` waits for this copy alone, not for what the device was given to do after it.
    """

    def __init__(self, lines: NDArray[np.int64], tokens: Tensor, logprobs: Tensor) -> None:
        self.lines, self.tokens = lines, tokens
        self._event: Any = None
        self._tokens, self._logprobs = tokens, logprobs
        if tokens.device.type == "cuda":
            self._tokens = self._tokens.to("cpu", non_blocking=True)
            self._logprobs = self._logprobs.to("cpu", non_blocking=True)
            self._event = torch.cuda.Event()
            self._event.record()

    def read(self) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        if self._event is not None:
            self._event.synchronize()
        return self._tokens.numpy(force=True), self._logprobs.numpy(force=True)

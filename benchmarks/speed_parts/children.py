"""Processes that each hold one contender, asked for a turn one after the other."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

ROOT = Path(__file__).parents[2]
PACKAGE = "benchmarks.speed_parts"


class Child:
    """A process that answers each line with one JSON line. A context manager that ends it."""

    def __init__(self, module: str, arguments: Sequence[str], python: str = sys.executable) -> None:
        self.name = " ".join(arguments)
        self.errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 - it lives as long as we do
        self.process = subprocess.Popen(
            [python, "-m", f"{PACKAGE}.{module}", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            text=True,
            cwd=ROOT,
            env={**os.environ, "HF_HUB_OFFLINE": "1"},
        )

    def answer(self) -> dict[str, Any]:
        """The next line it prints. Ends the program if there is none, with its last words."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if line:
            return json.loads(line)
        self.errors.seek(0)
        last = self.errors.read().strip().splitlines()[-1:]
        raise SystemExit(f"{self.name} ended with {self.process.wait()}: {' '.join(last)}")

    def turn(self, number: int) -> dict[str, Any]:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{number}\n")
        self.process.stdin.flush()
        return self.answer()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is not None:
            self.process.kill()
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()

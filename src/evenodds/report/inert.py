"""The streams of the command line, through which no text can steer a terminal."""

from __future__ import annotations

import sys
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from typing import Any, TextIO, cast

from evenodds.masking import known_in_text, masked
from evenodds.own import heedless
from evenodds.report.text import safe


class Inert:
    """A stream that makes visible whatever would move a cursor, write a title or a clipboard.

    It stands below every print, so that what a library says of a hostile file is inert too. What
    we ourselves draw goes to the stream beneath, `steerable`. Secrets of the environment, and what
    looks like one, have a mask: logs are read by more people than the machine has users.
    """

    def __init__(self, beneath: TextIO) -> None:
        self.beneath = beneath
        self.secrets = known_in_text()

    def write(self, text: str) -> int:
        self.beneath.write(safe(masked(text, self.secrets)))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.beneath, name)


def steerable(stream: TextIO) -> TextIO:
    """The stream to draw on: whoever writes there has made the text of others safe before."""
    return cast(Inert, stream).beneath if isinstance(stream, Inert) else stream


@contextmanager
def inert_streams() -> Generator[None]:
    """Inside, standard output and standard error are inert, and a full log ends nothing."""
    before = sys.stdout, sys.stderr
    # one that is closed stays None, which is how Python says so
    sys.stdout, sys.stderr = (
        stream and cast(TextIO, Inert(stream)) for stream in (before[0], heedless(before[1]))
    )
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before

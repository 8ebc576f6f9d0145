"""argparse with errors of ours, by itself: a command without settings starts quickly."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from evenodds.errors import UsageError, nearest


class Parser(argparse.ArgumentParser):
    """argparse whose errors are ours: one line, exit 2."""

    def __init__(self, prog: str, usage: str, description: str, epilog: str = "") -> None:
        super().__init__(
            prog=f"evenodds {prog}",
            description=description,
            epilog=epilog,
            allow_abbrev=False,
            usage=f"evenodds {prog} {usage}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}. See {self.prog} --help.")

    def _print_message(self, message: str, file: Any = None) -> None:
        """argparse's own hides that nothing could be written."""
        (file or sys.stdout).write(message)

    def parse(self, arguments: Sequence[str]) -> argparse.Namespace:
        """Like parse_args, with the nearest spelling for a flag that is not there."""
        found, left = self.parse_known_args(arguments)
        if left:
            flags = [flag for action in self._actions for flag in action.option_strings]
            word = left[0].split("=")[0]
            near = nearest(word, flags).split("Choose")[0]
            raise UsageError(f"unknown argument {word!r}. {near}See {self.prog} --help.")
        return found

"""argparse with errors of ours, by itself: a command without settings starts quickly."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from evenodds.errors import UsageError, nearest

LONG_DASHES = "\u2010\u2011\u2012\u2013\u2014\u2015\u2212"  # what a web page makes of `--`


class Once(argparse.Action):
    """What argparse does with a value, but never with two that differ: the first would be lost."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        before: dict[str, Any] = vars(namespace).setdefault("_given", {})
        if self.nargs is None and isinstance(values, list):  # what argparse makes of --flag=--
            raise UsageError(f"{option_string or self.dest} takes a value. Got '--'. Give another.")
        is_other = repr(before.get(self.dest, values)) != repr(values)  # nan is not equal to nan
        if option_string is not None and is_other:
            raise UsageError(
                f"{option_string} is given twice, as {before[self.dest]!r} and as {values!r}. "
                "Leave one out."
            )
        before[self.dest] = values
        setattr(namespace, self.dest, values)


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
        for name in (None, "store"):
            self.register("action", name, Once)

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}. See {self.prog} --help.")

    def _print_message(self, message: str, file: Any = None) -> None:
        """argparse's own hides that nothing could be written."""
        (file or sys.stdout).write(message)

    def parse(self, arguments: Sequence[str]) -> argparse.Namespace:
        """Like parse_args, with the nearest spelling for a flag that is not there."""
        flags = [flag for action in self._actions for flag in action.option_strings]
        for word in arguments:
            plain = f"--{word.lstrip(LONG_DASHES).split('=')[0]}"
            if word[:1] in LONG_DASHES and word and plain in flags:
                raise UsageError(f"{word!r} begins with a long dash. Did you mean {plain!r}?")
        found, left = self.parse_known_args(arguments)
        if left:
            word = left[0].split("=")[0]
            near = nearest(word, flags).split("Choose")[0] if word.startswith("-") else ""
            raise UsageError(f"unknown argument {word[:200]!r}. {near}See {self.prog} --help.")
        return found

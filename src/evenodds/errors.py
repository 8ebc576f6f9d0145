"""One tree of errors. A message says what happened, what was got, and what to do, in one line."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class EvenoddsError(Exception):
    """Base of all errors meant for a person. `exit_code` is what the command line ends with."""

    exit_code = 1


class UsageError(EvenoddsError):
    """The request is wrong: a flag, a config, a file that was named. Nothing was written."""

    exit_code = 2


class RunError(EvenoddsError):
    """A run that had started could not go on."""


class GateError(EvenoddsError):
    """A quality gate said no."""

    exit_code = 3


def nearest(word: str, choices: Iterable[str]) -> str:
    """A sentence that lists the choices, with the nearest spelling first where one is near."""
    names = sorted(choices)
    near = get_close_matches(word, names, n=1, cutoff=0.6)
    hint = f"Did you mean {near[0]!r}? " if near else ""
    return f"{hint}Choose one of: {', '.join(names)}."


def unknown(kind: str, word: str, choices: Iterable[str]) -> UsageError:
    """The error for a name that is in no registry."""
    return UsageError(f"unknown {kind} {word!r}. {nearest(word, choices)}")

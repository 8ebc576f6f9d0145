"""Verifiers: from a completion to a verdict. A verifier never raises, whatever the text."""

from __future__ import annotations

from typing import cast

from evenodds.errors import unknown
from evenodds.verifiers.function import (
    OwnFunction,
    Verifier,
    is_wrapped,
    load_function,
    wrap,
)
from evenodds.verifiers.number import number
from evenodds.verifiers.text import text

VERIFIERS: dict[str, Verifier] = {"number": number, "text": text}


def find_verifier(name: str) -> Verifier:
    """The verifier of that name: a registered one, or a person's own function.

    name: a name in `VERIFIERS`, `path/to/file.py:function` or `package.module:function`. A
    function of one's own takes the problem and the text; see `function.wrap` for what it may
    return. Raises `UsageError` with one line that says what was wrong.
    """
    if name in VERIFIERS:
        return VERIFIERS[name]
    if ":" not in name:
        raise unknown("verifier", name, [*VERIFIERS, "file.py:function", "module:function"])
    return wrap(load_function(name))


def as_verifier(judge: str | Verifier | OwnFunction) -> Verifier:
    """A verifier from its name, from a person's function (problem, text), or as it is.

    Registered verifiers and those that `wrap` made take a `Completion` and stay as they are.
    """
    if isinstance(judge, str):
        return find_verifier(judge)
    is_verifier = is_wrapped(judge) or any(judge is known for known in VERIFIERS.values())
    return cast(Verifier, judge) if is_verifier else wrap(cast(OwnFunction, judge))


__all__ = ["VERIFIERS", "OwnFunction", "Verifier", "as_verifier", "find_verifier", "wrap"]

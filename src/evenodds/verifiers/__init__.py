"""Verifiers: from a completion to a verdict. A verifier never raises, whatever the text."""

from __future__ import annotations

from evenodds.errors import unknown
from evenodds.verifiers.function import Verifier, load_function, wrap
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


__all__ = ["VERIFIERS", "Verifier", "find_verifier"]

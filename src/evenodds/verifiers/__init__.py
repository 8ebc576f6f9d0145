"""Verifiers: from a completion to a verdict. A verifier never raises, whatever the text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from evenodds.errors import UsageError, unknown
from evenodds.verifiers import (
    choice,
    code,
    composite,
    expression,
    instructions,
    json_answer,
    lean,
    math,
    number,
    regex,
    sql,
    text,
)
from evenodds.verifiers.function import (
    OwnFunction,
    Verifier,
    is_wrapped,
    load_function,
    wrap,
)
from evenodds.verifiers.kind import Kind, RegisteredVerifier

KINDS: dict[str, Kind] = {
    module.KIND.name: module.KIND
    for module in (
        number,
        math,
        code,
        choice,
        text,
        instructions,
        sql,
        regex,
        expression,
        json_answer,
        lean,
        composite,
    )
}


def find_verifier(name: str, policy: Mapping[str, object] | None = None) -> Verifier:
    """The verifier of that name: a registered kind, or a person's own function.

    name: a name in `KINDS`, `path/to/file.py:function` or `package.module:function`. A function of
    one's own takes the problem and the text, or what TRL's take; see `function.wrap`.
    policy: entries of the kind's policy table in place of its defaults.
    Raises `UsageError` with one line that says what was wrong.
    """
    if name == composite.KIND.name and not policy:
        raise UsageError(
            "composite has no parts. Name them in [[task.policy.parts]] of a config, or in "
            "[[parts]] of a --policy-table: docs/verifier-kinds.md."
        )
    if name in KINDS:
        return KINDS[name].with_policy(policy)
    if ":" not in name:
        raise unknown("verifier", name, [*KINDS, "file.py:function", "module:function"])
    if policy:
        raise UsageError(f"a function of your own has no policy table. Got {[*policy]}.")
    return wrap(load_function(name, may_wait=True), name)


def as_verifier(
    judge: str | Verifier | OwnFunction, policy: Mapping[str, object] | None = None
) -> Verifier:
    """A verifier from its name, from a person's function (problem, text), or as it is.

    Registered verifiers and those that `wrap` made take a `Completion` and stay as they are.
    """
    if isinstance(judge, str):
        return find_verifier(judge, policy)
    is_verifier = is_wrapped(judge) or isinstance(judge, RegisteredVerifier)
    return cast(Verifier, judge) if is_verifier else wrap(cast(OwnFunction, judge))


__all__ = [
    "KINDS",
    "Kind",
    "OwnFunction",
    "RegisteredVerifier",
    "Verifier",
    "as_verifier",
    "find_verifier",
    "wrap",
]

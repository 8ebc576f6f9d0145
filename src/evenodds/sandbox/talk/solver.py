"""The untrusted side: loads the solution and calls its functions with the arguments that come.

It runs in one process with the solution, which may do to it what it likes: all that it can bring
about is what it sends, and that is data.
"""

from __future__ import annotations

import importlib.util
import sys
import typing
from types import ModuleType
from typing import Any

from evenodds.sandbox.talk import wire

GIVEN = ("Any", "Callable", "Deque", "Dict", "List", "Optional", "Set", "Tuple", "Union")
"""Names of `typing` that sites with problems of this kind have imported for their solutions."""


def load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("solution", "solution.py")
    if spec is None or spec.loader is None:
        raise ImportError("solution.py")
    module = importlib.util.module_from_spec(spec)
    vars(module).update({name: getattr(typing, name) for name in GIVEN})
    sys.modules["solution"] = module
    spec.loader.exec_module(module)
    return module


def described(error: BaseException) -> str:
    try:
        return f"{type(error).__name__}: {error}"[:300]
    except BaseException:  # an exception that cannot be shown
        return type(error).__name__[:300]


def found(module: ModuleType, name: str) -> Any:
    """The function of that name, or the method of a class `Solution`. Raises `NameError`."""
    if hasattr(module, name):
        return getattr(module, name)
    if hasattr(module, "Solution"):
        method = getattr(module.Solution(), name, None)
        if method is not None:
            return method
    raise NameError(f"name {name!r} is not defined")


def answered(module: ModuleType, request: dict[str, Any]) -> dict[str, Any]:
    arguments, named = wire.unpack(request["arguments"]), wire.unpack(request["named"])
    try:
        value = found(module, request["name"])(*arguments, **named)
        reply = {"value": wire.Packer().pack(value)}
        if value is None:
            reply["arguments"] = wire.Packer().pack(arguments)
        return reply
    except BaseException as error:  # whatever it raises is told
        names = [kind.__name__ for kind in type(error).__mro__]
        return {"raised": names, "text": described(error), **arguments_of(error)}


def arguments_of(error: BaseException) -> dict[str, Any]:
    """What it was raised with, so that a test may read its message; nothing where it is no data."""
    try:
        return {"args": wire.Packer().pack(list(error.args))}
    except BaseException:
        return {}


def main() -> None:
    """Answer the calls that come over the pipe, until it ends."""
    try:
        module = load()
    except BaseException as error:
        wire.send({"failed": described(error)})
        return
    wire.send({"ready": True})
    while True:
        try:
            request = wire.receive()
        except EOFError:
            return
        wire.send(answered(module, request))

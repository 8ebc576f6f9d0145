"""Sinks by name, or a class of a person's own."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any, cast

from evenodds.errors import UsageError, unknown
from evenodds.own import FAILURES, described
from evenodds.sinks.protocol import Factory, RunFacts, Sink
from evenodds.undisturbed import kept, loaded

SINKS = {  # name -> the class, the library that it needs, the extra that brings it
    "tensorboard": ("TensorBoardSink", "tensorboardX", "tensorboard"),
    "wandb": ("WandbSink", "wandb", "wandb"),
    "trackio": ("TrackioSink", "trackio", "trackio"),
}


def factory_of(name: str) -> Factory:
    """What makes the sink of this name. Raises `UsageError` where it cannot be used here."""
    if ".py:" in name:
        return _own(name)
    if name not in SINKS:
        raise unknown("sink", name, SINKS)
    made_by, library, extra = SINKS[name]
    if find_spec(library) is None:
        raise UsageError(
            f"the sink {name!r} needs {library}, which is not installed. "
            f"pip install 'evenodds[{extra}]', or leave it out of run.sinks."
        )
    return getattr(import_module(f"evenodds.sinks.{name}"), made_by)


METHODS = ("log", "summary", "close")


def _own(name: str) -> Factory:
    """A person's own class or function. Raises `UsageError` for what cannot be called."""
    found: Any = loaded(name)
    if not callable(found):
        raise UsageError(
            f"the sink {name!r} is no class. Got a {type(found).__name__}. Name a class of that "
            f"file with the methods {', '.join(METHODS)}."
        )
    return cast(Factory, found)


def open_sinks(factories: dict[str, Factory], run: RunFacts) -> dict[str, Sink]:
    """The sinks themselves. Raises `UsageError` where one cannot be opened: nothing has run yet."""
    found: dict[str, Sink] = {}
    for name, make in factories.items():
        try:
            with kept(f"the sink {name}"):  # stdout is for what the command prints itself
                found[name] = make(run)
        except FAILURES as error:  # of a library, or of a person's own code
            raise UsageError(
                f"the sink {name!r} cannot be opened: {described(error).rstrip('.')}. "
                "Mend that, or leave it out of run.sinks."
            ) from error
        missing = [method for method in METHODS if not callable(getattr(found[name], method, None))]
        if missing:
            raise UsageError(
                f"the sink {name!r} lacks methods. Got none named {', '.join(missing)}. Add them."
            )
    return found


def factories_of(names: Sequence[str]) -> dict[str, Factory]:
    return {name: factory_of(name) for name in names}

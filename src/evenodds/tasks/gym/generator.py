"""The generators of reasoning-gym, by level of their own curricula."""

from __future__ import annotations

import importlib
import importlib.metadata
import json
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from types import ModuleType
from typing import Any, cast

from evenodds.errors import RunError, UsageError
from evenodds.own import FAILURES, described, quiet
from evenodds.tasks.gym.table import LEVELS, VERSION

SIZES = (1_000_000, 10_000, 500)
"""How many problems one seed has, each made when it is asked for; some tasks have not so many."""
SIZE = SIZES[0]
TRIES = 20
MAX_LEVELS = 40

Entry = Mapping[str, Any]


def library() -> ModuleType:
    """The registry of reasoning-gym. Raises `UsageError` where it is missing or another version."""
    try:
        found = importlib.metadata.version("reasoning-gym")
        with quiet():
            module = importlib.import_module("reasoning_gym.factory")
    except ImportError as error:
        raise UsageError(
            "tasks named gym:… need the library reasoning-gym. Got none. Install it: pip install "
            "'evenodds[gym]' (it needs a C compiler, and an environment of its own for its pins)."
        ) from error
    if found != VERSION:
        raise UsageError(
            f"reasoning-gym {found} is not the one whose scorers were read. "
            f"Install it: pip install reasoning-gym=={VERSION}."
        )
    return module


@lru_cache(maxsize=64)
def configurations(name: str) -> tuple[Any, ...]:
    """The configuration of each level: all attributes of the curriculum are raised together.

    Levels from the first on that the task itself does not accept are left out; without a
    curriculum there is one level, the task's default.
    """
    factory = library()
    levels: list[Any] = []
    if factory.has_curriculum(name):
        curriculum = factory.create_curriculum(name)
        tops = [len(attribute.levels) for attribute in curriculum.attributes.values()]
        for level in range(min(max(tops, default=1), LEVELS.get(name, MAX_LEVELS))):
            config = _configuration(curriculum, level)
            if config is None:
                break
            levels.append(config)
    return tuple(levels) or (factory.DATASETS[name][1](seed=1, size=SIZES[-1]),)


def _configuration(curriculum: Any, level: int) -> Any:
    """The configuration of one level; None where the task refuses it."""
    for size in SIZES:
        try:
            for name, attribute in curriculum.attributes.items():
                curriculum.set_attr_level(name, min(level, len(attribute.levels) - 1))
            config = curriculum.generate_configuration({"seed": 1, "size": size})
            config.validate()
            return config
        except FAILURES:  # the library asserts what it wants
            continue
    return None


@lru_cache(maxsize=256)
def data_set(name: str, level: int, seed: int) -> Any:
    """The data set of a level, whose problems follow from the seed and their number."""
    config, last = configurations(name)[level], ""
    for size in (size for size in SIZES if size <= config.size):
        try:
            with quiet():
                return library().DATASETS[name][0](config=replace(config, seed=seed, size=size))
        except FAILURES as error:
            last = described(error)
    raise UsageError(
        f"reasoning-gym could not make {name!r} at level {level}. Got {last}. Choose another task."
    )


def entry(name: str, level: int, seed: int, number: int) -> Entry:
    """A problem as plain data: question, answer and metadata. Numbers that fail are passed over."""
    made, last = data_set(name, level, seed), ""
    for attempt in range(TRIES):
        try:
            with quiet():
                found = made[(number + attempt) % len(made)]
            # as a worker process gets it: tuples are lists, and keys are texts
            return cast(Entry, json.loads(json.dumps(dict(found), default=str)))
        except FAILURES as error:
            last = described(error)
    raise RunError(
        f"reasoning-gym made no problem of {name!r} at level {level} in {TRIES} tries. "
        f"Got {last}. Leave that level out."
    )

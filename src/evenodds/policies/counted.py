"""Models that are made from a config.json, of no more modules than any model has."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from torch.nn.modules.module import (
    register_module_module_registration_hook,  # pyright: ignore[reportUnknownVariableType]
)

MODULES = 100_000  # twice those of the largest mixture of experts that is published


@contextmanager
def few_modules(most: int = MODULES) -> Generator[None]:
    """Inside, a model of more modules raises `ValueError` while it is made.

    Numbers of layers multiply with those of experts, so that no bound of each alone is enough.
    """
    count = 0

    def counted(parent: Any, name: str, module: Any) -> None:
        nonlocal count
        count += 1
        if count > most:
            raise ValueError(f"its config.json asks for more than {most:,} modules.")

    hook: Any = register_module_module_registration_hook(counted)
    try:
        yield
    finally:
        hook.remove()

"""What decides how Python and numpy compute, and where they look for files."""

from __future__ import annotations

import decimal
import gc
import locale
import os
import sys
from collections.abc import Sequence
from operator import attrgetter
from typing import Any

import numpy as np

from evenodds.undisturbed.part import Part

DECIMAL = attrgetter("prec", "rounding", "Emin", "Emax", "clamp")
VARIABLES = (
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "CUBLAS_WORKSPACE_CONFIG",
)
"""Variables of the environment that decide how torch computes."""


def _folder() -> str | None:
    try:
        return os.getcwd()
    except OSError:  # it was removed
        return None


def _decimals() -> tuple[Any, ...]:
    found = decimal.getcontext()
    return (*DECIMAL(found), dict(found.traps))


def _set_decimals(values: Sequence[Any]) -> None:
    found = decimal.getcontext()
    found.prec, found.rounding, found.Emin, found.Emax, found.clamp, found.traps = values


def _variables() -> tuple[str | None, ...]:
    return tuple(map(os.environ.get, VARIABLES))


def _set_variables(values: Sequence[str | None]) -> None:
    for name, value in zip(VARIABLES, values, strict=True):
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


PARTS = (
    # the limit comes first, for to put the others back needs some depth
    Part("the recursion limit", sys.getrecursionlimit, sys.setrecursionlimit),
    Part("the working folder", _folder, lambda to: to and os.chdir(to)),
    Part("garbage collection", gc.isenabled, lambda on: gc.enable() if on else gc.disable()),
    Part(
        "the locale",
        lambda: locale.setlocale(locale.LC_ALL),
        lambda to: locale.setlocale(locale.LC_ALL, to),
    ),
    Part("the context of decimals", _decimals, _set_decimals),
    Part("the errors of numpy", np.geterr, lambda to: np.seterr(**to)),
    Part("variables of the environment", _variables, _set_variables),
)

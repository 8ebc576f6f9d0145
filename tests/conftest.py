"""Shapes are checked in tests: beartype reads the jaxtyping annotations of the maths."""

from __future__ import annotations

import os

import pytest
from jaxtyping import install_import_hook

os.environ.setdefault("HF_HUB_OFFLINE", "1")
install_import_hook(
    ["evenodds.objectives", "evenodds.batch", "evenodds.diagnostics", "evenodds.policies.policy"],
    "beartype.beartype",
)


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> None:
    """Tiny tensors: a second thread only costs."""
    os.environ["OMP_NUM_THREADS"] = "1"

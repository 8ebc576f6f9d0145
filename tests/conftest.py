"""Shapes are checked in tests: beartype reads the jaxtyping annotations of the maths."""

from __future__ import annotations

import os

from jaxtyping import install_import_hook

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ["OMP_NUM_THREADS"] = "1"  # tiny tensors, and two workers: a second thread only costs
install_import_hook(
    ["evenodds.objectives", "evenodds.batch", "evenodds.diagnostics", "evenodds.policies.policy"],
    "beartype.beartype",
)

"""Shapes are checked in tests: beartype reads the jaxtyping annotations of the maths."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import jaxtyping
import pytest
from jaxtyping import install_import_hook

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ["OMP_NUM_THREADS"] = "1"  # tiny tensors, and two workers: a second thread only costs
signal.signal(signal.SIGINT, signal.default_int_handler)  # `pytest &` in a script has it ignored
install_import_hook(
    ["evenodds.objectives", "evenodds.batch", "evenodds.diagnostics", "evenodds.policies.policy"],
    "beartype.beartype",
)


def pytest_addoption(parser: pytest.Parser) -> None:
    told = "seconds for each test in tests/faults; what does not fit is sampled at random"
    parser.addoption("--budget", type=float, default=4.0, metavar="SECONDS", help=told)


@pytest.fixture
def budget(request: pytest.FixtureRequest) -> float:
    """Seconds that a test which samples may go on."""
    return request.config.getoption("--budget")


@pytest.fixture
def no_shapes() -> Iterator[None]:
    """The checks of shapes are off: they are more than half the time of an oracle's tiny calls.

    The same code is run with them by `lab/test_oracle.py` and by the tests of the objectives.
    """
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)

"""What tests of the lab share."""

from __future__ import annotations

from collections.abc import Iterator

import jaxtyping
import pytest


@pytest.fixture(scope="module")
def no_shapes() -> Iterator[None]:
    """The checks of shapes are off: they are more than half the time of an oracle's tiny calls.

    The same code is run with them by `test_oracle.py` and by the tests of the objectives.
    """
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)

"""A sandbox for tests, or the reason why there is none."""

from __future__ import annotations

import pytest

from evenodds.sandbox import available

REASON = available()
needs_sandbox = pytest.mark.skipif(REASON is not None, reason=str(REASON))

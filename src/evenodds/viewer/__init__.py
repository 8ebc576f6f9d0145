"""`evenodds inspect`: a run folder as local pages, read only, while it grows and afterwards."""

from __future__ import annotations

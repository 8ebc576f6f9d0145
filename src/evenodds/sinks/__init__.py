"""Where the metrics of a run also go. The JSON lines in its folder are always written."""

from __future__ import annotations

from evenodds.sinks.choose import SINKS, factories_of, open_sinks
from evenodds.sinks.outlets import Outlets
from evenodds.sinks.protocol import Factory, RunFacts, Sink

__all__ = ["SINKS", "Factory", "Outlets", "RunFacts", "Sink", "factories_of", "open_sinks"]

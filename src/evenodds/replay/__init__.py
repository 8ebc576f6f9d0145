"""A rollout made again from its record: weights, tokens, verdict, and its part of the loss."""

from __future__ import annotations

from evenodds.replay.again import Judgement, Replayed, replay
from evenodds.replay.names import Name, drawn, name_of, of_step

__all__ = ["Judgement", "Name", "Replayed", "drawn", "name_of", "of_step", "replay"]

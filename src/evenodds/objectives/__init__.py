"""Objectives: values made of small pure choices, one for each axis on which the papers differ."""

from evenodds.objectives.choose import make_objective
from evenodds.objectives.coefficient import EntropyBonus
from evenodds.objectives.objective import Objective, Scored
from evenodds.objectives.ratio import Tokens
from evenodds.objectives.recipes import RECIPES
from evenodds.objectives.shaping import shaped, unshaped

__all__ = [
    "RECIPES",
    "EntropyBonus",
    "Objective",
    "Scored",
    "Tokens",
    "make_objective",
    "shaped",
    "unshaped",
]

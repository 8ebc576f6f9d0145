"""Objectives: values made of small pure choices, one for each axis on which the papers differ."""

from evenodds.objectives.objective import Objective, Scored
from evenodds.objectives.ratio import Tokens
from evenodds.objectives.recipes import RECIPES, make_objective

__all__ = ["RECIPES", "Objective", "Scored", "Tokens", "make_objective"]

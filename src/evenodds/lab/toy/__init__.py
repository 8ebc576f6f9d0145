"""The GRU experiment: a mean that rises while the model gets worse, and a setting that keeps it."""

from evenodds.lab.toy.experiment import Base, ToyResult, make_base, run_toy_experiment
from evenodds.lab.toy.gru import GruPolicy, GruSampler
from evenodds.lab.toy.settings import PROFILES, SETTINGS, Profile, Setting

__all__ = [
    "PROFILES",
    "SETTINGS",
    "Base",
    "GruPolicy",
    "GruSampler",
    "Profile",
    "Setting",
    "ToyResult",
    "make_base",
    "run_toy_experiment",
]

"""Whether the model of a run is what its steps have come to."""

from __future__ import annotations

from evenodds.durable import fault_of, numbered, sums_of
from evenodds.run.folder import PREFIX, RunFolder

WEIGHTS = ".safetensors"


def fault_of_model(folder: RunFolder) -> str:
    """What is wrong with a run's model; empty where nothing is.

    A run that was given more steps has the model of its earlier end until it writes the new one. A
    kill in between leaves a sound folder beside the evaluation of other weights, so its weights are
    compared with those of the newest checkpoint. Where no checkpoint is left the model is believed.
    """
    return fault_of(folder.model) or outlived(folder)


def outlived(folder: RunFolder) -> str:
    """Of a sound model of other weights: what is wrong with it. Only manifests are read."""
    for checkpoint in numbered(folder.checkpoints, PREFIX):
        saved = {
            name.removeprefix("policy/"): digest
            for name, digest in sums_of(checkpoint).items()
            if name.startswith("policy/") and name.endswith(WEIGHTS)
        }
        if saved:
            there = {n: d for n, d in sums_of(folder.model).items() if n.endswith(WEIGHTS)}
            earlier = f"{str(folder.model)!r} holds the weights of an earlier end of this run"
            return "" if there == saved else earlier
    return ""

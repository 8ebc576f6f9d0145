"""Adapters that name code or a hostile base, or ask for too much."""

from __future__ import annotations

from typing import Any

from tests.hostile.folders.place import REFUSED, WEIGHTS, Place, pickled, refused
from tests.hostile.folders.weights import safetensors


def adapter(place: Place, base: str, weights: bool = True, **values: Any) -> None:
    """The folder as a LoRA of `base`."""
    place.drop("config.json", WEIGHTS)
    known = {"peft_type": "LORA", "task_type": "CAUSAL_LM", "r": 2, "lora_alpha": 4}
    wanted = {"base_model_name_or_path": base, "target_modules": ["q_proj"]}
    place.change("adapter_config.json", **(known | wanted | values))
    if weights:
        safetensors(place, b"{}")
        (place.folder / WEIGHTS).rename(place.folder / "adapter_model.safetensors")


def _adapter(name: str, **values: Any) -> None:
    REFUSED[name] = lambda place: adapter(place, "abacus", **values)


_adapter("a rank of a billion", r=10**9)
_adapter("a rank of a billion for one layer", rank_pattern={"q_proj": 10**9})
_adapter("layers a billion times", layer_replication=[[0, 10**9]])
_adapter("an adapter that imports a module", megatron_config={"a": 1}, megatron_core="antigravity")
_adapter("an adapter with a library of its own", auto_mapping={"parent_library": "antigravity"})
_adapter("a pattern of modules that searches for ever", target_modules="(.*)*x|(a+)+")
_adapter("a pattern of ranks that searches for ever", rank_pattern={"(.*)*x": 2})
_adapter("an adapter without a base", base_model_name_or_path=None)
_adapter("an adapter of a kind that there is not", peft_type="EVIL")
_adapter("an adapter without tensors")


@refused
def an_adapter_on_a_pickle(place: Place) -> None:
    (place.outside / WEIGHTS).unlink()
    (place.outside / "pytorch_model.bin").write_bytes(pickled(place))
    adapter(place, str(place.outside))


@refused
def a_pickled_adapter(place: Place) -> None:
    adapter(place, "abacus", weights=False)
    (place.folder / "adapter_model.bin").write_bytes(pickled(place))


@refused
def an_adapter_on_itself(place: Place) -> None:
    adapter(place, str(place.folder))


@refused
def an_adapter_on_a_file(place: Place) -> None:
    adapter(place, "/etc/passwd")


@refused
def an_adapter_on_a_path_above(place: Place) -> None:
    adapter(place, "../../../../etc")

"""Weights that are no safetensors, are not there, or lie in their headers."""

from __future__ import annotations

import json
import struct
from typing import Any

from tests.hostile.folders.place import WEIGHTS, Place, harmless, pickled, refused


@refused
def pickled_weights(place: Place) -> None:
    place.drop(WEIGHTS)
    (place.folder / "pytorch_model.bin").write_bytes(pickled(place))


@refused
def pickled_shards(place: Place) -> None:
    place.drop(WEIGHTS)
    (place.folder / "pytorch_model-00001-of-00001.bin").write_bytes(pickled(place))
    index = {"metadata": {}, "weight_map": {"a": "pytorch_model-00001-of-00001.bin"}}
    (place.folder / "pytorch_model.bin.index.json").write_text(json.dumps(index))


@refused
def a_pickle_called_safetensors(place: Place) -> None:
    (place.folder / WEIGHTS).write_bytes(pickled(place))


@refused
def flax_weights(place: Place) -> None:
    place.drop(WEIGHTS)
    (place.folder / "flax_model.msgpack").write_bytes(pickled(place))


@harmless
def a_pickle_beside_good_weights(place: Place) -> None:
    for name in ("pytorch_model.bin", "optimizer.pt", "training_args.bin", "scheduler.pt"):
        (place.folder / name).write_bytes(pickled(place))


@refused
def no_weights(place: Place) -> None:
    place.drop(WEIGHTS)


def _index(place: Place, file: Any) -> None:
    place.drop(WEIGHTS)
    index = {"metadata": {"total_size": 1}, "weight_map": {"model.norm.weight": file}}
    (place.folder / f"{WEIGHTS}.index.json").write_text(json.dumps(index))


@refused
def a_shard_above(place: Place) -> None:
    _index(place, "../outside/model.safetensors")


@refused
def a_shard_by_an_absolute_path(place: Place) -> None:
    _index(place, str(place.outside / WEIGHTS))


@refused
def a_shard_by_a_windows_path(place: Place) -> None:
    _index(place, "..\\outside\\model.safetensors")


@refused
def a_pickled_shard(place: Place) -> None:
    _index(place, "shard.bin")
    (place.folder / "shard.bin").write_bytes(pickled(place))


@refused
def a_shard_that_is_no_name(place: Place) -> None:
    _index(place, ["model.safetensors"])


@refused
def a_shard_that_is_missing(place: Place) -> None:
    _index(place, "gone.safetensors")


@refused
def an_index_without_a_table(place: Place) -> None:
    place.drop(WEIGHTS)
    (place.folder / f"{WEIGHTS}.index.json").write_text('{"weight_map": 3}')


@refused
def weights_named_in_the_config(place: Place) -> None:
    place.drop(WEIGHTS)
    place.change("config.json", transformers_weights="../outside/model.safetensors")


def safetensors(place: Place, header: bytes, data: bytes = b"", length: int | None = None) -> None:
    """Weights with this header."""
    first = struct.pack("<Q", len(header) if length is None else length)
    (place.folder / WEIGHTS).write_bytes(first + header + data)


def _table(**tensors: Any) -> bytes:
    return json.dumps(tensors).encode()


def _tensor(shape: list[Any], begin: int, end: int, kind: Any = "F32") -> dict[str, Any]:
    return {"dtype": kind, "shape": shape, "data_offsets": [begin, end]}


@refused
def a_header_of_100_MB(place: Place) -> None:
    safetensors(place, b"{" + b" " * (100_000_000 - 2) + b"}")


@refused
def a_header_of_a_million_tensors(place: Place) -> None:
    row = '"%d":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}'
    safetensors(place, ("{" + ",".join(row % i for i in range(1_000_000)) + "}").encode())


@refused
def a_header_beyond_the_file(place: Place) -> None:
    safetensors(place, b"{}", length=2**40)


@refused
def a_header_of_2_to_63(place: Place) -> None:
    safetensors(place, b"{}", length=2**63)


@refused
def a_header_of_no_length(place: Place) -> None:
    safetensors(place, b"", length=0)


@refused
def an_empty_file(place: Place) -> None:
    (place.folder / WEIGHTS).write_bytes(b"")


@refused
def a_file_cut_short(place: Place) -> None:
    data = (place.folder / WEIGHTS).read_bytes()
    (place.folder / WEIGHTS).write_bytes(data[: len(data) // 2])


@refused
def a_file_with_more_behind(place: Place) -> None:
    with open(place.folder / WEIGHTS, "ab") as file:
        file.write(b"more")


@refused
def a_header_that_is_a_list(place: Place) -> None:
    safetensors(place, b"[1]")


@refused
def a_header_that_is_no_JSON(place: Place) -> None:
    safetensors(place, b"{'a': 1}")


@refused
def a_header_nested_deep(place: Place) -> None:
    safetensors(place, b'{"a":' * 100_000 + b"1" + b"}" * 100_000)


@refused
def overlapping_tensors(place: Place) -> None:
    safetensors(place, _table(a=_tensor([2], 0, 8), b=_tensor([2], 4, 12)), b"\0" * 12)


@refused
def a_gap_between_tensors(place: Place) -> None:
    safetensors(place, _table(a=_tensor([1], 0, 4), b=_tensor([1], 8, 12)), b"\0" * 12)


@refused
def a_tensor_beyond_the_file(place: Place) -> None:
    safetensors(place, _table(a=_tensor([2**40], 0, 2**42)), b"\0" * 16)


@refused
def a_shape_that_is_larger_than_its_bytes(place: Place) -> None:
    safetensors(place, _table(a=_tensor([10**9, 10**9], 0, 16)), b"\0" * 16)


@refused
def a_shape_whose_product_overflows(place: Place) -> None:
    safetensors(place, _table(a=_tensor([2**32, 2**32], 0, 0)))


@refused
def a_negative_shape(place: Place) -> None:
    safetensors(place, _table(a=_tensor([-2, -2], 0, 16)), b"\0" * 16)


@refused
def a_shape_of_words(place: Place) -> None:
    safetensors(place, _table(a=_tensor(["x"], 0, 4)), b"\0" * 4)


@refused
def a_dtype_that_there_is_not(place: Place) -> None:
    safetensors(place, _table(a=_tensor([1], 0, 8, "O")), b"\0" * 8)


@refused
def a_dtype_that_is_a_table(place: Place) -> None:
    safetensors(place, _table(a=_tensor([1], 0, 4, {})), b"\0" * 4)


@refused
def a_tensor_that_ends_before_it_begins(place: Place) -> None:
    safetensors(place, _table(a=_tensor([1], 4, 0)), b"\0" * 4)

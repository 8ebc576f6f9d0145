"""Links that lead elsewhere, devices, pipes, and files of a size that such files never have."""

from __future__ import annotations

import os
from pathlib import Path

from tests.hostile.folders.place import WEIGHTS, Place, refused


def _link(place: Place, file: str, target: str | Path) -> None:
    place.drop(file)
    (place.folder / file).symlink_to(target)


@refused
def a_link_to_other_weights(place: Place) -> None:
    _link(place, WEIGHTS, place.outside / WEIGHTS)


@refused
def a_link_above(place: Place) -> None:
    _link(place, WEIGHTS, "../outside/model.safetensors")


@refused
def a_config_that_is_etc_passwd(place: Place) -> None:
    _link(place, "config.json", "/etc/passwd")


@refused
def a_tokenizer_that_is_a_link(place: Place) -> None:
    _link(place, "tokenizer.json", place.outside / "tokenizer.json")


@refused
def a_template_that_is_etc_passwd(place: Place) -> None:
    _link(place, "chat_template.jinja", "/etc/passwd")


@refused
def templates_that_are_etc(place: Place) -> None:
    _link(place, "additional_chat_templates", "/etc")


@refused
def a_link_to_itself(place: Place) -> None:
    _link(place, "generation_config.json", "generation_config.json")


@refused
def a_link_to_a_device(place: Place) -> None:
    _link(place, WEIGHTS, "/dev/zero")


@refused
def a_config_that_is_a_pipe(place: Place) -> None:
    place.drop("config.json")
    os.mkfifo(place.folder / "config.json")


@refused
def a_tokenizer_that_is_a_pipe(place: Place) -> None:
    place.drop("tokenizer.json")
    os.mkfifo(place.folder / "tokenizer.json")


@refused
def a_config_that_is_a_folder(place: Place) -> None:
    place.drop("config.json")
    (place.folder / "config.json").mkdir()


@refused
def a_config_of_200_MB(place: Place) -> None:
    with open(place.folder / "config.json", "w") as file:
        file.write('{"model_type": "qwen3", "a": "')
        file.write("x" * 200_000_000)
        file.write('"}')


@refused
def a_tokenizer_of_200_MB(place: Place) -> None:
    with open(place.folder / "tokenizer.json", "w") as file:
        file.write('{"a": "' + "x" * 200_000_000 + '"}')


@refused
def a_sparse_config_of_a_terabyte(place: Place) -> None:
    with open(place.folder / "generation_config.json", "wb") as file:
        file.truncate(2**40)

"""Hostile model folders: one line, exit 2, little time and memory, no code, nothing outside."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from evenodds.errors import UsageError
from evenodds.places import bundled_folder
from evenodds.policies.vetted import require_vetted
from evenodds.policies.vetted.patterns import repeats_a_repetition
from tests.hostile.folders import HARMLESS, REFUSED, make
from tests.hostile.trial import faults

LOADED = {
    *("no weights", "a thousand thousand layers", "a vocabulary of a billion", "own code"),
    *("a mixture of a hundred thousand", "weights named in the config", "pickled weights"),
    *("an adapter on a pickle", "a tokenizer with code", "ids beyond the model"),
    *("own code for a known model", "a pickle beside good weights", "a config that is a pipe"),
}
"""Those that go further than our own look at the folder, and some that do not, as a person would
meet them; benchmarks/durability.py has all of them."""


def test_there_are_a_hundred_of_them() -> None:
    assert len(REFUSED | HARMLESS) >= 100
    assert {*LOADED} <= REFUSED.keys() | HARMLESS.keys()


def test_those_that_a_library_would_see_are_met_well() -> None:
    assert [fault for fault in faults(sorted(LOADED)) if fault] == []


SEEN = [name for name in REFUSED if "200 MB" not in name and "million tensors" not in name]


@pytest.mark.parametrize("name", SEEN)
def test_our_own_look_is_quick_and_one_line(tmp_path: Path, name: str) -> None:
    place = make(tmp_path, REFUSED[name])
    began = time.process_time()
    try:
        require_vetted(place.folder, "theirs")
    except UsageError as error:
        assert "\n" not in str(error)
        assert "theirs" in str(error)
    assert time.process_time() - began < 1
    assert not place.canary.exists()


def test_the_bundled_model_and_a_cache_of_the_hub_are_let_through(tmp_path: Path) -> None:
    require_vetted(bundled_folder(), "abacus")
    blobs, shot = tmp_path / "blobs", tmp_path / "snapshots" / "abc"
    blobs.mkdir()
    shot.mkdir(parents=True)
    for path in bundled_folder().iterdir():
        (blobs / f"0{path.name}").write_bytes(path.read_bytes())
        (shot / path.name).symlink_to(f"../../blobs/0{path.name}")
    require_vetted(shot, "hub/name")
    (shot / "more.json").symlink_to("../../other")
    (tmp_path / "other").write_text("{}")
    with pytest.raises(UsageError, match=r"'more.json' is a link out of the folder"):
        require_vetted(shot, "hub/name")


def test_a_link_inside_the_folder_is_no_fault(tmp_path: Path) -> None:
    place = make(tmp_path, lambda place: None)
    (place.folder / "copy.safetensors").symlink_to("model.safetensors")
    require_vetted(place.folder, "mine")


def test_patterns_of_real_tokenizers_are_quick() -> None:
    real = [
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+"
        r"[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{M}]*[\p{Ll}\p{M}]+(?i:'s|'t|'re)?| ?[^\s\p{L}\p{N}]+[\r\n/]*",
        r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+",
        r"\d{1,3}(?=(?:\d{3})*\b)",
        r"(\d{3})+(?!\d)",
        r".*language_model.*\.(q_proj|k_proj)",
    ]
    assert [pattern for pattern in real if repeats_a_repetition(pattern)] == []


@pytest.mark.parametrize(
    "pattern", [r"(a+)+b", r"(?:a*)*", r"((ab)*c)+", r"(a{2,})+", r"(x(y+)z)*", r"((((a+))))+"]
)
def test_a_repetition_in_a_repetition_is_found(pattern: str) -> None:
    assert repeats_a_repetition(pattern)


def test_large_numbers_that_models_have_are_let_through(tmp_path: Path) -> None:
    """What large published models say of themselves."""
    place = make(tmp_path, lambda place: None)
    known = {
        *{"rope_theta": 1_000_000_000, "max_position_embeddings": 10_485_760}.items(),
        *{"vocab_size": 262_208, "num_hidden_layers": 126, "n_routed_experts": 512}.items(),
        *{"torch_dtype": "bfloat16", "attn_implementation": "flash_attention_2"}.items(),
    }
    config = json.loads((place.folder / "config.json").read_text()) | dict(known)
    config |= {"time_step_limit": [0.0, float("inf")], "text_config": {"num_hidden_layers": 62}}
    place.change("config.json", **config)
    require_vetted(place.folder, "large")

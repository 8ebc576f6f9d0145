"""Tokenizers that name code, search for ever, or blow a text up."""

from __future__ import annotations

import json
from typing import Any

from tests.hostile.folders.place import REFUSED, Place, refused


@refused
def a_tokenizer_with_code(place: Place) -> None:
    code = f"open({str(place.canary)!r}, 'w').close()\n"
    (place.folder / "tokenization_evil.py").write_text(code)
    auto_map = {"AutoTokenizer": ["tokenization_evil.Evil", None]}
    place.drop("tokenizer.json")
    place.change("tokenizer_config.json", tokenizer_class="Evil", auto_map=auto_map)


def _tokenizer(name: str, **values: Any) -> None:
    REFUSED[name] = lambda place: place.change("tokenizer.json", **values)


def _split(pattern: str) -> dict[str, Any]:
    found = {"Regex": pattern}
    return {"type": "Split", "pattern": found, "behavior": "Isolated", "invert": False}


DOUBLED = {"type": "Replace", "pattern": {"String": "1"}, "content": "11"}
_tokenizer("a pattern that searches for ever", pre_tokenizer=_split("(1+)+b"))
_tokenizer("another pattern that searches for ever", pre_tokenizer=_split("(?:[0-9]*)*x"))
_tokenizer(
    "a text doubled forty times",
    normalizer={"type": "Sequence", "normalizers": [DOUBLED] * 40},
)
_tokenizer(
    "a text a million times as long",
    normalizer={"type": "Replace", "pattern": {"String": "1"}, "content": "1" * 1_000_000},
)
_tokenizer(
    "a decoder that makes a text long",
    decoder={"type": "Sequence", "decoders": [DOUBLED] * 40},
)
_tokenizer(
    "an id of 2^31",
    added_tokens=[
        {
            "id": 2**31, "content": "x", "single_word": False, "lstrip": False, "rstrip": False,
            "normalized": False, "special": True,
        }
    ],
)  # fmt: skip
BYTES = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": False}
_tokenizer(
    "bytes written as characters forty times",
    pre_tokenizer={"type": "Sequence", "pretokenizers": [BYTES] * 40},
)
PREPENDED = {"type": "Prepend", "prepend": "x"}
_tokenizer(
    "a hundred thousand rules",
    normalizer={"type": "Sequence", "normalizers": [PREPENDED] * 100_000},
)
_tokenizer(
    "a little in each stage",
    normalizer={"type": "Sequence", "normalizers": [DOUBLED] * 7},
    pre_tokenizer={"type": "Sequence", "pretokenizers": [BYTES] * 7},
)


def _template(ids: int, times: int) -> dict[str, Any]:
    special = {"SpecialToken": {"id": "x", "type_id": 0}}
    text = {"Sequence": {"id": "A", "type_id": 0}}
    return {
        "type": "TemplateProcessing",
        "single": [*[special] * times, text],
        "pair": [text, {"Sequence": {"id": "B", "type_id": 1}}],
        "special_tokens": {"x": {"id": "x", "ids": [1] * ids, "tokens": ["x"] * ids}},
    }


_tokenizer("forty million ids before each text", post_processor=_template(200_000, 200))
_tokenizer(
    "a table of characters that is none",
    normalizer={"type": "Precompiled", "precompiled_charsmap": "////////////////"},
)
_tokenizer("a tokenizer without a model", model=None)
_tokenizer("a tokenizer of another kind", model={"type": "Evil"})


@refused
def a_tokenizer_that_is_no_JSON(place: Place) -> None:
    (place.folder / "tokenizer.json").write_text("{")


@refused
def a_tokenizer_nested_deep(place: Place) -> None:
    (place.folder / "tokenizer.json").write_text('{"a":' * 100_000 + "1" + "}" * 100_000)


@refused
def ids_beyond_the_model(place: Place) -> None:
    known = json.loads((place.folder / "tokenizer.json").read_text())
    known["model"]["vocab"]["x"] = 2**31
    place.change("tokenizer.json", **known)


@refused
def a_tokenizer_of_another_interface(place: Place) -> None:
    place.change("tokenizer_config.json", tokenizer_class="RagTokenizer")

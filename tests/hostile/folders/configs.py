"""config.json that names code, or asks for a model of any size."""

from __future__ import annotations

from typing import Any

from tests.hostile.folders.place import REFUSED, Place, harmless, refused


def _config(name: str, **values: Any) -> None:
    REFUSED[name] = lambda place: place.change("config.json", **values)


_config("a billion layers", num_hidden_layers=10**9)
_config("a thousand thousand layers", num_hidden_layers=99_999, layer_types=None)
_config("a vocabulary of a billion", vocab_size=10**9)
_config("a vocabulary of 10^18", vocab_size=10**18)
_config("a hidden size of a billion", hidden_size=10**9)
_config("a head of a billion", head_dim=10**9)
_config("a billion labels", num_labels=10**9)
_config("no heads", num_attention_heads=0)
_config("minus one layer", num_hidden_layers=-1)
_config("no vocabulary", vocab_size=0)
_config("layers that are a word", num_hidden_layers="four")
_config("a size that is not a number", hidden_size=float("nan"))
_config("a precision that there is not", dtype="os.system")
_config("a torch_dtype that is a list", torch_dtype=["float32"])
_config("attention from a repository", _attn_implementation="evil/kernel:run")
_config("attention from a repository, by part", _attn_implementation={"": "evil/kernel:run"})
_config("attention that is compiled", _attn_implementation="flex_attention")
_config("an end that is a word", eos_token_id=["x"])
_config("experts from a repository", experts_implementation="evil/kernel")
_config("a kind of model that there is not", model_type="evil")
_config("a kind of model that is a number", model_type=3)
_config("rope that is nonsense", rope_parameters={"rope_type": "evil", "rope_theta": "x"})
_config("an activation that there is not", hidden_act="os.system")
_config("a quantization that is not here", quantization_config={"quant_method": "gptq", "bits": 4})


@refused
def an_end_that_is_half_a_token(place: Place) -> None:
    place.change("generation_config.json", eos_token_id=1.5)


@refused
def own_code(place: Place) -> None:
    code = f"open({str(place.canary)!r}, 'w').close()\n"
    (place.folder / "modeling_evil.py").write_text(code)
    (place.folder / "configuration_evil.py").write_text(code)
    place.change(
        "config.json",
        model_type="evil",
        auto_map={
            "AutoConfig": "configuration_evil.EvilConfig",
            "AutoModelForCausalLM": "modeling_evil.Evil",
        },
    )


@harmless
def own_code_for_a_known_model(place: Place) -> None:
    code = f"open({str(place.canary)!r}, 'w').close()\n"
    (place.folder / "modeling_evil.py").write_text(code)
    place.change("config.json", auto_map={"AutoModelForCausalLM": "modeling_evil.Evil"})


@harmless
def a_quantization_that_there_is_not(place: Place) -> None:
    place.change("config.json", quantization_config={"quant_method": "evil"})


@harmless
def own_code_from_elsewhere_for_a_known_model(place: Place) -> None:
    place.change("config.json", auto_map={"AutoModelForCausalLM": "evil/repo--modeling.Evil"})


@refused
def a_mixture_of_a_hundred_thousand(place: Place) -> None:
    place.change(
        "config.json",
        model_type="mixtral",
        architectures=["MixtralForCausalLM"],
        layer_types=None,
        num_local_experts=99_999,
        num_hidden_layers=99_999,
    )


@refused
def a_table_of_positions(place: Place) -> None:
    """GPT-2 makes a mask of the square of its positions."""
    sizes = {"n_positions": 140_000, "n_embd": 2, "n_layer": 1, "n_head": 1}
    place.change("config.json", model_type="gpt2", architectures=["GPT2LMHeadModel"], **sizes)


@refused
def a_config_nested_deep(place: Place) -> None:
    (place.folder / "config.json").write_text('{"a":' * 100_000 + "1" + "}" * 100_000)


@refused
def a_config_of_lists(place: Place) -> None:
    (place.folder / "config.json").write_text('{"a":' + "[" * 500 + "]" * 500 + "}")


@refused
def a_config_that_is_a_list(place: Place) -> None:
    (place.folder / "config.json").write_text("[1, 2]")


@refused
def a_config_that_is_no_text(place: Place) -> None:
    (place.folder / "config.json").write_bytes(b"\xff\xfe\x00")

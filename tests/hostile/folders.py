"""Model folders of a stranger, each wrong or hostile in one way, by name.

Each is a copy of the bundled model that one function changes. `outside` lies beside the folder and
must never be read; `canary` must never be made: it is what code of the folder would write.
"""

from __future__ import annotations

import json
import os
import shutil
import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evenodds.places import bundled_folder


@dataclass(frozen=True)
class Place:
    folder: Path
    outside: Path
    canary: Path

    def change(self, file: str, **values: Any) -> None:
        path = self.folder / file
        known = json.loads(path.read_text()) if path.exists() else {}
        path.unlink(missing_ok=True)
        path.write_text(json.dumps(known | values))

    def drop(self, *files: str) -> None:
        for file in files:
            (self.folder / file).unlink(missing_ok=True)


Change = Callable[[Place], None]
REFUSED: dict[str, Change] = {}
"""One line, exit 2."""
HARMLESS: dict[str, Change] = {}
"""May be loaded: what is hostile in it is never looked at."""
WEIGHTS = "model.safetensors"
TEMPLATES: dict[str, str] = {
    "loops in loops": "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}"
    "{% endfor %}",
    "a text of 10^10 letters": "{{ 'x' * 10**10 }}",
    "a power of powers": "{{ 10**10**10 }}",
    "a text doubled": "{% set n = namespace(a='x') %}{% for i in range(60) %}"
    "{% set n.a = n.a ~ n.a %}{% endfor %}",
    "a list of itself": "{% set n = namespace(a=[1], b=[1]) %}{% for i in range(60) %}"
    "{% set n.a = [n.a, n.a] %}{% set n.b = [n.b, n.b] %}{% endfor %}{{ n.a == n.b }}",
    "a list of itself written": "{% set n = namespace(a=[1]) %}{% for i in range(60) %}"
    "{% set n.a = [n.a, n.a] %}{% endfor %}{{ n.a }}",
    "a list of itself as a key": "{% set n = namespace(a=(1,)) %}{% for i in range(60) %}"
    "{% set n.a = (n.a, n.a) %}{% endfor %}{% set d = {n.a: 1} %}",
    "a great width": "{{ '%1000000000d'|format(1) }}",
    "a great width in braces": "{{ '{:1000000000d}'.format(1) }}",
    "a width from elsewhere": "{{ '{:{}}'.format(1, '1000000000') }}",
    "a great width with a star": "{{ '%*d' % (1000000000, 1) }}",
    "a padded text": "{{ 'x'.ljust(1000000000) }}",
    "tabs": "{{ ('\t'*100000).expandtabs(99999) }}",
    "nonsense words": "{{ lipsum(n=10000000) }}",
    "replacing": "{% set a = 'x'*1000000 %}{{ a.replace('x', a) }}",
    "replacing by a filter": "{% set a = 'x'*1000000 %}{{ a|replace('x', a) }}",
    "translating": "{{ ('a'*1000000).translate({97: 'x'*1000000}) }}",
    "joining": "{% set a = ['x'*1000000]*1000000 %}{{ a|join }}",
    "macros": "{% macro f(n) %}{{ f(n+1) }}{{ f(n+1) }}{% endmacro %}{{ f(0) }}",
    "a loop of itself": "{% for x in [1] recursive %}{{ loop([1,1]) }}{% endfor %}",
    "an endless text": "{% for i in range(99999) %}{{ 'x'*1000 }}{% endfor %}",
    "a text that is kept": "{% set x %}{% for i in range(99999) %}{{ 'x'*100000 }}{% endfor %}"
    "{% endset %}",
    "sorting": "{% for i in range(99999) %}{{ (range(99999)|list|sort)|length }}{% endfor %}",
    "searching": "{{ range(99999)|select('in', range(99999)|list)|list|length }}",
    "squares of squares": "{% set n = namespace(a=9) %}{% for i in range(60) %}"
    "{% set n.a = n.a*n.a %}{% endfor %}{{ n.a }}",
    "wrapping": "{{ ('x'*1000000)|wordwrap(1) }}",
    "JSON with a great indent": "{{ ([[]]*1000)|tojson(indent=100000) }}",
    "its class": "{{ ''.__class__.__mro__[1].__subclasses__() }}",
    "its globals": "{{ raise_exception.__globals__['__builtins__'] }}",
    "globals of a helper": "{{ cycler.__init__.__globals__.os.system('touch CANARY') }}",
    "our own helpers": "{{ __weighed.__globals__['time'] }}",
    "a list that is changed": "{{ messages.append(1) }}",
    "an import": "{% import 'os' as os %}",
    "an include": "{% include '/etc/passwd' %}",
    "brackets": "{{ " + "(" * 5000 + "1" + ")" * 5000 + " }}",
    "conditions": "{% if 1 %}" * 3000 + "{% endif %}" * 3000,
}


def refused(change: Change) -> Change:
    REFUSED[change.__name__.replace("_", " ").strip()] = change
    return change


def harmless(change: Change) -> Change:
    HARMLESS[change.__name__.replace("_", " ").strip()] = change
    return change


def make(root: Path, change: Change) -> Place:
    """The folder, changed, below `root`."""
    place = Place(root / "model", root / "outside", root / "canary")
    shutil.copytree(bundled_folder(), place.folder)
    shutil.copytree(bundled_folder(), place.outside)
    change(place)
    return place


def pickled(place: Place) -> bytes:
    """What runs code where it is unpickled; written by hand, so that nothing here pickles."""
    code = f"open({str(place.canary)!r}, 'w').close()"
    return b"cbuiltins\nexec\n(V" + code.encode() + b"\ntR."


# weights


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


# headers of safetensors


def _safetensors(place: Place, header: bytes, data: bytes = b"", length: int | None = None) -> None:
    first = struct.pack("<Q", len(header) if length is None else length)
    (place.folder / WEIGHTS).write_bytes(first + header + data)


def _table(**tensors: Any) -> bytes:
    return json.dumps(tensors).encode()


def _tensor(shape: list[Any], begin: int, end: int, kind: Any = "F32") -> dict[str, Any]:
    return {"dtype": kind, "shape": shape, "data_offsets": [begin, end]}


@refused
def a_header_of_100_MB(place: Place) -> None:
    _safetensors(place, b"{" + b" " * (100_000_000 - 2) + b"}")


@refused
def a_header_of_a_million_tensors(place: Place) -> None:
    row = '"%d":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}'
    _safetensors(place, ("{" + ",".join(row % i for i in range(1_000_000)) + "}").encode())


@refused
def a_header_beyond_the_file(place: Place) -> None:
    _safetensors(place, b"{}", length=2**40)


@refused
def a_header_of_2_to_63(place: Place) -> None:
    _safetensors(place, b"{}", length=2**63)


@refused
def a_header_of_no_length(place: Place) -> None:
    _safetensors(place, b"", length=0)


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
    _safetensors(place, b"[1]")


@refused
def a_header_that_is_no_JSON(place: Place) -> None:
    _safetensors(place, b"{'a': 1}")


@refused
def a_header_nested_deep(place: Place) -> None:
    _safetensors(place, b'{"a":' * 100_000 + b"1" + b"}" * 100_000)


@refused
def overlapping_tensors(place: Place) -> None:
    _safetensors(place, _table(a=_tensor([2], 0, 8), b=_tensor([2], 4, 12)), b"\0" * 12)


@refused
def a_gap_between_tensors(place: Place) -> None:
    _safetensors(place, _table(a=_tensor([1], 0, 4), b=_tensor([1], 8, 12)), b"\0" * 12)


@refused
def a_tensor_beyond_the_file(place: Place) -> None:
    _safetensors(place, _table(a=_tensor([2**40], 0, 2**42)), b"\0" * 16)


@refused
def a_shape_that_is_larger_than_its_bytes(place: Place) -> None:
    _safetensors(place, _table(a=_tensor([10**9, 10**9], 0, 16)), b"\0" * 16)


@refused
def a_shape_whose_product_overflows(place: Place) -> None:
    _safetensors(place, _table(a=_tensor([2**32, 2**32], 0, 0)))


@refused
def a_negative_shape(place: Place) -> None:
    _safetensors(place, _table(a=_tensor([-2, -2], 0, 16)), b"\0" * 16)


@refused
def a_shape_of_words(place: Place) -> None:
    _safetensors(place, _table(a=_tensor(["x"], 0, 4)), b"\0" * 4)


@refused
def a_dtype_that_there_is_not(place: Place) -> None:
    _safetensors(place, _table(a=_tensor([1], 0, 8, "O")), b"\0" * 8)


@refused
def a_dtype_that_is_a_table(place: Place) -> None:
    _safetensors(place, _table(a=_tensor([1], 0, 4, {})), b"\0" * 4)


@refused
def a_tensor_that_ends_before_it_begins(place: Place) -> None:
    _safetensors(place, _table(a=_tensor([1], 4, 0)), b"\0" * 4)


# links, devices, sizes


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


# config.json


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
_config("experts from a repository", experts_implementation="evil/kernel")
_config("a kind of model that there is not", model_type="evil")
_config("a kind of model that is a number", model_type=3)
_config("rope that is nonsense", rope_parameters={"rope_type": "evil", "rope_theta": "x"})
_config("an activation that there is not", hidden_act="os.system")
_config("a quantization that is not here", quantization_config={"quant_method": "gptq", "bits": 4})


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


# the tokenizer


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


# adapters


def adapter(place: Place, base: str, weights: bool = True, **values: Any) -> None:
    """The folder as a LoRA of `base`."""
    place.drop("config.json", WEIGHTS)
    known = {"peft_type": "LORA", "task_type": "CAUSAL_LM", "r": 2, "lora_alpha": 4}
    wanted = {"base_model_name_or_path": base, "target_modules": ["q_proj"]}
    place.change("adapter_config.json", **(known | wanted | values))
    if weights:
        _safetensors(place, b"{}")
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

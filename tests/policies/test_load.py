"""Folders that are broken in one way each: one line for each, and nothing random is sampled."""

from __future__ import annotations

import json
import logging
import shutil
import threading
import warnings

import pytest
import torch
from safetensors.torch import load_file, save_file

from evenodds.errors import UsageError
from evenodds.places import bundled_folder
from evenodds.policies import quiet
from evenodds.policies.checks import LONG, one_line, require_fitting
from evenodds.policies.load import PolicyOptions, load_policy
from tests.tiny import make_lora, make_policy

KEY = "model.layers.0.self_attn.q_proj.weight"


@pytest.fixture
def folder(tmp_path):
    return shutil.copytree(bundled_folder(), tmp_path / "model")


def load(folder):
    return load_policy(PolicyOptions(name=str(folder), device="cpu"))


def change(folder, edit) -> None:
    weights = load_file(folder / "model.safetensors")
    edit(weights)
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})


def save_adapter(folder, base: str, **over):
    policy = make_lora(load(bundled_folder()))
    policy.save(folder)
    path = folder / "adapter_config.json"
    config = json.loads(path.read_text()) | {"base_model_name_or_path": base} | over
    path.write_text(json.dumps(config))
    return policy


@pytest.mark.parametrize(
    ("edit", "word"),
    [
        (lambda w: w.pop(KEY), "lack"),
        (lambda w: w.update({KEY: torch.zeros(3, 3)}), "do not fit"),
        (lambda w: w[KEY][0].fill_(float("nan")), "not finite"),
        (lambda w: w[KEY][0, 0].fill_(float("inf")), "not finite"),
    ],
)
def test_weights_that_are_missing_misshapen_or_not_finite_are_named(folder, edit, word) -> None:
    change(folder, edit)
    with pytest.raises(UsageError, match=f"{word}.*{KEY}"):
        load(folder)


def test_a_folder_without_weights_is_not_told_of_its_config(tmp_path) -> None:
    shutil.copytree(bundled_folder(), tmp_path / "m")
    (tmp_path / "m" / "model.safetensors").unlink()
    with pytest.raises(UsageError, match=r"it has no weights, neither 'model\.safetensors'"):
        load_policy(PolicyOptions(str(tmp_path / "m")))


def test_a_config_that_leaves_layers_out_is_refused_and_other_weights_beside_are_not(
    folder,
) -> None:
    change(folder, lambda w: w.update({"visual.blocks.7.weight": torch.ones(2)}))
    assert load(folder).size
    path = folder / "config.json"
    config = json.loads(path.read_text())
    layers = config["num_hidden_layers"]
    config |= {"num_hidden_layers": layers - 2, "layer_types": config["layer_types"][:-2]}
    path.write_text(json.dumps(config))
    with pytest.raises(UsageError, match=f"a layer {layers - 1}, .* 0 to {layers - 3} alone"):
        load(folder)


def test_a_tied_head_may_be_left_out(tmp_path) -> None:
    policy = make_policy("qwen3", tie_word_embeddings=True)
    policy.save(tmp_path)
    assert "lm_head.weight" not in load_file(tmp_path / "model.safetensors")
    assert load(tmp_path).size == policy.size


def test_a_tokenizer_with_more_ids_than_the_embedding_is_refused(folder) -> None:
    path = folder / "tokenizer.json"
    tokenizer = json.loads(path.read_text())
    tokenizer["model"]["vocab"]["x"] = 18
    path.write_text(json.dumps(tokenizer))
    with pytest.raises(UsageError, match="ids up to 18, the model knows 18 tokens"):
        load(folder)


def test_a_special_token_that_nothing_writes_may_lie_outside() -> None:
    """Gemma 3 of 1 B: its tokenizer has a token for images, its embedding has none."""
    policy = make_policy()
    policy.codec.tokenizer.add_special_tokens({"additional_special_tokens": ["<image>"]})
    require_fitting(policy.model, policy.codec.tokenizer, "tiny")


def test_an_adapter_on_an_adapter_is_refused(tmp_path) -> None:
    save_adapter(tmp_path, str(tmp_path))
    with pytest.raises(UsageError, match="is an adapter itself"):
        load(tmp_path)


def test_an_adapter_that_is_no_lora_is_refused(tmp_path) -> None:
    """Prompts that were tuned would be left out, and nothing would learn."""
    import peft

    policy = make_policy()
    config = peft.PromptTuningConfig(task_type="CAUSAL_LM", num_virtual_tokens=3)
    peft.get_peft_model(policy.model, config).save_pretrained(tmp_path)
    with pytest.raises(UsageError, match="is no LoRA but PROMPT_TUNING"):
        load(tmp_path)


def test_a_long_context_by_longrope_counts_up_to_where_its_angles_change() -> None:
    rope = {"rope_type": "longrope", "rope_theta": 10_000.0, "original_max_position_embeddings": 64}
    factors = {"short_factor": [1.0] * 4, "long_factor": [2.0] * 4}
    assert make_policy("llama", rope_parameters=rope | factors).context == 64
    assert make_policy("llama").context == 256


def test_an_adapter_that_lacks_weights_is_refused(tmp_path) -> None:
    save_adapter(tmp_path, "abacus")
    path = tmp_path / "adapter_model.safetensors"
    weights = load_file(path)
    weights.pop(sorted(weights)[0])
    save_file(weights, path, metadata={"format": "pt"})
    with pytest.raises(UsageError, match="lacks weights"):
        load(tmp_path)


def test_an_adapter_loads_without_a_warning(tmp_path) -> None:
    save_adapter(tmp_path, "abacus")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert load(tmp_path).is_adapter


@pytest.mark.parametrize(
    ("source", "proxies", "answers", "expected"),
    [
        ("nobody/nothing", {}, False, True),
        ("nobody/nothing", {}, True, False),
        ("nobody/nothing", {"https": "proxy"}, False, False),
        (str(bundled_folder()), {}, False, False),
    ],
)
def test_the_cache_alone_is_asked_without_a_network(
    monkeypatch, source, proxies, answers, expected
) -> None:
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    monkeypatch.setattr(quiet.urllib.request, "getproxies", lambda: proxies)
    monkeypatch.setattr(quiet, "_answers", lambda host, port: answers)
    assert quiet.is_cut_off(source) is expected


def test_a_name_server_that_never_answers_is_not_waited_for(monkeypatch) -> None:
    """`getaddrinfo` has no time-out of its own: some resolvers take half a minute."""
    answered = threading.Event()
    monkeypatch.setattr(quiet, "PATIENCE", 0.05)

    def never(*given: object, **named: object) -> None:
        answered.wait()
        raise OSError

    monkeypatch.setattr(quiet.socket, "create_connection", never)
    assert not quiet._answers("never.example", 443)
    answered.set()


def test_without_a_network_a_hub_name_is_one_line(monkeypatch) -> None:
    asked = []

    def from_pretrained(source, **known):
        asked.append(known["local_files_only"])
        raise OSError("Nothing here. See https://example.org/" + "x" * LONG)

    monkeypatch.setattr("evenodds.policies.load.is_cut_off", lambda source: True)
    monkeypatch.setattr("transformers.AutoConfig.from_pretrained", from_pretrained)
    with pytest.raises(UsageError, match=r"Nothing here\. Check the name and the network\.$"):
        load("nobody/nothing")
    assert asked == [True]
    assert logging.getLogger("huggingface_hub").level == logging.ERROR


def test_a_long_message_ends_with_a_sentence_and_never_inside_an_address() -> None:
    address = "https://example.org/" + "x" * LONG
    assert one_line(ValueError(f"Bad file.\nSee {address} now")) == "Bad file."
    assert one_line(ValueError(f"see {address}")) == "see …"
    assert one_line(ValueError("short")) == "short."
    assert one_line(RecursionError()) == "RecursionError."

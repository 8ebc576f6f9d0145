"""Models with one mistake each, and the ground that a check looks at."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import torch
import transformers
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors

from evenodds.policies import Policy
from evenodds.policies.codec import Codec, stop_ids_of
from evenodds.run.build import Plan, objective_of, plan_of
from evenodds.run.config import make_config, merge
from evenodds.run.folder import RunFolder
from evenodds.run.making import Engine
from evenodds.run.preflight.checks import CHECKS
from evenodds.run.preflight.finding import Finding
from evenodds.run.preflight.ground import Ground
from evenodds.sampling.native import NativeSampler

QUICK = {"check.bench": False, "evaluation.control": "none", "task.held_out": 4}
CHAT = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
SPECIAL = ["<|pad|>", "<|end|>", "<|im_start|>", "<|im_end|>", "<s>"]


def bytes_tokenizer(
    template: str | None = None, begins: bool = False, eos: str = "<|im_end|>", **given: Any
) -> Any:
    """A token for every byte. begins: `<s>` is put before every plain text."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {token: n for n, token in enumerate([*SPECIAL, *alphabet])}
    inner = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    inner.add_special_tokens(SPECIAL)
    if begins:
        pair = [("<s>", SPECIAL.index("<s>"))]
        inner.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=pair)
    known = {"eos_token": eos, "pad_token": "<|pad|>", "bos_token": "<s>" if begins else None}
    found = transformers.PreTrainedTokenizerFast(tokenizer_object=inner, **{**known, **given})
    found.chat_template = template
    return found


def bytes_model(tokenizer: Any, family: str = "Llama", seed: int = 0, **changes: Any) -> Any:
    size = {
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "max_position_embeddings": 512,
    }
    if family == "GPT2":
        size = {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 512}
        changes = {"attn_pdrop": 0.0, "embd_pdrop": 0.0, "resid_pdrop": 0.0, **changes}
    known = {"vocab_size": len(tokenizer), "eos_token_id": tokenizer.eos_token_id}
    config = getattr(transformers, f"{family}Config")(
        **{**size, **known, "bos_token_id": None, **changes}
    )
    torch.manual_seed(seed)
    name = "GPT2LMHeadModel" if family == "GPT2" else f"{family}ForCausalLM"
    model = getattr(transformers, name)(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    return model


def bytes_policy(template: str | None = None, family: str = "Llama", **given: Any) -> Policy:
    """A sound one, as long as nothing strange is given."""
    own = {key: given.pop(key) for key in ("begins", "eos", "pad_token") if key in given}
    tokenizer = bytes_tokenizer(template, **own)
    model = bytes_model(tokenizer, family, **given)
    codec = Codec(tokenizer, stop_ids_of(tokenizer, model.config))
    return Policy(model, codec, "broken", torch.device("cpu"))


@cache
def _plan(settings: tuple[tuple[str, Any], ...]) -> Plan:
    return plan_of(make_config(merge({}, QUICK | dict(settings))))


def ground_of(policy: Policy, **settings: Any) -> Ground:
    """settings: with `__` for the dot."""
    named = {key.replace("__", "."): value for key, value in settings.items()}
    plan = _plan(tuple(sorted(named.items())))
    engine = Engine(policy, NativeSampler(policy))
    return Ground(plan, objective_of(plan.config), engine, RunFolder(Path("nowhere/r")))


def look(name: str, policy: Policy, **settings: Any) -> Finding:
    found = CHECKS[name].look(ground_of(policy, **settings))
    assert found is not None, f"{name} does not apply"
    return found


def folder_of(policy: Policy, where: Path, **files: dict[str, Any]) -> Path:
    """The policy as a model folder. files: entries of its JSON files, by name without suffix."""
    policy.model.save_pretrained(where)
    policy.codec.tokenizer.save_pretrained(where)
    for name, entries in files.items():
        path = where / f"{name}.json"
        old = json.loads(path.read_text()) if path.exists() else {}
        path.write_text(json.dumps({**old, **entries}))
    return where

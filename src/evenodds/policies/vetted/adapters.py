"""adapter_config.json: a plain LoRA, which names no code and asks for no more than it brings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from evenodds.policies.vetted.files import read_object, refused
from evenodds.policies.vetted.patterns import repeats_a_repetition, repetitions

CONFIG = "adapter_config.json"
HIGHEST = 65_536  # rank
UNSET = ("megatron_config", "layer_replication", "loftq_config", "eva_config", "corda_config",
         "arrow_config", "auto_mapping")  # fmt: skip
"""What would import a module, double layers, or look for data; a trained LoRA needs none."""
PATTERNS = ("target_modules", "exclude_modules", "layers_pattern", "modules_to_save")
LONGEST = 2000


def require_plain_adapter(folder: Path, name: str) -> None:
    """Whatever a trained LoRA does not need is not there; ranks are small, patterns quick."""
    config = read_object(folder / CONFIG, name)
    for key in UNSET:
        value = config.get(key)
        if value and not _is_harmless(key, value):
            raise refused(name, f"{CONFIG!r} sets {key!r}, which no trained LoRA needs")
    ranks = [config.get("r"), *_values(config.get("rank_pattern"))]
    if any(isinstance(rank, int) and rank > HIGHEST for rank in ranks):
        raise refused(name, f"{CONFIG!r} has a rank of more than {HIGHEST:,}")
    texts = [config[key] for key in PATTERNS if isinstance(config.get(key), str)]
    keys = [*_keys(config.get("rank_pattern")), *_keys(config.get("alpha_pattern"))]
    for text in [*texts, *keys]:
        if not _is_quick(text):
            raise refused(name, f"{CONFIG!r} has a pattern that may search for ever: {text[:60]!r}")


def _is_harmless(key: str, value: Any) -> bool:
    """PEFT writes empty tables itself, and class names that only its own loader would look up."""
    return key == "auto_mapping" and isinstance(value, dict) and _names_a_library(value)


def _names_a_library(value: dict[str, Any]) -> bool:
    return str(value.get("parent_library", "")).partition(".")[0] in ("transformers", "peft")


def _values(table: Any) -> list[Any]:
    return list(table.values()) if isinstance(table, dict) else []


def _keys(table: Any) -> list[str]:
    return [str(key) for key in table] if isinstance(table, dict) else []


def _is_quick(pattern: str) -> bool:
    """At most three open repetitions, none inside another: then a search of a name takes at most
    the cube of its length."""
    few = len(pattern) <= LONGEST and repetitions(pattern) <= 3
    return few and not repeats_a_repetition(pattern)

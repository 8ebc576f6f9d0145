"""What stands beside saved weights: a short honest card, a base that is found again, open modes."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from evenodds.places import expanded

CARD = "README.md"


def _found_base(name: str) -> str:
    """A local folder by its absolute path, so that it is found from anywhere; a hub name as is."""
    path = expanded(name)
    return str(path.absolute()) if name and path.exists() else name


def pin_base(wrapper: Any) -> str:
    """Write where the base model lies into every adapter's config; returns it."""
    base = ""
    for config in wrapper.peft_config.values():
        loaded = wrapper.get_base_model().name_or_path  # 'abacus' in a config is its folder here
        base = _found_base(str(loaded or config.base_model_name_or_path or ""))
        config.base_model_name_or_path = base
    return base


def adapter_card(base: str) -> str:
    """The card of a LoRA folder."""
    from evenodds import __version__

    head = "library_name: peft\n" + ("" if Path(base).is_absolute() else f"base_model: {base}\n")
    return (
        f"---\n{head}---\n\n# A LoRA adapter\n\n"
        f"Trained by reinforcement learning with evenodds {__version__} on the base model "
        f"`{base}`, which is not in this folder.\nNothing is claimed here about what it can do: "
        "see the report of its run.\n\n"
        "```python\nfrom peft import AutoPeftModelForCausalLM\n\n"
        'model = AutoPeftModelForCausalLM.from_pretrained("THIS_FOLDER")\n```\n\n'
        "Or `evenodds chat THIS_FOLDER`; `evenodds export THIS_FOLDER NEW` merges it into its "
        "base.\n"
    )


def model_card(name: str) -> str:
    """The card of a folder with all weights."""
    from evenodds import __version__

    return (
        "---\nlibrary_name: transformers\n---\n\n# A causal language model\n\n"
        f"All weights, written by evenodds {__version__} from the policy `{name}`.\nNothing is "
        "claimed here about what it can do: see the report of its run, if it was trained.\n\n"
        "```python\nfrom transformers import AutoModelForCausalLM\n\n"
        'model = AutoModelForCausalLM.from_pretrained("THIS_FOLDER")\n```\n\n'
        "Or `evenodds chat THIS_FOLDER`.\n"
    )


def open_modes(folder: Path) -> None:
    """Give every file the mode of the card, a plain new file: safetensors writes 0600."""
    card = folder / CARD
    for path in folder.iterdir():
        if path.is_file() and path != card:
            shutil.copymode(card, path)

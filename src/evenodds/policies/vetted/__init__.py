"""A stranger's model folder, looked at before any library opens what is in it.

Nothing here imports torch or transformers, runs anything, or reads a file to its end that is
larger than such a file ever is. What a folder may ask for is bounded by what it brings: see
SECURITY.md.
"""

from __future__ import annotations

from pathlib import Path

from evenodds.policies.vetted.adapters import require_plain_adapter
from evenodds.policies.vetted.configs import require_sane_config
from evenodds.policies.vetted.files import require_own_files
from evenodds.policies.vetted.tokenizers import require_sane_tokenizer
from evenodds.policies.vetted.weights import Held, held_by, require_plain_weights

__all__ = ["Held", "held_by", "require_vetted"]


def require_vetted(folder: Path, name: str) -> None:
    """Raise `UsageError` in one line for the first thing that no sound model folder has.

    name: what the person called it. Without weights, which the hub sends one by one, the rest is
    looked at.
    """
    require_own_files(folder, name)
    require_sane_config(folder, name)
    require_plain_adapter(folder, name)
    require_sane_tokenizer(folder, name)
    require_plain_weights(folder, name)

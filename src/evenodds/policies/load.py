"""From a name or a folder to a policy: model, tokenizer, device, precision, adapter."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from evenodds.errors import UsageError, unknown
from evenodds.places import BUNDLED, SMALL, bundled_folder, expanded
from evenodds.policies.checks import (
    one_line,
    require_complete,
    require_docstrings,
    require_finite,
    require_fitting,
)
from evenodds.policies.codec import Codec, stop_ids_of, unbroken
from evenodds.policies.counted import MODULES, few_modules
from evenodds.policies.policy import Policy
from evenodds.policies.quiet import is_cut_off, quietly, silence_transformers
from evenodds.policies.vetted import held_by, require_vetted
from evenodds.policies.vetted.files import read_object
from evenodds.policies.vetted.weights import require_adapter

__all__ = ["PolicyOptions", "load_policy", "merged", "outline", "resolve", "silence_transformers"]


@dataclass(frozen=True)
class PolicyOptions:
    """adapter: auto (LoRA above 20 M parameters), none, lora. dtype: auto, float32, bfloat16."""

    name: str = BUNDLED
    adapter: str = "auto"
    rank: int = 16
    alpha: int = 32
    dtype: str = "auto"
    device: str = "auto"
    seed: int = 0


def pick_device(name: str) -> torch.device:
    """The named device, or the best there is: CUDA, then MPS, then the CPU."""
    if name == "auto":
        if torch.cuda.is_available():
            return torch.device("cuda")
        return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
    there = {
        "cpu": True,
        "cuda": torch.cuda.is_available(),
        "mps": torch.backends.mps.is_available(),
    }
    if name.split(":")[0] not in there:
        raise unknown("device", name, ["auto", *there])
    if not there[name.split(":")[0]]:
        raise UsageError(f"there is no {name!r} device here. Use --policy.device auto.")
    device = _device(name)
    if device.type != "cuda" and device.index:
        raise UsageError(f"there is no device {name!r}. Use {device.type}.")
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise UsageError(
            f"there is no device {name!r}: the last one is cuda:{torch.cuda.device_count() - 1}."
        )
    return device


def _device(name: str) -> torch.device:
    try:
        return torch.device(name)
    except RuntimeError:
        raise UsageError(f"there is no device {name!r}. Use cpu, mps, cuda or cuda:N.") from None


def computes_bf16(device: torch.device) -> bool:
    """Whether bfloat16 products run natively: on the CPU that needs AVX512-BF16 or AMX."""
    if device.type == "cuda":
        return torch.cuda.is_bf16_supported(including_emulation=False)
    if device.type == "cpu":
        features = torch.backends.cpu.get_cpu_capability()
        return "AVX512" in features and bool(torch.cpu._is_avx512_bf16_supported())  # pyright: ignore[reportPrivateUsage]
    return False


def pick_dtype(name: str, device: torch.device, parameters: int) -> torch.dtype:
    """float32 for small models (exact, and faster at their size), bfloat16 where it is native."""
    names = {"float32": torch.float32, "bfloat16": torch.bfloat16}
    if name != "auto":
        if name not in names:
            raise unknown("dtype", name, ["auto", *names])
        return names[name]
    large = parameters > SMALL and computes_bf16(device)
    return torch.bfloat16 if large else torch.float32


def resolve(name: str) -> str:
    """A local folder or a hub name, as transformers takes it; the bundled model by its own name."""
    if name == BUNDLED:
        return str(bundled_folder())
    path = expanded(name)
    if path.exists():
        if not (path / "config.json").exists() and not (path / "adapter_config.json").exists():
            raise UsageError(
                f"{name!r} is no model folder: it has no config.json. "
                "Give a Hugging Face folder, a hub name, or 'abacus'."
            )
        require_vetted(path, name)
        return str(path)
    if name.startswith((".", "/", "~")) or name.count("/") != 1:
        raise UsageError(
            f"there is no policy {name!r}. Give 'abacus', a model folder, or OWNER/NAME of a hub."
        )
    return name


def _fetched(source: str, kept: bool) -> Path | None:
    """Where the hub's cache has what is small of a model of the hub; None where it has nothing.

    It is fetched by itself, so that it can be looked at before anything is made of it.
    """
    from transformers.utils import cached_file

    found: list[Any] = []
    for file in ("config.json", "generation_config.json", "tokenizer.json"):
        with suppress(Exception):  # what is missing is said by what needs it
            found.append(cached_file(source, file, local_files_only=kept))
    return Path(found[0]).parent if found and found[0] else None


def _unloadable(source: str, name: str, folder: Path | None, error: Exception) -> UsageError:
    if folder is not None and (code := read_object(folder / "config.json", name).get("auto_map")):
        return UsageError(
            f"{name!r} wants code of its own to be run ({str(code)[:80]}), which is never done. "
            "Give a model that transformers knows by itself."
        )
    if Path(source).is_dir():
        return UsageError(
            f"cannot load a model from {name!r}: {one_line(error)} Mend its config.json."
        )
    return UsageError(
        f"cannot load a model from {name!r}: there is no such folder, and {one_line(error)} "
        "Check the name and the network."
    )


def _load_parts(source: str, name: str) -> tuple[Any, Any]:
    require_docstrings()
    from transformers import AutoConfig, AutoTokenizer

    kept = is_cut_off(source)
    folder = Path(source) if Path(source).is_dir() else _fetched(source, kept)
    if folder is not None:
        require_vetted(folder, name)
    try:
        config = AutoConfig.from_pretrained(source, trust_remote_code=False, local_files_only=kept)
    except Exception as error:
        raise _unloadable(source, name, folder, error) from error
    try:
        with unbroken():
            tokenizer = AutoTokenizer.from_pretrained(
                source, trust_remote_code=False, local_files_only=kept
            )
            one = tokenizer.encode("1")
    except Exception as error:
        raise UsageError(
            f"{name!r} has no usable tokenizer: {one_line(error)} Save one into the folder."
        ) from error
    if not one:
        raise UsageError(f"the tokenizer of {name!r} encodes nothing. Save a usable one there.")
    return config, tokenizer


def _without_weights(config: Any, source: str, name: str, planned: bool = False) -> Any:
    """The model on the meta device: shapes, and nothing else.

    planned: weights need not be there yet, as for a plan of the memory. Shapes cost nothing.
    """
    from transformers import AutoModelForCausalLM

    held = held_by(Path(source), name) if Path(source).is_dir() else None
    try:
        with torch.device("meta"), few_modules(min(held.modules, MODULES) if held else MODULES):
            model: Any = AutoModelForCausalLM.from_config(config, trust_remote_code=False)
    except Exception as error:
        raise UsageError(
            f"{name!r} is no causal language model: {one_line(error)} Choose another policy."
        ) from error
    if held is not None and (held.bytes or not planned):
        buffers = sum(buffer.numel() * buffer.element_size() for buffer in model.buffers())
        held.require_enough(model.num_parameters(), buffers, name)
    return model


def _load_model(source: str, name: str, dtype: torch.dtype) -> Any:
    from transformers import AutoModelForCausalLM

    try:
        loaded: Any = AutoModelForCausalLM.from_pretrained(
            source,
            dtype=dtype,
            trust_remote_code=False,
            use_safetensors=True,
            local_files_only=is_cut_off(source),
            ignore_mismatched_sizes=True,  # told by ourselves, below
            output_loading_info=True,
        )
    except Exception as error:
        raise UsageError(
            f"cannot load the weights of {name!r}: {one_line(error)} "
            "Give a causal language model saved as safetensors."
        ) from error
    model, info = loaded
    require_complete(model, info, name)
    require_finite(model, name)
    return model


def _adapt(model: Any, options: PolicyOptions) -> Any:
    """The PEFT wrapper around `model`, whose linear layers get LoRA in place."""
    from peft import LoraConfig, get_peft_model

    torch.manual_seed(options.seed)
    config = LoraConfig(
        r=options.rank,
        lora_alpha=options.alpha,
        lora_dropout=0.0,
        target_modules="all-linear",
        task_type="CAUSAL_LM",
    )
    with quietly():
        return get_peft_model(model, config)


def outline(options: PolicyOptions, anywhere: bool = False) -> tuple[Policy, int]:
    """The policy that `load_policy` would give, without its weights, and the rank of its LoRA.

    Of the folder only config.json and the tokenizer are read. The rank is 0 where all weights
    learn. The model lies on the meta device, in the precision that it would be loaded in.
    anywhere: a CUDA device that is named need not be here; it is taken to compute bfloat16.
    """
    source = resolve(options.name)
    silence_transformers()
    if (Path(source) / "adapter_config.json").exists():
        saved = _adapter_config(Path(source))
        base = replace(options, name=str(saved.base_model_name_or_path), adapter="lora")
        return outline(replace(base, rank=int(saved.r)), anywhere)
    is_cuda = options.device.split(":")[0] == "cuda"
    absent = anywhere and is_cuda and not torch.cuda.is_available()
    device = _device(options.device) if absent else pick_device(options.device)
    config, tokenizer = _load_parts(source, options.name)
    model = _without_weights(config, source, options.name, planned=True)
    size = model.num_parameters()
    known = "bfloat16" if absent and options.dtype == "auto" and size > SMALL else options.dtype
    model.to(pick_dtype(known, device, size))
    use_lora = options.adapter == "lora" or (options.adapter == "auto" and size > SMALL)
    policy = Policy(model, Codec(tokenizer, frozenset()), options.name, device)
    return policy, options.rank if use_lora else 0


def load_policy(options: PolicyOptions) -> Policy:
    """Load, place and adapt. Raises `UsageError` in one line for whatever is no usable model."""
    source = resolve(options.name)
    silence_transformers()
    adapter_folder = (Path(source) / "adapter_config.json").exists()
    if adapter_folder:
        return _load_adapter(Path(source), options)
    device = pick_device(options.device)
    config, tokenizer = _load_parts(source, options.name)
    size = _without_weights(config, source, options.name).num_parameters()
    model = _load_model(source, options.name, pick_dtype(options.dtype, device, size))
    require_fitting(model, tokenizer, options.name)
    codec = Codec(tokenizer, stop_ids_of(tokenizer, model.generation_config, config))
    if options.adapter not in ("auto", "none", "lora"):
        raise unknown("adapter", options.adapter, ["auto", "none", "lora"])
    use_lora = options.adapter == "lora" or (options.adapter == "auto" and size > SMALL)
    wrapper = _adapt(model, options) if use_lora else None
    model.to(device).eval()
    apply_liger(model, device)
    return Policy(model, codec, options.name, device, wrapper)


def apply_liger(model: Any, device: torch.device) -> bool:
    """Liger RoPE, RMSNorm and SwiGLU, where installed and the GPU is older than Blackwell.

    Its fused losses are left out: log-probabilities go through our own head. Returns whether it
    was done; a family that Liger does not know stays as it is.
    """
    if device.type != "cuda" or torch.cuda.get_device_capability(device)[0] >= 10:
        return False
    try:
        from liger_kernel.transformers.monkey_patch import (  # pyright: ignore[reportMissingImports]
            _apply_liger_kernel_to_instance,
        )
    except ImportError:
        return False
    try:
        _apply_liger_kernel_to_instance(
            model=model,
            rope=True,
            rms_norm=True,
            swiglu=True,
            cross_entropy=False,
            fused_linear_cross_entropy=False,
        )
    except (TypeError, ValueError):
        return False
    return True


def _adapter_config(folder: Path) -> Any:
    """What PEFT says of the adapter in a folder. Its base is named, and is no adapter."""
    from peft import PeftConfig

    try:
        config: Any = PeftConfig.from_pretrained(str(folder))
    except Exception as error:
        raise UsageError(
            f"cannot read the adapter in {str(folder)!r}: {one_line(error)} Mend its config."
        ) from error
    if str(getattr(config.peft_type, "value", config.peft_type)) != "LORA":
        raise UsageError(
            f"the adapter in {str(folder)!r} is no LoRA but {config.peft_type.value}. Give a LoRA, "
            "or merge the adapter into its base and give that."
        )
    base = config.base_model_name_or_path
    if not base:
        raise UsageError(f"the adapter in {str(folder)!r} names no base model. Mend its config.")
    if (Path(resolve(base)) / "adapter_config.json").exists():
        raise UsageError(
            f"the adapter in {str(folder)!r} names {base!r} as its base, which is an adapter "
            "itself. Name a model with all weights there."
        )
    return config


def _load_adapter(folder: Path, options: PolicyOptions) -> Policy:
    """A PEFT folder: its base model with the adapter on it, ready to be trained further."""
    from peft import PeftModel

    base = str(_adapter_config(folder).base_model_name_or_path)
    require_adapter(folder, options.name)
    policy = load_policy(replace(options, name=base, adapter="none"))
    try:
        with quietly() as seen:
            wrapper = PeftModel.from_pretrained(policy.model, str(folder), is_trainable=True)
    except Exception as error:
        raise UsageError(
            f"the adapter in {str(folder)!r} does not fit {base!r}: {one_line(error)} "
            "Give a folder that PEFT saved."
        ) from error
    if any("missing adapter keys" in str(warning.message) for warning in seen):
        raise UsageError(
            f"the adapter in {str(folder)!r} lacks weights that its config names. "
            "Give a folder that PEFT saved."
        )
    require_finite(policy.model, options.name)
    policy.model.to(policy.device).eval()
    return Policy(policy.model, policy.codec, options.name, policy.device, wrapper)


def merged(policy: Policy) -> Policy:
    """The same policy with its adapter, if any, folded into the weights."""
    if policy.peft is None:
        return policy
    return Policy(policy.peft.merge_and_unload(), policy.codec, policy.name, policy.device)

"""One optimizer step of TRL's own trainer on log-probabilities that are given, not computed.

The trainer is a real one, built by TRL from its configuration around a model of a few weights.
Two of its methods are replaced: the one that generates (its answers are those of a `Case`) and the
one that runs the model (it looks each token up in a table, by its id). All between them is TRL's
and the Hugging Face Trainer's: rewards to advantages, truncation masks, importance weights,
shuffling, the split into micro-batches, the loss, its scale, the backward pass. So the gradient of
the table is TRL's gradient with respect to every token's log-probability.
"""

from __future__ import annotations

import logging
import os
import tempfile
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from types import MethodType
from typing import Any

import torch
from torch import Tensor

from benchmarks.trl_cases import Case
from evenodds.lab.oracle.own import float64

os.environ.setdefault("HF_HUB_OFFLINE", "1")  # nothing is fetched, and TRL sends no telemetry
VERSION = "1.16.0"
PLACES = 15  # decimals that are kept: an error of 5e-16, and a file of two thirds the size
PAD, END, PROMPT, TOKEN = 0, 1, 2, 3  # token ids; TOKEN is the first answer token, then they count


@dataclass(frozen=True)
class Outcome:
    """What TRL made of a case. rows: the answers of each micro-batch, as TRL shuffled them."""

    loss: float
    gradient: list[float]
    advantages: list[float]
    rows: list[list[int]]
    entropy_gradient: list[float]


def _tokenizer() -> Any:
    from tokenizers import Tokenizer, models
    from transformers import PreTrainedTokenizerFast

    vocabulary = {"<pad>": PAD, "<end>": END, "p": PROMPT}
    inner = Tokenizer(models.WordLevel(vocabulary, unk_token="p"))
    return PreTrainedTokenizerFast(tokenizer_object=inner, pad_token="<pad>", eos_token="<end>")


def _model() -> Any:
    from transformers import Qwen2Config, Qwen2ForCausalLM

    size = {"hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 1}
    heads = {"num_attention_heads": 1, "num_key_value_heads": 1}
    return Qwen2ForCausalLM(Qwen2Config(vocab_size=4, eos_token_id=END, **size, **heads))


def _configuration(kind: str, case: Case, settings: Mapping[str, Any], folder: str) -> Any:
    from trl import GRPOConfig, RLOOConfig

    splits = settings.get("micro_batches", 1)
    return {"grpo": GRPOConfig, "rloo": RLOOConfig}[kind](
        output_dir=folder,
        report_to="none",
        use_cpu=True,
        bf16=False,
        gradient_checkpointing=False,
        max_completion_length=case.budget,
        num_generations=case.group_size,
        per_device_train_batch_size=len(case.lengths) // settings.get("slices", splits),
        gradient_accumulation_steps=splits,
        steps_per_generation=settings.get("slices", splits),
        num_iterations=2,  # or TRL takes the current policy for the old one
        beta=0.0,  # set afterwards: TRL would load a reference model from disk
        **settings.get("config", {}),
    )


def _build(case: Case, settings: Mapping[str, Any]) -> Any:
    """A trainer of TRL's for this batch. settings: `trainer`, `config`, `beta`, `vllm`, splits."""
    import trl
    from datasets import Dataset

    logging.getLogger("trl").setLevel(logging.ERROR)  # it warns of answers without a reward
    kind = settings.get("trainer", "grpo")
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        trainer = {"grpo": trl.GRPOTrainer, "rloo": trl.RLOOTrainer}[kind](
            model=_model(),
            processing_class=_tokenizer(),
            reward_funcs=_reward(case),
            train_dataset=Dataset.from_list([{"prompt": "p"}]),
            args=_configuration(kind, case, settings, folder),
        )
    trainer.beta = settings.get("beta", 0.0)
    trainer.ref_model = "reference" if trainer.beta else None
    trainer.use_vllm = settings.get("vllm", False)
    trainer.current_gradient_accumulation_steps = settings.get("micro_batches", 1)
    return trainer


def _reward(case: Case) -> Any:
    flat = [reward for group in case.rewards for reward in group]

    def given(prompts: list[str], **_: Any) -> list[float | None]:
        return flat

    return given


class _Table:
    """The policies of a case, as TRL's trainer asks them: a log-probability for each token id."""

    def __init__(self, case: Case, settings: Mapping[str, Any]) -> None:
        garbage = torch.full((TOKEN,), -7.7, dtype=torch.float64)  # padding must not matter
        self.case, self.kind = case, settings.get("trainer", "grpo")
        old = case.current if settings.get("on_policy") else case.first
        self.leaf, self.entropy, first, reference = (
            torch.cat([garbage, torch.tensor(values, dtype=torch.float64)])
            for values in (case.current, case.entropy, old, case.reference)
        )
        self.frozen = {"reference": reference, "first": first}
        sampled = [case.sampled[a:b] for a, b in self._spans()]
        self.logps = sampled if settings.get("vllm") else None
        self.leaf.requires_grad_()
        self.entropy.requires_grad_()
        self.rows: list[list[int]] = []

    def _spans(self) -> list[tuple[int, int]]:
        return [(a, a + n) for a, n in zip(self.case.starts, self.case.lengths, strict=True)]

    def generate(self, trainer: Any, prompts: list[Any]) -> tuple[Any, ...]:
        ids = [list(range(TOKEN + a, TOKEN + b)) for a, b in self._spans()]
        cut = self.case.truncated
        trainer.eos_token_ids = [END, *(row[-1] for row, c in zip(ids, cut, strict=True) if not c)]
        texts = ["" for _ in ids]
        prompt_ids = [[PROMPT] for _ in ids]
        if self.kind == "rloo":
            return prompt_ids, ids, texts
        return prompt_ids, ids, None, texts, self.logps, {}, None, []

    def forward(
        self,
        trainer: Any,
        model: Any,
        input_ids: Tensor,
        mask: Tensor,
        keep: int,
        *_: Any,
        **__: Any,
    ) -> tuple[Tensor, Tensor, None]:
        ids = input_ids[:, -keep:]
        if not torch.is_grad_enabled():
            source = self.frozen["reference" if isinstance(model, str) else "first"]
            return source[ids], self.entropy[ids], None
        starts = {TOKEN + start: answer for answer, start in enumerate(self.case.starts)}
        self.rows.append([starts[first] for first in ids[:, 0].tolist()])
        return self.leaf[ids], self.entropy[ids], None


def _keep_advantages(trainer: Any) -> list[Tensor]:
    """Where the advantages go that the trainer computes, in the order of the answers."""
    kept: list[Tensor] = []
    original = trainer._generate_and_score_completions

    def generate(inputs: list[dict[str, Any]]) -> dict[str, Any]:
        output = original(inputs)
        kept.append(output["advantages"].clone())
        return output

    trainer._generate_and_score_completions = generate
    return kept


def step(case: Case, settings: Mapping[str, Any], seed: int = 0) -> Outcome:
    """One optimizer step of TRL on the case: the summed loss and gradient of its micro-batches."""
    trainer = _build(case, settings)
    table = _Table(case, settings)
    trainer._generate = MethodType(table.generate, trainer)
    trainer._get_per_token_logps_and_entropies = MethodType(table.forward, trainer)
    kept = _keep_advantages(trainer)
    inputs = [{"prompt": "p"} for _ in case.lengths]
    torch.manual_seed(seed)
    with float64():
        losses = [
            trainer.training_step(trainer.model, inputs, None).item()
            for _ in range(settings.get("micro_batches", 1))
        ]
    entropy = table.entropy.grad
    assert table.leaf.grad is not None
    return Outcome(
        loss=float(sum(losses)),
        gradient=_rounded(table.leaf.grad[TOKEN:]),
        advantages=_rounded(kept[0]),
        rows=table.rows,
        entropy_gradient=[] if entropy is None else _rounded(entropy[TOKEN:]),
    )


def _rounded(values: Tensor) -> list[float]:
    return [round(value, PLACES) for value in values.tolist()]

"""Sampling alone: Hugging Face generate, on the base model or with an adapter as PEFT adds it."""

from __future__ import annotations

import time
from typing import Any

import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, AutoTokenizer, LogitsProcessorList

from benchmarks.speed_parts.forced import ForcedLengths
from benchmarks.speed_parts.with_trl import folder_of
from benchmarks.speed_parts.work import Work, lengths, prompts

DTYPES = {"bf16": torch.bfloat16, "fp32": torch.float32}


class Generate:
    """`model.generate` with all answers in one batch, prompts padded on the left."""

    def __init__(self, work: Work, profile: str, kind: str) -> None:
        """kind: bf16 or fp32, and `-lora` behind it for an adapter on every linear layer."""
        self.work, self.profile = work, profile
        dtype, _, adapter = kind.partition("-")
        source = folder_of(work)
        self.tokenizer = AutoTokenizer.from_pretrained(source, padding_side="left")
        model: Any = AutoModelForCausalLM.from_pretrained(source, dtype=DTYPES[dtype])
        if adapter:
            lora = LoraConfig(r=work.rank, lora_alpha=2 * work.rank, target_modules="all-linear")
            model = get_peft_model(model, lora)
        self.model = model.eval()
        ends = self.model.generation_config.eos_token_id
        self.ends = {ends} if isinstance(ends, int) else set(ends or ())
        self.ends.add(self.tokenizer.eos_token_id)

    @torch.no_grad()
    def turn(self, number: int) -> dict[str, Any]:
        work = self.work
        put = [text for text in prompts(work, number) for _ in range(work.group_size)]
        targets = lengths(work, self.profile, number)
        started = time.perf_counter()
        inputs = self.tokenizer(put, return_tensors="pt", padding=True)
        width = inputs["input_ids"].shape[1]
        self.model.generate(
            input_ids=inputs["input_ids"],
            attention_mask=inputs["attention_mask"],
            do_sample=True,
            top_k=0,
            top_p=1.0,
            temperature=1.0,
            max_new_tokens=work.max_tokens,
            pad_token_id=self.tokenizer.pad_token_id,
            logits_processor=LogitsProcessorList([ForcedLengths(targets, self.ends, width)]),
        )
        seconds = time.perf_counter() - started
        return {
            "seconds": seconds,
            "phases": {"sample": seconds},
            "tokens": targets,
            "prompt_tokens": int(inputs["attention_mask"].sum()) // work.group_size,
            "learned": 0,
        }

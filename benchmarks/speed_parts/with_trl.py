"""TRL's contenders: its own GRPOTrainer in its own training loop, one optimizer step a turn."""

from __future__ import annotations

import logging
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, LogitsProcessorList, TrainerCallback

from benchmarks.speed_parts.clock import Clock
from benchmarks.speed_parts.forced import ForcedLengths
from benchmarks.speed_parts.work import RATE, Work, coin, lengths, prompts
from evenodds.places import BUNDLED, bundled_folder

TURNS = 200  # prompts for so many turns are given to the trainer in advance


@dataclass(frozen=True)
class Setting:
    """dtype: of the weights. autocast: products in bfloat16. micro: answers of a forward pass."""

    dtype: torch.dtype = torch.float32
    autocast: bool = True
    checkpointing: bool = True
    micro: int = 8


SETTINGS = {
    "default": Setting(),
    "autocast": Setting(checkpointing=False),
    "fp32": Setting(autocast=False, checkpointing=False),
    "bf16": Setting(torch.bfloat16, autocast=False, checkpointing=False),
}
# The fastest of those tried. Tiny: casts to bfloat16 cost more than its products save, and fewer,
# larger micro-batches mean fewer operations. SmolLM2: bfloat16 weights learn in 0.76 of the time of
# autocast with checkpointing (without it 0.96, float32 1.2); micro-batches of 64 change nothing but
# the memory.
BEST = {"tiny": "fp32@32", "small": "bf16", "long": "bf16"}


def setting_of(name: str, work: Work) -> Setting:
    """`default`, `best`, or another of SETTINGS, with `@N` for micro-batches of N answers."""
    if name == "best":
        name = BEST[work.name]
    kind, _, micro = name.partition("@")
    chosen = SETTINGS[kind]
    return Setting(chosen.dtype, chosen.autocast, chosen.checkpointing, int(micro or chosen.micro))


def folder_of(work: Work) -> str:
    return str(bundled_folder() if work.model == BUNDLED else Path(work.model).expanduser())


def _configuration(work: Work, setting: Setting, folder: str) -> Any:
    """TRL's defaults but for what the work fixes, what `setting` names, and the logs."""
    from trl import GRPOConfig

    return GRPOConfig(
        output_dir=folder,
        report_to="none",
        use_cpu=True,
        disable_tqdm=True,
        save_strategy="no",
        shuffle_dataset=False,
        bf16=setting.autocast,
        gradient_checkpointing=setting.checkpointing,
        loss_type="dr_grpo",
        scale_rewards="none",
        learning_rate=RATE,
        lr_scheduler_type="constant",
        max_steps=TURNS,
        max_completion_length=work.max_tokens,
        num_generations=work.group_size,
        per_device_train_batch_size=setting.micro,
        gradient_accumulation_steps=work.answers // setting.micro,
    )


def _adapter(work: Work) -> Any:
    from peft import LoraConfig

    if not work.rank:
        return None
    return LoraConfig(
        r=work.rank,
        lora_alpha=2 * work.rank,
        target_modules="all-linear",
        task_type="CAUSAL_LM",
    )


class Pause(TrainerCallback):
    """Between the steps of TRL's loop the next turn is waited for."""

    def __init__(self, before: Callable[[], bool], after: Callable[[], None]) -> None:
        self.before, self.after = before, after

    def on_step_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if not self.before():
            raise KeyboardInterrupt  # the way out of the loop that nothing in it catches

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self.after()


class WithTrl:
    """A trainer whose loop asks `wait` for the number of the next turn and tells `tell` of it."""

    def __init__(self, work: Work, profile: str, name: str) -> None:
        self.work, self.profile = work, profile
        self.clock, self.number = Clock(), 0
        logging.getLogger("trl").setLevel(logging.ERROR)
        warnings.simplefilter("ignore")
        self.folder = tempfile.TemporaryDirectory()
        self.trainer = self._trainer(setting_of(name, work))
        self.tokens: list[int] = []
        self._listen()

    def _trainer(self, setting: Setting) -> Any:
        from datasets import Dataset
        from trl import GRPOTrainer

        source = folder_of(self.work)
        rows = [{"prompt": text} for n in range(TURNS) for text in prompts(self.work, n)]
        return GRPOTrainer(
            model=AutoModelForCausalLM.from_pretrained(source, dtype=setting.dtype),
            processing_class=AutoTokenizer.from_pretrained(source, padding_side="left"),
            reward_funcs=self._reward,
            train_dataset=Dataset.from_list(rows),
            args=_configuration(self.work, setting, self.folder.name),
            peft_config=_adapter(self.work),
        )

    def _reward(self, completions: list[str], **_: Any) -> list[float]:
        return [coin(text, self.number) for text in completions]

    def _listen(self) -> None:
        """Phases on the clock, and forced lengths in the model's own `generate`."""
        trainer, clock = self.trainer, self.clock
        clock.watch_backward()
        clock.around(trainer, "_generate", "sample")
        clock.around(trainer, "_calculate_rewards", "judge")
        clock.around(trainer, "_get_per_token_logps_and_entropies", "forward")
        model = trainer.accelerator.unwrap_model(trainer.model)
        generate = model.generate

        def forced(**inputs: Any) -> Any:
            width = inputs["input_ids"].shape[1]
            targets = lengths(self.work, self.profile, self.number)
            processor = ForcedLengths(targets, trainer.eos_token_ids, width)
            out = generate(**inputs, logits_processor=LogitsProcessorList([processor]))
            self.prompt_tokens = int(inputs["attention_mask"].sum()) // self.work.group_size
            return out

        model.generate = forced
        once = trainer._generate_single_turn

        def counted(*args: Any) -> Any:
            found = once(*args)
            self.tokens = [len(ids) for ids in found[0]]
            return found

        trainer._generate_single_turn = counted

    def run(self, wait: Callable[[], int | None], tell: Callable[[dict[str, Any]], None]) -> None:
        """The trainer's own loop, until `wait` gives no further turn."""

        def before() -> bool:
            number = wait()
            self.number = number or 0
            self.clock.lap()
            self.started = time.perf_counter()
            return number is not None

        def after() -> None:
            seconds = time.perf_counter() - self.started
            tell({"seconds": seconds, "phases": self.clock.lap(), **self._counts()})

        self.trainer.add_callback(Pause(before, after))
        try:
            self.trainer.train()
        except KeyboardInterrupt:
            return

    def _counts(self) -> dict[str, Any]:
        return {
            "tokens": self.tokens,
            "prompt_tokens": self.prompt_tokens,
            "learned": self.work.answers,
        }

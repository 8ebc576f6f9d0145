"""The settings of a run: frozen sections with a line of help for each key."""

from __future__ import annotations

from typing import Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

STEPS = 200
MOST = 1_000_000_000
"""More steps, seconds or tokens than any run has: what is above it is a slip."""


class Section(BaseModel):
    """Frozen, and closed: a key that is not declared is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    @field_validator("*", mode="before")
    @classmethod
    def _no_mixture(cls, value: Any, info: ValidationInfo) -> Any:
        """true is not the number 1, and the number 1 is not true; the texts of flags may be."""
        if isinstance(value, str) and value.encode("utf-8", "replace") != _bytes(value):
            raise PydanticCustomError("kind", "text that UTF-8 can hold")
        kinds = _kinds(cls.model_fields[info.field_name or ""].annotation)
        items: list[Any] = [*value] if isinstance(value, list | tuple) else [value]
        if "" in items and str in kinds:
            raise PydanticCustomError("kind", "a text that is not empty")
        if {int, float} & kinds and any(isinstance(item, bool) for item in items):
            raise PydanticCustomError("kind", "a whole number" if int in kinds else "a number")
        if bool in kinds and isinstance(value, int | float) and not isinstance(value, bool):
            raise PydanticCustomError("kind", "true or false")
        return value


def _bytes(text: str) -> bytes:
    """The text with what UTF-8 cannot hold left out."""
    return text.encode("utf-8", "ignore")


def _kinds(annotation: Any) -> set[Any]:
    """The plain types in an annotation: `tuple[int, ...] | None` -> {int, NoneType, ...}."""
    parts = get_args(annotation)
    return {annotation} if not parts else {kind for part in parts for kind in _kinds(part)}


def choices_of(annotation: Any) -> list[str]:
    """The texts that a setting may be; none where any text or number will do."""
    found = [part for part in get_args(annotation) if part is not type(None)]
    return [c for part in found for c in ([part] if isinstance(part, str) else choices_of(part))]


class RunSection(Section):
    """How long, from which seed, and where it is written."""

    name: str | None = Field(
        None,
        min_length=1,
        description="name of the run folder; one is made if not given",
        examples=["my-run"],
    )
    root: str = Field("runs", min_length=1, description="folder that holds the runs")
    seed: int = Field(0, ge=0, lt=2**63, description="what is drawn and proposed follows from it")
    steps: int | None = Field(
        None, ge=1, le=MOST, description="steps at most; see max_time", examples=[STEPS]
    )
    max_time: float | None = Field(
        None,
        ge=1,
        le=MOST,
        examples=[600.0],
        description="seconds for everything, evaluations included; "
        "where neither is given: 200 steps; for abacus 150 within 115 s",
    )
    save_every: int = Field(20, ge=1, le=MOST, description="steps between checkpoints")
    keep: int = Field(2, ge=1, le=MOST, description="checkpoints that are kept")
    random_reward: bool = Field(
        False, description="pay by a coin instead of the verifier: the control arm of a comparison"
    )
    sinks: tuple[str, ...] = Field(
        (), description="where metrics also go: tensorboard, wandb, trackio, or file.py:name"
    )
    repeatable: bool = Field(
        False, description="only algorithms whose bits repeat, slower on a GPU; a CPU has no others"
    )
    memory_gb: float | None = Field(
        None,
        gt=0,
        le=1e6,
        description="memory to plan with, in 10^9 bytes; default: what the device has",
        examples=[16.0],
    )


class PolicySection(Section):
    """The model that learns."""

    name: str = Field("abacus", description="'abacus' (bundled), a model folder, or a hub name")
    adapter: Literal["auto", "none", "lora"] = Field(
        "auto", description="auto: LoRA above 20 M parameters, else all weights"
    )
    rank: int = Field(16, ge=1, le=4096, description="LoRA rank")
    alpha: int = Field(32, ge=1, le=1_000_000, description="LoRA alpha")
    dtype: Literal["auto", "float32", "bfloat16"] = Field(
        "auto", description="auto: bfloat16 for large models where the hardware computes it"
    )
    device: str = Field("auto", description="auto, cpu, cuda or mps")


class TaskSection(Section):
    """What is to be learned: problems, their answers, and who judges."""

    name: str = Field(
        "multiplication",
        description="see `evenodds list tasks`; or file.jsonl, file.py of your own",
    )
    data: str | None = Field(
        None,
        description="prompts and answers: a JSONL, JSON or parquet file, or hf:owner/name",
        examples=["problems.jsonl"],
    )
    held_out_data: str | None = Field(
        None,
        description="another file of the same columns: what is held out, instead of a share",
        examples=["test.jsonl"],
    )
    subset: str | None = Field(
        None, description="subset of a data set of the hub", examples=["main"]
    )
    split: str = Field("train", min_length=1, description="its split to learn from")
    held_out_split: str | None = Field(
        None, description="its split that is held out, instead of a share", examples=["test"]
    )
    prompt: str | None = Field(
        None, description="column of the prompt in that file", examples=["prompt"]
    )
    answer: str | None = Field(
        None, description="column of the right answer in that file", examples=["answer"]
    )
    level: str | None = Field(
        None, description="column of the difficulty in that file", examples=["level"]
    )
    columns: tuple[str, ...] | None = Field(
        None, description="other columns that reward functions get; default: all", examples=[["id"]]
    )
    drop_contradictory: bool = Field(
        False, description="leave out prompts with several answers, instead of an error"
    )
    drop_unreadable: bool = Field(
        False, description="leave out golds that the verifier cannot read, instead of an error"
    )
    verifier: str | None = Field(
        None,
        description="see `evenodds list verifiers`, or file.py:function of your own",
        examples=["number"],
    )
    policy: dict[str, Any] = Field(
        {}, description="entries of the verifier's policy table, such as percent=ratio"
    )
    style: Literal["auto", "bare", "few_shot", "chat"] = Field(
        "auto", description="how a problem is put: bare, with worked examples, or as a chat"
    )
    shots: int = Field(4, ge=0, le=1000, description="worked examples before a few_shot problem")
    held_out: int = Field(
        100, ge=1, le=10_000, description="held-out problems of a level, where it has enough"
    )


class SamplingSection(Section):
    """How answers are drawn while learning."""

    groups: int = Field(16, ge=1, le=100_000, description="problems a step")
    group_size: int = Field(16, ge=2, le=10_000, description="answers to each")
    max_tokens: int = Field(96, ge=1, le=1_000_000, description="budget of one answer")
    temperature: float = Field(1.0, ge=0.01, le=100, description="of the sampled distribution")
    stop: tuple[str, ...] = Field(
        (), description="texts that end an answer, and are cut off; those of the task do too"
    )
    rounds: int = Field(
        3, ge=1, le=1000, description="rounds of a step at most, where zero_signal is refill"
    )
    max_rows: int = Field(
        256,
        ge=1,
        le=1_000_000,
        description="answers decoded at the same time; fewer where memory ends",
    )


class ObjectiveSection(Section):
    """What is maximised: a recipe, and any of its axes changed by name."""

    recipe: str = Field(
        "dr_grpo", description="see `evenodds list objectives`, or file.py:name of your own"
    )
    credit: str | None = Field(
        None, description="rewards to advantages, instead of the recipe's", examples=["centered"]
    )
    whiten: bool | None = Field(
        None, description="advantages to mean 0, std 1 over the batch's tokens", examples=[False]
    )
    ratio: str | None = Field(
        None, description="token or sequence, instead of the recipe's", examples=["token"]
    )
    surrogate: str | None = Field(
        None, description="clip, dual_clip, cispo, soft_gate or reinforce", examples=["clip"]
    )
    reduce: str | None = Field(
        None,
        description="per_answer, per_budget, per_token or per_sequence",
        examples=["per_budget"],
    )
    clip_low: float | None = Field(None, ge=0, le=1, description="epsilon below 1", examples=[0.2])
    clip_high: float | None = Field(
        None, ge=0, le=1e6, description="epsilon above 1", examples=[0.28]
    )
    dual_clip: float | None = Field(
        None, gt=1, le=1e6, description="of dual_clip: largest ratio that pulls", examples=[3.0]
    )
    gate_positive: float | None = Field(
        None, ge=1e-3, le=1e3, description="of soft_gate: temperature where A > 0", examples=[1.0]
    )
    gate_negative: float | None = Field(
        None, ge=1e-3, le=1e3, description="of soft_gate: temperature where A < 0", examples=[1.05]
    )
    kl: float | None = Field(
        None, ge=0, le=1e3, description="coefficient of the KL to the start", examples=[0.04]
    )
    kl_in: Literal["none", "measured", "loss", "reward"] | None = Field(
        None, description="where the KL goes; with a coefficient: the loss", examples=["loss"]
    )
    kl_estimator: Literal["k1", "k2", "k3"] | None = Field(
        None, description="of the KL in the loss", examples=["k3"]
    )
    kl_weighted: bool | None = Field(
        None, description="weigh that KL by the ratio: unbiased off-policy", examples=[True]
    )
    entropy: float | None = Field(
        None, ge=0, le=1e3, description="what a nat of entropy is paid", examples=[0.001]
    )
    entropy_target: float | None = Field(
        None,
        gt=0,
        le=100,
        description="nats a token; the coefficient then follows it",
        examples=[0.2],
    )
    entropy_step: float | None = Field(
        None, gt=0, le=1, description="how far that coefficient moves a step", examples=[0.005]
    )
    correction: str | None = Field(
        None,
        description="token_truncate, token_mask, sequence_truncate or sequence_mask: weights for "
        "a sampler that is not the learner",
        examples=["token_truncate"],
    )
    correction_cap: float | None = Field(
        None, gt=0, le=1e6, description="largest such weight", examples=[2.0]
    )
    mask_truncated: bool | None = Field(
        None, description="leave answers cut by the budget out of the loss", examples=[True]
    )
    overlong: float | None = Field(
        None,
        ge=0,
        le=1,
        description="last share of the budget over which a penalty grows to 1",
        examples=[0.2],
    )
    zero_signal: Literal["drop", "keep", "refill"] | None = Field(
        None, description="groups that agree: out, in the denominators, replaced", examples=["drop"]
    )


class CurriculumSection(Section):
    """Which problems come next."""

    kind: Literal["ladder", "uniform", "fixed"] = Field("ladder", description="who chooses levels")
    target: float = Field(0.5, gt=0, lt=1, description="solve rate that the ladder holds")
    gain: float = Field(
        0.5, gt=0, le=1000, description="largest move of the ladder, in levels a step"
    )
    sharpness: float = Field(2.0, gt=0, le=1e6, description="how soon that move saturates")
    start: float | None = Field(
        None,
        ge=0,
        le=1e6,
        description="first difficulty; default: where the base's solve rate is target",
        examples=[0.0],
    )
    review: float = Field(0.2, ge=0, le=0.9, description="share of problems from easier levels")
    levels: tuple[int, ...] | None = Field(
        None, min_length=1, description="the levels of 'fixed', from 0", examples=[[0]]
    )


class LearnerSection(Section):
    """How the policy is changed."""

    learning_rate: float | None = Field(
        None,
        gt=0,
        le=10,
        description="default: LoRA 2e-4; all weights 5e-4 up to 20 M, else 1e-5",
        examples=[5e-4],
    )
    warmup_steps: int = Field(5, ge=0, le=MOST, description="updates until the full learning rate")
    beta1: float = Field(0.9, ge=0, lt=1, description="AdamW")
    beta2: float = Field(0.98, ge=0, lt=1, description="AdamW")
    weight_decay: float = Field(0.0, ge=0, le=10, description="AdamW")
    max_grad_norm: float = Field(
        1.0, gt=0, le=1e12, description="gradients are clipped to this norm"
    )
    micro_batch_tokens: int | None = Field(
        None,
        ge=1,
        le=MOST,
        description="tokens of one forward pass; default: what fits the memory, at most 4096 on a "
        "CPU and 8192 on a GPU",
        examples=[2048],
    )
    passes: int = Field(1, ge=1, le=1000, description="optimizer steps on each batch of answers")
    gradient_checkpointing: bool | None = Field(
        None,
        description="less memory for more time; default: only where the memory asks for it",
        examples=[True],
    )


class JudgeSection(Section):
    """How verifiers that could hang are run: in processes of their own, with a deadline."""

    workers: int | None = Field(
        None,
        ge=0,
        le=256,
        description="processes that judge; default: one a core, 2 to 16; 0: in this process, "
        "without a deadline",
        examples=[2],
    )
    seconds: float = Field(
        5.0, ge=0.01, le=86_400, description="deadline of one call of the verifier"
    )
    memory_mb: int = Field(
        2048, ge=64, le=10_000_000, description="address space of each of these processes, in MiB"
    )


class CheckSection(Section):
    """What is tried before a run may start."""

    bench: bool = Field(
        True, description="refuse a verifier that pays for wrong answers; see `evenodds check`"
    )
    ignore: tuple[str, ...] = Field(
        (), description="findings of the preflight that do not stop the run, by name"
    )

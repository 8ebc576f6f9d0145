"""The configuration of a run: one tree of frozen sections, read from TOML and flags.

Flags beat TOML, TOML beats defaults. Every mistake becomes one line that names the key, what was
got, and what is allowed.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from evenodds.errors import UsageError, nearest
from evenodds.places import BUNDLED

Data = dict[str, Any]

STEPS = 200
DEMO = {"steps": 150, "max_time": 115.0}  # two minutes with all that is around it


class Section(BaseModel):
    """Frozen, and closed: a key that is not declared is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class RunSection(Section):
    """How long, from which seed, and where it is written."""

    name: str | None = Field(None, description="name of the run folder; one is made if not given")
    root: str = Field("runs", description="folder that holds the runs")
    seed: int = Field(0, ge=0, description="what is drawn and proposed follows from it")
    steps: int | None = Field(None, ge=1, description="steps at most; see max_time")
    max_time: float | None = Field(
        None,
        gt=0,
        description="seconds for everything, evaluations included; "
        "where neither is given: 200 steps; for abacus 150 within 115 s",
    )
    save_every: int = Field(20, ge=1, description="steps between checkpoints")
    keep: int = Field(2, ge=1, description="checkpoints that are kept")


class PolicySection(Section):
    """The model that learns."""

    name: str = Field("abacus", description="'abacus' (bundled), a model folder, or a hub name")
    adapter: Literal["auto", "none", "lora"] = Field(
        "auto", description="auto: LoRA above 20 M parameters, else all weights"
    )
    rank: int = Field(16, ge=1, description="LoRA rank")
    alpha: int = Field(32, ge=1, description="LoRA alpha")
    dtype: Literal["auto", "float32", "bfloat16"] = Field(
        "auto", description="auto: bfloat16 for large models where the hardware computes it"
    )
    device: str = Field("auto", description="auto, cpu, cuda or mps")


class TaskSection(Section):
    """What is to be learned: problems, their answers, and who judges."""

    name: str = Field(
        "multiplication", description="see `evenodds list tasks`; 'data' reads a file"
    )
    data: str | None = Field(None, description="JSONL or parquet file with prompts and answers")
    prompt: str | None = Field(None, description="column of the prompt in that file")
    answer: str | None = Field(None, description="column of the right answer in that file")
    level: str | None = Field(None, description="column of the difficulty in that file")
    verifier: str | None = Field(
        None, description="see `evenodds list verifiers`, or file.py:function of your own"
    )
    style: Literal["auto", "bare", "few_shot", "chat"] = Field(
        "auto", description="how a problem is put: bare, with worked examples, or as a chat"
    )
    shots: int = Field(4, ge=0, description="worked examples before a few_shot problem")
    held_out: int = Field(
        100, ge=1, description="held-out problems of a level, where it has enough"
    )


class SamplingSection(Section):
    """How answers are drawn while learning."""

    groups: int = Field(16, ge=1, description="problems a step")
    group_size: int = Field(16, ge=2, description="answers to each")
    max_tokens: int = Field(96, ge=1, description="budget of one answer")
    temperature: float = Field(1.0, gt=0, description="of the sampled distribution")
    max_rows: int = Field(256, ge=1, description="answers decoded at the same time")


class ObjectiveSection(Section):
    """What is maximised: a recipe, and any of its axes changed by name."""

    recipe: str = Field("dr_grpo", description="see `evenodds list objectives`")
    credit: str | None = Field(None, description="rewards to advantages, instead of the recipe's")
    ratio: str | None = Field(None, description="ratio level, instead of the recipe's")
    surrogate: str | None = Field(None, description="clip or reinforce")
    reduce: str | None = Field(None, description="per_answer, per_budget or per_token")
    clip_low: float | None = Field(None, ge=0, lt=1, description="epsilon below 1")
    clip_high: float | None = Field(None, ge=0, description="epsilon above 1")
    mask_truncated: bool = Field(
        True, description="leave answers cut by the budget out of the loss"
    )


class CurriculumSection(Section):
    """Which problems come next."""

    kind: Literal["ladder", "uniform", "fixed"] = Field("ladder", description="who chooses levels")
    target: float = Field(0.5, gt=0, lt=1, description="solve rate that the ladder holds")
    gain: float = Field(0.5, gt=0, description="largest move of the ladder, in levels a step")
    sharpness: float = Field(2.0, gt=0, description="how soon that move saturates")
    start: float | None = Field(
        None, ge=0, description="first difficulty; default: where the base's solve rate is target"
    )
    review: float = Field(0.2, ge=0, le=0.9, description="share of problems from easier levels")
    levels: tuple[int, ...] | None = Field(None, description="the levels of 'fixed', from 0")


class LearnerSection(Section):
    """How the policy is changed."""

    learning_rate: float | None = Field(
        None, gt=0, description="default: LoRA 2e-4; all weights 5e-4 up to 20 M, else 1e-5"
    )
    warmup_steps: int = Field(5, ge=0, description="updates until the full learning rate")
    beta1: float = Field(0.9, ge=0, lt=1, description="AdamW")
    beta2: float = Field(0.98, ge=0, lt=1, description="AdamW")
    weight_decay: float = Field(0.0, ge=0, description="AdamW")
    max_grad_norm: float = Field(1.0, gt=0, description="gradients are clipped to this norm")
    micro_batch_tokens: int | None = Field(
        None, ge=1, description="tokens of one forward pass; default: 2048 on a CPU, 8192 on a GPU"
    )
    passes: int = Field(1, ge=1, description="optimizer steps on each batch of answers")
    gradient_checkpointing: bool = Field(False, description="less memory for more time")


class EvaluationSection(Section):
    """What is measured before and after, on held-out problems."""

    samples: int = Field(8, ge=1, description="answers sampled for each problem")
    problems: int = Field(40, ge=1, description="held-out problems of a level")
    levels: tuple[int, ...] | None = Field(None, description="levels, from 0; default: all")
    greedy: bool = Field(True, description="one greedy answer to each problem as well")
    seed: int = Field(1234, ge=0, description="the same before and after, never used in training")


class Config(Section):
    """All that decides a run."""

    run: RunSection = RunSection()  # pyright: ignore[reportCallIssue]
    policy: PolicySection = PolicySection()  # pyright: ignore[reportCallIssue]
    task: TaskSection = TaskSection()  # pyright: ignore[reportCallIssue]
    sampling: SamplingSection = SamplingSection()  # pyright: ignore[reportCallIssue]
    objective: ObjectiveSection = ObjectiveSection()  # pyright: ignore[reportCallIssue]
    curriculum: CurriculumSection = CurriculumSection()  # pyright: ignore[reportCallIssue]
    learner: LearnerSection = LearnerSection()  # pyright: ignore[reportCallIssue]
    evaluation: EvaluationSection = EvaluationSection()  # pyright: ignore[reportCallIssue]


def fields() -> dict[str, Any]:
    """Every setting by its dotted name, in order: `sampling.groups` -> pydantic field."""
    return {
        f"{section}.{name}": info
        for section, outer in Config.model_fields.items()
        for name, info in outer.annotation.model_fields.items()  # type: ignore[union-attr]
    }


def read_toml(path: Path) -> Data:
    """A config file as nested dicts. Raises `UsageError` where it is missing or not TOML."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UsageError(
            f"there is no config file {str(path)!r}. Make one: evenodds init."
        ) from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"{str(path)!r} is not readable TOML: {error}. Mend that line.") from None


def merge(base: Data, over: Mapping[str, Any]) -> Data:
    """`base` with dotted settings on top: {"run.seed": 3}."""
    merged = {key: dict(value) if isinstance(value, dict) else value for key, value in base.items()}
    for dotted, value in over.items():
        section, name = dotted.split(".", 1)
        inner = merged.setdefault(section, {})
        if isinstance(inner, dict):
            inner[name] = value
    return merged


def _reading(config: Config) -> Config:
    """A data file means the task `data`; with another task's name it is a contradiction."""
    task = config.task
    if task.data is None or task.name == "data":
        return config
    if "name" in task.model_fields_set:
        raise UsageError(
            f"task.data is for the task 'data', but task.name is {task.name!r}. Leave one out."
        )
    return config.model_copy(update={"task": task.model_copy(update={"name": "data"})})


def _ending(config: Config) -> Config:
    """The configuration with an end where it names none: the demonstration's for its model."""
    if config.run.steps is not None or config.run.max_time is not None:
        return config
    limits = DEMO if config.policy.name == BUNDLED else {"steps": STEPS}
    run = config.run.model_copy(update=limits)
    return config.model_copy(update={"run": run})


def _sentence(error: Mapping[str, Any]) -> str:
    """One pydantic error as one line."""
    where = [str(part) for part in error["loc"]]
    dotted = ".".join(where[:2])
    if error["type"] == "extra_forbidden":
        table = fields()
        known = list(table) if len(where) > 1 else list(Config.model_fields)
        same = [name for name in known if name.startswith(f"{where[0]}.")]
        return f"unknown setting {dotted!r}. {nearest(dotted, same or known)}"
    allowed = error["msg"].removeprefix("Input should be ")
    got = error.get("input")
    shown = repr(got) if not isinstance(got, dict) else "a table"
    return f"{dotted} cannot be {shown[:80]}. It should be {allowed}."


def make_config(data: Mapping[str, Any]) -> Config:
    """A checked configuration, with an end. Raises `UsageError` for the first thing wrong."""
    try:
        return _ending(_reading(Config.model_validate(dict(data))))
    except ValidationError as error:
        found = error.errors()
        more = f" ({len(found) - 1} more like it)" if len(found) > 1 else ""
        raise UsageError(_sentence(found[0]) + more) from None


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return '"' + "".join(_escape(char) for char in value) + '"'
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_value(item) for item in value) + "]"
    return repr(value)


def _escape(char: str) -> str:
    if char in '"\\':
        return "\\" + char
    return char if char.isprintable() else f"\\U{ord(char):08x}"


def to_toml(config: Config, comments: bool = False) -> str:
    """The configuration as TOML that reads back equal; with `comments` each key is explained."""
    lines: list[str] = []
    table = fields()
    for section, values in config.model_dump().items():
        lines += [f"[{section}]"]
        for name, value in values.items():
            note = f"  # {table[f'{section}.{name}'].description}" if comments else ""
            if value is not None:
                lines.append(f"{name} = {_value(value)}{note}")
            elif comments:
                lines.append(f"# {name} ={note}")
        lines.append("")
    return "\n".join(lines)

"""The configuration of a run: one tree of frozen sections, read from TOML and flags.

Flags beat TOML, TOML beats defaults. Every mistake becomes one line that names the key, what was
got, and what is allowed.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

from evenodds.errors import UsageError, nearest
from evenodds.places import BUNDLED

Data = dict[str, Any]

STEPS = 200
DEMO = {"steps": 150, "max_time": 115.0}  # two minutes with all that is around it


class Section(BaseModel):
    """Frozen, and closed: a key that is not declared is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    @field_validator("*", mode="before")
    @classmethod
    def _no_mixture(cls, value: Any, info: ValidationInfo) -> Any:
        """true is not the number 1, and the number 1 is not true; the texts of flags may be."""
        kinds = _kinds(cls.model_fields[info.field_name or ""].annotation)
        items: list[Any] = [*value] if isinstance(value, list | tuple) else [value]
        if {int, float} & kinds and any(isinstance(item, bool) for item in items):
            raise PydanticCustomError("kind", "a whole number" if int in kinds else "a number")
        if bool in kinds and isinstance(value, int | float) and not isinstance(value, bool):
            raise PydanticCustomError("kind", "true or false")
        return value


def _kinds(annotation: Any) -> set[Any]:
    """The plain types in an annotation: `tuple[int, ...] | None` -> {int, NoneType, ...}."""
    parts = get_args(annotation)
    return {annotation} if not parts else {kind for part in parts for kind in _kinds(part)}


class RunSection(Section):
    """How long, from which seed, and where it is written."""

    name: str | None = Field(
        None,
        min_length=1,
        description="name of the run folder; one is made if not given",
        examples=["my-run"],
    )
    root: str = Field("runs", min_length=1, description="folder that holds the runs")
    seed: int = Field(0, ge=0, description="what is drawn and proposed follows from it")
    steps: int | None = Field(
        None, ge=1, description="steps at most; see max_time", examples=[STEPS]
    )
    max_time: float | None = Field(
        None,
        ge=1,
        examples=[600.0],
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
    rank: int = Field(16, ge=1, le=4096, description="LoRA rank")
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
    data: str | None = Field(
        None,
        description="JSONL or parquet file with prompts and answers",
        examples=["problems.jsonl"],
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
    verifier: str | None = Field(
        None,
        description="see `evenodds list verifiers`, or file.py:function of your own",
        examples=["number"],
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
    max_rows: int = Field(256, ge=1, description="answers decoded at the same time")


class ObjectiveSection(Section):
    """What is maximised: a recipe, and any of its axes changed by name."""

    recipe: str = Field("dr_grpo", description="see `evenodds list objectives`")
    credit: str | None = Field(
        None, description="rewards to advantages, instead of the recipe's", examples=["centered"]
    )
    ratio: str | None = Field(
        None, description="ratio level, instead of the recipe's", examples=["token"]
    )
    surrogate: str | None = Field(None, description="clip or reinforce", examples=["clip"])
    reduce: str | None = Field(
        None, description="per_answer, per_budget or per_token", examples=["per_budget"]
    )
    clip_low: float | None = Field(None, ge=0, lt=1, description="epsilon below 1", examples=[0.2])
    clip_high: float | None = Field(
        None, ge=0, le=1e6, description="epsilon above 1", examples=[0.28]
    )
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
        None,
        ge=0,
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
    warmup_steps: int = Field(5, ge=0, description="updates until the full learning rate")
    beta1: float = Field(0.9, ge=0, lt=1, description="AdamW")
    beta2: float = Field(0.98, ge=0, lt=1, description="AdamW")
    weight_decay: float = Field(0.0, ge=0, le=10, description="AdamW")
    max_grad_norm: float = Field(1.0, gt=0, description="gradients are clipped to this norm")
    micro_batch_tokens: int | None = Field(
        None,
        ge=1,
        description="tokens of one forward pass; default: 2048 on a CPU, 8192 on a GPU",
        examples=[2048],
    )
    passes: int = Field(1, ge=1, description="optimizer steps on each batch of answers")
    gradient_checkpointing: bool = Field(False, description="less memory for more time")


class EvaluationSection(Section):
    """What is measured before and after, on held-out problems."""

    samples: int = Field(8, ge=1, le=10_000, description="answers sampled for each problem")
    problems: int = Field(40, ge=1, le=100_000, description="held-out problems of a level")
    levels: tuple[int, ...] | None = Field(
        None, min_length=1, description="levels, from 0; default: all", examples=[[0]]
    )
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


def read_saved(path: Path) -> Data:
    """The config.toml of a run. Raises `UsageError` where it is not what a run has written."""
    saved = read_toml(path)
    if not isinstance(saved.get("run"), dict):
        raise UsageError(
            f"{str(path)!r} is damaged: it has no [run] table. Restore it, or start a new run."
        )
    return saved


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


WANTED = {  # kinds of pydantic errors -> what is said instead of its own words
    "int": "a whole number",
    "float": "a number",
    "finite_number": "a finite number",
    "bool": "true or false",
    "string_too_short": "a text that is not empty",
    "string": "text",
    "model": "a table",
    "dict": "a table",
    "too_short": "a list that is not empty",
    "tuple": "a list",
}


def _wanted(error: Mapping[str, Any]) -> str:
    kind = str(error["type"])
    known = [words for start, words in WANTED.items() if kind.startswith(start)]
    return known[0] if known else str(error["msg"]).removeprefix("Input should be ")


def _sentence(error: Mapping[str, Any]) -> str:
    """One pydantic error as one line."""
    where = [str(part) for part in error["loc"]]
    dotted = ".".join(where[:2])
    if error["type"] == "extra_forbidden":
        table = fields()
        known = list(table) if len(where) > 1 else list(Config.model_fields)
        same = [name for name in known if name.startswith(f"{where[0]}.")]
        return f"unknown setting {dotted!r}. {nearest(dotted, same or known)}"
    got = error.get("input")
    shown = repr(got) if not isinstance(got, dict) else "a table"
    return f"{dotted} cannot be {shown[:80]}. It should be {_wanted(error)}."


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
    """The configuration as TOML that reads back equal; with `comments` each key is explained.

    What is not set is then a comment that holds an example: TOML too, without its `# `.
    """
    lines: list[str] = []
    table = fields()
    for section, values in config.model_dump().items():
        lines += [f"[{section}]"]
        for name, value in values.items():
            info = table[f"{section}.{name}"]
            note = f"  # {_note(info)}" if comments else ""
            if value is not None:
                lines.append(f"{name} = {_value(value)}{note}")
            elif comments:
                lines.append(f"# {name} = {_value(info.examples[0])}{note}")
        lines.append("")
    return "\n".join(lines)


def _note(info: Any) -> str:
    """What a setting is for, after its choices where it has a few."""
    choices = [kind for kind in get_args(info.annotation) if isinstance(kind, str)]
    return f"{' | '.join(choices)}: {info.description}" if choices else str(info.description)

"""The configuration of a run: one tree of frozen sections, read from TOML and flags.

Flags beat TOML, TOML beats defaults. Every mistake becomes one line that names the key, what was
got, and what is allowed.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import Any

from pydantic import ValidationError

from evenodds.errors import UsageError, did_you_mean, nearest
from evenodds.places import BUNDLED
from evenodds.run.foreign import require_code_of_ones_own
from evenodds.run.settings import (
    STEPS,
    CheckSection,
    CurriculumSection,
    JudgeSection,
    LearnerSection,
    ObjectiveSection,
    PolicySection,
    RunSection,
    SamplingSection,
    Section,
    TaskSection,
    choices_of,
)
from evenodds.run.settings_evidence import AlarmsSection, AuditSection, EvaluationSection

Data = dict[str, Any]

MOST_BYTES = 1 << 20
"""A config file has a few kB; what is larger is something else, and not read as a whole."""

DEMO = {"steps": 150, "max_time": 115.0}  # two minutes with all that is around it


class Config(Section):
    """All that decides a run."""

    run: RunSection = RunSection()  # pyright: ignore[reportCallIssue]
    policy: PolicySection = PolicySection()  # pyright: ignore[reportCallIssue]
    task: TaskSection = TaskSection()  # pyright: ignore[reportCallIssue]
    sampling: SamplingSection = SamplingSection()  # pyright: ignore[reportCallIssue]
    objective: ObjectiveSection = ObjectiveSection()  # pyright: ignore[reportCallIssue]
    curriculum: CurriculumSection = CurriculumSection()  # pyright: ignore[reportCallIssue]
    learner: LearnerSection = LearnerSection()  # pyright: ignore[reportCallIssue]
    judge: JudgeSection = JudgeSection()  # pyright: ignore[reportCallIssue]
    check: CheckSection = CheckSection()  # pyright: ignore[reportCallIssue]
    evaluation: EvaluationSection = EvaluationSection()  # pyright: ignore[reportCallIssue]
    audit: AuditSection = AuditSection()  # pyright: ignore[reportCallIssue]
    alarms: AlarmsSection = AlarmsSection()  # pyright: ignore[reportCallIssue]


def fields() -> dict[str, Any]:
    """Every setting by its dotted name, in order: `sampling.groups` -> pydantic field."""
    return {
        f"{section}.{name}": info
        for section, outer in Config.model_fields.items()
        for name, info in outer.annotation.model_fields.items()  # type: ignore[union-attr]
    }


def read_toml(path: Path) -> Data:
    """A config file as nested dicts. Raises `UsageError` where it is missing or not TOML."""
    text = _text(path)
    try:
        return tomllib.loads(text)
    except RecursionError:
        why, remedy = "it nests too deeply", "Write it flat"
    except tomllib.TOMLDecodeError as error:
        why, remedy = str(error), "Mend that line"
        if re.match("Cannot (overwrite|declare|mutate)", why):
            remedy = "A key and a table may stand there once: take one of them out"
    except ValueError:  # Python's own limit on the digits of a whole number
        why, remedy = "it holds a number of thousands of digits", "Write a shorter one"
    raise UsageError(f"{str(path)!r} is not readable TOML: {why}. {remedy}.")


def _text(path: Path) -> str:
    """What a config file holds. Only an ordinary file is opened: a pipe would be waited for."""
    try:
        state = path.stat()
        if not S_ISREG(state.st_mode):
            what = "a folder" if S_ISDIR(state.st_mode) else "a device or a pipe"
            raise UsageError(f"{str(path)!r} is {what}. Name a TOML file.")
        with open(path, "rb") as file:
            data = file.read(MOST_BYTES + 1)
    except FileNotFoundError:
        remedy = "Make one: evenodds init."
        if "=" in path.name and path.suffix != ".toml":  # the second of --task.policy A=1 B=2
            remedy = "Of several entries each needs the flag before it: --task.policy A=1."
        raise UsageError(f"there is no config file {str(path)[:300]!r}. {remedy}") from None
    except (OSError, ValueError) as error:  # a name that no file can have is a ValueError
        why = getattr(error, "strerror", None) or str(error)
        raise UsageError(f"cannot read {str(path)[:300]!r}: {why}. Name a TOML file.") from None
    if len(data) > MOST_BYTES:
        raise UsageError(
            f"{str(path)!r} is no config file: it has more than {MOST_BYTES >> 20} MiB. "
            "Name a TOML file."
        )
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise UsageError(
            f"{str(path)!r} is not readable TOML: byte {data[error.start]:#04x} in line {line} is "
            "not UTF-8. Save the file as UTF-8."
        ) from None


def read_saved(path: Path) -> Data:
    """The config.toml of a run. Raises `UsageError` where it is not what a run has written."""
    saved = read_toml(path)
    if not isinstance(saved.get("run"), dict):
        raise UsageError(
            f"{str(path)!r} is damaged: it has no [run] table. Restore it, or start a new run."
        )
    require_code_of_ones_own(saved, path.parent)
    return saved


def merge(base: Data, over: Mapping[str, Any]) -> Data:
    """`base` with dotted settings on top: {"run.seed": 3}."""
    merged = {key: dict(value) if isinstance(value, dict) else value for key, value in base.items()}
    for dotted, value in over.items():
        section, name = dotted.split(".", 1)
        inner = merged.setdefault(section, {})
        if isinstance(inner, dict):
            before = inner.get(name)
            if isinstance(before, dict) and isinstance(value, Mapping):
                value = {**before, **value}  # a table is changed entry by entry
            inner[name] = value
    return merged


def _reading(config: Config) -> Config:
    """A data file means the task `data`, or a named one that reads data; no other."""
    task = config.task
    if task.data is None or task.name == "data":
        return config
    if "name" in task.model_fields_set:
        from evenodds.tasks import PRESETS  # not needed for most runs, nor for --help

        if task.name in PRESETS:
            return config
        raise UsageError(
            f"task.data is for {', '.join(PRESETS)}, but task.name is {task.name!r}. Leave one out."
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
        return f"unknown setting {dotted!r}. {nearest(dotted, same or known, table)}"
    got = error.get("input")
    shown = "a table" if isinstance(got, dict) else _short(got)
    hint = did_you_mean(got, choices_in(dotted)) if isinstance(got, str) else ""
    return f"{dotted} cannot be {shown}. {hint}It should be {_wanted(error)}."


def _short(got: object) -> str:
    """A value as it is written, of which a long one shows its beginning."""
    try:
        shown = repr(got)
    except ValueError:  # a whole number of more digits than Python writes
        return "a number of thousands of digits"
    return shown if len(shown) <= 80 else f"{shown[:77]}..."


def choices_in(dotted: str) -> list[str]:
    """The texts that a setting may be; none where any will do, or there is no such setting."""
    info = fields().get(dotted)
    return [] if info is None else choices_of(info.annotation)


def make_config(data: Mapping[str, Any]) -> Config:
    """A checked configuration, with an end. Raises `UsageError` for the first thing wrong."""
    try:
        return _ending(_reading(Config.model_validate(dict(data))))
    except ValidationError as error:
        found = error.errors()
        more = f" ({len(found) - 1} more like it)" if len(found) > 1 else ""
        raise UsageError(_sentence(found[0]) + more) from None


def toml_value(value: Any) -> str:
    """A value as TOML has it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return '"' + "".join(_escape(char) for char in value) + '"'
    if isinstance(value, dict):
        rows = (f"{toml_value(key)} = {toml_value(item)}" for key, item in value.items())
        return "{" + ", ".join(rows) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(toml_value(item) for item in value) + "]"
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
                lines.append(f"{name} = {toml_value(value)}{note}")
            elif comments:
                lines.append(f"# {name} = {toml_value(info.examples[0])}{note}")
        lines.append("")
    return "\n".join(lines)


def _note(info: Any) -> str:
    """What a setting is for, after its choices where it has a few."""
    choices = choices_of(info.annotation)
    return f"{' | '.join(choices)}: {info.description}" if choices else str(info.description)

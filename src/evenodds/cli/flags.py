"""Flags from the configuration's own fields: one table serves TOML, flags and help."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast, get_args, get_origin

from evenodds.cli.parser import Parser as Parser
from evenodds.errors import UsageError
from evenodds.places import expanded
from evenodds.run.config import Config, Data, fields, make_config, merge, read_toml
from evenodds.run.settings import choices_of

SHORT = {
    "name": "run.name",
    "seed": "run.seed",
    "steps": "run.steps",
    "max-time": "run.max_time",
    "policy": "policy.name",
    "task": "task.name",
    "data": "task.data",
    "verifier": "task.verifier",
    "objective": "objective.recipe",
    "curriculum": "curriculum.kind",
    "random-reward": "run.random_reward",
    "control": "evaluation.control",
}


def _shown(default: Any) -> str:
    return "" if default is None or default == {} else f" (default: {default})"


def _metavar(annotation: Any) -> str:
    if choices := choices_of(annotation):
        return "|".join(choices)
    if get_origin(annotation) is dict:
        return "KEY=VALUE"
    names = [kind for kind in get_args(annotation) if kind is not type(None)]
    if names and get_origin(names[0]) is tuple:
        return "0,1,2" if int in get_args(names[0]) else "A,B"
    kind = names[0] if names and annotation not in (str, int, float, bool) else annotation
    return getattr(kind, "__name__", "VALUE").upper()


def _add(group: Any, flag: str, dotted: str, info: Any) -> None:
    """One flag; its default stays out of the namespace, so that what was named can be told."""
    bare: dict[str, Any] = {"nargs": "?", "const": "true"} if info.annotation is bool else {}
    is_table = get_origin(info.annotation) is dict
    more = "; the flag again for each further one" if is_table else ""
    group.add_argument(
        f"--{flag}",
        **bare,
        dest=dotted,
        # entries of a table come one a flag
        action="append" if is_table else "store",
        metavar=_metavar(info.annotation),
        default=None,
        help=f"{info.description}{more}{_shown(info.default)}".replace("%", "%%"),
    )


def add_settings(
    parser: Parser,
    without: tuple[str, ...] = (),
    sections: Sequence[str] = tuple(Config.model_fields),
) -> None:
    """A flag for every setting, in its section, and short names for the common ones.

    without: short names that the command uses for something else.
    sections: those that matter to the command; `--seed` is always there.
    """
    common = parser.add_argument_group("often used")
    table = fields()
    for short, dotted in SHORT.items():
        matters = short == "seed" or dotted.split(".")[0] in sections
        if short not in without and matters:
            _add(common, short, dotted, table[dotted])
    for section in sections:
        outer = Config.model_fields[section]
        about = (outer.annotation.__doc__ or section).splitlines()[0]  # pyright: ignore[reportOptionalMemberAccess]
        group = parser.add_argument_group(f"[{section}]", about)
        for dotted, info in table.items():
            if dotted.startswith(f"{section}."):
                _add(group, dotted, dotted, info)


LISTS = (".levels", ".columns", ".sinks", ".off", ".stop", ".ignore")
SAYS_NONE = ("objective.kl_in", "objective.correction")  # there "none" is a choice of its own


def _parsed(dotted: str, text: Any) -> Any:
    if isinstance(text, list):
        return dict(entry(dotted, part) for part in cast(list[str], text))
    is_unset = text.lower() in ("none", "null") and dotted not in SAYS_NONE
    if is_unset and fields()[dotted].default is None:
        return None
    if dotted.endswith(LISTS):
        return [part.strip() for part in text.split(",")]
    return text


def entry(flag: str, text: str) -> tuple[str, Any]:
    """`key=value`, where the value is as JSON writes it (`true`, a list), or else a text."""
    key, sign, value = (part.strip() for part in text.partition("="))
    if not sign or not key:
        example = "kl_blowup=0.3" if flag == "alarms.thresholds" else "percent=ratio"
        raise UsageError(f"--{flag} takes KEY=VALUE. Got {text[:60]!r}. Write {example}.")
    try:
        return key, json.loads(value)
    except (ValueError, RecursionError):
        return key, value


def given(found: argparse.Namespace) -> dict[str, Any]:
    """The settings that were named on the command line, by dotted name."""
    model = getattr(found, "policy.name", None) or ""
    if "=" in model and not expanded(model).exists():
        raise UsageError(
            f"--policy names a model here. Got {model!r}. An entry of the verifier's policy table "
            f"is --task.policy {model}."
        )
    return {
        dotted: _parsed(dotted, value)
        for dotted, value in vars(found).items()
        if "." in dotted and value is not None
    }


OWN = {  # settings that may name a file, by section
    "run": ("sinks",),
    "task": ("name", "data", "held_out_data", "verifier"),
    "objective": ("recipe", "credit", "ratio", "surrogate", "reduce", "correction"),
    "audit": ("verifier", "canaries"),
    "evaluation": ("control",),
}


def relative_to(base: Path, data: Data) -> Data:
    """Files that a config names are found beside it."""
    changed = dict(data)
    for section, keys in OWN.items():
        values = data.get(section)
        if isinstance(values, dict):
            found = {key: _beside(base, values[key]) for key in keys if key in values}
            changed[section] = {**values, **found}
    return changed


def _beside(base: Path, value: Any) -> Any:
    """`file.py:name` or `file.jsonl` as seen from the folder it stands in; of a list, each."""
    if isinstance(value, list):
        return [_beside(base, item) for item in cast(list[Any], value)]
    file = str(value).split(":")[0]
    if not isinstance(value, str) or not file.endswith(
        (".py", ".jsonl", ".jsonl.gz", ".json", ".parquet")
    ):
        return value
    here = base / file
    return value if Path(file).is_absolute() or not here.exists() else f"{here}{value[len(file) :]}"


def config_of(path: str | None, over: dict[str, Any]) -> Config:
    """The configuration from a TOML file, if any, and flags on top."""
    data: Data = {}
    if path is not None:
        data = relative_to(Path(path).parent, read_toml(Path(path)))
    return make_config(merge(data, over))

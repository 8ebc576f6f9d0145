"""Everything that a run writes while it goes on, apart from checkpoints."""

from __future__ import annotations

import hashlib
import inspect
import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, cast, get_args

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from evenodds import __version__
from evenodds.evaluation import finite, summary_of
from evenodds.objectives import Objective
from evenodds.run.build import Plan
from evenodds.run.config import Config, to_toml
from evenodds.run.durable import AppendLog, make_folder, write_file
from evenodds.run.environment import environment_passport
from evenodds.run.folder import RunFolder
from evenodds.tasks import Task
from evenodds.tasks.prompting import as_text
from evenodds.verifiers import VERIFIERS, Verifier, canonical, extract, grammar, reasoning

_FLOATS = pa.list_(pa.float32())
SCHEMA = pa.schema(
    [
        ("step", pa.int32()),
        ("problem_key", pa.string()),
        ("level", pa.int32()),
        ("gold", pa.string()),
        ("group", pa.int32()),
        ("answer", pa.int32()),
        ("group_size", pa.int32()),
        ("prompt", pa.string()),
        ("prompt_ids", pa.list_(pa.int32())),
        ("completion", pa.string()),
        ("completion_ids", pa.list_(pa.int32())),
        ("logprobs", _FLOATS),
        ("reference_logprobs", _FLOATS),
        ("learner_logprobs", _FLOATS),
        ("ratio", _FLOATS),
        ("policy_version", pa.int32()),
        ("temperature", pa.float32()),
        ("max_tokens", pa.int32()),
        ("stop_strings", pa.list_(pa.string())),
        ("seed", pa.int64()),
        ("stop", pa.string()),
        ("cut_length", pa.int32()),
        ("reward", pa.float64()),
        ("parts", pa.list_(pa.struct([("name", pa.string()), ("value", pa.float64())]))),
        ("status", pa.string()),
        ("extracted", pa.string()),
        ("note", pa.string()),
        ("verifier", pa.string()),
        ("verifier_version", pa.string()),
        ("advantage", pa.float64()),
        ("kept", pa.bool_()),
        ("why", pa.string()),
    ]
)


def _clean(value: Any) -> Any:
    """Text that UTF-8 can hold: a lone surrogate becomes a question mark."""
    if isinstance(value, list) and value and isinstance(value[0], str):
        return [_clean(item) for item in cast(list[str], value)]
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value


def _number_configuration() -> dict[str, object]:
    """Every choice of `number` on which graders differ, and the limits on what it reads."""
    policy = {name: _plain(value) for name, value in asdict(canonical.DEFAULT).items()}
    return {
        "extraction_order": list(extract.DEFAULT_ORDER),
        "policy": policy,
        "accepted_forms": list(get_args(grammar.Form)),
        "limits": {
            "characters_read": reasoning.MAX_CHARACTERS,
            "characters_of_an_answer": canonical.MAX_CHARACTERS,
            "tokens_of_an_answer": grammar.MAX_TOKENS,
            "depth": grammar.MAX_DEPTH,
            "exponent": grammar.MAX_EXPONENT,
            "bits": grammar.MAX_BITS,
        },
    }


def _text_configuration() -> dict[str, object]:
    return {
        "extraction_order": ["answer tags", "the last line, for a gold of one line", "all of it"],
        "comparison": "character for character, white space at the ends aside",
        "limits": {"characters_read": reasoning.MAX_CHARACTERS},
    }


CONFIGURATIONS: Mapping[str, Callable[[], dict[str, object]]] = {
    "number": _number_configuration,
    "text": _text_configuration,
}


def _plain(value: object) -> object:
    """A value as JSON has it; an exact fraction is written as text, for a float would round it."""
    return str(value) if isinstance(value, Fraction) else value


def _sha256(path: Path | None) -> str | None:
    """The hash of a file's bytes; None where there is no file to read."""
    try:
        return None if path is None else hashlib.sha256(path.read_bytes()).hexdigest()
    except (OSError, ValueError):  # ValueError: a name with a null character
        return None


def _source_file(function: Callable[..., object]) -> Path | None:
    """The file that a person's function was read from; None where it was typed or is compiled."""
    try:
        inner = inspect.unwrap(function)
        is_plain = inspect.isfunction(inner) or inspect.ismethod(inner)
        found = inspect.getsourcefile(inner if is_plain else type(inner))
    except (TypeError, OSError, ValueError):  # built in; no file; wrapped in a circle
        return None
    return None if found is None else Path(found)


def _own_source(verifier: Verifier) -> dict[str, object]:
    source = _source_file(verifier)
    digest = _sha256(source)
    name = source.name if source is not None and digest is not None else None
    return {"source_file": name, "source_sha256": digest}


def checker_passport(task: Task) -> dict[str, object]:
    """Which verifier pays, all that decides what it pays, and a hash of that.

    Of a registered verifier that is its configuration; of a person's own function the file that it
    stands in, as far as there is one.
    """
    name = task.verifier_name
    is_registered = VERIFIERS.get(name) is task.verifier
    configuration = {"configuration": CONFIGURATIONS.get(name, dict)()}
    known: dict[str, object] = {
        "verifier": name,
        "package": f"evenodds {__version__}",
        "kind": "registered" if is_registered else "own function",
        **(configuration if is_registered else _own_source(task.verifier)),
    }
    digest = hashlib.sha256(json.dumps(known, sort_keys=True).encode()).hexdigest()
    return {**known, "configuration_sha256": digest, "bench": "not run: it comes with `check`"}


def objective_passport(objective: Objective) -> dict[str, object]:
    """Every axis by name and, of functions of a person's own, the text that they were read from."""
    from evenodds.objectives.describe import axes_of, record_of

    axes = (objective.credit, objective.ratio, objective.surrogate, objective.reduce)
    files = {_source_file(axis) for axis in axes if callable(axis)}
    package = Path(__file__).parents[1]
    own = [file for file in files if file is not None and package not in file.resolve().parents]
    sources = {file.name: file.read_text(encoding="utf-8", errors="replace") for file in own}
    return {"axes": axes_of(objective), **record_of(objective), "own_sources": sources}


def disjointness(task: Task, count: int = 1000) -> dict[str, object]:
    """The proof that training and held-out problems are apart: the rule, and how often it held.

    count: training problems that are generated, over all levels in turn, and looked up.
    """
    levels = range(len(task.levels))
    held = [problem for level in levels for problem in task.held_out(level)]
    keys, prompts = {p.key for p in held}, {as_text(p.prompt) for p in held}
    rng = np.random.default_rng(0)
    drawn = [task.generate(place % len(levels), rng) for place in range(count)]
    return {
        "rule": "no training problem has the key of a held-out one: `split` says which are held "
        "out, and generation passes them over",
        "held_out_keys": len(keys),
        "training_problems_checked": count,
        "held_out_keys_among_them": sum(problem.key in keys for problem in drawn),
        "held_out_prompts_among_them": sum(as_text(p.prompt) in prompts for p in drawn),
    }


def _initial_rates(base: Mapping[str, Any]) -> list[dict[str, object]]:
    return [
        {"level": row.label, "problems": row.problems, **asdict(row.side.sampled)}
        for row in summary_of(base).levels
    ]


def data_passport(
    task: Task, base: Mapping[str, Any] | None = None, chat_template: str | None = None
) -> dict[str, object]:
    """The task's passport, how its problems are put, and the proof that the split holds.

    base: the record of the base's evaluation; with it the limits of an answer and each level's
    initial solve rate, with its 95 % interval, are there too. chat_template: the tokenizer's, where
    the style is `chat`.
    """
    options = getattr(task, "options", None)  # a person's own task may have none
    data = getattr(options, "data", None)
    settings: Mapping[str, Any] = {} if base is None else base["settings"]
    names = ("max_tokens", "temperature", "stop_strings")
    passport: dict[str, object] = {
        **task.passport(),
        "style": getattr(options, "style", None),
        "chat_template": chat_template,
        "stop_strings": list(task.stop_strings),
        "limits": {name: settings[name] for name in names if name in settings} or None,
        "disjoint": disjointness(task),
        "data_file_sha256": _sha256(Path(data) if data else None),
        "initial_solve_rates": None if base is None else _initial_rates(base),
    }
    return finite(passport)


@dataclass(frozen=True)
class RunWriter:
    """Writes into one run folder; each call is durable or says in one line why not."""

    folder: RunFolder

    def begin(
        self,
        config: Config,
        task: Task,
        argv: Sequence[str],
        facts: Mapping[str, object] | None = None,
        objective: Objective | None = None,
    ) -> None:
        """The configuration as resolved, the folder, and the passports, as far as they are missing.

        The configuration comes first: a folder without one is no run, so a kill in here would
        make its name unusable. Calling this again writes what such a kill left out, and leaves
        what is there. facts: see `environment_passport`.
        """
        make_folder(self.folder.path)
        if not self.folder.config.exists():
            write_file(self.folder.config, to_toml(config))
        make_folder(self.folder.checkpoints)
        passports: dict[Path, Callable[[], dict[str, object]]] = {
            self.folder.data: lambda: data_passport(task),
            self.folder.checker: lambda: checker_passport(task),
            self.folder.environment: lambda: environment_passport(argv, facts),
        }
        if objective is not None:
            passports[self.folder.objective] = lambda: objective_passport(objective)
        for path, make in passports.items():
            if not path.exists():
                self.json(path, make())

    def data(self, plan: Plan, base: Mapping[str, Any], template: str | None = None) -> None:
        """The data passport again, now that the base was evaluated. See `data_passport`."""
        self.json(self.folder.data, data_passport(plan.task, base, template))

    def json(self, path: Path, value: Mapping[str, Any]) -> None:
        make_folder(path.parent)
        write_file(path, json.dumps(value, indent=1, ensure_ascii=False, default=str) + "\n")

    def evaluation(self, name: str, value: Mapping[str, Any]) -> None:
        self.json(self.folder.evaluation(name), value)

    @property
    def metrics(self) -> AppendLog:
        return AppendLog(self.folder.metrics)

    def rollouts(self, step: int, rows: Sequence[Mapping[str, Any]]) -> None:
        """One parquet file a step."""
        clean = [{key: _clean(value) for key, value in row.items()} for row in rows]
        make_folder(self.folder.rollouts(step).parent)
        buffer = io.BytesIO()
        parquet.write_table(pa.Table.from_pylist(clean, schema=SCHEMA), buffer, compression="zstd")
        write_file(self.folder.rollouts(step), buffer.getvalue())

    def drop_rollouts_after(self, step: int) -> None:
        """Remove the files of steps that a resumed run takes again."""
        folder = self.folder.rollouts(0).parent
        for path in folder.glob("step-*.parquet"):
            number = path.stem.removeprefix("step-")
            if number.isdigit() and int(number) > step:
                path.unlink()

    def forget_the_end(self) -> None:
        """Remove the evaluation of an end that is none any more: the run goes on."""
        self.folder.evaluation("final").unlink(missing_ok=True)

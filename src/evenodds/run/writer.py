"""Everything that a run writes while it goes on, apart from checkpoints."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import parquet

from evenodds import __version__
from evenodds.run.config import Config, to_toml
from evenodds.run.durable import AppendLog, make_folder, write_file
from evenodds.run.environment import environment_passport
from evenodds.run.folder import RunFolder
from evenodds.tasks import Task

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
        ("in_loss", pa.bool_()),
        ("logprobs", _FLOATS),
        ("learner_logprobs", _FLOATS),
        ("policy_version", pa.int32()),
        ("temperature", pa.float32()),
        ("max_tokens", pa.int32()),
        ("seed", pa.int64()),
        ("stop", pa.string()),
        ("reward", pa.float64()),
        ("parts", pa.list_(pa.struct([("name", pa.string()), ("value", pa.float64())]))),
        ("status", pa.string()),
        ("extracted", pa.string()),
        ("note", pa.string()),
        ("verifier", pa.string()),
        ("advantage", pa.float64()),
        ("kept", pa.bool_()),
        ("why", pa.string()),
    ]
)


def _clean(value: Any) -> Any:
    """Text that UTF-8 can hold: a lone surrogate becomes a question mark."""
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value


def checker_passport(task: Task) -> dict[str, object]:
    """Which verifier pays, and its configuration as a hash."""
    name = task.verifier_name
    known = {"verifier": name, "package": f"evenodds {__version__}"}
    digest = hashlib.sha256(json.dumps(known, sort_keys=True).encode()).hexdigest()
    return {**known, "configuration_sha256": digest, "bench": "not run: it comes with `check`"}


@dataclass(frozen=True)
class RunWriter:
    """Writes into one run folder; each call is durable or says in one line why not."""

    folder: RunFolder

    def begin(self, config: Config, task: Task, argv: Sequence[str]) -> None:
        """The folder, the configuration as resolved, and the passports."""
        make_folder(self.folder.checkpoints)
        self.json(self.folder.data, task.passport())
        self.json(self.folder.checker, checker_passport(task))
        self.json(self.folder.environment, environment_passport(argv))
        write_file(self.folder.config, to_toml(config))

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

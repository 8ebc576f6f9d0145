"""Settings that are each legal and cannot be together, or name what is not there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from evenodds.run.config import make_config, merge, to_toml, toml_value
from tests.requests.broken import TRAIN, Broken

DATA = {"task.data": "problems.jsonl", "task.verifier": "verifier.py:grade"}
PLAIN: dict[str, Any] = {"run.steps": 1, "evaluation.control": "none"}

TABLE: list[tuple[dict[str, Any], str]] = [  # settings -> the one that must be named
    ({"curriculum.kind": "fixed", "curriculum.levels": [99]}, "curriculum.levels"),
    ({"curriculum.kind": "fixed", "curriculum.levels": [-1]}, "curriculum.levels"),
    ({"curriculum.kind": "fixed"}, "curriculum.levels"),
    ({"curriculum.kind": "uniform", "curriculum.levels": [0]}, "curriculum.levels"),
    ({"curriculum.levels": [0]}, "curriculum.levels"),
    ({"curriculum.start": 99}, "curriculum.start"),
    ({"curriculum.kind": "uniform", "curriculum.start": 1}, "curriculum.start"),
    (
        {"curriculum.kind": "fixed", "curriculum.levels": [0], "curriculum.start": 1},
        "curriculum.start",
    ),
    ({"evaluation.levels": [99]}, "evaluation.levels"),
    ({"evaluation.levels": [0, -1]}, "evaluation.levels"),
    ({"sampling.group_size": 1}, "sampling.group_size"),
    ({"sampling.max_tokens": 900_000}, "sampling.max_tokens"),
    ({"evaluation.max_tokens": 900_000}, "evaluation.max_tokens"),
    ({"task.name": "addition", "task.data": "problems.jsonl"}, "task.data"),
    ({"task.held_out_data": "problems.jsonl"}, "task.held_out_data"),
    ({"task.subset": "main"}, "task.subset"),
    ({"task.split": "test"}, "task.split"),
    ({"task.held_out_split": "test"}, "task.held_out_split"),
    ({"task.prompt": "prompt"}, "task.prompt"),
    ({"task.answer": "answer"}, "task.answer"),
    ({"task.level": "level"}, "task.level"),
    ({"task.columns": ["id"]}, "task.columns"),
    ({"task.drop_contradictory": True}, "task.drop_contradictory"),
    ({"task.drop_unreadable": True}, "task.drop_unreadable"),
    ({**DATA, "task.subset": "main"}, "task.subset"),
    ({**DATA, "task.split": "test"}, "task.split"),
    ({**DATA, "task.held_out_split": "test"}, "task.held_out_split"),
    (
        {**DATA, "task.held_out_data": "problems.jsonl", "task.held_out_split": "test"},
        "task.held_out_split",
    ),
    ({**DATA, "task.prompt": "promt"}, "Did you mean 'prompt'"),
    ({**DATA, "task.answer": "anwser"}, "Did you mean 'answer'"),
    ({**DATA, "task.level": "levle"}, "--task.level"),
    ({**DATA, "task.columns": ["id"]}, "--task.columns"),
    ({**DATA, "task.prompt": "answer", "task.answer": "answer"}, "task.prompt"),
    ({**DATA, "task.held_out_data": "none.jsonl"}, "none.jsonl"),
    ({**DATA, "task.held_out_data": "problems.jsonl"}, "held out"),
    ({**DATA, "task.data": "none.jsonl"}, "none.jsonl"),
    ({**DATA, "task.data": "."}, "folder"),
    ({**DATA, "task.data": ""}, "task.data"),
    ({**DATA, "task.data": "hf:"}, "hf:"),
    ({**DATA, "task.data": "problems.csv"}, "CSV"),
    ({**DATA, "task.verifier": "verifier.py:grad"}, "Did you mean 'grade'"),
    ({**DATA, "task.verifier": "verfier.py:grade"}, "verfier.py"),
    ({**DATA, "task.verifier": "verifier.py"}, "verifier.py"),
    ({**DATA, "task.verifier": "verifier.py:re"}, "verifier.py"),
    ({**DATA, "task.verifier": ""}, "task.verifier"),
    ({**DATA, "task.verifier": "numbr"}, "Did you mean 'number'"),
    ({**DATA, "task.style": "chat"}, "task.style"),
    ({"task.style": "chat"}, "task.style"),
    ({"task.name": "data"}, "--data"),
    ({"task.name": ""}, "task"),
    ({"task.name": "none.jsonl"}, "none.jsonl"),
    ({"task.name": "none.py"}, "none.py"),
    ({"task.name": "gym:nothing"}, "gym"),
    ({"task.name": "own"}, "Python"),
    ({"task.policy": {"percnt": "ratio"}}, "percent"),
    ({"task.policy": {"percent": "nothing"}}, "percent"),
    ({"task.policy": {"percent": 1}}, "percent"),
    ({"task.policy": {"": 1}}, "policy"),
    ({"audit.verifier": "numbr"}, "Did you mean 'number'"),
    ({"audit.verifier": "none.py:strict"}, "none.py"),
    ({"audit.policy": {"percent": "ratio"}}, "audit.policy"),
    ({"audit.verifier": "number", "audit.policy": {"percnt": 1}}, "percent"),
    ({"audit.canaries": "none.jsonl"}, "none.jsonl"),
    ({"audit.canaries": "verifier.py"}, "verifier.py"),
    ({"audit.canaries": "."}, "folder"),
    ({"evaluation.control": "adition"}, "Did you mean 'addition'"),
    ({"evaluation.control": "none.jsonl"}, "none.jsonl"),
    ({"alarms.off": ["kl_blowp"]}, "Did you mean 'kl_blowup'"),
    ({"alarms.stop": ["nonfinite"]}, "Did you mean 'non_finite'"),
    ({"alarms.thresholds": {"kl_blowp": 1}}, "kl_blowp"),
    ({"alarms.thresholds": {"kl_blowup": "x"}}, "kl_blowup"),
    ({"alarms.thresholds": {"kl_blowup": -1}}, "kl_blowup"),
    ({"run.sinks": ["tensorbord"]}, "Did you mean 'tensorboard'"),
    ({"run.sinks": ["none.py:Sink"]}, "none.py"),
    ({"run.sinks": ["verifier.py:re"]}, "verifier.py"),
    ({"run.sinks": [""]}, "sink"),
    ({"run.name": "../up"}, "name"),
    ({"run.root": "problems.jsonl"}, "problems.jsonl"),
    ({"run.root": "/proc/none"}, "/proc/none"),
    ({"run.root": "/dev/null"}, "/dev/null"),
    ({"policy.name": ""}, "policy"),
    ({"policy.name": "."}, "no model folder"),
    ({"policy.name": "./none"}, "./none"),
    ({"policy.name": "problems.jsonl"}, "problems.jsonl"),
    ({"policy.name": "/"}, "no model folder"),
    ({"policy.name": "a/b/c"}, "a/b/c"),
    ({"policy.name": "no such model"}, "no such model"),
    ({"policy.name": "owner/none-such-model"}, "owner/none-such-model"),
    ({"policy.device": "gpu"}, "device"),
    ({"policy.device": "cpu:9"}, "device"),
    ({"policy.device": "meta"}, "device"),
    ({"policy.device": ""}, "policy.device"),
    ({"policy.device": "xla"}, "device"),
    ({"objective.kl_estimator": "k3"}, "objective.kl_estimator"),
    ({"objective.kl_weighted": True}, "objective.kl_weighted"),
    ({"objective.kl_in": "loss"}, "objective.kl"),
    ({"objective.kl_in": "reward"}, "objective.kl"),
    ({"objective.kl": 0.0, "objective.kl_in": "loss"}, "objective.kl"),
    ({"objective.kl": 0.1, "objective.kl_in": "none"}, "objective.kl"),
    (
        {"objective.kl": 0.1, "objective.kl_in": "reward", "objective.kl_estimator": "k3"},
        "objective.kl_estimator",
    ),
    ({"objective.dual_clip": 3.0}, "objective.dual_clip"),
    ({"objective.gate_positive": 1.0}, "objective.gate_positive"),
    ({"objective.surrogate": "reinforce", "objective.clip_low": 0.1}, "objective.clip_low"),
    ({"objective.correction_cap": 2.0}, "objective.correction_cap"),
    (
        {"objective.correction": "none", "objective.correction_cap": 2.0},
        "objective.correction_cap",
    ),
    ({"objective.entropy_step": 0.1}, "objective.entropy_step"),
    ({"objective.recipe": "bnpo"}, "docs/trl.md"),
    ({"objective.recipe": "none.py:mine"}, "none.py"),
    ({"objective.recipe": "verifier.py:grade"}, "verifier.py:grade"),
    ({"objective.surrogate": "clipp"}, "Did you mean 'clip'"),
    ({"objective.credit": "verifier.py:grade"}, "objective.credit"),
]  # fmt: skip


def _settings(over: dict[str, Any]) -> bytes:
    """The settings as TOML, whether or not they are legal."""
    data = merge({}, PLAIN | over)
    lines = []
    for section, values in data.items():
        lines += [
            f"[{section}]",
            *(f"{key} = {toml_value(value)}" for key, value in values.items()),
        ]
    return "\n".join(lines).encode()


def table() -> Iterator[Broken]:
    for over, word in TABLE:
        what = ", ".join(f"{name} = {value!r}" for name, value in over.items())
        yield Broken("contradiction", what, TRAIN, (word,), "", _settings(over))


def _same_run_twice(folder: Path) -> None:
    """A run folder that another configuration has begun."""
    made = folder / "runs" / "there"
    made.mkdir(parents=True)
    config = make_config(merge({}, PLAIN | {"run.name": "there", "run.seed": 5}))
    (made / "config.toml").write_text(to_toml(config))


def begun() -> Iterator[Broken]:
    yield Broken(
        "contradiction",
        "a run that began with another seed",
        TRAIN,
        ("run.seed",),
        "",
        _settings({"run.name": "there", "run.seed": 6}),
        _same_run_twice,
    )

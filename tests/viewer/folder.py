"""A whole run folder, written in milliseconds, whose every text is what a test wants it to be."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from evenodds.records.columns import COLUMNS, arrow
from evenodds.records.groups import rebuilt_line
from tests.report.synthetic import evaluation, metrics

Say = Callable[[str], str]
"""What stands in a field of that name."""

STEPS, GROUPS, SIZE = 3, 5, 8
LONG = 640  # tokens of answer 1 of every group 1
STATUSES = ("right", "wrong", "no_answer", "truncated", "timeout", "several_answers")
PLAIN = {
    "prompt": "3*4=\n12\n20*3=\n60\n17*6=",
    "completion": "7*6=42, 10*6=60\n  17*6 = 102",
    "gold": "102",
    "extracted": "102",
    "note": "last number; equal exactly",
    "problem_key": "multiplication/6*17",
    "level": "2×1 digits",
    "alarm": "entropy_falling",
    "reason": "entropy fell from 0.4 to 0.1 nats",
}


def plain(name: str) -> str:
    return PLAIN.get(name, name)


def write_run(folder: Path, say: Say = plain, words: list[str] | None = None) -> Path:
    """A finished run. words: the vocabulary of its tokenizer."""
    for name in ("rollouts", "evaluation", "passports", "model"):
        (folder / name).mkdir(parents=True)
    _config(folder, say)
    _tokenizer(folder / "model" / "tokenizer.json", words or [*"0123456789*=<#\n "])
    lines = [{**row, "kl": 0.01} for row in metrics(STEPS)]
    _lines(folder / "metrics.jsonl", lines)
    for step in range(1, STEPS + 1):
        path = folder / "rollouts" / f"step-{step:05d}.parquet"
        pq.write_table(rollouts(step, say, len(words or [0] * 16)), path)
    paths = sorted((folder / "rollouts").iterdir())
    found = [rebuilt_line(step, path) for step, path in enumerate(paths, 1)]
    _lines(folder / "groups.jsonl", [*filter(None, found)])
    alarm = {"step": 2, "stops": True, "value": 1.0, "threshold": 2.0}
    texts = {"name": say("alarm"), "reason": say("reason"), "remedy": say("remedy")}
    _lines(folder / "alarms.jsonl", [{**alarm, **texts}])
    for name, skill in (("base", 1.0), ("final", 3.0)):
        record = evaluation(skill, seed=1, problems=2)
        _named(record, say)
        (folder / "evaluation" / f"{name}.json").write_text(json.dumps(record))
        pq.write_table(rollouts(0, say, 16), folder / "evaluation" / f"{name}.parquet")
    return folder


def _config(folder: Path, say: Say) -> None:
    sections = {
        "run": {"name": say("name"), "steps": STEPS},
        "policy": {"name": say("policy")},
        "task": {"name": say("task"), "verifier": say("verifier")},
        "objective": {"recipe": "dr_grpo"},
        "sampling": {"max_tokens": 64},
    }
    lines: list[str] = []
    for section, values in sections.items():
        lines += [f"[{section}]", *(f"{name} = {json.dumps(v)}" for name, v in values.items())]
    (folder / "config.toml").write_text("\n".join(lines) + "\n")
    for name in ("data", "checker", "objective", "environment"):
        passport = {"source": say("passport"), say("field"): {"inner": say("value")}}
        (folder / "passports" / f"{name}.json").write_text(json.dumps(passport))


def _named(record: dict[str, Any], say: Say) -> None:
    """Other names for levels and problems, the same before and after."""
    record["policy"] = say("policy")
    for level in record["levels"]:
        level["label"] = say("level")
        for place, problem in enumerate(level["problems"]):
            problem["key"] = f"{say('problem_key')} {place}"
            problem |= {"source": say("source"), "votes": [[say("extracted"), 3, True]]}


def _lines(path: Path, rows: list[Any]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def _tokenizer(path: Path, words: list[str]) -> None:
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel

    made = Tokenizer(WordLevel({word: place for place, word in enumerate(words)}, words[0]))
    made.save(str(path))


def rollouts(step: int, say: Say, words: int) -> pa.Table:
    rows = [
        _row(step, group, answer, say, words) for group in range(GROUPS) for answer in range(SIZE)
    ]
    return pa.table(
        {name: pa.array([row[name] for row in rows], arrow(kind)) for name, kind in COLUMNS.items()}
    )


def _row(step: int, group: int, answer: int, say: Say, words: int) -> dict[str, Any]:
    rng = np.random.default_rng([step, group, answer])
    length = LONG if (group, answer) == (1, 1) else int(rng.integers(3, 12))
    status = STATUSES[0 if (answer + group) % 3 == 0 else 1 + answer % 5] if group else "wrong"
    right = status == "right"
    old = -rng.exponential(0.4, length)
    kept = group != 0 and status != "timeout"
    learned = old + 0.05 * rng.standard_normal(length)
    last = old + 0.4 * rng.standard_normal(length)
    audited = "wrong" if right and answer % 6 < 2 else status
    known: dict[str, Any] = {
        "step": step, "verifier": say("verifier"), "verifier_version": "0", "level": group % 3,
        "group": group, "answer": answer, "group_size": SIZE, "round": 0,
        "prompt_ids": [1, 2], "completion_ids": rng.integers(0, words, length).tolist(),
        "logprobs": old, "reference_logprobs": old - 0.1, "policy_version": step,
        "learner_logprobs": learned if kept else None, "last_logprobs": last if kept else None,
        "entropy": rng.random(length) if kept else None,
        "ratio": np.exp(learned - old) if kept else None,
        "temperature": 1.0, "max_tokens": 64, "stop_strings": ["\n"], "seed": 7 + answer,
        "stop": "budget" if status == "truncated" else "end_token", "cut_length": 5,
        "reward": float(right), "parts": [{"name": say("part"), "value": 0.5}],
        "status": status, "audit_status": audited, "audit_score": float(audited == "right"),
        "audit_note": say("audit_note"), "advantage": right - 0.3, "kept": kept,
        "why": "" if kept else say("why"),
    }  # fmt: skip
    texts = ("problem_key", "gold", "prompt", "completion", "extracted", "note")
    return {**known, **{name: say(name) for name in texts}}

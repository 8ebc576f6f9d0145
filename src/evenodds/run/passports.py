"""Passports: what a run was made with, so that it can be repeated and its rewards be explained."""

from __future__ import annotations

import hashlib
import inspect
import json
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from fractions import Fraction
from pathlib import Path
from typing import Any, cast

import numpy as np

from evenodds import __version__
from evenodds.bench import Report
from evenodds.domain import Problem, as_text
from evenodds.errors import UsageError
from evenodds.evaluation import finite, summary_of
from evenodds.judge.chance import NAME as COIN
from evenodds.objectives import Objective
from evenodds.places import expanded
from evenodds.records.lines import read_object
from evenodds.run.asked import is_another, problems_sum
from evenodds.run.folder import RunFolder
from evenodds.tasks import Task
from evenodds.tasks.values import short
from evenodds.verifiers import RegisteredVerifier, Verifier

SECONDS = 5.0
"""Time to look up training problems among the held-out ones."""


def _configuration(verifier: RegisteredVerifier) -> dict[str, object]:
    """Every choice on which graders differ, as this one takes it, and what it refuses to read."""
    policy = asdict(verifier.policy)
    return {
        "gold": verifier.kind.gold,
        "policy": {name: _plain(value) for name, value in policy.items()},
        "limits": dict(verifier.kind.limits),
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


def audit_passport(audit: Verifier | None, name: str | None, file: str | None) -> dict[str, object]:
    """The audit as it stands in the checker's passport, and the file of canaries; None without.

    name, file: `audit.verifier` and `audit.canaries`.
    """
    known = None if audit is None else _known(audit, name or "audit")
    canaries = None if file is None else Path(expanded(file))
    found = canaries and {"file": canaries.name, "sha256": _sha256(canaries)}
    return {"audit": known, "canaries": found}


def _known(verifier: Verifier, name: str) -> dict[str, object]:
    """Which verifier it is and all that decides what it says."""
    is_registered = isinstance(verifier, RegisteredVerifier)
    return {
        "verifier": name,
        "package": f"evenodds {__version__}",
        "kind": "registered" if is_registered else "own function",
        **({"configuration": _configuration(verifier)} if is_registered else _own_source(verifier)),
    }


def _own_source(verifier: Verifier) -> dict[str, object]:
    source = _source_file(verifier)
    digest = _sha256(source)
    name = source.name if source is not None and digest is not None else None
    return {"source_file": name, "source_sha256": digest}


def checker_passport(task: Task, bench: Report | None = None) -> dict[str, object]:
    """Which verifier pays, all that decides what it pays, a hash of that, and the bench's counts.

    Of a registered verifier that is its configuration; of a person's own function the file that it
    stands in, as far as there is one.
    """
    known = _known(task.verifier, task.verifier_name)
    digest = hashlib.sha256(json.dumps(known, sort_keys=True).encode()).hexdigest()
    found = bench.counts() if bench is not None else "not run: check.bench is false"
    return {**known, "configuration_sha256": digest, "bench": found}


def was_tried(passport: Path, task: Task) -> bool:
    """Whether the bench has tried this very verifier, by the passport of the run that goes on."""
    found = read_object(passport)
    same = checker_passport(task)["configuration_sha256"]
    return isinstance(found.get("bench"), dict) and found.get("configuration_sha256") == same


def objective_passport(
    objective: Objective, named: Mapping[str, Any], payer: str = ""
) -> dict[str, object]:
    """Every axis by name and, of a person's own code, the text of the files that it stands in.

    named: the settings of [objective]; those of the form `file.py:name` name such code. payer: who
    decides on the reward, the verifier or a coin.
    """
    from evenodds.objectives.describe import axes_of, record_of

    own = {key: value for key, value in named.items() if isinstance(value, str) and ":" in value}
    sources = {key: {"name": value, "text": _text(value)} for key, value in own.items()}
    target = named.get("entropy_target")
    moving = f", entropy coefficient follows the target {target:g}" if target else ""
    return {
        "axes": axes_of(objective) + moving,
        "paid_by": payer,
        "random_reward": payer == COIN,
        **record_of(objective),
        "entropy_target": target,
        "entropy_step": named.get("entropy_step"),
        "own_sources": sources,
    }


def _text(name: str) -> str | None:
    """The source that `file.py:name` or `package.module:name` was read from, if any."""
    place = name.rpartition(":")[0]
    path = place if place.endswith(".py") else getattr(sys.modules.get(place), "__file__", None)
    try:
        return None if path is None else Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None


def require_same_code(
    folder: RunFolder,
    task: Task,
    objective: Mapping[str, object],
    audit: Mapping[str, object] | None = None,
) -> None:
    """Raise `UsageError` where a person's own code or data is another than the run began with.

    objective, audit: the passports of today's. A folder without passports has nothing to compare.
    """
    before = _own(folder.objective, "own_sources")
    if before is not None and before != objective["own_sources"]:
        raise UsageError(
            f"the run {str(folder.path)!r} began with another objective of your own: its file has "
            f"changed. Restore it from {str(folder.objective)!r}, or start another run."
        )
    before, now = _own(folder.checker, "source_sha256"), checker_passport(task)
    if before is not None and before != now.get("source_sha256"):
        raise UsageError(
            f"the run {str(folder.path)!r} began with another verifier of your own: "
            f"{now.get('source_file')} has changed. Restore it, or start another run."
        )
    before = _own(folder.data, "data_file_sha256")
    if before is not None and before != _data_sha256(task):
        raise UsageError(
            f"the run {str(folder.path)!r} began with other problems: {_data_file(task)} has "
            "changed. Restore it, or start another run."
        )
    if is_another(_part(_own(folder.data, "problems")), task):
        raise UsageError(
            f"the run {str(folder.path)!r} began with other problems than the task "
            f"{short(task.name)} gives now. Restore it, or start another run. A task must draw by "
            "the rng that it is given alone, and not by the order of a set; to go on with the "
            f"problems as they are, remove {str(folder.data)!r}."
        )
    _require_same_audit(folder, audit or {})


def _data_file(task: Task) -> Path | None:
    data = getattr(getattr(task, "options", None), "data", None)  # a person's own task may lack it
    return Path(data) if data else None


def _data_sha256(task: Task) -> str | None:
    return _sha256(_data_file(task))


def _require_same_audit(folder: RunFolder, audit: Mapping[str, object]) -> None:
    """The same of the audit's own file and of the file of canaries."""
    named = (
        ("audit", "source_sha256", "source_file", "audit of your own"),
        ("canaries", "sha256", "file", "file of canaries"),
    )
    for entry, digest, file, what in named:
        before, now = _part(_own(folder.checker, entry)), _part(audit.get(entry))
        if before.get(digest) is not None and before[digest] != now.get(digest):
            raise UsageError(
                f"the run {str(folder.path)!r} began with another {what}: {before.get(file)} has "
                "changed. Restore it, or start another run."
            )


def _part(value: object) -> Mapping[str, object]:
    """An entry with entries of its own; empty where it is none."""
    return cast(Mapping[str, object], value) if isinstance(value, Mapping) else {}


def _own(path: Path, key: str) -> object:
    """An entry of a passport; None where it is not to be had."""
    try:
        return json.loads(path.read_text(encoding="utf-8")).get(key)
    except (OSError, ValueError, AttributeError):
        return None


def disjointness(task: Task, count: int = 1000) -> dict[str, object]:
    """The proof that training and held-out problems are apart: the rule, and how often it held.

    count: training problems that are generated, over all levels in turn, and looked up; fewer
    where a slow generator takes longer than `SECONDS`.
    """
    levels = range(len(task.levels))
    held = [problem for level in levels for problem in task.held_out(level)]
    keys, prompts = {p.key for p in held}, {as_text(p.prompt) for p in held}
    rng, end = np.random.default_rng(0), time.monotonic() + SECONDS
    drawn: list[Problem] = []
    while len(drawn) < count and (time.monotonic() < end or not drawn):
        drawn.append(task.generate(len(drawn) % len(levels), rng))
    return {
        "rule": "no training problem has the key of a held-out one: `split` says which are held "
        "out, and generation passes them over",
        "held_out_keys": len(keys),
        "training_problems_checked": len(drawn),
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
    settings: Mapping[str, Any] = {} if base is None else base["settings"]
    names = ("max_tokens", "temperature", "stop_strings")
    passport: dict[str, object] = {
        **task.passport(),
        "style": getattr(options, "style", None),
        "chat_template": chat_template,
        "stop_strings": list(task.stop_strings),
        "limits": {name: settings[name] for name in names if name in settings} or None,
        "disjoint": disjointness(task),
        "data_file_sha256": _data_sha256(task),
        "problems": problems_sum(task),
        "initial_solve_rates": None if base is None else _initial_rates(base),
    }
    return finite(passport)

"""What was trained, how far it came, and the commands that repeat it or go on."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evenodds.report.again import go_on, repeat
from evenodds.report.cost import most_memory
from evenodds.report.plain import UNJUDGED, not_judged
from evenodds.report.record import RunRecord
from evenodds.report.series import is_number, of_metric
from evenodds.report.text import counted, duration, safe, short

Facts = list[tuple[str, str]]
AXES = ("credit", "ratio", "surrogate", "reduce", "clip_low", "clip_high")


def progress(run: RunRecord) -> dict[str, Any]:
    """Steps, updates, tokens, seconds, and the two ends of the difficulty, as far as known."""
    last = run.metrics[-1] if run.metrics else {}
    difficulty = of_metric(run.metrics, "difficulty").ys
    rates = of_metric(run.metrics, "learning_rate").ys
    return {
        "steps": int(last.get("step", 0)),
        "skipped_steps": sum("skipped" in row for row in run.metrics),
        "updates": _count_updates(run),
        "skipped_updates": sum("fault" in row for row in run.metrics),
        "learning_rate": rates[-1] if rates else None,
        "tokens": _number(last.get("num_tokens")),
        "seconds": _number(last.get("time/elapsed")),
        "memory_mb": most_memory(run),
        "difficulty_first": difficulty[0] if difficulty else None,
        "difficulty_last": difficulty[-1] if difficulty else None,
    }


def _count_updates(run: RunRecord) -> int:
    """Steps of the optimizer: each step that was not skipped has made its passes."""
    passes = [row.get("passes") for row in run.metrics if "skipped" not in row]
    return sum(int(known) if is_number(known) else 1 for known in passes)


def _number(value: Any) -> Any:
    return value if is_number(value) else None


def facts(run: RunRecord) -> Facts:
    """Name and value of what a reader asks first; what is not known is left out."""
    done = progress(run)
    found = [
        ("Policy", _policy(run)),
        ("Task", _task(run)),
        ("Objective", _objective(run)),
        ("Each step", _step(run)),
        ("Problems", _curriculum(run)),
        ("Steps", _steps(run, done)),
        ("Updates", _updates(done)),
        ("Not judged", _not_judged(run)),
        ("Difficulty", _difficulty(run, done)),
        ("Time", _time(done)),
        ("Seed", str(_known(run, "run", "seed"))),
        ("Machine", _machine(run)),
    ]
    return [(name, safe(value)) for name, value in found if value]


def _known(run: RunRecord, section: str, key: str) -> Any:
    value = run.setting(section, key)
    return "" if value is None else value


def _policy(run: RunRecord) -> str:
    kinds = {"lora": f"LoRA rank {_known(run, 'policy', 'rank')}", "none": "all weights trained"}
    kind = kinds.get(str(_known(run, "policy", "adapter")), "")
    return ", ".join(filter(None, [str(_known(run, "policy", "name")), kind]))


def _task(run: RunRecord) -> str:
    verifier = run.setting("task", "verifier") or run.passports["checker"].get("verifier")
    judged = f", judged by the verifier {verifier!r}" if verifier else ""
    return f"{_known(run, 'task', 'name')}{judged}"


def _objective(run: RunRecord) -> str:
    """The recipe with all that it came to; of a folder without that passport, what was changed."""
    axes = run.passports["objective"].get("axes")
    if axes:
        passes = run.setting("learner", "passes")
        more = f", {passes} passes" if isinstance(passes, int) and passes > 1 else ""
        return f"{_known(run, 'objective', 'recipe')}: {axes}{more}"
    changed = [
        f"{key} = {run.setting('objective', key)}"
        for key in AXES
        if run.setting("objective", key) is not None
    ]
    return ", ".join([str(_known(run, "objective", "recipe")), *changed])


def _step(run: RunRecord) -> str:
    groups, size = run.setting("sampling", "groups"), run.setting("sampling", "group_size")
    if groups is None or size is None:
        return ""
    budget = run.setting("sampling", "max_tokens")
    at_most = f" of at most {budget} tokens" if budget else ""
    return f"{groups} problems × {size} answers{at_most} at temperature " + str(
        _known(run, "sampling", "temperature")
    )


def _curriculum(run: RunRecord) -> str:
    kind, target = run.setting("curriculum", "kind"), run.setting("curriculum", "target")
    if kind != "ladder" or not is_number(target):
        return str(kind or "")
    return f"ladder: difficulty follows the model so that about {100 * target:.0f} % are solved"


def _steps(run: RunRecord, done: Mapping[str, Any]) -> str:
    planned = run.setting("run", "steps")
    if not done["steps"]:
        return "none yet"
    of = f" of {planned}" if planned else ""
    skipped = f", {done['skipped_steps']} without an update" if done["skipped_steps"] else ""
    tokens = f", {done['tokens']:,} tokens sampled" if done["tokens"] else ""
    return f"{done['steps']:,}{of}{skipped}{tokens}"


def _updates(done: Mapping[str, Any]) -> str:
    if not done["steps"]:
        return ""
    updates, rate = done["updates"], done["learning_rate"]
    last = f", the last with learning rate {rate:.3g}" if rate is not None else ""
    lost = done["skipped_updates"]
    skipped = f"; {lost:,} more skipped: a number was not finite" if lost else ""
    return f"{updates:,}{last}{skipped}"


def _not_judged(run: RunRecord) -> str:
    """How many answers the verifier could not judge, and why; nothing where it judged all."""
    rows = [dict(not_judged(row)) for row in run.metrics]
    names = [name for name in UNJUDGED if any(name in row for row in rows)]
    if not names:
        return ""
    shares = {name: 100 * sum(row.get(name, 0.0) for row in rows) / len(rows) for name in names}
    why = ", ".join(f"{name.replace('_', ' ')} {share:.2g} %" for name, share in shares.items())
    steps = counted(sum(map(bool, rows)), "step")
    return f"{sum(shares.values()):.2g} % of the answers ({why}), in {steps} of {len(rows)}"


def _difficulty(run: RunRecord, done: Mapping[str, Any]) -> str:
    first, last = done["difficulty_first"], done["difficulty_last"]
    if first is None or last is None or len(run.levels) == 1:
        return ""
    return f"from {_level(run, first)} to {_level(run, last)}"


def _level(run: RunRecord, value: float) -> str:
    number = min(max(0, round(value)), len(run.levels) - 1)
    return f"{value:.1f} ({run.levels[number]})" if run.levels else f"{value:.1f}"


def _time(done: Mapping[str, Any]) -> str:
    if done["seconds"] is None:
        return ""
    memory = f", at most {done['memory_mb']:,.0f} MB of memory" if done["memory_mb"] else ""
    return f"{duration(done['seconds'])} up to the last step{memory}"


def _machine(run: RunRecord) -> str:
    known = run.passports["environment"]
    sizes = [counted(known[key], key[:-1]) for key in ("cores", "threads") if known.get(key)]
    named = [str(known[key]) for key in ("device", "dtype") if known.get(key)]
    return ", ".join(filter(None, [str(known.get("cpu") or ""), *sizes, *named]))


def commands(run: RunRecord) -> Facts:
    """How to repeat the run elsewhere, and how to go on with it."""
    folder = shlex.quote(run.shown_path)
    task = run.setting("task", "name")
    known = run.passports["environment"].get("command")
    words = [str(word) for word in known] if isinstance(known, list) else []
    found = [("The command that made it", _typed(words))] if words else []
    found += [
        ("Repeat it in a new folder", repeat(task, f"{run.shown_path}/config.toml", run.name)),
        ("Go on where it stopped", go_on(task, folder, run.name)),
    ]
    return [(name, safe(value)) for name, value in found]


def repeat_command(run: RunRecord) -> str:
    """The command that repeats the run from where it was made, whatever machine that is on.

    Not from inside its folder: files of a person's own are named from where the run was made. Of
    a root that is the machine's the last name is left.
    """
    root = Path(str(run.setting("run", "root") or "runs"))
    config = Path(root.name if root.is_absolute() else root) / run.name / "config.toml"
    return repeat(run.setting("task", "name"), str(config), run.name)


def _typed(words: list[str]) -> str:
    program = Path(words[0]).name if words else ""
    return shlex.join(
        ["evenodds", *words[1:]] if program.startswith("__main__") else [program, *words[1:]]
    )


def flattened(values: Mapping[str, Any], prefix: str = "") -> Facts:
    """Nested settings as dotted names and short texts, for a table."""
    rows: Facts = []
    for key, value in values.items():
        if isinstance(value, Mapping):
            rows += flattened(value, f"{prefix}{key}.")
        else:
            rows.append((safe(f"{prefix}{key}"), safe(_plain(value))))
    return rows


def _plain(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, float):
        return short(value) if abs(value) >= 1e-3 else repr(value)
    return json.dumps(value, ensure_ascii=False, default=str)

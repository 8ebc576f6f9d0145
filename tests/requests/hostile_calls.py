"""Wrong arguments to every command but `train`: flags, values, names of what is there not."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.requests.broken import Broken
from tests.requests.typos import misspelled

CALLS: dict[str, tuple[str, ...]] = {  # command -> a call that would be right
    "eval": ("none",),
    "sample": ("none",),
    "chat": ("none",),
    "check": ("number",),
    "grade": ("problems.jsonl", "--verifier", "number"),
    "compare": ("none:base", "none:base"),
    "inspect": ("first",),
    "replay": ("first", "1/0/0"),
    "report": ("first",),
    "export": ("none", "out"),
    "list": ("tasks",),
    "init": ("mine",),
    "explain": (),
    "doctor": (),
    "lab oracle": ("--recipe", "none"),
    "lab finite": (),
    "lab toy": ("--setting", "none"),
}
FLAGS: dict[str, tuple[str, ...]] = {  # command -> flags of its own that take a value
    "eval": ("evaluation.samples", "evaluation.seed", "task", "verifier"),
    "sample": ("level", "count", "answers", "seed"),
    "chat": ("temperature", "max-tokens", "seed"),
    "check": ("sample", "policy-table", "judge.seconds", "verifier"),
    "grade": ("workers", "seconds", "memory-mb", "policy-table", "out"),
    "compare": ("evaluation.problems", "arm"),
    "inspect": ("port", "groups", "group", "html"),
    "replay": ("random", "seed", "all-of-step"),
    "list": ("root",),
    "explain": ("rewards", "lengths", "plot"),
    "doctor": ("steps", "objective.clip_low"),
    "lab oracle": ("markdown", "objective"),
    "lab finite": ("seed", "plot", "steps"),
    "lab toy": ("profile", "seeds", "seed", "objective", "case"),
}
NUMERIC = {
    *("level", "count", "answers", "seed", "temperature", "max-tokens", "sample", "workers"),
    *("seconds", "memory-mb", "port", "groups", "group", "random", "all-of-step", "steps", "seeds"),
    *("evaluation.samples", "evaluation.seed", "evaluation.problems", "judge.seconds"),
    *("rewards", "lengths", "objective.clip_low"),
}
NO_NUMBERS = (
    "", "x", "-1", "nan", "inf", "-inf", "1e400", "0x10", "½", "1,,2", "None", "[1]", "9" * 5000,
    "1/2/3/4", "--1", "\x1b[2J", "\udcff",
)  # fmt: skip
NO_WORDS = ("", "\0", "nothing\nmore", "\x1b]52;c;aGk=\x07", "\udcff", "x" * 5000, "/dev/full/x")


def _call(command: str, *more: str) -> tuple[str, ...]:
    return (*command.split(), *CALLS[command], *more)


def flags(rng: random.Random, count: int) -> Iterator[Broken]:
    """A flag that the command does not have, by one or two slips in one that it has."""
    for number in range(count):
        command = rng.choice([*FLAGS])
        word = rng.choice(FLAGS[command])
        known = frozenset(flag for found in FLAGS.values() for flag in found) | {"json", "beta"}
        wrong = misspelled(word, ("one slip", "two slips", "capitals")[number % 3], rng, known)
        given = _call(command, f"--{wrong}", "1")
        yield Broken(f"{command}: flag", wrong, given, (f"--{wrong}",), f"--{word}")


def values() -> Iterator[Broken]:
    """Every flag that takes a number with what is none, and the others with hostile words."""
    for command, names in FLAGS.items():
        for name in names:
            for value in NO_NUMBERS if name in NUMERIC else NO_WORDS:
                given = _call(command, f"--{name}={value}")
                what = f"--{name} {ascii(value)[:40]}"
                yield Broken(f"{command}: value", what, given, lenient=True, seconds=5.0)


def shapes() -> Iterator[Broken]:
    """Too many words, a flag without its value, an empty flag."""
    for command in CALLS:
        for more in (("one", "more", "word"), ("--=",), ("---",), ("-\udcff",), ("\x1b",)):
            given = _call(command, *more)
            yield Broken(f"{command}: shape", " ".join(map(ascii, more)), given, lenient=True)
        for name in FLAGS.get(command, ()):
            given = _call(command, f"--{name}")
            yield Broken(f"{command}: no value", name, given, (f"--{name}",))


NAMES: dict[str, Callable[[Path], object] | None] = {  # a name for a policy, a run, a file
    "": None, ".": None, "..": None, "/": None, "none": None, "none/none": None, "./none": None,
    "a/b/c": None, "~nobody": None, "$HOME": None, "\0": None, "a\0b": None, "a\nb": None,
    "\x1b[2J": None, "\u202eabc": None, "x" * 300: None, "x" * 100_000: None, "/dev/zero": None,
    "/dev/null": None, "/proc/self/mem": None, "problems.jsonl": None, "verifier.py": None,
    "evenodds.toml": None, "abacus/": None, "abacus:base": None, "none:step-1": None,
    "none:step-" + "9" * 5000: None, "*": None, "[": None, "**": None, "hf:": None,
    "hf:none/none": None, "gym:": None, "CON": None, "\udcff": None, "https://none.invalid/x": None,
    "file:///etc/passwd": None, "owner/none@main": None, "-": None, "../../etc/passwd": None,
    "pipe": lambda folder: os.mkfifo(folder / "pipe"),
    "loop": lambda folder: (folder / "loop").symlink_to("loop"),
    "hollow": lambda folder: (folder / "hollow").mkdir(),
    "run": lambda folder: _run_of(folder, b"[run]\n"),
    "junk": lambda folder: _run_of(folder, b"\xff\xfe", "junk"),
    "deep": lambda folder: _run_of(folder, b"[run]\nx=" + b"[" * 9000, "deep"),
    "piped": lambda folder: _piped(folder / "piped"),
}  # fmt: skip


def _run_of(folder: Path, config: bytes, name: str = "run") -> None:
    (folder / name).mkdir()
    (folder / name / "config.toml").write_bytes(config)


def _piped(run: Path) -> None:
    run.mkdir()
    (run / "config.toml").write_bytes(b"[run]\n")
    os.mkfifo(run / "metrics.jsonl")


def names() -> Iterator[Broken]:
    """Every command that takes a name of something, with each of the names above."""
    takers = {
        "eval": ("eval", "{}", "--evaluation.levels", "0", "--evaluation.problems", "1"),
        "sample": ("sample", "{}", "--count", "1", "--answers", "1"),
        "chat": ("chat", "{}"),
        "check": ("check", "{}"),
        "grade": ("grade", "{}", "--verifier", "number"),
        "grade's verifier": ("grade", "problems.jsonl", "--verifier", "{}"),
        "compare": ("compare", "{}", "none"),
        "compare's second": ("compare", "none:base", "{}"),
        "inspect": ("inspect", "{}", "--text"),
        "replay": ("replay", "{}", "1/0/0"),
        "report": ("report", "{}"),
        "export": ("export", "{}", "out"),
        "export's folder": ("export", "none", "{}"),
        "list": ("list", "{}"),
        "list's root": ("list", "runs", "--root", "{}"),
        "explain": ("explain", "{}"),
        "doctor": ("doctor", "{}"),
        "lab": ("lab", "{}"),
        "oracle": ("lab", "oracle", "--recipe", "{}"),
        "resume": ("train", "--resume", "{}", "--dry-run"),
    }
    for command, shape in takers.items():
        for name, make in NAMES.items():
            given = [part.replace("{}", name) for part in shape]
            yield Broken(f"{command}: name", ascii(name)[:60], given, make=make, lenient=True)

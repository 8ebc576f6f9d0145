"""Flags that are misspelled, wrong, given twice, or without what belongs to them."""

from __future__ import annotations

import random
from collections.abc import Iterator

from evenodds.cli.flags import SHORT
from evenodds.run.config import fields
from tests.requests.broken import Broken
from tests.requests.broken_configs import NUMBERS, kind_of
from tests.requests.typos import misspelled

OWN = ("resume", "dry-run")
FLAGS = frozenset([*SHORT, *fields(), *OWN])


def misspelled_flags(rng: random.Random, count: int) -> Iterator[Broken]:
    """Short flags and long ones, with one or two slips, in capitals; with `=` and without."""
    for number in range(count):
        word = rng.choice([*SHORT, *OWN] if number % 2 else list(fields()))
        section, _, last = word.rpartition(".")
        inside = frozenset(flag.rpartition(".")[2] for flag in FLAGS if flag.startswith(section))
        wrong = misspelled(last, ("one slip", "two slips", "capitals")[number % 3], rng, inside)
        flag = f"--{section}.{wrong}" if section else f"--{wrong}"
        given = (f"{flag}=1",) if number % 4 == 0 else (flag, "1")
        yield Broken("misspelled flag", flag, ("train", *given), (flag,), f"--{word}")


def without_value(rng: random.Random, count: int) -> Iterator[Broken]:
    named = [name for name in fields() if kind_of(name) != "bool"]
    for number in range(count):
        flag = f"--{rng.choice(named)}"
        after = ((), ("--steps", "1"), ("--",))[number % 3]
        yield Broken("no value", " ".join((flag, *after)), ("train", flag, *after), (flag,))


def twice(rng: random.Random, count: int) -> Iterator[Broken]:
    """One setting by two flags that say different things."""
    pairs = [(short, dotted) for short, dotted in SHORT.items() if kind_of(dotted) != "bool"]
    for number in range(count):
        short, dotted = rng.choice(pairs)
        first, second = (
            (f"--{short}", f"--{dotted}") if number % 2 else (f"--{short}", f"--{short}")
        )
        given = ("train", first, "1", second, "2")
        yield Broken("flag twice", " ".join(given[1:]), given, ("twice", second))


VALUES = {  # a text -> kinds of settings that cannot be it
    "": ("int", "float"),
    " ": ("int", "float"),
    "x": ("int", "float", "bool"),
    "-1": ("int", "float"),
    "-0.5": ("int", "float"),
    "1e400": ("int", "float"),
    "nan": ("int", "float"),
    "inf": ("int", "float"),
    "-inf": ("int", "float"),
    "1.5": ("int",),
    "0x10": ("int", "float"),
    "1,5": ("int", "float"),
    "١٢": ("bool",),
    "½": ("int", "float", "bool"),
    "²": ("int", "float", "bool"),
    "\udcff": ("int", "float", "bool", "str"),
    "1\x00": ("int", "float", "bool"),
    "\x1b[31m1": ("int", "float", "bool"),
    "9" * 400: ("int",),
    "9" * 5000: ("int", "float"),
    "1\n2": ("int", "float", "bool"),
    "maybe": ("bool",),
    "2": ("bool",),
}


def values(rng: random.Random, count: int) -> Iterator[Broken]:
    for number in range(count):
        value, kinds = list(VALUES.items())[number % len(VALUES)]
        names = [name for name in fields() if kind_of(name) in kinds and name != "learner.beta1"]
        if value.startswith("-"):
            names = [name for name in names if kind_of(name) in NUMBERS]
        name = rng.choice(names)
        given = (f"--{name}={value}",) if number % 2 or value[:1] == "-" else (f"--{name}", value)
        yield Broken("flag's value", f"{name} {ascii(value)[:40]}", ("train", *given), (name,))


ODD = {  # what -> arguments, and a word that must be said
    "an unknown command": (("trian",), "Did you mean 'train'"),
    "a command in capitals": (("TRAIN",), "Did you mean 'train'"),
    "a command with a dash": (("-train",), "unknown command"),
    "no command but a flag": (("--seed", "1"), "unknown command"),
    "an empty command": (("",), "unknown command"),
    "a command that is a path": (("../train",), "unknown command"),
    "a command with dots": (("train.x",), "unknown command"),
    "a command of Python": (("__init__",), "unknown command"),
    "a command with an escape": (("\x1b[2J",), "unknown command"),
    "a long command": (("x" * 100_000,), "unknown command"),
    "one dash": (("train", "-seed", "1"), "--seed"),
    "a lone dash": (("train", "-"), "'-'"),
    "an unknown short flag": (("train", "-x"), "-x"),
    "three dashes": (("train", "---seed", "1"), "---seed"),
    "a long dash": (("train", "\u2013seed", "1"), "\u2013seed"),
    "a flag with a space": (("train", "--run seed", "1"), "'1'"),
    "a flag without its name": (("train", "--=1"), "--"),
    "two configs": (("train", "a.toml", "b.toml"), "b.toml"),
    "a config after --": (("train", "--", "--seed"), "--seed"),
    "an abbreviation": (("train", "--rando"), "--rando"),
    "a wrong choice": (("train", "--curriculum", "laddr"), "Did you mean 'ladder'"),
    "a wrong recipe": (("train", "--objective", "dr_grop"), "Did you mean 'dr_grpo'"),
    "a wrong task": (("train", "--task", "adition"), "Did you mean 'addition'"),
    "a wrong verifier": (
        ("train", "--data", "problems.jsonl", "--verifier", "numbr"),
        "Did you mean 'number'",
    ),
    "a wrong control": (("train", "--control", "adition"), "Did you mean 'addition'"),
    "a wrong sink": (("train", "--run.sinks", "wandbb"), "Did you mean 'wandb'"),
    "a wrong alarm": (("train", "--alarms.off", "kl_blowups"), "Did you mean 'kl_blowup'"),
    "a wrong threshold": (("train", "--alarms.thresholds", "kl_blowp=1"), "kl_blowp"),
    "a threshold that is text": (("train", "--alarms.thresholds", "kl_blowup=x"), "kl_blowup"),
    "a table without a sign": (("train", "--task.policy", "percent"), "KEY=VALUE"),
    "a table without a key": (("train", "--task.policy", "=1"), "KEY=VALUE"),
    "a table with nested lists": (("train", "--task.policy", "a=" + "[" * 9000), "a"),
    "levels that are text": (("train", "--evaluation.levels", "1,two"), "evaluation.levels"),
    "levels with a gap": (("train", "--evaluation.levels", "1,,2"), "evaluation.levels"),
    "levels below 0": (("train", "--evaluation.levels=-1"), "evaluation.levels"),
    "levels of 400 digits": (("train", "--evaluation.levels", "9" * 400), "evaluation.levels"),
    "levels without one": (("train", "--evaluation.levels", ""), "evaluation.levels"),
    "a config and --resume": (("train", "c.toml", "--resume", "x"), "Leave CONFIG.toml out"),
    "--resume of nothing": (("train", "--resume", "none"), "no run folder"),
    "--resume of a file": (("train", "--resume", "problems.jsonl"), "no run folder"),
    "--resume without a name": (("train", "--resume"), "--resume"),
    "a flag of another command": (("train", "--json"), "--json"),
    "--dry-run with a value": (("train", "--dry-run=yes"), "--dry-run"),
    "a policy with a sign": (("train", "--policy", "a=b"), "--task.policy"),
}


def odd() -> Iterator[Broken]:
    for what, (arguments, word) in ODD.items():
        yield Broken("odd arguments", what, arguments, (word,))

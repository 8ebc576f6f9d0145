"""Configurations with wrong keys and wrong values, made from real ones by mutation."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from evenodds.errors import FOREIGN
from evenodds.run.config import Config, fields, make_config, to_toml
from tests.requests.broken import TRAIN, Broken
from tests.requests.typos import WAYS, misspelled

ROOT = Path(__file__).parents[2]
LINE = re.compile(r"^(?P<key>[a-z_0-9]+) = (?P<value>.*)$", re.MULTILINE)
SECTION = re.compile(r"^\[(?P<key>[a-z]+)\]$", re.MULTILINE)
BARE = re.compile(r"[A-Za-z0-9_-]+")


@cache
def real_ones() -> tuple[str, ...]:
    """Texts of real configurations: the recipes, one of `evenodds init`, and all settings set."""
    own = {"run": {"steps": 1}, "task": {"data": "problems.jsonl", "verifier": "verifier.py:grade"}}
    commented = to_toml(make_config(own), comments=True)
    return (
        *(path.read_text("utf-8") for path in sorted(ROOT.glob("recipes/**/*.toml"))),
        commented,
        re.sub(r"(?m)^# (?=\w+ = )", "", commented),
        to_toml(make_config({})),
    )


def _keys(text: str) -> list[tuple[str, re.Match[str]]]:
    """Every key with the section that it stands in."""
    sections = [(found.start(), found["key"]) for found in SECTION.finditer(text)]
    return [
        ([name for start, name in sections if start < found.start()][-1], found)
        for found in LINE.finditer(text)
    ]


def _with(text: str, found: re.Match[str], word: str) -> bytes:
    bare = word if BARE.fullmatch(word) else f'"{word}"'
    return (text[: found.start("key")] + bare + text[found.end("key") :]).encode()


def keys(rng: random.Random, count: int) -> Iterator[Broken]:
    for number in range(count):
        text = rng.choice(real_ones())
        section, found = rng.choice(_keys(text))
        inside = [name for name in fields() if name.startswith(f"{section}.")]
        known = frozenset(name.split(".")[1] for name in inside)
        wrong = misspelled(found["key"], WAYS[number % len(WAYS)], rng, known)
        name, content = f"{section}.{found['key']}", _with(text, found, wrong)
        yield Broken("misspelled key", f"{name} as {wrong}", TRAIN, (wrong,), name, content)


def sections(rng: random.Random, count: int) -> Iterator[Broken]:
    known = frozenset(Config.model_fields)
    for number in range(count):
        text = rng.choice(real_ones())
        found = rng.choice(list(SECTION.finditer(text)))
        wrong = misspelled(found["key"], WAYS[number % 3], rng, known)
        what, content = f"{found['key']} as {wrong}", _with(text, found, wrong)
        yield Broken("misspelled section", what, TRAIN, (wrong,), found["key"], content)


def foreign(rng: random.Random, count: int) -> Iterator[Broken]:
    """Keys by their names in TRL and verl, in the right section, in a wrong one, and in none."""
    words = [(word, ours) for word, ours in sorted(FOREIGN.items()) if "." not in word]
    for word, ours in rng.sample(words, min(count, len(words))):
        places = [name for name in Config.model_fields if f"{name}.{word}" not in fields()]
        head = f"[{rng.choice([*places, ours.split('.')[0]])}]\n"
        if f"{head[1:-2]}.{word}" in fields():
            head = ""
        text = f"{head}{word} = 1\n"
        yield Broken(
            "name of TRL or verl", f"{word} for {ours}", TRAIN, (word,), ours, text.encode()
        )


def strayed(rng: random.Random, count: int) -> Iterator[Broken]:
    """Right keys in a wrong section, or above all of them. Only those that are in one section."""
    last = [name.split(".")[1] for name in fields()]
    alone = [name for name in fields() if last.count(name.split(".")[1]) == 1]
    for number in range(count):
        ours = rng.choice(alone)
        word = ours.split(".")[1]
        places = [name for name in Config.model_fields if f"{name}.{word}" not in fields()]
        is_top = number % 2 and word not in Config.model_fields
        text = f"{'' if is_top else f'[{rng.choice(places)}]'}\n{word} = 1\n"
        yield Broken("strayed key", f"{word} for {ours}", TRAIN, (word,), ours, text.encode())


def twice(rng: random.Random, count: int) -> Iterator[Broken]:
    for number in range(count):
        text = rng.choice(real_ones())
        if number % 2:
            _, found = rng.choice(_keys(text))
            content = text[: found.end()] + "\n" + found[0] + text[found.end() :]
        else:
            found = rng.choice(list(SECTION.finditer(text)))
            content = f"{text}\n[{found['key']}]\n"
        yield Broken("twice", found[0], TRAIN, ("line", "once"), "", content.encode())


NUMBERS, TEXTS = ("int", "float"), ("str", "tuple", "dict")
WRONG = {  # what a value becomes -> kinds of settings for which that is wrong
    '"text"': ("int", "float", "bool"),
    '""': ("int", "float", "bool"),
    "[1, 2]": ("int", "float", "bool", "str"),
    "[[1]]": ("int", "float", "bool", "str", "tuple"),
    "[]": ("int", "float", "bool", "str"),
    "{a = 1}": ("int", "float", "bool", "str", "tuple"),
    "{}": ("int", "float", "bool", "str", "tuple"),
    "true": ("int", "float", "str", "tuple", "dict"),
    "1": ("bool", *TEXTS),
    "1.5": ("int", "bool", *TEXTS),
    "1979-05-27": ("bool", *NUMBERS, *TEXTS),
    "1979-05-27T07:32:00Z": ("bool", *NUMBERS, *TEXTS),
    "07:32:00": ("bool", *NUMBERS, *TEXTS),
    '"null"': ("int", "float", "bool"),
    '"None"': ("int", "float", "bool"),
    '["a", 1]': ("int", "float", "bool", "str", "tuple"),
    "[{a = 1}]": ("int", "float", "bool", "str", "tuple"),
    '"0x10"': ("int", "float", "bool"),
    '"1,5"': ("int", "float", "bool"),
    '"1 000"': ("int", "float", "bool"),
    '"5 steps"': ("int", "float", "bool"),
}


def kind_of(dotted: str) -> str:
    text = str(fields()[dotted].annotation)
    return next((kind for kind in ("tuple", "dict", "bool", "int", "float") if kind in text), "str")


def _setting(kind: str, name: str, value: str) -> Broken:
    section, key = name.split(".")
    content = f"[{section}]\n{key} = {value}\n".encode()
    return Broken(kind, f"{name} = {value[:40]}", TRAIN, (name,), "", content)


def types(rng: random.Random, count: int) -> Iterator[Broken]:
    for number in range(count):
        value, kinds = list(WRONG.items())[number % len(WRONG)]
        name = rng.choice([name for name in fields() if kind_of(name) in kinds])
        yield _setting("wrong type", name, value)


OUTSIDE = ("-1", "-1.0", "1e400", "nan", "-inf", "inf", "-9223372036854775809", "0", "1" + "0" * 30)


def _lowest(dotted: str) -> float:
    """The largest number that is too small."""
    for rule in fields()[dotted].metadata:
        if getattr(rule, "gt", None) is not None:
            return float(rule.gt)
        if getattr(rule, "ge", None) is not None:
            return float(rule.ge) - 1e-9
    return float("-inf")


def ranges(rng: random.Random, count: int) -> Iterator[Broken]:
    numeric = [name for name in fields() if kind_of(name) in NUMBERS]
    for number in range(count):
        value = OUTSIDE[number % len(OUTSIDE)]
        is_huge = not abs(float(value)) < 1e30
        names = [name for name in numeric if is_huge or float(value) <= _lowest(name)]
        yield _setting("out of range", rng.choice(names), value)

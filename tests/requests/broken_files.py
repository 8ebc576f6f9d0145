"""Configuration files that are no TOML at all, and paths that are no file."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.requests.broken import TRAIN, Broken
from tests.requests.broken_configs import LINE, real_ones

LONG = 6000
NO_TOML: dict[str, tuple[bytes, str]] = {  # what it is -> the bytes, and a word that must be said
    "UTF-16": ("[run]\nseed = 1\n".encode("utf-16"), "UTF-8"),
    "UTF-16 without its mark": ("[run]\nseed = 1\n".encode("utf-16-le"), "line 1"),
    "UTF-32": ("[run]\n".encode("utf-32"), "UTF-8"),
    "Latin-1 in line 2": ("[run]\nname = 'für'\n".encode("latin-1"), "line 2"),
    "a NUL": (b"[run]\nseed = 1\0\n", "line 2"),
    "an escape": (b"[run]\nname = '\x1b[2J'\n", "line 2"),
    "a byte order mark twice": (b"\xef\xbb\xbf\xef\xbb\xbf[run]\n", "line 1"),
    "carriage returns alone": (b"[run]\rseed = 1\r", "line 1"),
    "JSON": (b'{"run": {"seed": 1}}', "line 1"),
    "YAML": (b"run:\n  seed: 1\n", "line 1"),
    "INI": (b"[run]\nseed: 1\n", "line 2"),
    "a value without quotes": (b"[policy]\nname = abacus\n", "line 2"),
    "capital True": (b"[check]\nbench = True\n", "line 2"),
    "null": (b"[run]\nsteps = null\n", "line 2"),
    "no value": (b"[run]\nseed =\n", "line 2"),
    "no key": (b"[run]\n= 1\n", "line 2"),
    "open text": (b'[run]\nname = "x\n', "line 2"),
    "open long text": (b'[run]\nname = """x\n', "end of document"),
    "open list": (b"[run]\nsinks = [1,\n", "line"),
    "open table": (b"[run\nseed = 1\n", "line 1"),
    "open inline table": (b"[task]\npolicy = {a = 1\n", "line"),
    "a wrong escape": (b'[run]\nname = "\\q"\n', "line 2"),
    "half a surrogate": (b'[run]\nname = "\\ud800"\n', "line 2"),
    "a leading zero": (b"[run]\nseed = 007\n", "line 2"),
    "two values": (b"[run]\nseed = 1 2\n", "line 2"),
    "a wrong date": (b"[run]\nname = 2026-13-45\n", "line 2"),
    "a key and a table": (b"run.seed = 1\n[run]\n", "line 2"),
    "nested lists": (b"[run]\nsinks = " + b"[" * LONG + b"]" * LONG, "nests too deeply"),
    "nested tables": (b"[run]\nx = " + b"{a=" * LONG + b"1" + b"}" * LONG, "nests too deeply"),
    "a number of 5,000 digits": (b"[run]\nseed = " + b"9" * 5000, "digits"),
    "an ELF header": (b"\x7fELF\x02\x01\x01" + bytes(64), "line 1"),
    "a zip": (b"PK\x03\x04" + bytes(range(256)), "UTF-8"),
    "50 MB of spaces": (b" " * 50_000_000, "MiB"),
    "50 MB of a comment": (b"#" * 50_000_000, "MiB"),
    "2 MB of keys": (b"[run]\n" + b"".join(b"k%d = 1\n" % n for n in range(200_000)), "MiB"),
    "only an unknown key of 100,000 letters": (b"[run]\n" + b"k" * 100_000 + b" = 1\n", "run.k"),
    "a dotted key of 3,000 parts": (b"[run]\n" + b".".join([b"a"] * 3000) + b" = 1\n", "run.a"),
    "a table of 3,000 parts": (b"[" + b".".join([b"a"] * 3000) + b"]\n", "'a"),
    "an array of tables": (b"[[run]]\nseed = 1\n", "run"),
    "a key of quotes": (b'[run]\n"" = 1\n', "run."),
    "a key with an escape": (b'[run]\n"\\u001b[2J" = 1\n', "unknown setting"),
    "a key with a new line": (b'[run]\n"a\\nb" = 1\n', "unknown setting"),
    "a key of the other direction": ('[run]\n"\u202edees" = 1\n'.encode(), "unknown setting"),
    "a Cyrillic look-alike": ('[run]\n"s\u0435ed" = 1\n'.encode(), "Did you mean 'run.seed'"),
}  # fmt: skip


def contents(rng: random.Random, count: int) -> Iterator[Broken]:
    """What is above, then real files that are cut, and that have random bytes in them."""
    for what, (content, word) in list(NO_TOML.items())[:count]:
        yield Broken("not TOML", what, TRAIN, (word,), "", content)
    for number in range(count - len(NO_TOML)):
        text = rng.choice(real_ones()).encode()
        place = rng.randrange(len(text))
        junk = bytes(rng.choices(b"\x00\x01\x1b\xff\xfe", k=rng.randint(1, 8)))
        content = text[:place] + junk + text[place:]
        yield Broken("not TOML", f"junk {number} in a real file", TRAIN, ("line",), "", content)


def cut(rng: random.Random, count: int) -> Iterator[Broken]:
    """Real files cut inside of a value's text, as a full disk leaves them."""
    for _ in range(count):
        text = rng.choice(real_ones())
        starts = [found.start("value") for found in LINE.finditer(text) if found["value"][0] == '"']
        place = rng.choice(starts) + 1
        yield Broken("not TOML", f"cut at {place}", TRAIN, ("line",), "", text[:place].encode())


def _loop(folder: Path) -> None:
    (folder / "c.toml").symlink_to("d.toml")
    (folder / "d.toml").symlink_to("c.toml")


PLACES: dict[str, tuple[str, Callable[[Path], object] | None, str]] = {
    "missing": ("c.toml", None, "no config file"),
    "a missing folder": ("no/such/c.toml", None, "no config file"),
    "below a file": ("problems.jsonl/c.toml", None, "cannot read"),
    "a folder": ("c.toml", lambda folder: (folder / "c.toml").mkdir(), "a folder"),
    "this folder": (".", None, "a folder"),
    "the folder above": ("..", None, "a folder"),
    "the root": ("/", None, "a folder"),
    "no name": ("", None, "a folder"),
    "a pipe": ("c.toml", lambda folder: os.mkfifo(folder / "c.toml"), "a pipe"),
    "/dev/zero": ("/dev/zero", None, "a device"),
    "/dev/null": ("/dev/null", None, "a device"),
    "/dev/tty": ("/dev/tty", None, "a device"),
    "/dev/stdin": ("/dev/stdin", None, "/dev/stdin"),
    "links in a circle": ("c.toml", _loop, "cannot read"),
    "a link to nothing": ("c.toml", lambda f: (f / "c.toml").symlink_to("none"), "no config file"),
    "a link to a folder": ("c.toml", lambda f: (f / "c.toml").symlink_to("/tmp"), "a folder"),
    "a link to /dev/zero": ("c.toml", lambda f: (f / "c.toml").symlink_to("/dev/zero"), "a device"),
    "a NUL in the name": ("c\0.toml", None, "NUL"),
    "a name of 5,000 letters": ("c" * 5000 + ".toml", None, "cannot read"),
    "a new line in the name": ("c\n.toml", None, "no config file"),
    "an escape in the name": ("\x1b[2Jc.toml", None, "no config file"),
    "a name that is no UTF-8": ("\udcff.toml", None, "no config file"),
    "a tilde": ("~/no-such-file.toml", None, "no config file"),
    "two files": ("c.toml d.toml", None, "no config file"),
    "data for a config": ("problems.jsonl", None, "line 1"),
    "a verifier for a config": ("verifier.py", None, "line"),
}  # fmt: skip


def places() -> Iterator[Broken]:
    for what, (name, make, word) in PLACES.items():
        yield Broken("no such file", what, ("train", name), (word,), "", None, make)

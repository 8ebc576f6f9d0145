"""Names that would lead out of the folder of the runs, or that some system cannot hold."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from evenodds.places import bundled_folder
from tests.requests.broken import Broken

SMALL = ("--steps", "1", "--evaluation.control", "none")
UP = [
    "..",
    "../up",
    "../../up",
    "a/../../up",
    "./../up",
    "a/..",
    "..\\up",
    "a\\..\\..\\up",
    ".../up",
    "....//up",
    "%2e%2e/up",
    "%2e%2e%2fup",
    "..%00/up",
    "\u2025/up",
    "\uff0e\uff0e/up",
    "..\u2215up",
    "..\u2044up",
    "..;/up",
    "a/./b",
    "a//b",
    "a/",
    "/",
    "//",
    "a/b/c",
    "\\",
    "\\\\h\\s",
]
ABSOLUTE = [
    "/tmp/evenodds-up",
    "/etc/passwd",
    "//tmp/up",
    "C:\\up",
    "C:up",
    "file:///tmp/up",
    "~",
    "~/up",
    "~root/up",
    "$HOME",
    "${HOME}/up",
    "%APPDATA%",
    "`id`",
    "$(id)",
    "|id",
    ";id",
    "&id",
    "*",
    "?",
    "[a]",
    "{a,b}",
    "!x",
    "#x",
    "a b",
    " a",
    "a ",
    "'",
    '"',
    "<a>",
]
DOTS = [
    ".",
    "...",
    "a.",
    "a..",
    "a..b",
    ".hidden",
    ".git",
    ".ssh",
    "a. ",
    "a.\u200b",
    "..a",
    "a...",
]
DASHES = ["-", "-x", "--", "--name", "-rf", "--steps=1", "\u2013x", "_", "__init__", "_x"]
WINDOWS = [
    "CON",
    "con",
    "PRN",
    "AUX",
    "NUL",
    "nul.txt",
    "COM1",
    "com9.log",
    "LPT1",
    "lpt9",
    "aux.a",
    "CON.toml",
    "COM0",
    "LPT0",
    "a:b",
    "a::$DATA",
    "a|b",
    "a<b",
    "a>b",
    'a"b',
]
CONTROL = [
    *(f"a{chr(n)}b" for n in (1, 7, 8, 9, 10, 11, 12, 13, 27, 28, 31, 127, 128, 133, 155)),
    "\x1b[2J",
    "\x1b]0;x\x07",
    "\x1b]52;c;aGk=\x07",
    "\u202eexe.a",
    "\u2066a",
    "a\u2028b",
    "a\u200bb",
    "\ufeffa",
    "a\u00ad",
    "\u0430bacus",
    "ａbacus",
    "ﬁ",
    "é",
    "e\u0301",
    "\U0001f600",
    "\udcff",
    "a\udcff",
    "\ue000",
    "\U000e0041",
    "١",
    "ß",
    "İ",
    "\u212a",
    "\u0000",
]
LONG = ["a" * n for n in (101, 255, 256, 4096, 100_000)] + [
    "é" * 128,
    "a/" * 3000,
    "../" * 2000 + "x",
]
NAMES = [*UP, *ABSOLUTE, *DOTS, *DASHES, *WINDOWS, *CONTROL, *LONG]  # fmt: skip
FINE = [
    "a",
    "A",
    "0",
    "a.b",
    "a-b_c",
    "a" * 100,
    "cone",
    "nula",
    "com",
    "com10",
    "a-",
    "a_",
    "x.y.z",
]


def train(name: str) -> tuple[str, ...]:
    return ("train", f"--name={name}", *SMALL)


def run_names() -> Iterator[Broken]:
    """As the name of a run, by a flag, in a file, and of a run to go on with."""
    for name in NAMES:
        yield Broken("run.name", ascii(name)[:60], train(name))
    for name in NAMES:
        yield Broken("--resume", ascii(name)[:60], ("train", f"--resume={name}", *SMALL))


ROOTS = (
    *("", "problems.jsonl", "problems.jsonl/runs", "/dev/null", "/dev/null/runs", "/proc/runs"),
    *("/sys/runs", "\0", "a" * 5000, "loop", "loop/runs", "pipe"),
)


def roots() -> Iterator[Broken]:
    """A root is a person's own choice; these are none that could be one."""
    for root in ROOTS:
        asked = ("train", "--name", "a", f"--run.root={root}", *SMALL)
        yield Broken("run.root", ascii(root)[:60], asked, codes=(1, 2), make=_places)


def _places(folder: Path) -> None:
    (folder / "loop").symlink_to("loop")
    os.mkfifo(folder / "pipe")


def _link(kind: str, folder: Path) -> None:
    """Something that is no folder of its own, at the place of the run `x`."""
    (folder / "runs").mkdir()
    (folder / "other").mkdir()
    made: dict[str, Callable[[Path], object]] = {
        "a link to a folder": lambda path: path.symlink_to(folder / "other"),
        "a link to nothing": lambda path: path.symlink_to(folder / "none"),
        "a link in a circle": lambda path: path.symlink_to(path),
        "a link to a file": lambda path: path.symlink_to(folder / "problems.jsonl"),
        "a link to the root": lambda path: path.symlink_to("/"),
        "a file": lambda path: path.write_text("mine"),
        "a pipe": os.mkfifo,
        "a folder of a person's": lambda path: (path.mkdir(), (path / "mine").write_text("mine")),
        "a twin in capitals": lambda path: path.with_name("X").mkdir(),
    }
    made[kind](folder / "runs" / "x")


LINKS = (
    "a link to a folder", "a link to nothing", "a link in a circle", "a link to a file",
    "a link to the root", "a file", "a pipe", "a folder of a person's", "a twin in capitals",
)  # fmt: skip


def links() -> Iterator[Broken]:
    for kind in LINKS:
        yield Broken("at the run's place", kind, train("x"), ("x",), make=partial(_link, kind))


def outs() -> Iterator[Broken]:
    """Where other commands write: only where nothing is, and not through a link."""
    for what, name in (("a file", "problems.jsonl"), ("a folder", "there"), ("a link", "link")):
        for call in (("export", "abacus"), ("init",)):
            yield Broken(
                f"out of {call[0]}", what, (*call, name), make=_outs, says=(name,)
            )  # fmt: skip


def _outs(folder: Path) -> None:
    (folder / "there").mkdir()
    (folder / "link").symlink_to("nowhere")


ODD_FILES = (
    *(
        "..jsonl",
        "...jsonl",
        "a b.jsonl",
        "-x.jsonl",
        "a\nb.jsonl",
        "\x1b[2J.jsonl",
        "a\udcff.jsonl",
    ),
    *("a" * 240 + ".jsonl", "CON.jsonl", "$HOME.jsonl", "~.jsonl", "\u202ex.jsonl", "é.jsonl"),
    *("a\\..\\b.jsonl", "a..b.jsonl"),
)


def made_names() -> Iterator[Broken]:
    """Runs without a name, whose names come from files and models with strange ones."""
    for name in ODD_FILES:
        data = ("train", f"--data=./{name}", "--verifier", "verifier.py:grade", *SMALL)
        yield Broken("from a data file", ascii(name), data, make=partial(_copy, name), lenient=True)
        model = ("train", f"--policy=./{name}", *SMALL)
        yield Broken("from a model", ascii(name), model, make=partial(_model, name), lenient=True)


def _copy(name: str, folder: Path) -> None:
    shutil.copy(folder / "problems.jsonl", folder / name)


def _model(name: str, folder: Path) -> None:
    shutil.copytree(bundled_folder(), folder / name)

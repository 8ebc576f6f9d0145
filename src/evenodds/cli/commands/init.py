"""evenodds init FOLDER"""

from __future__ import annotations

import errno
import json
import os
import random
import shutil
from pathlib import Path

from evenodds.cli.flags import Parser
from evenodds.errors import RunError, UsageError
from evenodds.machine import explain
from evenodds.run.config import make_config, to_toml

VERIFIER = '''"""The judge of your task: a program that can tell a right answer."""

import re


def grade(problem, text):
    """problem.prompt and problem.answer come from problems.jsonl; text is what the model wrote.

    Return True or False, or a score from 0 to 1; None if the answer cannot be judged.
    `evenodds check` tries it: had it taken the last number of any text, "not 42" would be paid.
    """
    said = re.search(r"#(-?[0-9]+)\\s*\\Z", text)  # the text ends with `#` and one whole number
    return said is not None and said[1] == problem.answer
'''

HEADER = """# A run of evenodds: evenodds train {name}
# Flags beat this file: evenodds train {name} --seed 1
# Settings behind a # are not set: each line holds its default, or an example of a value.

"""


MISNAMED = (errno.ENOTDIR, errno.ENAMETOOLONG, errno.ELOOP, errno.EEXIST)  # another name is needed
PROBLEMS = 400  # a tenth is held out: enough to show a gain of 10 points


def problems() -> list[dict[str, str]]:
    """Products of two two-digit numbers: the bundled model has about a third of them right.

    The larger operand comes first, and no two differ only in the order of their operands.
    """
    pairs = [(a, b) for a in range(10, 100) for b in range(10, a + 1)]
    chosen = random.Random(0).sample(pairs, PROBLEMS)
    return [{"prompt": f"{a}*{b}=", "answer": str(a * b)} for a, b in chosen]


def main(arguments: list[str]) -> int:
    about = "A commented config, a verifier and some problems: a task of your own to start from."
    parser = Parser("init", "FOLDER", about)
    parser.add_argument("folder", nargs="?", default="mytask", help="(default: mytask)")
    folder = Path(parser.parse(arguments).folder)
    config = make_config(
        {
            "run": {"max_time": 60.0},
            "task": {"name": "data", "data": "problems.jsonl", "verifier": "verifier.py:grade"},
            "sampling": {"max_tokens": 40},
            "curriculum": {"kind": "uniform"},
        }
    )
    name = folder / "evenodds.toml"
    files = {
        name.name: HEADER.format(name=name) + to_toml(config, comments=True),
        "verifier.py": VERIFIER,
        "problems.jsonl": "".join(f"{json.dumps(problem)}\n" for problem in problems()),
    }
    try:
        _write(folder, files)
    except OSError as error:
        kind = UsageError if error.errno in MISNAMED else RunError
        raise kind(explain(error, folder)) from error
    print(f"{folder}: {', '.join(files)}. Next: evenodds train {name}")
    return 0


def _write(folder: Path, files: dict[str, str]) -> None:
    """Make the folder with its files, and those above it; or nothing at all."""
    if os.path.lexists(folder):
        raise UsageError(f"{str(folder)!r} exists already. Name a new folder.")
    new = [path for path in (folder, *folder.parents) if not path.exists()]
    made: list[Path] = []
    try:
        for path in reversed(new):
            path.mkdir()
            made.append(path)
        for name, text in files.items():
            (folder / name).write_text(text, encoding="utf-8")
    except BaseException:
        for path in made[:1]:
            shutil.rmtree(path, ignore_errors=True)
        raise

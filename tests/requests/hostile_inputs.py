"""Hostile files of data and damaged run folders, and the commands that read them."""

from __future__ import annotations

import json
import os
import random
import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from tests.requests.broken import Broken

ROW = {"prompt": "12*3=", "answer": "36"}
GOOD = "".join(json.dumps({"prompt": f"{n}*7=", "answer": str(7 * n)}) + "\n" for n in range(20))
SLOW = 20.0  # seconds of CPU that a file of many megabytes may take


def _line(row: object) -> bytes:
    return (json.dumps(row) + "\n").encode()


FILES: dict[str, bytes] = {  # what is wrong -> the bytes of a JSONL file
    "empty": b"",
    "spaces": b" \n \n",
    "not UTF-8": GOOD.encode() + b'{"prompt": "\xff", "answer": "1"}\n',
    "UTF-16": GOOD.encode("utf-16"),
    "a NUL": GOOD.encode() + b"\0\n",
    "an open line": GOOD.encode() + b'{"prompt": "1*1=',
    "no JSON": b"prompt,answer\n1,2\n",
    "a number": b"1\n2\n",
    "a list": b"[1, 2]\n",
    "null": b"null\n",
    "deep lists": GOOD.encode() + b'{"prompt": ' + b"[" * 100_000 + b"]" * 100_000 + b"}\n",
    "deep objects": GOOD.encode() + b'{"a":' * 50_000 + b"1" + b"}" * 50_000 + b"\n",
    "open brackets": b"[" * 1_000_000 + b"\n",
    "missing columns": b'{"a": 1}\n{"a": 2}\n',
    "no columns": b"{}\n{}\n",
    "a gold that is null": _line({**ROW, "answer": None}),
    "a prompt that is null": _line({**ROW, "prompt": None}),
    "a prompt that is an object": _line({**ROW, "prompt": {"a": 1}}),
    "a prompt that is an empty list": _line({**ROW, "prompt": []}),
    "a prompt of strange messages": _line({**ROW, "prompt": [{"role": 1, "content": []}]}),
    "an empty prompt": _line({**ROW, "prompt": ""}),
    "an empty gold": _line({**ROW, "answer": ""}),
    "one row": _line(ROW),
    "one row twice": _line(ROW) * 2,
    "contradictory rows": _line(ROW) + _line({**ROW, "answer": "37"}),
    "keys twice in a row": b'{"prompt": "1=", "prompt": "2=", "answer": "2"}\n' * 3,
    "a gold that is NaN": b'{"prompt": "1=", "answer": NaN}\n' * 3,
    "a gold of 5,000 digits": b'{"prompt": "1=", "answer": ' + b"9" * 5000 + b"}\n",
    "surrogates": b'{"prompt": "\\ud800", "answer": "1"}\n' * 3,
    "a line of 100 MB": b'{"prompt": "' + b"1" * 100_000_000 + b'", "answer": "1"}\n',
    "a zip's bytes": b"PK\x03\x04" + bytes(range(256)) * 4,
    "half a zipped file": b"\x1f\x8b\x08\x00\x00\x00\x00\x00",
    "a parquet's mark alone": b"PAR1",
    "a parquet of nothing": b"PAR1" + bytes(100) + b"PAR1",
    "a parquet with a huge footer": b"PAR1" + b"\xff" * 100 + b"\xff\xff\xff\x7fPAR1",
}
PLACES: dict[str, Callable[[Path], object]] = {  # what stands at the file's place
    "nothing": lambda path: None,
    "a folder": lambda path: path.mkdir(),
    "a pipe": os.mkfifo,
    "a link in a circle": lambda path: path.symlink_to(path),
    "a link to /dev/zero": lambda path: path.symlink_to("/dev/zero"),
}
ENDINGS = ("jsonl", "json", "parquet", "jsonl.gz")
READERS = {  # commands that read a file of data
    "check": ("check", "{}"),
    "grade": ("grade", "{}", "--verifier", "number"),
    "train": ("train", "--data", "{}", "--dry-run"),
    "canaries": ("eval", "abacus", "--audit.canaries", "{}", "--evaluation.levels", "0",
                 "--evaluation.problems", "1", "--evaluation.samples", "1"),
}  # fmt: skip


def _bytes_at(name: str, content: bytes, folder: Path) -> None:
    (folder / name).write_bytes(content)


def _thing_at(name: str, make: Callable[[Path], object], folder: Path) -> None:
    make(folder / name)


def data() -> Iterator[Broken]:
    """Every hostile file with every ending, to the commands that read data."""
    for what, content in FILES.items():
        for ending in ENDINGS if len(content) < 50_000_000 else ENDINGS[:1]:
            yield from _read(what, ending, partial(_bytes_at, f"x.{ending}", content), len(content))
    for what, thing in PLACES.items():
        for ending in ENDINGS:
            yield from _read(what, ending, partial(_thing_at, f"x.{ending}", thing), 0)


def _read(what: str, ending: str, make: Callable[[Path], object], size: int) -> Iterator[Broken]:
    for name, arguments in READERS.items():
        if name == "canaries" and size > 10_000_000:
            continue
        given = [part.format(f"x.{ending}") for part in arguments]
        yield Broken(
            f"data: {name}", f"{what} as {ending}", given, make=make, lenient=True, seconds=SLOW
        )


DAMAGES: dict[str, Callable[[Path], object]] = {
    "removed": lambda path: path.unlink(),
    "empty": lambda path: path.write_bytes(b""),
    "cut": lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]),
    "junk": lambda path: path.write_bytes(bytes(range(256)) * 8),
    "a list": lambda path: path.write_bytes(b"[]"),
    "a number": lambda path: path.write_bytes(b"1\n"),
    "null": lambda path: path.write_bytes(b"null\n"),
    "another object": lambda path: path.write_bytes(b'{"a": 1}\n'),
    "names with other values": lambda path: path.write_bytes(_other(path.read_bytes())),
    "deep lists": lambda path: path.write_bytes(b"[" * 100_000),
    "NaN": lambda path: path.write_bytes(b'{"step": NaN, "levels": NaN}\n'),
    "a folder": lambda path: (path.unlink(), path.mkdir()),
    "a pipe": lambda path: (path.unlink(), os.mkfifo(path)),
    "a link in a circle": lambda path: (path.unlink(), path.symlink_to(path)),
}
LOOKERS: dict[str, tuple[str, ...]] = {  # commands that read a run
    "list": ("list", "runs"),
    "report": ("report", "r"),
    "report --md": ("report", "r", "--md"),
    "inspect": ("inspect", "r", "--text"),
    "inspect a group": ("inspect", "r", "--text", "--group", "1/0"),
    "inspect in files": ("inspect", "r", "--html", "pages"),
    "replay": ("replay", "r", "1/0/0"),
    "replay a step": ("replay", "r", "--all-of-step", "2", "--json"),
    "compare": ("compare", "r:base", "r"),
    "compare a step": ("compare", "r:base", "r:step-2"),
    "export": ("export", "r", "out"),
    "chat": ("chat", "r"),
    "sample": ("sample", "r", "--count", "1", "--answers", "1"),
    "resume": ("train", "--resume", "r", "--steps", "9"),
    "train": ("train", "runs/r/config.toml"),
}


def _other(content: bytes) -> bytes:
    """A JSON text whose every value is of another kind; other files are turned round."""
    try:
        found = json.loads(content.splitlines()[0] if content else b"")
    except ValueError:
        return content[::-1]
    turned = {key: [value] for key, value in found.items()} if isinstance(found, dict) else {}
    return _line(turned)


def _damaged(source: Path, name: str, damage: Callable[[Path], object], folder: Path) -> None:
    shutil.copytree(source, folder / "runs" / "r")
    damage(folder / "runs" / "r" / name)


def runs(source: Path, rng: random.Random, count: int) -> Iterator[Broken]:
    """A real run with one file of it damaged, to the commands that read runs.

    Every file with every damage is there as often as the count allows, in an order by chance.
    """
    files = sorted(str(p.relative_to(source)) for p in source.rglob("*") if p.is_file())
    every = [(f, d, c) for f in files for d in DAMAGES for c in LOOKERS]
    rng.shuffle(every)
    for file, damage, command in every[:count]:
        make = partial(_damaged, source, file, DAMAGES[damage])
        what = f"{file}: {damage}"
        yield Broken(
            f"run: {command}", what, LOOKERS[command], make=make, lenient=True, seconds=9.0
        )

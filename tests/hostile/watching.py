"""A tiny run among secrets: what it leaves and says, what its workers see, what listens."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow.parquet as pq

from tests.faults.children import start

CANARY = "CANARYQ7XT"
SECRETS = {
    "HF_TOKEN": f"hf_{CANARY}1abcdefghijklmnop",
    "WANDB_API_KEY": f"{CANARY}2abcdefghijklmnop",
    "AWS_ACCESS_KEY_ID": f"AKIA{CANARY}3AAAAAAAA",
    "AWS_SECRET_ACCESS_KEY": f"{CANARY}4/abc+defghijklmnop",
    "AWS_SESSION_TOKEN": f"{CANARY}5abcdefghijklmnop",
    "OPENAI_API_KEY": f"sk-{CANARY}6abcdefghijklmnop",
    "GITHUB_TOKEN": f"ghp_{CANARY}7abcdefghijklmnop",
    "DB_PASSWORD": f"{CANARY}8abcdefghijklmnop",
    "DATABASE_URL": f"postgres://me:{CANARY}9@localhost/db",
    "SOMETHING_ELSE": f"{CANARY}0abcdefghijklmnop",
}
ARGUED = f"hf_{CANARY}argued1234567890"


def among_secrets() -> None:
    """In the child: secrets around it, and one on its command line, as a wrapper would leave it."""
    os.environ.update(SECRETS)
    sys.argv += [f"--token={ARGUED}", f"https://me:{CANARY}url@example.org/x", "--api-key", CANARY]


@dataclass
class Watched:
    """code, texts by where they were found, internet sockets that listened or were open."""

    code: int
    texts: dict[str, str]
    listening: set[str] = field(default_factory=set[str])
    open_sockets: set[str] = field(default_factory=set[str])

    def leaks(self) -> list[str]:
        """Where a canary was found."""
        return [name for name, text in self.texts.items() if CANARY in text]


def texts_below(folder: Path) -> Iterator[tuple[str, str]]:
    """Every file as text, parquet with its columns and its own words decompressed."""
    for path in sorted(folder.rglob("*")):
        if not path.is_file():
            continue
        name = path.relative_to(folder).as_posix()
        yield name, name + path.read_bytes().decode("latin-1")
        if path.suffix == ".parquet":
            table = pq.read_table(path)
            yield f"{name} inside", str(table.to_pydict()) + str(table.schema.metadata)


def watched(arguments: Sequence[str], root: Path, seconds: float = 60.0) -> Watched:
    """A command among secrets, looked at all the while."""
    said = root / "said"
    child = start(arguments, said, before=among_secrets)
    listening: set[str] = set()
    internet: set[str] = set()
    end = time.monotonic() + seconds
    while child.is_running and time.monotonic() < end:
        family = [child.pid, *descendants(child.pid)]
        for pid in family:
            listens, others = sockets_of(pid)
            listening |= listens
            internet |= others
        child.process.join(0.005)
    ended = child.wait(max(0.1, end - time.monotonic()))
    texts = {"stdout": ended.out, "stderr": ended.err}
    texts |= dict(texts_below(root))
    return Watched(ended.code, texts, listening, internet)


def descendants(pid: int) -> list[int]:
    found: list[int] = []
    with suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text().split():
                found += [int(child), *descendants(int(child))]
    return found


LISTENS, BOUND = "0A", "07"


def sockets_of(pid: int) -> tuple[set[str], set[str]]:
    """Internet sockets that a process holds: those that listen, and the others."""
    numbers: set[str] = set()
    with suppress(OSError):
        for link in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(OSError):
                match = re.fullmatch(r"socket:\[(\d+)\]", os.readlink(link))
                numbers |= {match[1]} if match else set()
    listens: set[str] = set()
    others: set[str] = set()
    for kind in ("tcp", "tcp6", "udp", "udp6"):
        with suppress(OSError):
            for line in Path(f"/proc/{pid}/net/{kind}").read_text().splitlines()[1:]:
                parts = line.split()
                if parts[9] in numbers:
                    waits = parts[3] == (LISTENS if kind[:3] == "tcp" else BOUND)
                    (listens if waits else others).add(f"{kind} {parts[1]}")
    return listens, others


def seen_by_workers() -> list[str]:
    """Variables with a canary that a worker of a registered verifier or the sandbox is given."""
    from evenodds.judge.nursery import environment
    from evenodds.sandbox.forkserver import ENVIRONMENT

    before = dict(os.environ)
    os.environ.update(SECRETS)
    try:
        given = {**environment(is_own=False), **ENVIRONMENT}
    finally:
        os.environ.clear()
        os.environ.update(before)
    return [f"a worker's {name}" for name, value in given.items() if CANARY in value]

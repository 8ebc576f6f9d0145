"""One room makes durable files: all else that writes says here why it need not be durable."""

from __future__ import annotations

import ast
import re

import pytest

from tests.shape.forbidden import SOURCE

ROOM = "durable/"
WRITES = {"write_text", "write_bytes", "touch", "symlink_to", "hardlink_to", "truncate"}
MOVES = {"replace", "rename", "renames", "link", "symlink", "truncate", "ftruncate"}
COPIES = {"move", "copy", "copy2", "copyfile", "copytree", "copyfileobj"}
OF_LIBRARIES = {"save_file", "write_table", "save_pretrained", "savetxt", "savez", "memmap"}
OPENERS = {"io", "codecs", "gzip", "lzma", "bz2"}  # their `open` takes the path first
MADE = re.compile(r"O_WRONLY|O_CREAT|O_TRUNC|O_APPEND")
ALLOWED = {  # file -> why what it writes may be lost in a power cut, or is made durable elsewhere
    "run/output.py": "what a person asked for on the command line: they see when it is not there",
    "report/card.py": "inside a folder that durable seals, or made again by `report`",
    "policies/policy.py": "inside a folder that durable seals",
    "run/checkpoint.py": "inside a folder that durable seals",
    "run/lock.py": "the lock: it must not outlive its process",
    "viewer/export.py": "pages of `inspect --html`, which can be made again",
    "cli/pictures.py": "a picture that can be drawn again",
    "cli/commands/init.py": "files of `init`, which can be made again",
    "cli/lab/oracle.py": "a page of docs that can be made again",
    "lab/make_abacus.py": "a model that is made once, by hand",
    "lab/toy/golden.py": "values for tests, made once, by hand",
    "records/table.py": "into memory: durable writes it",
    "lab/toy/gru.py": "inside a folder that durable seals",
    "verifiers/lean/process.py": "a proof in a temporary folder",
    "sandbox/selftest.py": "files that programs of the self-test may not read",
    "sandbox/inside/runner.py": "inside the sandbox",
    "sandbox/inside/jail.py": "inside the sandbox",
    "sandbox/inside/server.py": "a number of the kernel's, in /proc",
    "sandbox/talk/examiner.py": "inside the sandbox",
    "judge/worker.py": "its own standard error",
    "sinks/trackio.py": "nothing but /dev/null",
    "cli/__init__.py": "nothing but /dev/null",
}


def writes(source: str) -> list[str]:
    """What in a source writes, moves or links files."""
    found: list[str] = []
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        owner = node.func.value if isinstance(node.func, ast.Attribute) else None
        base = owner.id if isinstance(owner, ast.Name) else ""
        called = name or (node.func.id if isinstance(node.func, ast.Name) else "")
        if name in WRITES or (base in ("os", "shutil") and name in {*MOVES, *COPIES}):
            found.append(name)
        if called in OF_LIBRARIES or (base in ("np", "numpy") and name == "save"):
            found.append(called)
        if name == "rename" and base not in ("os", "table"):
            found.append(name)
        if base == "os" and name == "open" and MADE.search(ast.unparse(node)):
            found.append("os.open")
        is_open = isinstance(node.func, ast.Name) and node.func.id == "open"
        if (is_open or (name == "open" and base not in ("os", "webbrowser"))) and _writes(node):
            found.append("open")
    return found


def _writes(node: ast.Call) -> bool:
    owner = node.func.value if isinstance(node.func, ast.Attribute) else None
    is_function = isinstance(owner, ast.Name) and owner.id in OPENERS
    at = 1 if isinstance(node.func, ast.Name) or is_function else 0
    modes = [*node.args[at : at + 1], *(k.value for k in node.keywords if k.arg == "mode")]
    return any(
        isinstance(mode, ast.Constant) and isinstance(mode.value, str) and {*"wax+"} & {*mode.value}
        for mode in modes
    )


def test_one_room_writes_durably_and_the_rest_says_why_it_need_not() -> None:
    found = {}
    for path in SOURCE.rglob("*.py"):
        name = path.relative_to(SOURCE).as_posix()
        made = writes(path.read_text(encoding="utf-8"))
        if made and not name.startswith(ROOM) and name not in ALLOWED:
            found[name] = made
    assert found == {}


def test_every_exception_is_needed() -> None:
    stale = {name for name in ALLOWED if not writes((SOURCE / name).read_text(encoding="utf-8"))}
    assert stale == set()


@pytest.mark.parametrize(
    "source",
    [
        "path.write_text(x)",
        "path.write_bytes(x)",
        "open(path, 'w')",
        "open(path, mode='ab')",
        "open(path, 'r+b')",
        "path.open('w')",
        "os.replace(a, b)",
        "path.rename(b)",
        "os.open(path, os.O_WRONLY)",
        "shutil.move(a, b)",
        "path.touch()",
        "io.open(path, 'w')",
        "gzip.open(path, 'ab')",
        "shutil.copytree(a, b)",
        "shutil.copy(a, b)",
        "os.open(path, os.O_RDWR | os.O_CREAT)",
        "np.save(path, x)",
        "save_file(x, path)",
        "pq.write_table(x, path)",
        "model.save_pretrained(path)",
        "np.memmap(path, mode='w+')",
    ],
)
def test_what_writes_is_found(source: str) -> None:
    assert writes(source)


@pytest.mark.parametrize(
    "source",
    ["open(path)", "open(path, 'rb')", "path.read_text()", "text.replace(a, b)", "path.open()"],
)
def test_what_reads_is_let_through(source: str) -> None:
    assert writes(source) == []

"""What stands beside the package imports names that the package has.

Scripts and long benchmarks are seldom run, so that a name that has moved would be missed for long.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("scripts", "benchmarks", "examples")
FILES = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))]


@cache
def names_of(module: str) -> frozenset[str]:
    """The names that a module of the package binds somewhere; none where there is no such one."""
    place = (ROOT / "src").joinpath(*module.split("."))
    file = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
    if not file.exists():
        return frozenset()
    found = {path.stem for path in place.iterdir()} if place.is_dir() else set[str]()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.alias):
            found.add(node.asname or node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
    return frozenset(found)


def missing(text: str) -> Iterator[str]:
    """`module.name` of all that this Python imports from the package and that is not there."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "evenodds":
            for alias in node.names:
                if alias.name not in names_of(node.module or ""):
                    yield f"{node.module}.{alias.name}"


@pytest.mark.parametrize("file", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_all_that_is_imported_is_there(file: Path) -> None:
    assert [*missing(file.read_text())] == []


def test_what_has_moved_is_noticed() -> None:
    assert [*missing("def f():\n    from evenodds.run.gone import a")] == ["evenodds.run.gone.a"]
    assert [*missing("from evenodds.durable import disk, write_file, wrote")] == [
        "evenodds.durable.wrote"
    ]

"""Functions and files stay small."""

from __future__ import annotations

import ast
import statistics
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "evenodds"


def functions() -> list[tuple[int, str]]:
    found = []
    for file in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lines = (node.end_lineno or 0) - node.lineno + 1
                found.append((lines, f"{file.name}:{node.name}"))
    return sorted(found)


def test_functions_and_files_are_small() -> None:
    sizes = [lines for lines, _ in functions()]
    tenth = sizes[int(0.9 * len(sizes))]
    print(f"\n{len(sizes)} functions, median {statistics.median(sizes)}, p90 {tenth}")
    assert statistics.median(sizes) <= 12
    assert sizes[int(0.9 * len(sizes))] <= 45
    assert sizes[-1] <= 60, functions()[-1]
    for file in SOURCE.rglob("*.py"):
        assert len(file.read_text().splitlines()) <= 400, file

"""A run folder of a stranger: looking at it runs nothing, and its own files are never code."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path

import pytest

from evenodds import cli
from evenodds.errors import UsageError
from evenodds.run.foreign import require_code_of_ones_own
from tests.viewer.folder import write_run

LOOKING = (
    ["inspect", "RUN", "--text"],
    ["inspect", "RUN", "--text", "--group", "1/1"],
    ["inspect", "RUN", "--html", "PAGES"],
    ["report", "RUN"],
    ["report", "RUN", "--md"],
    ["compare", "RUN"],
    ["list", "runs", "--root", "ROOT"],
)
RUNNING = (
    ["train", "--resume", "RUN"],
    ["eval", "RUN"],
    ["sample", "RUN"],
    ["replay", "RUN", "1/0/0"],
    ["chat", "RUN"],
    ["export", "RUN", "PAGES/model"],
)
SETTINGS = ("task.name", "task.verifier", "objective.credit", "audit.verifier", "run.sinks")


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run whose every name is a file in it, which would make a canary."""
    folder = tmp_path / "runs" / "theirs"
    code = folder / "evil.py"
    named = f"{code}:grade"
    made = write_run(folder, lambda name: named if name in ("task", "verifier") else name)
    code.write_text(f"open({str(tmp_path / 'canary')!r}, 'w').close()\ndef grade(p, t): return 1\n")
    return made


def said(arguments: list[str], run: Path) -> tuple[int, str]:
    places = {"RUN": run, "PAGES": run.parents[1] / "pages", "ROOT": run.parent}
    words = [
        word.replace(name, str(place))
        for word in arguments
        for name, place in [next(((n, p) for n, p in places.items() if n in word), ("-", "-"))]
    ]
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        code = cli.main(words)
    return code, out.getvalue()


@pytest.mark.parametrize("arguments", LOOKING, ids=" ".join)
def test_looking_runs_nothing(run: Path, arguments: list[str]) -> None:
    said(arguments, run)
    assert not (run.parents[1] / "canary").exists()


@pytest.mark.parametrize("arguments", RUNNING, ids=" ".join)
def test_its_own_files_are_never_code(run: Path, arguments: list[str]) -> None:
    code, shown = said(arguments, run)
    assert code == 2
    assert "names code in its own folder" in shown
    assert "evil.py" in shown and shown.count("\n") == 1
    assert not (run.parents[1] / "canary").exists()


@pytest.mark.parametrize("setting", SETTINGS)
def test_every_setting_that_can_name_code(tmp_path: Path, setting: str) -> None:
    section, name = setting.split(".")
    for value in ("theirs/evil.py:f", "./theirs/../theirs/evil.py"):
        named = str(tmp_path / value)
        for given in (named, [named]):
            with pytest.raises(UsageError, match="names code in its own folder"):
                require_code_of_ones_own({section: {name: given}}, tmp_path / "theirs")
    for module in ("os:system", "http.server:test", "subprocess:run"):
        with pytest.raises(UsageError, match="Python's own"):
            require_code_of_ones_own({section: {name: module}}, tmp_path / "theirs")


def test_files_and_names_of_ones_own_stay(tmp_path: Path) -> None:
    mine = {"task": {"name": "multiplication", "verifier": str(tmp_path / "grade.py:exact")}}
    require_code_of_ones_own(mine, tmp_path / "runs" / "mine")
    require_code_of_ones_own({"run": {"name": "os"}, "x": 3, "task": {"data": "a.jsonl"}}, tmp_path)


def test_a_link_to_its_own_file_is_found(tmp_path: Path) -> None:
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "evil.py").touch()
    (tmp_path / "mine.py").symlink_to(tmp_path / "theirs" / "evil.py")
    with pytest.raises(UsageError, match="names code in its own folder"):
        require_code_of_ones_own(
            {"task": {"verifier": str(tmp_path / "mine.py:f")}}, tmp_path / "theirs"
        )

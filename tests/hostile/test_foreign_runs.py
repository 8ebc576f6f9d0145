"""A run folder of a stranger: looking at it runs nothing, and its own files are never code."""

from __future__ import annotations

import contextlib
import io
import json
import os
from pathlib import Path

import pytest

from evenodds import cli
from evenodds.errors import UsageError
from evenodds.records import lines
from evenodds.records.plain import require_plain
from evenodds.report.sound import is_evaluation
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


LINKED = ("metrics.jsonl", "alarms.jsonl", "passports/data.json", "evaluation", "model", "rollouts")


@pytest.mark.parametrize("arguments", [*LOOKING[:-2], *RUNNING], ids=" ".join)
@pytest.mark.parametrize("name", LINKED)
def test_a_link_out_of_the_run_is_neither_read_nor_written(
    tmp_path: Path, arguments: list[str], name: str
) -> None:
    """To go on with such a run would add lines to a file of this person's."""
    run = write_run(tmp_path / "runs" / "theirs")
    mine = tmp_path / "mine"
    (run / name).rename(mine)
    (run / name).symlink_to(mine)
    before = mine.read_bytes() if mine.is_file() else sorted(mine.iterdir())
    code, shown = said(arguments, run)
    assert (code, shown.count("\n")) == (2, 1)
    assert "is a link out of the run" in shown
    assert before == (mine.read_bytes() if mine.is_file() else sorted(mine.iterdir()))


def test_a_link_to_what_is_not_there_yet_is_not_made_there(tmp_path: Path) -> None:
    run = write_run(tmp_path / "runs" / "theirs")
    (run / "alarms.jsonl").unlink()
    (run / "alarms.jsonl").symlink_to(tmp_path / "mine")
    arguments = ["train", "--run.root", str(run.parent), "--run.name", run.name]
    for words in (arguments, ["train", "--resume", str(run)]):
        code, shown = said(words, run)
        assert code == 2 and "is a link out of the run" in shown
    assert not (tmp_path / "mine").exists()


def test_checkpoints_may_lie_elsewhere_and_links_inside_stay(tmp_path: Path) -> None:
    run = write_run(tmp_path / "runs" / "mine")
    (tmp_path / "large").mkdir()
    (run / "checkpoints").symlink_to(tmp_path / "large")
    (run / "newest.jsonl").symlink_to("metrics.jsonl")
    (tmp_path / "runs" / "also").symlink_to(run)
    for folder in (run, tmp_path / "runs" / "also"):
        require_plain(folder)


def test_a_million_answers_to_each_problem_are_compared_in_seconds(tmp_path: Path) -> None:
    """That many are said to be sound; where the base catches up was asked a million times."""
    for name, right in (("base", 500_000), ("final", 600_000)):
        path = run_of(tmp_path) / "evaluation" / f"{name}.json"
        found = json.loads(path.read_text())
        for level in found["levels"]:
            for row in level["problems"]:
                row.update(tries=1_000_000, right=right)
        path.write_text(json.dumps(found))
    before = os.times().user
    code, _ = said(["report", "RUN"], run_of(tmp_path))
    assert code == 0
    assert os.times().user - before < 30


@pytest.mark.parametrize("name", ["passports/data.json", "evaluation/base.json", "config.toml"])
def test_a_file_that_is_huge_is_not_read(tmp_path: Path, name: str) -> None:
    os.truncate(run_of(tmp_path) / name, 3 << 30)
    code, shown = said(["report", "RUN"], run_of(tmp_path))
    assert (code, shown.count("\n")) == (2, 1)
    assert "where a run writes at most" in shown


def test_a_line_that_is_huge_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "LONGEST", 64)
    path = tmp_path / "metrics.jsonl"
    long = json.dumps({"step": 2, "x": "y" * 500})
    path.write_text(f'{{"step": 1}}\n{long}\n{{"step": 3}}\n{long[:64]}\n{{"step": 5}}')
    assert [row["step"] for row in lines.rows_of(path)] == [1, 3, 5]


@pytest.mark.parametrize("kind", ["levels", "sources", "controls"])
def test_more_parts_than_an_evaluation_has_are_no_evaluation(tmp_path: Path, kind: str) -> None:
    found = json.loads((run_of(tmp_path) / "evaluation" / "base.json").read_text())
    assert is_evaluation(found)
    level = found["levels"][0]
    row = level["problems"][0]
    if kind == "levels":
        found["levels"] = [{**level, "level": number} for number in range(2000)]
    elif kind == "sources":
        level["problems"] = [{**row, "source": str(number)} for number in range(2000)]
    else:
        for _ in range(400):
            found = {**found, "control": found}
    assert not is_evaluation(found)


def run_of(root: Path) -> Path:
    run = root / "runs" / "theirs"
    return run if run.exists() else write_run(run)

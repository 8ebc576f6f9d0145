"""evenodds inspect: what a person types, and what is said when it cannot be."""

from __future__ import annotations

import pytest

from evenodds.cli import main
from tests.viewer.folder import write_run


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> str:
    return str(write_run(tmp_path_factory.mktemp("runs") / "mine"))


def said(capsys, *arguments: str) -> tuple[int, str, str]:
    code = main(["inspect", *arguments])
    found = capsys.readouterr()
    return code, found.out, found.err


def test_the_overview_as_text(run, capsys) -> None:
    code, out, error = said(capsys, run, "--text")
    assert (code, error) == (0, "")
    assert out.startswith("mine   finished · step 3 of 3")


def test_one_group_as_text(run, capsys) -> None:
    code, out, _ = said(capsys, run, "--text", "--group", "2/1")
    assert code == 0
    assert out.startswith("step 2, group 1")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nowhere"], "'nowhere' is no run folder"),
        ([""], "'' is no run folder"),
        (["RUN", "--group", "2/1"], "--group goes with --text or --html"),
        (["RUN", "--text", "--group", "2"], "such as 12/3. Got '2'"),
        (["RUN", "--text", "--group", "2/99"], "step 2 has no group 99"),
        (["RUN", "--text", "--group", "9/0"], "step 9 has no rollouts. Got steps 1 to 3"),
        (["RUN", "--port", "x"], "--port"),
        (["RUN", "--port", "70000"], "cannot listen on port 70000"),
        (["RUN", "--prot", "1"], "Did you mean '--port'"),
    ],
)
def test_wrong_usage_is_told_in_one_line(run, capsys, arguments, words) -> None:
    code, out, error = said(capsys, *[run if word == "RUN" else word for word in arguments])
    assert code == 2
    assert out == ""
    assert words in error
    assert error.count("\n") == 1


def test_a_run_without_rollouts_and_a_damaged_step(run, tmp_path, capsys) -> None:
    (tmp_path / "config.toml").write_text("")
    code, _, error = said(capsys, str(tmp_path), "--text", "--group", "1/0")
    assert code == 2
    assert "no rollouts yet" in error
    (tmp_path / "rollouts").mkdir()
    (tmp_path / "rollouts" / "step-00001.parquet").write_bytes(b"PAR1")
    code, _, error = said(capsys, str(tmp_path), "--text", "--group", "1/0")
    assert code == 1
    assert "is damaged" in error
    assert error.count("\n") == 1

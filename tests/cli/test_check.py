"""`evenodds check`: what it takes, what it prints, and its exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evenodds.cli import main
from evenodds.verifiers import KINDS

ROWS = [{"prompt": f"{a}*{b}=", "answer": str(a * b)} for a in range(12, 20) for b in range(3, 9)]
OWN = """
def anywhere(problem, text):
    return problem.answer in text

def exact(problem, text):
    return text.strip() == problem.answer

def none(problem, text):
    return False

def strict(problem, text):
    return int(text) == int(problem.answer)
"""


@pytest.fixture(autouse=True)
def _terminal(monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    (tmp_path / "own.py").write_text(OWN)
    (tmp_path / "my.toml").write_text(
        '[task]\nname = "data"\ndata = "rows.jsonl"\nverifier = "own.py:exact"\n'
    )
    return tmp_path


def said(capsys, code: int, *arguments: object) -> str:
    assert main(["check", *map(str, arguments)]) == code
    found = capsys.readouterr()
    talk = ("bench: ", "golds: ")  # how far it is, where the machine is slow
    others = [line for line in found.err.splitlines() if not line.startswith(talk)]
    assert code == 2 or not others, found.err
    return found.out if code != 2 else found.err


def refusal(capsys, *arguments: object) -> str:
    line = said(capsys, 2, *arguments)
    assert line.count("\n") == 1
    return line


def test_a_kind_by_its_name(capsys) -> None:
    lines = said(capsys, 0, "text").splitlines()
    assert lines[0].startswith("text: ") and "policy: the default" in lines
    assert any(line.split()[:3] == ["what", "is", "tried"] for line in lines)
    assert any(line.startswith("hostile size") for line in lines)
    assert lines[-1] == "fit: no wrong answer was paid."
    assert max(map(len, lines)) <= 80


def test_a_kind_as_json_with_a_policy_table(tmp_path, capsys) -> None:
    (tmp_path / "table.toml").write_text("longest = 2.0\n")
    found = json.loads(said(capsys, 0, "text", "--json", "--policy-table", tmp_path / "table.toml"))
    assert found["policy"] == {"longest": 2.0}
    flags = ("--policy-table", tmp_path / "table.toml", "--task.policy", "longest=1.5")
    assert json.loads(said(capsys, 0, "text", "--json", *flags))["policy"] == {"longest": 1.5}
    bench = found["bench"]
    assert bench["total"]["false_payments"] == 0 and bench["total"]["must_not_be_paid"] > 500
    low, high = bench["total"]["false_payments_95"]
    assert low == 0 < high < 0.01
    assert bench["slowest"]["seconds"] >= 0 and bench["verdicts_per_second"] > 0


def test_a_data_file_and_a_sound_verifier_of_ones_own(files, capsys) -> None:
    out = said(capsys, 0, files / "rows.jsonl", "--verifier", f"{files}/own.py:exact")
    assert out.startswith("rows.jsonl, judged by ")
    assert "forms of the gold that are paid: bare" in out
    assert "golds: 48 of 48 are found right" in out
    assert "fit: no wrong answer was paid." in out


def test_a_config_names_its_files_beside_it(files, capsys) -> None:
    assert "fit: " in said(capsys, 0, files / "my.toml")


def test_a_gullible_verifier_exits_with_3_and_is_shown(files, capsys) -> None:
    out = said(capsys, 3, files / "rows.jsonl", "--verifier", f"{files}/own.py:anywhere")
    assert "false payments: " in out and "negation" in out
    assert out.splitlines()[-1].startswith("NOT FIT: ")
    assert max(map(len, out.splitlines())) <= 80


def test_a_kind_with_data_is_the_verifier_of_that_data(files, capsys) -> None:
    out = said(capsys, 0, "number", "--data", files / "rows.jsonl", "--json")
    found = json.loads(out)
    assert (found["task"], found["verifier"], found["golds"]["golds"]) == ("data", "number", 48)


def test_one_that_pays_nothing_exits_with_3(files, capsys) -> None:
    out = said(capsys, 3, files / "rows.jsonl", "--verifier", f"{files}/own.py:none")
    assert "no form of the gold is paid" in out


def test_what_could_not_be_judged_is_told_with_a_reason(files, capsys) -> None:
    out = said(capsys, 0, files / "rows.jsonl", "--verifier", f"{files}/own.py:strict")
    told = " ".join(out.split())
    assert "could not be judged: " in told and "ValueError: invalid literal for int()" in told
    assert max(map(len, out.splitlines())) <= 80


def test_a_gold_that_its_verifier_cannot_read_exits_with_3(files, capsys) -> None:
    with open(files / "rows.jsonl", "a") as stream:
        stream.write('{"prompt": "the last", "answer": "no number at all"}\n')
    out = said(capsys, 3, files / "rows.jsonl", "--verifier", "number")
    assert "golds: 48 of 49 are found right" in out and "no number at all" in out
    assert "NOT FIT: 1 gold is not found right." in out


def test_a_task_as_json(capsys) -> None:
    found = json.loads(said(capsys, 0, "reverse", "--json"))
    assert found["task"] == "reverse" and found["fit"] and found["faults"] == []
    assert found["golds"]["golds"] > 100 and found["golds"]["not_right"] == []
    assert found["forms"] is None


def test_fresh_answers_are_read_a_second_time(capsys) -> None:
    found = json.loads(said(capsys, 0, "multiplication", "--sample", "6", "--json"))
    assert found["sampled"] == 6 and isinstance(found["doubtful"], list)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["numbr"], "Did you mean 'number'?"),
        (["none.jsonl"], "does not exist"),
        (["none.toml"], "no config file"),
        (["number", "--sample", "5"], "--sample needs a task"),
        (["reverse", "--sample", "0"], "--sample cannot be 0"),
        (["reverse", "--policy-table", "x.toml"], "goes with a kind"),
        (["text", "--policy", "compare=f1"], "is --task.policy compare=f1"),
        (["text", "--task.policy", "compare=f2"], "unfit"),
        (["composite"], "no bench for the kind 'composite'"),
        (["lean"], "no bench for the kind 'lean'"),
    ],
)
def test_refusals_are_one_line(arguments, words, capsys) -> None:
    assert words in refusal(capsys, *arguments)


def test_a_kind_that_cannot_judge_here_says_why(files, capsys) -> None:
    why = KINDS["lean"].unavailable
    if why is None or why(KINDS["lean"].policy) is None:
        pytest.skip("there is a Lean on this machine")
    flags = ["--data", f"{files}/rows.jsonl", "--verifier", "lean"]
    assert "the kind 'lean' cannot judge here" in refusal(capsys, *flags)


def test_training_is_refused_and_the_way_round_is_recorded(files, tmp_path, capsys) -> None:
    from evenodds.run.build import plan_of
    from evenodds.run.config import make_config, to_toml
    from evenodds.run.passports import checker_passport

    flags = ["--data", f"{files}/rows.jsonl", "--verifier", f"{files}/own.py:anywhere"]
    assert main(["train", *flags, "--dry-run"]) == 3
    found = capsys.readouterr()
    assert found.out == "" and "--check.bench false" in found.err and found.err.count("\n") == 1
    assert main(["train", *flags, "--dry-run", "--check.bench", "false"]) == 0
    assert "[check]\nbench = false" in capsys.readouterr().out

    config = make_config({"task": {"data": str(files / "rows.jsonl"), "verifier": "number"}})
    plan = plan_of(config)
    assert plan.bench is not None and plan.bench.left_out == 0
    passport = checker_passport(plan.task, plan.bench)
    assert passport["bench"]["total"]["false_payments"] == 0
    assert passport["bench"]["cases"] > 500
    assert "check.bench is false" in str(checker_passport(plan.task)["bench"])
    assert "[check]\nbench = true" in to_toml(config)

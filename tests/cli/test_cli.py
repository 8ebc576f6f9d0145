"""The command line in processes of its own: speed, exit codes, one line for a mistake."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from evenodds.cli import COMMANDS, main
from evenodds.run.train import Result
from tests.requests.asked import ask

ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}


def call(*arguments: str, cwd: Path | None = None, stdin: str = "") -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-m", "evenodds", *arguments],
        capture_output=True,
        text=True,
        cwd=cwd,
        input=stdin,
        env=ENVIRONMENT,
        timeout=50,
        check=False,
    )


def test_help_lists_every_command_and_imports_no_torch() -> None:
    code = (
        "import sys, evenodds.cli as c; c.main(['--help']); c.main(['list', 'tasks']);"
        "heavy = {'torch', 'transformers', 'pyarrow', 'rich'} & set(sys.modules);"
        "assert not heavy, heavy"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert all(name in found.stdout for name in COMMANDS)


def test_help_is_quick() -> None:
    times = []
    for _ in range(3):
        started = time.monotonic()
        assert call("--help").returncode == 0
        times.append(time.monotonic() - started)
    print(f"\nevenodds --help: {min(times):.2f} s")


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_every_command_has_help(command, capsys) -> None:
    try:
        assert main([command, "--help"]) == 0
    except SystemExit as left:  # argparse prints its help and leaves
        assert left.code == 0
    assert "usage: evenodds" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["trian"], "Did you mean 'train'"),
        (["train", "--seeed", "1"], "Did you mean '--seed'"),
        (["train", "none.toml"], "no config file"),
        (
            ["train", "--task.policy", "a=1", "b=2"],
            "each needs the flag before it: --task.policy A=1",
        ),
        (["train", "--seed", "x"], "run.seed"),
        (["train", "--task", "multiplicaton"], "Did you mean 'multiplication'"),
        (["train", "--resume", "nowhere"], "no run folder"),
        (["train", "--resume", ""], "no run folder"),
        (["train", "--name", ""], "not empty"),
        (["train", "--run.root", ""], "not empty"),
        (["train", "--curriculum.levels", "1,x"], "curriculum.levels"),
        (["eval"], "required"),
        (["eval", "./nowhere"], "no policy"),
        (["list", "everything"], "unknown kind"),
        (["report", "nowhere"], "no run folder"),
        (["lab", "nothing"], "unknown experiment"),
        (["sample", "abacus", "--count", "0"], "1 or more"),
        (["sample", "abacus", "--answers", "100001"], "100000"),
        (["eval", "abacus", "--steps", "3"], "unknown argument '--steps'"),
    ],
)
def test_a_mistake_is_one_line_on_stderr_and_exit_2(
    arguments, words, capsys, tmp_path, monkeypatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.count("\n") == 1
    assert words in shown.err
    assert list(tmp_path.iterdir()) == []


def saved(folder: Path, text: str) -> None:
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text(text)


@pytest.mark.parametrize("text", ["", "[task]\n"])
def test_resuming_a_damaged_run_is_one_line(text, capsys, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    saved(tmp_path / "runs" / "x", text)
    assert main(["train", "--resume", "x", "--steps", "3"]) == 2
    shown = capsys.readouterr().err
    assert "is damaged" in shown and shown.count("\n") == 1


def test_resume_and_report_take_a_bare_name(capsys, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    saved(tmp_path / "runs" / "x", "[run]\nsteps = 9\n")
    assert main(["train", "--resume", "x", "--dry-run"]) == 0
    assert 'name = "x"' in capsys.readouterr().out
    assert main(["report", "x"]) == 0
    names = ("report.html", "report.md", "summary.json")
    assert capsys.readouterr().out.split() == [f"runs/x/{name}" for name in names]
    assert main(["report", "x", "--md"]) == 0
    assert capsys.readouterr().out == (tmp_path / "runs" / "x" / "report.md").read_text("utf-8")


def test_resume_with_another_name_is_a_contradiction(capsys, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    saved(tmp_path / "runs" / "x", "[run]\n")
    assert main(["train", "--resume", "runs/x", "--name", "zzz"]) == 2
    assert "Leave one out" in capsys.readouterr().err


def test_resume_without_a_name_takes_the_newest_run_that_waits(
    capsys, tmp_path, monkeypatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["train", "--resume"]) == 2
    assert "waits to go on" in capsys.readouterr().err
    saved(tmp_path / "runs" / "x", "[run]\nsteps = 9\n")
    assert main(["train", "--resume", "--dry-run"]) == 0
    assert 'name = "x"' in capsys.readouterr().out


def through(script: str) -> subprocess.CompletedProcess:
    """A shell line in which `evenodds` is the command."""
    command = script.replace("evenodds", f"{sys.executable} -m evenodds")
    return subprocess.run(
        ["bash", "-c", command], capture_output=True, text=True, env=ENVIRONMENT, check=False
    )


@pytest.mark.parametrize(
    "script",
    [
        *(f"evenodds {what} >/dev/full" for what in ("list", "--help", "eval --help")),
        *(f"evenodds {what} >&-" for what in ("list", "--version")),
    ],
)
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_stdout_that_takes_nothing_is_one_line_and_exit_1(script, unbuffered) -> None:
    found = through(f"export PYTHONUNBUFFERED={unbuffered}; {script}")
    assert (found.returncode, found.stderr.count("\n")) == (1, 1), found.stderr
    assert "standard output" in found.stderr


def test_a_reader_that_leaves_is_no_failure() -> None:
    found = through("set -o pipefail; evenodds list | true")
    assert (found.returncode, found.stderr) == (0, "")


@pytest.mark.parametrize("where", ["2>&-", "2>/dev/full"])
def test_a_stderr_that_takes_nothing_changes_no_exit_code(where) -> None:
    assert through(f"evenodds nothing {where}").returncode == 2
    found = through(f"evenodds list tasks {where}")
    assert found.returncode == 0 and "multiplication" in found.stdout
    assert through(f"evenodds nothing {where}").stdout == ""


@pytest.mark.parametrize(("command", "last"), [("eval", "[evaluation]"), ("sample", "[sampling]")])
def test_help_shows_only_the_sections_that_matter(command, last, capsys) -> None:
    with pytest.raises(SystemExit):
        main([command, "--help"])
    shown = capsys.readouterr().out
    assert last in shown and "--seed INT" in shown
    assert "[learner]" not in shown and "[run]" not in shown and "--steps" not in shown
    assert ("--evaluation.levels 0,1,2" in shown) == (command == "eval")


def test_the_plan_is_made_once_by_train_itself(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("evenodds.run.build.plan_of", lambda config: pytest.fail("made here"))
    result = Result(tmp_path, 0, exit_code=7)
    monkeypatch.setattr("evenodds.run.train.train", lambda config, argv: result)
    assert main(["train"]) == 7


def test_dry_run_describes_the_task_on_stderr(capsys, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["train", "--dry-run"]) == 0
    lines = capsys.readouterr().err.splitlines()
    assert lines[1] == "  level 0, 1×1 digits: 34 to learn, 11 held out"
    assert any(line.startswith("a prompt: '") for line in lines)
    assert lines[-1].endswith("gradient checkpointing off")


def test_dry_run_prints_a_config_that_reads_back(capsys, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["train", "--dry-run", "--seed", "7", "--objective", "dapo"]) == 0
    (tmp_path / "c.toml").write_text(capsys.readouterr().out)
    assert main(["train", "c.toml", "--dry-run"]) == 0
    assert "seed = 7" in capsys.readouterr().out


def test_sample_prints_a_json_line_an_answer(capsys) -> None:
    assert main(["sample", "abacus", "--level", "1", "--count", "2", "--answers", "3"]) == 0
    found = capsys.readouterr()
    rows = [json.loads(line) for line in found.out.splitlines()]
    assert len(rows) == 6
    assert {row["status"] for row in rows} <= {"right", "wrong", "truncated", "no_answer"}
    assert found.err == ""


def test_chat_answers_a_line(tmp_path) -> None:
    found = ask(("chat", "abacus"), tmp_path, stdin="2*3=\n\n", works=True, seconds=60)
    assert "6" in found.out
    assert found.err == ""


def test_eval_prints_a_table_and_json(tmp_path) -> None:
    small = [
        "--evaluation.problems",
        "2",
        "--evaluation.samples",
        "2",
        "--evaluation.levels",
        "0,1",
        "--evaluation.control_problems",
        "1",
    ]
    found = ask(("eval", "abacus", "--json", *small), tmp_path, works=True, seconds=60)
    record = json.loads(found.out)
    assert [level["level"] for level in record["levels"]] == [0, 1]
    table = ask(("eval", "abacus", *small), tmp_path, works=True, seconds=60).out
    assert "2×1 digits" in table
    assert table.splitlines()[:3] == [
        "abacus: multiplication, verifier number, style bare",
        "2 held-out problems a level, 2 samples at temperature 1, one greedy,",
        "at most 96 tokens, seed 1234",
    ]
    assert "control task addition, pass@1" in table and max(map(len, table.splitlines())) <= 100
    assert record["control"]["task"] == "addition" and "maj@k" in record["summary"]["overall"]


def test_init_gives_a_task_that_trains(tmp_path) -> None:
    assert ask(("init", "mine"), tmp_path, works=True).code == 0
    assert ask(("init", "mine"), tmp_path, works=True).code == 2
    small = ["--steps", "1", "--sampling.groups", "2", "--evaluation.samples", "2"]
    small += ["--evaluation.problems", "2", "--evaluation.control", "none"]
    found = call("train", "mine/evenodds.toml", "--name", "x", *small, cwd=tmp_path)
    assert found.returncode == 0, found.stderr
    assert (tmp_path / "runs" / "x" / "report.html").exists()
    assert "x" in ask(("list", "runs"), tmp_path, works=True).out


def test_export_merges_an_adapter(tmp_path) -> None:
    small = ["--steps", "1", "--sampling.groups", "2", "--evaluation.problems", "1"]
    small += ["--evaluation.control", "none"]
    lora = ["--policy.adapter", "lora", "--policy.rank", "2", "--name", "x", *small]
    assert ask(("train", *lora), tmp_path, works=True, seconds=60).code == 0
    assert ask(("export", "runs/x", "plain"), tmp_path, works=True, seconds=60).code == 0
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(tmp_path / "plain")
    assert not any("lora" in name for name, _ in model.named_parameters())
    again = ["export", str(tmp_path / "runs" / "x"), str(tmp_path / "plain")]
    assert main(again) == 2  # it is there already


@pytest.mark.parametrize("arguments", [["--run.seed", "1\0"], ["--run.seed=1\0"]])
def test_a_nul_is_told_with_its_flag(arguments, capsys) -> None:
    assert main(["train", *arguments]) == 2
    assert "the value of '--run.seed' holds a NUL" in capsys.readouterr().err

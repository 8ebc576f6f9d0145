"""The settings of [task] from flags and TOML, and a task of one's own by its file."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from evenodds.cli import main
from evenodds.errors import UsageError
from evenodds.run.build import style_of, task_of
from evenodds.run.config import make_config, to_toml

EXAMPLES = Path(__file__).parents[2] / "examples"


def dry(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[dict[str, object], str]:
    """The [task] table and the talk of a dry run."""
    assert main(["train", *arguments, "--dry-run"]) == 0
    said = capsys.readouterr()
    return tomllib.loads(said.out)["task"], said.err


@pytest.mark.parametrize(
    ("file", "words"), [("own_task.py", "grade"), ("own_task.jsonl", "judged by number")]
)
def test_a_task_in_one_file_is_enough_to_train(
    capsys: pytest.CaptureFixture[str], file: str, words: str
) -> None:
    task, talk = dry(capsys, "--task", str(EXAMPLES / file))
    assert task["name"] == str(EXAMPLES / file)
    assert words in talk


def sums(folder: Path) -> str:
    rows = [{"frage": f"{n}+1=", "gold": n + 1, "id": n, "art": "a"} for n in range(20)]
    path = folder / "sums.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def test_flags_name_columns_and_policy(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    flags = {"prompt": "frage", "verifier": "number", "columns": "id,art", "policy": "units=false"}
    given = [text for key, value in flags.items() for text in (f"--task.{key}", value)]
    task, _ = dry(capsys, "--data", sums(tmp_path), *given, "--task.policy", "percent=ratio")
    assert task["policy"] == {"units": False, "percent": "ratio"}
    assert task["columns"] == ["id", "art"]
    made = task_of(make_config({"task": task}))
    assert made.verifier.table == {"units": False, "percent": "ratio"}  # type: ignore[attr-defined]
    assert set(made.held_out(0)[0].columns) == {"id", "art"}


def test_flags_beat_a_policy_entry_by_entry(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    sums(tmp_path)
    config = tmp_path / "run.toml"
    config.write_text(
        '[task]\nname = "sums.jsonl"\nprompt = "frage"\nverifier = "number"\n'
        'policy = {percent = "ratio", units = true}\n'
    )
    task, _ = dry(capsys, str(config), "--task.policy", "units=false")
    assert task["policy"] == {"percent": "ratio", "units": False}
    assert task["name"] == str(tmp_path / "sums.jsonl")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--task.policy", "percent"], "takes KEY=VALUE. Got 'percent'"),
        (["--task.policy", "percnt=ratio"], "Did you mean 'percent'"),
        (["--task", "addition", "--data", "x.jsonl"], "task.name is 'addition'"),
        (["--task", "gsm8k"], "needs a file"),
        (["--task", "nowhere.jsonl"], "does not exist"),
    ],
)
def test_mistakes_are_one_line(
    capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    assert main(["train", *arguments, "--dry-run"]) == 2
    said = capsys.readouterr().err
    assert words in said
    assert said.count("\n") == 1


def test_a_table_is_written_as_toml_reads_it() -> None:
    policy = {"percent": "ratio", "order": ["box", 'a "b"'], "tolerance": 0}
    config = make_config({"task": {"policy": policy}})
    assert tomllib.loads(to_toml(config))["task"]["policy"] == policy
    assert make_config(tomllib.loads(to_toml(config, comments=True))) == config


@pytest.mark.parametrize(
    ("name", "style"),
    [("data", "bare"), ("mine.py", "bare"), ("hf:a/b", "bare"), ("gsm8k", "few_shot")],
)
def test_prompts_of_ones_own_are_put_as_they_are(name: str, style: str) -> None:
    config = make_config({"task": {"name": name}, "policy": {"name": "some/model"}})
    assert style_of(config) == style
    with pytest.raises(UsageError):
        task_of(config)

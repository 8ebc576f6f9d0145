"""`evenodds explain`: what it takes, what it prints, and how it says no."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from evenodds.cli import main
from evenodds.objectives import RECIPES


@pytest.fixture(autouse=True)
def _terminal(monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")


GOLDEN = ("--rewards", "1,0,1", "--lengths", "2,5,8", "--sampling.max_tokens", "8")


def said(capsys, *arguments: str) -> str:
    assert main(["explain", *arguments]) == 0
    found = capsys.readouterr()
    assert found.err == ""
    return found.out


def data(capsys, *arguments: str) -> dict:
    return json.loads(said(capsys, *arguments, "--json"))


def refusal(capsys, *arguments: str) -> str:
    assert main(["explain", *arguments]) == 2
    found = capsys.readouterr()
    assert found.out == ""
    assert found.err.startswith("evenodds: ") and found.err.count("\n") == 1
    return found.err


@pytest.mark.parametrize(
    ("flags", "sums"),
    [
        (["--objective", "grpo"], ["+0.2357", "−0.4714", "+0.2357"]),
        (["--objective", "dr_grpo"], ["+0.02778", "−0.1389", "+0.1111"]),
        (["--objective", "dapo", "--objective.overlong", "0"], ["+0.09428", "−0.4714", "+0.3771"]),
    ],
)
def test_the_golden_sums_are_printed(flags, sums, capsys) -> None:
    lines = said(capsys, *flags, *GOLDEN).splitlines()
    start = next(i for i, line in enumerate(lines) if line.split()[:2] == ["answer", "score"])
    assert [line.split()[5] for line in lines[start + 1 : start + 4]] == sums


def test_all_parts_are_there_and_narrow(capsys) -> None:
    lines = said(capsys, "--objective.kl", "0.1").splitlines()
    heads = [line.removeprefix("== ").split(":")[0] for line in lines if line.startswith("==")]
    assert heads == [
        "what is maximised",
        "an example group of 6 answers, at ratio 1 (a real one has 16)",
        "what clips when",
        "which groups teach",
        "KL in the loss",
        "worth knowing",
    ]
    assert max(map(len, lines)) <= 100
    flat = " ".join(" ".join(lines).split())
    assert "(A > 0): no push once a token is more than 1.28 times as likely as when drawn." in flat


def test_the_terminal_s_width_is_kept(capsys, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    narrow = said(capsys, "--objective", "gspo").splitlines()
    monkeypatch.setenv("COLUMNS", "300")
    wide = said(capsys, "--objective", "gspo").splitlines()
    assert max(map(len, narrow)) <= 80 < max(map(len, wide)) <= 96


@pytest.mark.parametrize("recipe", sorted(RECIPES))
def test_every_recipe_is_explained(recipe, capsys, tmp_path) -> None:
    out = said(capsys, "--objective", recipe, "--plot", str(tmp_path / "x.svg"))
    assert f"what is maximised: {recipe}" in out
    assert out.endswith(f"picture: {tmp_path / 'x.svg'}\n")
    texts = ElementTree.parse(tmp_path / "x.svg").getroot().itertext()
    assert recipe in list(texts)


def test_a_config_is_read_and_flags_beat_it(capsys, tmp_path) -> None:
    config = tmp_path / "c.toml"
    config.write_text('[objective]\nrecipe = "grpo"\n[sampling]\ngroup_size = 4\nmax_tokens = 10\n')
    found = data(capsys, str(config))
    assert (found["recipe"], found["group_size"]) == ("grpo", 4)
    assert len(found["example"]["answers"]) == 4
    assert data(capsys, str(config), "--objective", "rloo")["recipe"] == "rloo"
    assert found["example"]["max_tokens"] == 10


def test_all_flags_of_train_are_taken(capsys) -> None:
    flags = ("--seed", "3", "--steps", "5", "--policy", "nowhere", "--name", "x", "--task", "y")
    assert data(capsys, *flags)["recipe"] == "dr_grpo"  # no model and no task is looked for


def test_the_example_can_be_chosen(capsys) -> None:
    answers = data(capsys, "--rewards", "1, 0.5,x", "--lengths", "3,96+,4")["example"]["answers"]
    assert [row["score"] for row in answers] == [1, 0.5, None]
    assert [(row["length"], row["is_cut"]) for row in answers] == [
        (3, False),
        (96, True),
        (4, False),
    ]
    assert [row["why"] for row in answers] == ["", "cut by the budget", "could not be judged"]
    only = data(capsys, "--rewards", "1,0,1")["example"]["answers"]
    assert len(only) == 3 and not any(row["is_cut"] for row in only)
    assert len(data(capsys, "--lengths", "4,5")["example"]["answers"]) == 2


def test_json_and_a_picture_leave_stdout_to_the_data(capsys, tmp_path) -> None:
    found = data(capsys, "--objective", "cispo", "--plot", str(tmp_path / "p.svg"))
    assert (tmp_path / "p.svg").read_text().startswith("<svg")
    assert [span["force"] for span in found["up"]["spans"]] == ["full", "capped"]
    assert found["up"]["spans"][1]["high"] is None


def test_mistakes_are_one_line(capsys, tmp_path) -> None:
    for arguments, words in (
        (["--objective", "grop"], "Did you mean 'grpo'"),
        (["--objective.reduce", "per_sequence"], "is for the ratio level 'sequence'"),
        (["--objective.entropy_step", "1"], "no objective.entropy_target"),
        (["--rewards", "1,yes"], "Got 'yes'"),
        (["--rewards", "1,nan"], "Got 'nan'"),
        (["--lengths", "1,-2"], "Got '-2'"),
        (["--lengths", "1,99"], "the budget is 96"),
        (["--rewards", "1,0", "--lengths", "1,2,3"], "Got 2 and 3"),
        (["--rewards", "1"], "2 to 64"),
        (["--plot", "p.png"], "SVG"),
        (["--plot", str(tmp_path / "no" / "p.svg")], "no folder"),
        (["--jso"], "--json"),
        (["--objective.beta", "0.1"], "Did you mean '--objective.kl'?"),
        (["--objective.epsilon", "0.1"], "Did you mean '--objective.clip_low'?"),
        (["--loss_type=dapo"], "Did you mean '--objective.recipe'?"),
        (["--num-generations", "8"], "Did you mean '--sampling.group_size'?"),
        (["--learning_rate", "1"], "Did you mean '--learner.learning_rate'?"),
        (["--objective", "bnpo"], "TRL's bnpo is grpo with objective.reduce per_token"),
        (["missing.toml"], "no config file"),
    ):
        assert words in refusal(capsys, *arguments)


def test_a_function_of_a_person_s_own_is_explained_or_refused(capsys, tmp_path) -> None:
    own = tmp_path / "own.py"
    own.write_text(
        "def push(log_ratio, tokens):\n    return log_ratio.exp() * tokens.advantages\n"
        "def few(log_ratio, tokens):\n"
        "    assert len(tokens.lengths) == 3, 'three\\nonly'\n"
        "    return log_ratio.exp() * tokens.advantages\n"
        "def size(rewards):\n    return rewards - 0.25\n"
    )
    flags = ("--objective.surrogate", f"{own}:push", "--objective.credit", f"{own}:size")
    flags += ("--objective.zero_signal", "keep")
    assert "push(ρ, A)" in said(capsys, *flags)
    assert "size(r), a function of your own" in said(capsys, *flags)
    refused = refusal(capsys, "--objective.surrogate", f"{own}:few")
    assert "failed on the example" in refused and "three only" in refused


def test_help_imports_no_torch_and_the_command_no_models() -> None:
    code = (
        "import sys, contextlib\n"
        "from evenodds.cli import main\n"
        "with contextlib.suppress(SystemExit): main(['explain', '--help'])\n"
        "assert 'torch' not in sys.modules\n"
        "assert main(['explain', '--objective', 'gspo']) == 0\n"
        "heavy = {'transformers', 'peft', 'pyarrow', 'evenodds.policies'} & {*sys.modules}\n"
        "assert not heavy, heavy\n"
    )
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False
    )
    assert found.returncode == 0, found.stderr
    assert "docs/explain.md" in found.stdout and "--rewards 1,0,1" in found.stdout


def test_the_page_shows_what_is_printed(capsys) -> None:
    """docs/explain.md holds the printed groups of its three commands, word for word."""
    page = (Path(__file__).parents[2] / "docs" / "explain.md").read_text(encoding="utf-8")
    for flags in (["dr_grpo"], ["grpo"], ["dapo", "--objective.overlong", "0"]):
        lines = said(capsys, "--objective", *flags, *GOLDEN).splitlines()
        start = next(i for i, line in enumerate(lines) if line.startswith("== an example"))
        assert "\n".join(lines[start + 1 : start + 7]) in page, flags

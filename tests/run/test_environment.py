"""The environment passport: quick, plain, and without a secret."""

import json
import subprocess
import sys

import pytest

from evenodds.run.environment import environment_passport, git_commit, mask_secrets

COMMIT = "0123456789abcdef0123456789abcdef01234567"
QUICK = """
import sys, time
from evenodds.run.environment import environment_passport
times = []
for _ in range(3):
    started = time.perf_counter()
    environment_passport(["evenodds", "train"])
    times.append(time.perf_counter() - started)
print(min(times), "torch" in sys.modules)
"""


def test_the_passport_says_what_ran_and_where():
    passport = environment_passport(["evenodds", "train", "--seed", "3"])
    assert json.loads(json.dumps(passport)) == passport
    packages = passport["packages"]
    assert isinstance(packages, dict) and "torch" in packages and "numpy" in packages
    assert passport["command"] == ["evenodds", "train", "--seed", "3"]
    assert passport["cpu"] and passport["cores"] and passport["python"] and passport["system"]


def test_it_is_quick_and_imports_no_torch():
    done = subprocess.run(
        [sys.executable, "-c", QUICK], capture_output=True, text=True, timeout=20, check=True
    )
    seconds, torch = done.stdout.split()
    assert torch == "False"
    assert float(seconds) < 0.05


@pytest.mark.parametrize(
    ("words", "masked"),
    [
        (["--hub-token", "abc", "--steps", "3"], ["--hub-token", "***", "--steps", "3"]),
        (["--hub_token=abc"], ["--hub_token=***"]),
        (["policy.api_key=abc"], ["policy.api_key=***"]),
        (["--password", "--steps", "3"], ["--password", "--steps", "3"]),
        (["--max-tokens", "512", "--tokenizer", "x"], ["--max-tokens", "512", "--tokenizer", "x"]),
        (["sampling.max_tokens=512"], ["sampling.max_tokens=512"]),
        (["--note", "hf_" + "aB3" * 9], ["--note", "***"]),
        (["x=sk-" + "aB3" * 9], ["x=***"]),
        (["https://me:word@host/path"], ["https://***@host/path"]),
        (["Qwen/Qwen3-0.6B-Base", "runs/a"], ["Qwen/Qwen3-0.6B-Base", "runs/a"]),
    ],
)
def test_secrets_on_the_command_line_are_masked(words, masked):
    assert mask_secrets(words, {}) == masked


def test_secrets_of_the_environment_appear_nowhere(monkeypatch):
    monkeypatch.setenv("SOME_API_KEY", "canary-value-one")
    monkeypatch.setenv("OTHER_TOKEN", "canary-value-two")
    passport = environment_passport(["train", "--name", "a-canary-value-one", "canary-value-two"])
    assert "canary" not in json.dumps(passport)
    assert passport["command"] == ["train", "--name", "a-***", "***"]


@pytest.mark.parametrize("way", ["detached", "loose", "packed", "worktree", "none", "hostile"])
def test_the_commit_is_read_from_the_files(tmp_path, way):
    git, inside = tmp_path / ".git", tmp_path / "src" / "deep"
    inside.mkdir(parents=True)
    git.mkdir()
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    if way == "detached":
        (git / "HEAD").write_text(COMMIT + "\n")
    elif way == "loose":
        (git / "refs" / "heads").mkdir(parents=True)
        (git / "refs" / "heads" / "main").write_text(COMMIT + "\n")
    elif way == "packed":
        (git / "packed-refs").write_text(f"# pack-refs\n{COMMIT} refs/heads/main\n^{COMMIT}\n")
    elif way == "worktree":
        own = git / "worktrees" / "deep"
        own.mkdir(parents=True)
        (inside / ".git").write_text(f"gitdir: {own}\n")
        (own / "HEAD").write_text("ref: refs/heads/side\n")
        (own / "commondir").write_text("../..\n")
        (git / "packed-refs").write_text(f"{COMMIT} refs/heads/side\n")
    elif way == "hostile":
        (git / "HEAD").write_text("ref: refs/../../secret\n")
        (tmp_path / "secret").write_text(COMMIT)
    assert git_commit(inside) == (None if way in ("none", "hostile") else COMMIT)


def test_the_caller_adds_what_only_it_knows():
    facts = {"device": "cpu", "dtype": "float32", "threads": 2, "seed": 7, "parameters": 925_000}
    passport = environment_passport(["evenodds"], facts)
    assert {name: passport[name] for name in facts} == facts
    assert "cpu" in passport and passport["command"] == ["evenodds"]

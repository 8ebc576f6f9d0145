"""A kind that cannot judge on this machine is refused in one line before anything is judged."""

from __future__ import annotations

from dataclasses import replace

import pytest

from evenodds.cli import main
from evenodds.errors import UsageError
from evenodds.judge import open_judge, require_available
from evenodds.run.build import plan_of
from evenodds.run.config import make_config
from evenodds.verifiers import KINDS

PARTS = {"parts": [{"verifier": "number", "weight": 0.9}, {"format": "box", "weight": 0.1}]}
WORDS = "the kind 'number' cannot judge here: there is no abacus."


@pytest.fixture
def absent(monkeypatch) -> None:
    kind = replace(KINDS["number"], unavailable=lambda policy: "there is no abacus")
    monkeypatch.setitem(KINDS, "number", kind)
    from evenodds.verifiers import composite

    composite._found.cache_clear()
    yield
    composite._found.cache_clear()


def test_a_judge_is_not_opened(absent) -> None:
    for verifier in (KINDS["number"].with_policy(), KINDS["composite"].with_policy(PARTS)):
        with pytest.raises(UsageError, match=WORDS):
            open_judge(verifier)
    require_available(KINDS["text"].with_policy())


def test_the_policy_decides_whether_it_can(monkeypatch) -> None:
    def needs(policy: object) -> str | None:
        return None if getattr(policy, "percent", "") == "ratio" else "no"

    kind = replace(KINDS["number"], unavailable=needs)
    require_available(kind.with_policy({"percent": "ratio"}))
    with pytest.raises(UsageError, match="cannot judge here: no"):
        require_available(kind.with_policy())


def test_a_plan_and_every_command_say_so_in_one_line(absent, tmp_path, capsys) -> None:
    with pytest.raises(UsageError, match=WORDS):
        plan_of(make_config({}))
    (tmp_path / "a.jsonl").write_text('{"answer": "1", "gold": "1"}\n')
    root = ["--run.root", str(tmp_path / "runs")]
    for command in (
        ["grade", f"{tmp_path}/a.jsonl", "--verifier", "number", "--out", f"{tmp_path}/o.jsonl"],
        ["check", "number"],
        ["check", "multiplication"],
        ["train", "--steps", "1", *root],
        ["train", "--dry-run", *root],
    ):
        assert main(command) == 2
        said = capsys.readouterr().err
        assert WORDS in said and said.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["a.jsonl"]


def test_the_golds_and_the_bench_before_a_run_share_a_judge(monkeypatch) -> None:
    opened: list[object] = []

    def counted(verifier: object, options: object = None) -> object:
        opened.append(verifier)
        return open_judge(verifier, options)

    for place in ("evenodds.run.build.open_judge", "evenodds.bench.rounds.open_judge"):
        monkeypatch.setattr(place, counted)
    plan = plan_of(make_config({"task": {"name": "countdown"}}))
    assert len(opened) == 1 and plan.bench is not None and plan.bench.findings

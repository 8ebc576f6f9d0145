"""`evenodds compare` from run folders: names, arms, refusals; a policy evaluated afresh."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evenodds.cli import main
from evenodds.cli.commands.compare import sides_of
from evenodds.errors import UsageError
from tests.report import synthetic


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two seeds that learned, one paid at random, one that has not finished."""
    monkeypatch.chdir(tmp_path)
    root = tmp_path / "runs"
    for name, skill, seed in (("a1", 4.0, 2), ("a2", 4.3, 3), ("chance", 1.7, 4)):
        folder = root / name
        synthetic.write_run(
            folder, 3, synthetic.evaluation(1.6, 1), synthetic.evaluation(skill, seed), files=1
        )
    config = root / "chance" / "config.toml"
    config.write_text(config.read_text().replace("seed = 7", "seed = 7\nrandom_reward = true"))
    synthetic.unfinished(root / "going")
    return root


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["compare", *arguments]) == 0
    out = capsys.readouterr().out
    assert "--json" in arguments or max(map(len, out.splitlines())) <= 100
    return out


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["compare", *arguments]) == 2
    found = capsys.readouterr()
    assert found.out == "" and found.err.count("\n") == 1
    return found.err


def test_a_run_against_its_base(runs, capsys) -> None:
    out = said(capsys, "runs/a1:base", "a1")
    assert "A: runs/a1:base. B: a1. 320 matched problems" in out
    assert "a1 is better than runs/a1:base: +" in out
    assert "8 answers to a problem, temperature 1" in out.splitlines()[0]


def test_a_run_whose_name_looks_like_a_pattern_is_a_run(runs, capsys) -> None:
    (runs / "a1").rename(runs / "a[1]")
    assert "a[1] is better than runs/a[1]:base: +" in said(capsys, "runs/a[1]:base", "runs/a[1]")


def test_a_pattern_is_an_arm_and_its_bases_are_one(runs, capsys) -> None:
    out = said(capsys, "runs/a*:base", "runs/a*", "runs/chance")
    assert "1 seed against 2 seeds" in out and "2 seeds against" not in out
    assert "runs/chance was paid at random. runs/a* does better than that by +" in out
    assert "comparisons and levels (Holm)" in " ".join(out.split())


def test_arms_by_name_and_as_json(runs, capsys) -> None:
    out = said(capsys, "--json", "--arm", "old", "a1:base", "--arm", "new", "a1", "runs/a2")
    found = json.loads(out)
    (against,) = found["against"]
    assert (against["first"], against["second"], against["seeds"]) == ("old", "new", [1, 2])
    assert against["overall"]["verdict"] == "better"
    assert against["levels"][0]["gain"].keys() == {"mean", "low", "high"}


def test_a_run_that_goes_on_is_told(runs, capsys) -> None:
    err = refused(capsys, "a1", "going")
    assert "has not finished" in err and "--again" in err
    record = synthetic.evaluation(2.0, 5, problems=10)
    (runs / "going" / "evaluation" / "step-000040.json").write_text(json.dumps(record))
    out = said(capsys, "going:base", "going")
    assert "going has not finished: this is its evaluation after step 40." in out
    assert "80 matched problems" in out and "240 problems without a match" in out
    assert said(capsys, "going:base", "going:step-40")


def test_what_cannot_be_compared_is_refused_in_one_line(runs, capsys) -> None:
    record = synthetic.evaluation(2.0, 5)
    record["settings"]["temperature"] = 0.5
    (runs / "a2" / "evaluation" / "final.json").write_text(json.dumps(record))
    assert "temperature (1.0 and 0.5). Add --again" in refused(capsys, "a1", "a2")
    (runs / "a2" / "evaluation" / "final.json").write_text("[]")
    assert "is no evaluation" in refused(capsys, "a1", "a2")
    (runs / "a2" / "evaluation" / "final.json").write_text("{")
    assert "cannot read" in refused(capsys, "a1", "a2")
    assert "Write RUN:base, RUN:step-40 or RUN:final" in refused(capsys, "a1", "a1:best")
    assert "has no evaluation 'step-000007'. It has: base, final" in refused(
        capsys, "a1", "a1:step-7"
    )
    assert "no run matches 'runs/z*'" in refused(capsys, "a1", "runs/z*")
    assert "needs two sides" in refused(capsys, "a1")
    assert "Add --again" in refused(capsys, "a1", "chance", "--evaluation.samples", "3")


def test_what_comes_last_is_refused_before_the_first_is_evaluated(
    runs, capsys, monkeypatch
) -> None:
    """An evaluation takes minutes, so nothing may be refused behind one that could be before."""
    asked: list[str] = []
    monkeypatch.setattr("evenodds.run.fresh.fresh", lambda name, *_: asked.append(name))
    assert "there is no policy './nothing'" in refused(capsys, "abacus", "./nothing")
    assert "kept no checkpoint" in refused(capsys, "abacus", "a1:step-2", "--again")
    assert "has no evaluation" in refused(capsys, "abacus", "a1:step-7")
    (runs / "a2" / "evaluation" / "final.json").write_text(
        json.dumps(synthetic.evaluation(2.0, 5) | {"settings": {"temperature": 0.5}})
    )
    assert "with different settings" in refused(capsys, "abacus", "a1", "a2")
    assert asked == []


def test_a_pattern_is_looked_for_below_runs_too_and_finds_runs_only(runs) -> None:
    (runs / "a-note").mkdir()
    found = sides_of(["a*", "a?:base"], [])
    assert found[0][1] == ["runs/a1", "runs/a2"]
    assert found[1][1] == ["runs/a1:base", "runs/a2:base"]


def test_arms_keep_their_order() -> None:
    assert sides_of(["a"], [["b", "c", "d"]]) == [("a", ["a"]), ("b", ["c", "d"])]
    with pytest.raises(UsageError, match="Add its runs"):
        sides_of(["a"], [["b"]])

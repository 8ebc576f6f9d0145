"""A verifier is tried once in a run, not at each of its sittings."""

from __future__ import annotations

import json

from evenodds.run import build
from evenodds.run.build import task_of
from evenodds.run.passports import was_tried
from tests.run.small_runs import config_in, run


def test_a_resume_does_not_try_the_same_verifier_again(tmp_path, monkeypatch) -> None:
    tried: list[str] = []
    real = build.short_bench

    def counted(task, judge):
        tried.append(task.verifier_name)
        return real(task, judge)

    monkeypatch.setattr(build, "short_bench", counted)
    run(tmp_path, run__steps=1, check__bench=True)
    before = (tmp_path / "r" / "passports" / "checker.json").read_bytes()
    run(tmp_path, run__steps=2, check__bench=True)
    assert tried == ["number"]
    assert (tmp_path / "r" / "passports" / "checker.json").read_bytes() == before
    passport = json.loads(before)
    for changed in ({"bench": "not run"}, {"configuration_sha256": "0"}):
        (tmp_path / "other.json").write_text(json.dumps(passport | changed))
        assert not was_tried(tmp_path / "other.json", task_of(config_in(tmp_path)))

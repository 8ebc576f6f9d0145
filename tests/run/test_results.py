"""What a run returns in Python, and what its passports say of the audit."""

from __future__ import annotations

import hashlib
import json
import os
import signal

import pytest

from evenodds.errors import UsageError
from evenodds.report.conclusion import conclude
from evenodds.report.record import read_run
from evenodds.run.build import plan_of
from tests.run.small_runs import Quiet, config_in, run


def test_the_result_has_the_conclusion_of_the_report(tmp_path) -> None:
    result = run(tmp_path, run__steps=1)
    found = conclude(read_run(result.folder))
    assert result.conclusion == found
    assert f"{found.kind}: {found.sentence[:20]}" in repr(result)
    assert "\n" not in repr(result)
    assert run(tmp_path, run__steps=1).conclusion == found  # finished already


def test_a_run_that_did_not_end_has_no_conclusion(tmp_path) -> None:
    stopped = run(tmp_path, Quiet(lambda step: os.kill(os.getpid(), signal.SIGINT)))
    assert stopped.conclusion is None
    assert "no conclusion: it did not end" in repr(stopped)


GRADER = """
def strict(problem, completion):
    return 1.0 if str(completion).strip() == problem.answer else 0.0
"""


def test_an_audit_of_ones_own_and_canaries_are_in_the_passport_and_stay_the_same(tmp_path) -> None:
    grader, canaries = tmp_path / "mine.py", tmp_path / "canaries.jsonl"
    grader.write_text(GRADER)
    canaries.write_text('{"prompt": "12*="}\n')
    over = {"audit__verifier": f"{grader}:strict", "audit__canaries": str(canaries)}
    folder = run(tmp_path, run__steps=1, **over).folder
    found = json.loads((folder / "passports" / "checker.json").read_text())
    assert found["audit"]["source_sha256"] == hashlib.sha256(GRADER.encode()).hexdigest()
    assert found["audit"]["verifier"] == over["audit__verifier"]
    digest = hashlib.sha256(canaries.read_bytes()).hexdigest()
    assert found["canaries"] == {"file": "canaries.jsonl", "sha256": digest}
    run(tmp_path, run__steps=1, **over)
    for file, said in ((grader, "another audit of your own: mine"), (canaries, "file of canaries")):
        kept = file.read_text()
        file.write_text(kept + "\n")
        with pytest.raises(UsageError, match=said):
            run(tmp_path, run__steps=2, **over)
        file.write_text(kept)


def test_a_registered_audit_states_its_policy_and_version(tmp_path) -> None:
    over = {"audit__verifier": "number", "audit__policy": {"percent": "ratio"}}
    folder = run(tmp_path, run__steps=1, **over).folder
    found = json.loads((folder / "passports" / "checker.json").read_text())
    assert found["audit"]["configuration"]["policy"]["percent"] == "ratio"
    assert found["audit"]["package"] == found["package"]
    assert found["canaries"] is None


@pytest.mark.parametrize(
    ("line", "refused"),
    [
        ("0.0", True),
        ("float(len(problem.answer) > 99)", True),
        ("float(str(completion) == problem.answer)", False),
        ("float(str(completion) == 'Answer: ' + problem.answer)", False),
    ],
)
def test_an_audit_of_ones_own_that_calls_the_golds_wrong_is_refused(
    tmp_path, line, refused
) -> None:
    (tmp_path / "mine.py").write_text(f"def mine(problem, completion):\n    return {line}\n")
    name = f"{tmp_path / 'mine.py'}:mine"
    if refused:
        with pytest.raises(
            UsageError, match=r"^audit.verifier .*calls \d+ of \d+ golds wrong, such"
        ):
            run(tmp_path, run__steps=1, audit__verifier=name)
        assert not (tmp_path / "r").exists()
    else:
        plan_of(config_in(tmp_path, **{"audit.verifier": name}))

"""Evaluations on the way, alarms, audit and canaries in real runs, small."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest
from pyarrow import parquet

from evenodds.errors import NotFinite, RunError, UsageError
from evenodds.learner import TorchLearner
from evenodds.run import audit
from evenodds.run.stopping import Interrupted
from tests.run import small_runs
from tests.run.small_runs import Quiet, assert_equal_runs, lines

SMALLER = {
    "check__bench": False,
    "evaluation__control": "none",
    "evaluation__levels": [0, 1],
    "evaluation__greedy": False,
}


def run(root: Path, view=None, **over):
    return small_runs.run(root, view, **SMALLER | over)


WAY = {"evaluation__every": 2, "evaluation__every_problems": 1}


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    return run(tmp_path_factory.mktemp("way"), **WAY).folder


class Told(Quiet):
    """A view that remembers what it was told of, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.phases: list[str] = []

    def phase(self, name, done, total) -> None:
        if name not in self.phases:
            self.phases.append(name)


def alarms(folder: Path) -> list[dict]:
    path = folder / "alarms.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def test_held_out_problems_are_asked_on_the_way(finished) -> None:
    record = json.loads((finished / "evaluation" / "step-000002.json").read_text())
    assert [len(level["problems"]) for level in record["levels"]] == [1] * 2
    rows = lines(finished)
    assert [row["step"] for row in rows if "heldout/pass@1" in row] == [2]  # 4 has the last one
    row = rows[1]
    assert row["heldout/problems"] == 2
    assert row["heldout/pass@1_gain_low"] < row["heldout/pass@1_gain_high"]
    assert all("alarms" in row for row in rows)


def test_what_they_found_is_told(tmp_path) -> None:
    view = Quiet()
    row = lines(run(tmp_path, view=view, **WAY).folder)[1]
    (said,) = [note for note in view.notes if note.startswith("held-out after step")]
    assert f"after step 2: {100 * row['heldout/pass@1']:.1f} % right of 2 problems, " in said
    ends = [100 * row[f"heldout/pass@1_gain_{end}"] for end in ("low", "high")]
    assert f"points [{ends[0]:+.1f}, {ends[1]:+.1f}] against the base" in said


def test_they_change_nothing_of_what_is_learned(finished, tmp_path) -> None:
    plain = lines(run(tmp_path).folder)
    rows = [{k: v for k, v in row.items() if "heldout" not in k} for row in lines(finished)]
    assert rows == plain


def test_a_signal_in_an_evaluation_on_the_way_loses_nothing(finished, tmp_path) -> None:
    class Stopping(Quiet):
        def phase(self, name, done, total) -> None:
            if name.startswith("evaluating after step 2") and "signal sent" not in self.notes:
                self.notes.append("signal sent")
                os.kill(os.getpid(), signal.SIGINT)

    stopped = run(tmp_path, view=Stopping(), run__save_every=100, **WAY)
    assert (stopped.exit_code, stopped.steps) == (130, 2)
    assert [row["step"] for row in lines(stopped.folder)] == [1]  # the line of 2 is still to come
    stale = stopped.folder / "evaluation" / "step-000004.json"
    stale.write_text("{}")  # as of steps that were lost
    resumed = run(tmp_path, run__save_every=100, **WAY)
    assert_equal_runs(finished, resumed.folder)
    assert not stale.exists()


@pytest.mark.parametrize("stop_at", [2, 3])
def test_a_run_with_evaluations_on_the_way_goes_on_bit_for_bit(finished, tmp_path, stop_at) -> None:
    def stop(step: int) -> None:
        if step == stop_at:
            os.kill(os.getpid(), signal.SIGINT)

    assert run(tmp_path, view=Quiet(stop), **WAY).exit_code == 130
    assert_equal_runs(finished, run(tmp_path, **WAY).folder)


CUT = {
    "sampling__max_tokens": 2,
    "objective__mask_truncated": True,
    "run__steps": 9,
    "check__ignore": ("answer_fits", "truncation"),
}


def test_an_alarm_that_stops_ends_the_run_and_says_how_to_go_on(tmp_path) -> None:
    view = Quiet()
    stops = {"alarms__stop": ["all_truncated"], **CUT}
    ended = run(tmp_path, view=view, **stops)
    assert (ended.exit_code, ended.steps) == (1, 4)
    assert (ended.folder / "checkpoints" / "step-000004").exists()
    assert (ended.folder / "evaluation" / "final.json").exists()
    assert (ended.folder / "report.html").exists()
    [alarm] = [alarm for alarm in alarms(ended.folder) if alarm["stops"]]
    assert (alarm["name"], alarm["step"]) == ("all_truncated", 4)
    assert "sampling.max_tokens" in alarm["remedy"]
    assert any("--alarms.stop" in note and "all_truncated" in note for note in view.notes)
    again = run(tmp_path, **stops)
    assert (again.exit_code, again.steps) == (1, 4)
    goes_on = run(tmp_path, **stops | {"alarms__stop": ["none"]})
    assert (goes_on.exit_code, goes_on.steps) == (0, 9)
    assert [row["step"] for row in lines(goes_on.folder)] == [*range(1, 10)]
    names = [alarm["name"] for alarm in alarms(goes_on.folder)]
    assert len(names) == len(set(names))


def test_alarms_of_steps_that_are_taken_again_go(tmp_path) -> None:
    def stop(step: int) -> None:
        if step == 6:
            os.kill(os.getpid(), signal.SIGINT)

    whole = run(tmp_path / "whole", **CUT).folder
    folder = run(tmp_path / "parts", view=Quiet(stop), **CUT).folder
    state = next(folder.glob("checkpoints/step-000006/policy/model.safetensors"))
    state.write_bytes(state.read_bytes()[:-1] + b"\x77")  # so that it goes on after step 4
    resumed = run(tmp_path / "parts", **CUT).folder
    assert alarms(resumed) == alarms(whole)
    assert lines(resumed) == lines(whole)


def test_an_update_that_is_not_finite_is_an_alarm_and_the_last_step_is_kept(
    tmp_path, monkeypatch
) -> None:
    inner = TorchLearner.update

    def update(self, *given):
        if self.updates == 2:
            raise NotFinite("the gradient of update 3 is not finite. Lower it.")
        return inner(self, *given)

    monkeypatch.setattr(TorchLearner, "update", update)
    with pytest.raises(RunError, match="not finite"):
        run(tmp_path, run__save_every=100)
    folder = tmp_path / "r"
    told = [(a["name"], a["step"], a["stops"]) for a in alarms(folder)]
    assert told == [("non_finite", 3, False)]
    assert (folder / "checkpoints" / "step-000002").exists()
    assert (folder / "report.html").exists()


STRICT = """
def strict(problem, text):
    return text.split("#")[-1].strip() == problem.answer and len(problem.answer) > 2
"""


def test_an_audit_tells_and_pays_nothing(tmp_path) -> None:
    (tmp_path / "mine.py").write_text(STRICT)
    plain = run(tmp_path / "plain")
    name = f"{tmp_path / 'mine.py'}:strict"
    folder = run(tmp_path, audit__verifier=name, judge__workers=0).folder
    rows = lines(folder)
    shares = [row["audit/disagreement"] for row in rows]
    assert any(shares)
    for row in rows:
        assert row["audit/disagreement"] == row["audit/overpaid"] + row["audit/underpaid"]
        assert row["audit/disagreement_low"] <= row["audit/disagreement"]
        assert row["audit/disagreement"] <= row["audit/disagreement_high"]
    table = parquet.read_table(folder / "rollouts" / "step-00001.parquet").to_pylist()
    differ = [(r["status"] == "right") != (r["audit_status"] == "right") for r in table]
    assert sum(differ) / len(differ) == shares[0]
    line = json.loads((folder / "groups.jsonl").read_text().splitlines()[0])
    assert sum(line["disagree"]) == sum(differ)
    kept = [{k: v for k, v in row.items() if "audit" not in k and k != "alarms"} for row in rows]
    assert kept == [{k: v for k, v in r.items() if k != "alarms"} for r in lines(plain.folder)]
    record = json.loads((folder / "evaluation" / "base.json").read_text())
    assert record["levels"][0]["problems"][0]["audit_tries"] is not None


def test_canaries_are_judged_in_every_step_and_never_paid(finished) -> None:
    assert [row["canary/paid"] for row in lines(finished)] == [0.0] * 4


def test_prompts_without_an_answer_are_asked_in_evaluations(tmp_path) -> None:
    (tmp_path / "c.jsonl").write_text('{"prompt": "12*="}\n{"prompt": "*7="}\n')
    folder = run(tmp_path, audit__canaries=str(tmp_path / "c.jsonl"), run__steps=1).folder
    found = json.loads((folder / "evaluation" / "final.json").read_text())["canaries"]
    assert found["asked"] == 4
    assert found["paid"] == 0


@pytest.mark.parametrize(
    ("over", "message"),
    [
        ({"audit__verifier": "number"}, "audit is the verifier itself"),
        ({"audit__verifier": "nmber"}, "Did you mean 'number'"),
        ({"audit__policy": {"percent": "no"}}, "audit.policy has no verifier"),
        ({"audit__verifier": "code"}, "'audit code' cannot|'audit code' does not"),
        ({"audit__canaries": "none.jsonl"}, "none.jsonl does not exist"),
        ({"alarms__stop": ["all_truncatd"]}, "Did you mean 'all_truncated'"),
        ({"alarms__off": ["entropy"]}, "Choose one of"),
        ({"alarms__thresholds": {"grad_spike": "high"}}, "'grad_spike' is no threshold"),
        (
            {"alarms__thresholds": {"grad_spike": "3,kl_blowup=1"}},
            "a flag each: --alarms.thresholds A=1 --alarms.thresholds B=2",
        ),
        ({"alarms__thresholds": {"grad_spikes": 3}}, "Did you mean 'grad_spike'"),
        ({"alarms__off": ["no_updates"], "alarms__stop": ["no_updates"]}, "take it out of one"),
    ],
)
def test_what_cannot_be_used_is_said_before_anything_is_written(tmp_path, over, message) -> None:
    with pytest.raises(UsageError, match=f"(?i){message}") as caught:
        run(tmp_path, **over)
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_a_signal_while_the_audit_is_asked_leaves_the_step_untaken(
    finished, tmp_path, monkeypatch
) -> None:
    """After an update it would leave weights and a state that are of two steps."""
    inner = audit.canary_metrics

    def asked(canary, judge, groups, seed, step):
        if step == 3 and not sent:
            sent.append(step)
            os.kill(os.getpid(), signal.SIGTERM)
            raise Interrupted(signal.SIGTERM)  # as a judge does that waits for its workers
        return inner(canary, judge, groups, seed, step)

    sent: list[int] = []
    monkeypatch.setattr(audit, "canary_metrics", asked)
    stopped = run(tmp_path, run__save_every=100, **WAY)
    assert (stopped.exit_code, stopped.steps) == (143, 2)
    state = json.loads((stopped.folder / "checkpoints/step-000002/state.json").read_text())
    assert (state["state"]["step"], state["learner"]["updates"]) == (2, 2)
    assert not (stopped.folder / "rollouts" / "step-00003.parquet").exists()
    assert_equal_runs(finished, run(tmp_path, run__save_every=100, **WAY).folder)


GRADER = """
def strict(problem, completion):
    return 1.0 if str(completion).strip() == problem.answer else 0.0
"""


def test_a_coin_is_not_audited_but_evaluations_are(tmp_path) -> None:
    (tmp_path / "mine.py").write_text(GRADER)
    strict = {"audit__verifier": f"{tmp_path / 'mine.py'}:strict", "run__steps": 6}
    coin = run(tmp_path, run__random_reward=True, **strict).folder
    assert not any(name.startswith("audit/") for row in lines(coin) for name in row)
    assert not any(alarm["name"] == "audit_disagreement" for alarm in alarms(coin))
    record = json.loads((coin / "evaluation" / "final.json").read_text())
    assert all(p["audit_tries"] is not None for lv in record["levels"] for p in lv["problems"])


def test_it_is_told_what_is_asked_for(tmp_path) -> None:
    (tmp_path / "canaries.jsonl").write_text('{"prompt": "12*12="}\n')
    view = Told()
    asked = {"evaluation__control": "addition", "evaluation__control_problems": 1}
    canaries = {"audit__canaries": str(tmp_path / "canaries.jsonl")}
    run(tmp_path, view, run__steps=1, evaluation__greedy=True, **asked, **canaries)
    parts = ["sampled", "greedy", "canaries", "control task addition"]
    titles = ["evaluating the base", "evaluating the trained policy"]
    assert view.phases == [f"{title}, {part}" for title in titles for part in parts]


@pytest.mark.parametrize(
    ("prompt", "said"),
    [
        ('"a\\ud800b"', "no Unicode"),
        ('[{"role": "user", "content": "7*8="}]', "no chat template"),
        (f'"{"1" * 100_001}"', "too long for a canary. Got 100,001"),
    ],
)
def test_a_canary_that_cannot_be_asked_is_refused_before_anything_is_written(
    tmp_path, prompt, said
) -> None:
    (tmp_path / "canaries.jsonl").write_text(f'{{"prompt": {prompt}}}\n')
    with pytest.raises(UsageError, match=said):
        run(tmp_path, audit__canaries=str(tmp_path / "canaries.jsonl"))
    assert not (tmp_path / "r").exists()


def test_a_home_that_there_is_not_is_a_path_like_another(tmp_path) -> None:
    with pytest.raises(UsageError, match=r"~nobody-here/x.jsonl does not exist"):
        run(tmp_path, audit__canaries="~nobody-here/x.jsonl")
    with pytest.raises(UsageError, match=r"~nobody-here"):
        run(tmp_path, policy__name="~nobody-here/x")


def test_what_an_audit_or_a_control_lacks_names_its_own_setting(tmp_path) -> None:
    with pytest.raises(UsageError, match=r"Choose another --audit.verifier"):
        run(tmp_path, audit__verifier="choice")
    with pytest.raises(UsageError, match=r"evaluation.control cannot be 'gsm8k'"):
        run(tmp_path, evaluation__control="gsm8k")


def test_levels_that_are_not_measured_have_no_gain_and_no_interval(tmp_path) -> None:
    other = {"evaluation__levels": [3], "curriculum__kind": "fixed", "curriculum__levels": [0]}
    row = lines(run(tmp_path, run__steps=2, **other, **WAY | {"evaluation__every": 1}).folder)[0]
    assert "heldout/pass@1" in row and not any("gain" in name for name in row)

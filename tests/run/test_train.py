"""The run end to end, small: what is written, how it is resumed, and how it is refused."""

from __future__ import annotations

import json
import os
import shutil
import signal
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from pyarrow import parquet

from evenodds.durable import verify_folder
from evenodds.errors import RunError, UsageError
from evenodds.report.plain import PlainView
from evenodds.run.config import make_config, read_toml
from evenodds.run.lock import RunLock
from evenodds.run.opened import model_folder
from evenodds.run.train import train
from tests.run.small_runs import SMALL, Quiet, assert_equal_runs, config_in, lines, run
from tests.tiny import make_policy


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    return run(tmp_path_factory.mktemp("finished"))


def test_a_run_leaves_all_its_records(finished) -> None:
    folder = finished.folder
    assert finished.steps == 4
    for name in (
        "config.toml",
        "metrics.jsonl",
        "report.html",
        "summary.json",
        "passports/data.json",
        "passports/checker.json",
        "passports/environment.json",
        "evaluation/base.json",
        "evaluation/final.json",
        "rollouts/step-00004.parquet",
        "checkpoints/step-000004/manifest.json",
        "model/model.safetensors",
    ):
        assert (folder / name).stat().st_size > 0, name
    rows = lines(folder)
    assert [row["step"] for row in rows] == [1, 2, 3, 4]
    assert all(row["ratio/max"] == pytest.approx(1, abs=1e-5) for row in rows if "ratio/max" in row)


def test_the_model_folder_loads_as_an_ordinary_one(finished) -> None:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(finished.folder / "model")
    model = AutoModelForCausalLM.from_pretrained(finished.folder / "model")
    assert tokenizer.decode(tokenizer.encode("12*34=")) == "12*34="
    assert model.config.model_type == "qwen3"


def test_a_rollout_record_is_enough_to_recompute_its_loss(finished) -> None:
    rows = parquet.read_table(finished.folder / "rollouts" / "step-00001.parquet").to_pylist()
    assert len(rows) == 24
    for row in rows:
        assert len(row["logprobs"]) == len(row["completion_ids"])
        group = [r for r in rows if r["group"] == row["group"]]
        mean = np.mean([r["reward"] for r in group])
        assert row["advantage"] == pytest.approx(row["reward"] - mean)
        assert row["kept"] == (row["learner_logprobs"] is not None)
        if row["kept"]:
            assert np.allclose(row["learner_logprobs"], row["logprobs"], atol=1e-5)
        else:
            assert row["why"]


def test_the_same_seed_gives_the_same_run(finished, tmp_path) -> None:
    assert_equal_runs(finished.folder, run(tmp_path).folder)


def test_another_seed_gives_another_run(finished, tmp_path) -> None:
    assert lines(run(tmp_path, run__seed=1).folder) != lines(finished.folder)


@pytest.mark.parametrize("stop_at", [1, 2, 3])
def test_a_run_that_was_stopped_goes_on_bit_for_bit(finished, tmp_path, stop_at) -> None:
    def stop(step: int) -> None:
        if step == stop_at:
            os.kill(os.getpid(), signal.SIGINT)

    stopped = run(tmp_path, view=Quiet(stop))
    assert stopped.exit_code == 130
    assert stopped.steps == stop_at
    resumed = run(tmp_path)
    assert resumed.exit_code == 0
    assert_equal_runs(finished.folder, resumed.folder)


def test_lora_goes_on_bit_for_bit_and_saves_an_adapter(tmp_path) -> None:
    over = {"policy__adapter": "lora", "policy__rank": 4}
    whole = run(tmp_path / "whole", **over)

    def stop(step: int) -> None:
        if step == 3:
            os.kill(os.getpid(), signal.SIGTERM)

    assert run(tmp_path / "parts", view=Quiet(stop), **over).exit_code == 143
    parts = run(tmp_path / "parts", **over)
    assert (parts.folder / "model" / "adapter_config.json").exists()
    assert_equal_runs(whole.folder, parts.folder)


def test_a_damaged_checkpoint_is_passed_over_with_a_word(tmp_path) -> None:
    def stop(step: int) -> None:
        if step == 3:
            os.kill(os.getpid(), signal.SIGINT)

    folder = run(tmp_path, view=Quiet(stop)).folder
    target = folder / "checkpoints" / "step-000003" / "policy" / "model.safetensors"
    data = bytearray(target.read_bytes())
    data[-5] ^= 1
    target.write_bytes(data)
    view = Quiet()
    assert run(tmp_path, view=view).steps == 4
    assert any("damaged" in note for note in view.notes)
    assert any("after step 2" in note for note in view.notes)


def test_a_finished_run_may_be_given_more_steps(tmp_path) -> None:
    run(tmp_path, run__steps=2)
    more = run(tmp_path, run__steps=4)
    assert [row["step"] for row in lines(more.folder)] == [1, 2, 3, 4]


def test_another_configuration_in_the_same_folder_is_refused(finished) -> None:
    before = sorted(finished.folder.rglob("*"))
    with pytest.raises(UsageError, match=r"sampling\.groups was 6, now 5"):
        run(finished.folder.parent, sampling__groups=5)
    with pytest.raises(UsageError, match=r"objective\.kl was not set, now 0\.1"):
        run(finished.folder.parent, objective__kl=0.1)
    assert sorted(finished.folder.rglob("*")) == before


def test_a_folder_that_is_no_run_is_refused(tmp_path) -> None:
    (tmp_path / "r").mkdir()
    (tmp_path / "r" / "thesis.tex").write_text("years of work")
    with pytest.raises(UsageError, match="no run folder"):
        run(tmp_path)


@pytest.mark.parametrize(
    ("over", "message"),
    [
        ({"policy__name": "./nowhere"}, "no policy './nowhere'"),
        ({"policy__name": "abakus"}, "no policy 'abakus'"),
        ({"task__name": "multiplicaton"}, "Did you mean 'multiplication'"),
        ({"task__name": "data", "task__data": "none.jsonl"}, "none.jsonl"),
        ({"task__verifier": "nobody.py:grade"}, "nobody.py"),
        ({"objective__recipe": "grpoo"}, "Did you mean 'grpo'"),
        ({"objective__credit": "whole"}, "unknown credit"),
        ({"curriculum__start": 99}, "levels 0 to 9"),
        ({"evaluation__levels": [12]}, "levels 0 to 9"),
        ({"policy__device": "tpu"}, "unknown device"),
        ({"run__name": "../escape"}, "cannot name a run"),
        ({"policy__name": "abacus", "task__style": "chat"}, "no chat template"),
    ],
)
def test_what_cannot_be_used_is_said_before_anything_is_written(tmp_path, over, message) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        run(tmp_path, **over)
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_no_model_and_one_without_a_tokenizer_are_said(tmp_path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match="no model folder"):
        run(tmp_path / "runs", policy__name=str(tmp_path / "empty"))
    policy = make_policy("qwen3")
    policy.model.save_pretrained(tmp_path / "bare")
    with pytest.raises(UsageError, match="tokenizer of"):
        run(tmp_path / "runs", policy__name=str(tmp_path / "bare"), task__style="bare")
    assert not (tmp_path / "runs").exists()


def test_a_full_disk_is_said_before_anything_is_written(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("evenodds.run.folder.free_disk", lambda path: 1000)
    with pytest.raises(UsageError, match="too little disk"):
        run(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_task_of_ones_own_needs_no_file(tmp_path) -> None:
    from evenodds.tasks import problems_task

    task = problems_task(
        [(f"{a}*{b}=", str(a * b)) for a in range(2, 9) for b in range(2, 9)],
        lambda problem, text: len(text) / 10,
    )
    over = {"curriculum.kind": "uniform", "evaluation.levels": (0,)}
    assert train(config_in(tmp_path, **over), task=task, view=Quiet()).steps == 4


def test_training_works_outside_the_main_thread(tmp_path) -> None:
    found = []
    thread = threading.Thread(target=lambda: found.append(run(tmp_path, run__steps=1)))
    thread.start()
    thread.join()
    assert found[0].steps == 1


def test_time_ends_a_run_without_steps(tmp_path) -> None:
    started = time.monotonic()
    result = run(tmp_path, run__steps=None, run__max_time=9.0)
    assert time.monotonic() - started < 14
    assert result.steps >= 1
    assert result.exit_code == 0


def test_plain_lines_are_what_a_pipe_gets(tmp_path, capsys) -> None:
    import sys

    run(tmp_path, view=PlainView(sys.stderr), run__steps=1)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "\x1b" not in shown.err
    lines = shown.err.splitlines()
    said = json.loads((tmp_path / "r" / "summary.json").read_text())["conclusion"]["sentence"]
    assert lines[-2] == said and lines[-1].startswith("report: ")


def test_time_that_holds_no_step_is_an_error_with_the_arithmetic(tmp_path) -> None:
    with pytest.raises(RunError, match="Raise --max-time above"):
        run(tmp_path, run__steps=None, run__max_time=3.0)


def test_when_no_checkpoint_is_sound_nothing_is_overwritten(tmp_path) -> None:
    def stop(step: int) -> None:
        if step == 3:
            os.kill(os.getpid(), signal.SIGINT)

    folder = run(tmp_path, view=Quiet(stop)).folder
    for state in folder.glob("checkpoints/*/state.json"):
        state.write_text("{}")
    before = (folder / "metrics.jsonl").read_bytes()
    view = Quiet()
    with pytest.raises(RunError, match="no checkpoint is sound"):
        run(tmp_path, view=view)
    assert not any("passed over" in note for note in view.notes)  # the error says it, once
    assert (folder / "metrics.jsonl").read_bytes() == before


@pytest.mark.parametrize("phase", ["evaluating the base", "evaluating the trained policy"])
def test_a_signal_during_an_evaluation_says_how_to_go_on(finished, tmp_path, phase) -> None:
    class Stopping(Quiet):
        def phase(self, name, done, total) -> None:
            if name.startswith(phase) and "signal sent" not in self.notes:
                self.notes.append("signal sent")
                os.kill(os.getpid(), signal.SIGINT)

    view = Stopping()
    assert run(tmp_path, view=view).exit_code == 130
    assert any("--resume" in note for note in view.notes)
    assert_equal_runs(finished.folder, run(tmp_path).folder)


def test_a_finished_run_is_not_done_again(tmp_path) -> None:
    folder = run(tmp_path, run__steps=1).folder

    def contents() -> dict[Path, bytes]:
        files = [path for path in folder.rglob("*") if path.is_file() and path.name != "lock"]
        return {path: path.read_bytes() for path in files}

    before = contents()
    view = Quiet()
    run(tmp_path, view=view, run__steps=1)
    assert any("finished already" in note for note in view.notes)
    assert view.notes[-1] == f"to go on with it: evenodds train --resume {folder} --steps 2"
    assert contents() == before


@pytest.mark.parametrize("lost", ["model", "report.html", "evaluation/final.json", "flip"])
def test_what_a_finished_run_lost_is_made_again(tmp_path, lost) -> None:
    folder = run(tmp_path, run__steps=1).folder
    if lost == "model":
        shutil.rmtree(folder / "model")
    elif lost == "flip":
        weights_file = folder / "model" / "model.safetensors"
        weights_file.write_bytes(weights_file.read_bytes()[:-1] + b"\x77")
    else:
        (folder / lost).unlink()
    assert run(tmp_path, run__steps=1).exit_code == 0
    assert (folder / "report.html").exists()
    assert (folder / "evaluation" / "final.json").exists()
    verify_folder(folder / "model")


@pytest.mark.parametrize("text", ["[]", "{}", "{", '{"levels": []}'])
def test_a_damaged_evaluation_of_the_base_is_said(tmp_path, text) -> None:
    folder = run(tmp_path, run__steps=1).folder
    (folder / "evaluation" / "base.json").write_text(text)
    with pytest.raises(RunError, match=r"base\.json.*damaged"):
        run(tmp_path, run__steps=2)


def test_a_report_that_cannot_be_written_does_not_fail_the_run(tmp_path, monkeypatch) -> None:
    def broken(folder):
        raise ValueError("no ink")

    monkeypatch.setattr("evenodds.run.train.write_report", broken)
    view = Quiet()
    assert run(tmp_path, view=view, run__steps=1).exit_code == 0
    assert any("evenodds report" in note for note in view.notes)


CUT = ("answer_fits", "truncation")  # what the preflight says of a budget that holds no answer


def test_a_base_that_solves_nothing_is_said(tmp_path) -> None:
    view = Quiet()
    over = {"run__steps": 1, "evaluation__levels": [9], "sampling__max_tokens": 2}
    run(tmp_path, view=view, check__ignore=CUT, **over)
    assert any("solved none" in note and "partial score" in note for note in view.notes)


def test_a_base_that_is_paid_in_part_is_not_told_to_pay_in_part(tmp_path) -> None:
    mine = tmp_path / "mine.py"
    mine.write_text("def grade(problem, text):\n    return min(0.9, len(text) / 40)\n")
    view = Quiet()
    over = {"run__steps": 1, "task__verifier": f"{mine}:grade", "check__bench": False}
    run(tmp_path, view=view, **over)
    told = [note for note in view.notes if "solved none" in note]
    assert len(told) == 1 and "paid in part" in told[0] and "partial score" not in told[0]


def test_new_limits_stay_when_a_run_that_got_them_is_stopped(tmp_path) -> None:
    run(tmp_path, run__steps=1)

    def stop(step: int) -> None:
        if step == 2:
            os.kill(os.getpid(), signal.SIGINT)

    folder = run(tmp_path, view=Quiet(stop), run__steps=3).folder
    assert make_config(read_toml(folder / "config.toml")).run.steps == 3
    assert not (folder / "evaluation" / "final.json").exists()
    assert model_folder(folder).parent.name == "step-000002"
    run(tmp_path, run__steps=3)
    assert model_folder(folder).name == "model"


def test_a_held_run_is_refused_before_a_model_is_loaded(tmp_path, monkeypatch) -> None:
    folder = run(tmp_path, run__steps=1).folder
    monkeypatch.setattr("evenodds.policies.load.load_policy", lambda options: 1 / 0)
    with RunLock(folder), pytest.raises(UsageError, match="in use by process"):
        run(tmp_path, run__steps=2)


def test_a_copy_of_the_bundled_model_is_asked_in_its_own_style(tmp_path) -> None:
    from evenodds.places import bundled_folder
    from evenodds.run.build import task_of

    shutil.copytree(bundled_folder(), tmp_path / "copy")
    config = config_in(tmp_path, **{"policy.name": str(tmp_path / "copy")})
    assert task_of(config).held_out(0)[0].prompt.endswith("=")
    assert "\n" not in task_of(config).held_out(0)[0].prompt


def test_a_task_that_the_policy_cannot_read_is_refused(tmp_path) -> None:
    with pytest.raises(UsageError, match="no tokens for"):
        run(tmp_path, task__name="reverse")
    assert list(tmp_path.iterdir()) == []


def test_a_budget_that_cuts_everything_is_said(tmp_path) -> None:
    view = Quiet()
    over = {"sampling__max_tokens": 2, "objective__mask_truncated": True, "run__steps": 12}
    result = run(tmp_path, view=view, check__ignore=CUT, **over)
    assert all("raise sampling.max_tokens" in row["skipped"] for row in lines(result.folder))
    assert any("steps in a row without an update" in note for note in view.notes)


def test_golds_that_the_verifier_cannot_read_are_refused(tmp_path) -> None:
    data = tmp_path / "d.jsonl"
    data.write_text("".join(f'{{"prompt": "{n}*2=", "answer": "word"}}\n' for n in range(20)))
    over = {"task__name": "data", "task__data": str(data), "task__verifier": "number"}
    with pytest.raises(UsageError, match="'number' does not find right the gold answer 'word'"):
        run(tmp_path / "runs", **over)
    assert not (tmp_path / "runs").exists()


def test_a_run_from_python_says_how_it_goes_on(tmp_path) -> None:
    import evenodds

    problems = [(f"{a}*{b}=", a * b) for a in range(2, 9) for b in range(2, 9)]
    settings = {key: value for key, value in SMALL.items() if key != "run.steps"}
    settings |= {"run.root": str(tmp_path), "run.name": "mine", "run.steps": 1}
    settings["evaluation.levels"] = (0,)
    result = evenodds.train(problems, settings=settings, view=Quiet())
    assert result.steps == 1
    view = Quiet()
    evenodds.train(problems, settings=settings, view=view)
    how = "the same call from Python with run.name 'mine'"
    assert view.notes[-1] == f"to go on with it: {how} and run.steps 2"
    assert "evenodds train runs" not in (result.folder / "report.md").read_text()
    with pytest.raises(UsageError, match="made from Python"):
        train(make_config(read_toml(result.folder / "config.toml")), view=Quiet())

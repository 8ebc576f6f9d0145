"""The passports, and the order in which a run folder begins."""

from __future__ import annotations

import hashlib
import json

import pytest

from evenodds.domain import Limits
from evenodds.evaluation import EvaluationSettings, evaluate
from evenodds.judge import InlineJudge
from evenodds.run import writer
from evenodds.run.config import make_config
from evenodds.run.folder import RunFolder
from evenodds.run.passports import checker_passport, data_passport, disjointness
from evenodds.run.writer import RunWriter
from evenodds.sampling.scripted import ScriptedSampler
from evenodds.tasks import make_task, problems_task

TASK = make_task("multiplication")
GRADER = "def grade(problem, text):\n    return text == problem.answer\n"


def base() -> dict:
    settings = EvaluationSettings(limits=Limits(20, stop_strings=("\n",)), samples=2, problems=3)
    sampler = ScriptedSampler(lambda prompt, rng: "6")
    return evaluate("fake", sampler, InlineJudge(TASK.verifier), TASK, settings).to_dict()


def test_the_data_passport_has_initial_rates_limits_and_the_proof_of_the_split() -> None:
    found = json.loads(json.dumps(data_passport(TASK, base()), allow_nan=False))
    assert [row["level"] for row in found["initial_solve_rates"]] == list(TASK.levels)
    for row in found["initial_solve_rates"]:
        assert row["low"] <= row["mean"] <= row["high"] and row["problems"] == 3
    assert found["limits"] == {"max_tokens": 20, "temperature": 1.0, "stop_strings": ["\n"]}
    assert found["style"] == "bare" and found["stop_strings"] == ["\n"]
    assert found["disjoint"]["training_problems_checked"] == 1000
    assert found["disjoint"]["held_out_keys_among_them"] == 0
    assert found["disjoint"]["held_out_keys"] > 500
    assert found["data_file_sha256"] is None
    assert found["split"] == TASK.passport()["split"]


@pytest.mark.parametrize("name", ["multiplication", "addition", "reverse"])
def test_no_generated_training_problem_is_held_out(name) -> None:
    found = disjointness(make_task(name, style="few_shot"))
    assert (found["held_out_keys_among_them"], found["held_out_prompts_among_them"]) == (0, 0)


def test_the_proof_finds_a_task_that_breaks_its_split() -> None:
    class Leaking:
        levels = ("only",)

        def held_out(self, level):
            return TASK.held_out(0)

        def generate(self, level, rng):
            return TASK.held_out(0)[0]

    assert disjointness(Leaking(), 10)["held_out_keys_among_them"] == 10  # type: ignore[arg-type]


def test_the_hash_of_a_data_file_is_that_of_its_bytes(tmp_path) -> None:
    file = tmp_path / "sums.jsonl"
    rows = [json.dumps({"prompt": f"{n}+1=", "answer": str(n + 1)}) for n in range(30)]
    file.write_text("\n".join(rows))
    found = data_passport(make_task("data", data=str(file)))
    assert found["data_file_sha256"] == hashlib.sha256(file.read_bytes()).hexdigest()


def test_a_registered_verifier_states_its_configuration(monkeypatch) -> None:
    found = checker_passport(TASK)
    configuration = found["configuration"]
    assert configuration["policy"]["order"][0] == "box"
    assert configuration["policy"]["tolerance"] == "1/1000000"
    assert configuration["limits"]["characters_of_an_answer"] > 100
    other = make_task("multiplication", policy={"percent": "ratio"})
    assert checker_passport(other)["configuration_sha256"] != found["configuration_sha256"]


def test_ones_own_function_is_known_by_its_file(tmp_path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(GRADER)
    task = make_task("multiplication", verifier=f"{file}:grade")
    found = checker_passport(task)
    assert found["kind"] == "own function" and found["source_file"] == "mine.py"
    assert found["source_sha256"] == hashlib.sha256(GRADER.encode()).hexdigest()
    file.write_text(GRADER + "# changed\n")
    assert checker_passport(task)["configuration_sha256"] != found["configuration_sha256"]
    file.unlink()
    assert checker_passport(task)["source_sha256"] is None


@pytest.mark.parametrize("judge", [max, eval("lambda problem, text: 1.0")])
def test_a_function_without_a_file_is_tolerated(judge) -> None:
    task = problems_task([("a", "b"), ("c", "d")], judge)
    found = checker_passport(task)
    assert found["source_sha256"] is None and found["configuration_sha256"]


def test_the_configuration_is_written_first_and_the_rest_can_be_made_up_for(
    tmp_path, monkeypatch
) -> None:
    folder = RunFolder(tmp_path / "r")
    run = RunWriter(folder)

    def killed(*given):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(writer, "checker_passport", killed)
        with pytest.raises(KeyboardInterrupt):
            run.begin(make_config({}), TASK, ["evenodds"])
    assert folder.config.exists() and not folder.checker.exists()
    folder.passports.mkdir()
    folder.data.write_text("{}")
    run.begin(make_config({}), TASK, ["evenodds"], {"device": "cpu"})
    assert folder.checker.exists() and folder.data.read_text() == "{}"
    assert json.loads(folder.environment.read_text())["device"] == "cpu"

"""A number that is not finite: skipped, counted, told; three in a row end the run.

The 54 injections are {reward, old log-prob, logits, loss, gradient, weight} × {first, middle, last
micro-batch} × {NaN, inf, -inf}. Here a random share of them; `python -m benchmarks.durability
--only N1` does them all, with LoRA and with two passes too.
"""

from __future__ import annotations

import json
from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from evenodds.errors import NotFinite, RunError
from evenodds.learner import TorchLearner
from evenodds.objectives import make_objective
from evenodds.report.plain import signal
from evenodds.report.record import read_run
from tests.faults.drawn import drawn
from tests.faults.injections import (
    EVERY,
    Bench,
    Fault,
    amiss,
    amiss_in_a_row,
    amiss_in_pass_two,
    same,
)
from tests.run.small_runs import Quiet, lines, run

ON_THE_WAY = [one for one in EVERY if one[0] not in ("reward", "old log-prob")]


@pytest.mark.parametrize("kind", ["all weights", "LoRA"])
def test_a_fault_leaves_everything_as_if_its_step_had_made_no_update(kind, budget) -> None:
    found = {one: amiss(Fault(*one), kind) for one in drawn(EVERY, budget / 4)}
    assert not any(found.values()), found


def test_three_faults_in_a_row_end_the_run_with_step_tensor_and_problem(budget) -> None:
    found = {one: amiss_in_a_row(Fault(*one)) for one in drawn(EVERY, budget / 4)}
    assert not any(found.values()), found


@pytest.mark.parametrize("kind", ["all weights", "LoRA"])
def test_a_fault_in_the_second_pass_keeps_the_first(kind, budget) -> None:
    found = {o: amiss_in_pass_two(Fault(*o), kind) for o in drawn(ON_THE_WAY, budget / 4)}
    assert not any(found.values()), found


def test_the_checks_of_this_file_can_fail() -> None:
    """With a learner that takes whatever comes, the same injections are noticed."""
    with patch("evenodds.finite.Guard.fault", lambda *given: None):
        assert amiss(Fault("loss", "first", float("nan")))
        with pytest.raises(NotFinite):  # a gradient makes weights that are not
            amiss(Fault("gradient", "first", float("inf")))


@pytest.mark.parametrize("kind", ["all weights", "LoRA"])
def test_a_weight_that_no_answer_shows_is_put_back_as_well(kind) -> None:
    """It breaks behind the last forward pass: nothing that was computed is wrong."""
    bench = Bench(kind)
    bench.step()
    before = bench.tensors()
    first, guard = next(iter(bench.learner.parameters.values())), bench.learner.guard
    inner = guard.fault

    def broken(*given):
        first.data.view(-1)[3] = float("inf")
        return inner(*given)

    with patch.object(guard, "fault", broken):
        report = bench.step()
    assert same(bench.tensors(), before)
    assert report.fault.startswith("the weight '") and "no answer shows it" in report.fault


def test_a_frozen_weight_is_named_and_ends_the_run() -> None:
    bench = Bench("LoRA")
    bench.step()
    before = {name: p.detach().clone() for name, p in bench.learner.parameters.items()}
    name, weight = next(
        (n, p) for n, p in bench.policy.model.named_parameters() if "down_proj.base" in n
    )
    sample = bench.tools.sampler.sample

    def sampled(*given):
        rollouts = sample(*given)
        weight.data[0, 0] = float("nan")
        return rollouts

    with patch.object(bench.tools.sampler, "sample", sampled):
        report = bench.step()
    assert f"frozen weight {name!r}" in report.fault
    assert same(before, {n: p.detach() for n, p in bench.learner.parameters.items()})


def test_a_moment_that_breaks_ends_the_run_and_is_not_saved() -> None:
    bench = Bench()
    bench.step()
    first = next(iter(bench.learner.parameters.values()))
    before = first.detach().clone()
    bench.learner.optimizer.state[first]["exp_avg"].view(-1)[5] = float("nan")
    with pytest.raises(NotFinite, match=r"the optimizer's '.*exp_avg' is not finite"):
        bench.learner.state()
    with pytest.raises(NotFinite, match="the moments, or this machine's memory, are damaged"):
        bench.step()
    assert torch.equal(first, before)
    assert bench.learner.updates == 2  # no step's state, so a session does not save it


@pytest.mark.parametrize(
    ("change", "tensor"),
    [({"learning_rate": 1e39}, "the step of the optimizer"), ({"max_grad_norm": 1e38}, "the step")],
)
def test_a_step_that_might_overflow_is_not_taken(change, tensor) -> None:
    bench = Bench()
    bench.step()
    before = bench.tensors()
    bench.learner.options = replace(bench.learner.options, **change)
    report = bench.step()
    assert report.fault.startswith(tensor) or report.update.is_taken
    assert report.fault and same(bench.tensors(), before)


def test_rewards_that_overflow_in_float32_are_a_fault() -> None:
    bench = Bench(objective=make_objective("dr_grpo", mask_truncated=False))
    told = []
    for value in (1e12, 1e30, 1e39):
        with Fault("reward", "middle", value).put(bench), np.errstate(all="ignore"):
            told.append(bench.step().fault.partition(" is not finite, in an answer to ")[0])
    assert told == ["", "the norm of the gradient", "the advantage"]


LEAST = {
    "evaluation__problems": 1,
    "evaluation__samples": 1,
    "run__random_reward": True,  # so that every step has something to learn from
}
LONGER = LEAST | {"run__steps": 7, "run__save_every": 100}


def broken_from(step: int, until: int | None = None):
    """The gradient of a parameter is NaN in these steps of a run."""
    inner = TorchLearner._backward

    def backward(learner, batch, objective):
        done = inner(learner, batch, objective)
        now = learner.__dict__.setdefault("asked", learner.updates) + 1
        learner.asked = now
        if step <= now and (until is None or now <= until):
            done.evidence.norms[-1] = float("nan")
            next(iter(learner.parameters.values())).grad.view(-1)[0] = float("nan")
        return done

    return patch.object(TorchLearner, "_backward", backward)


def test_a_run_goes_on_behind_a_skipped_update_and_says_so(tmp_path) -> None:
    view = Quiet()
    with broken_from(2, 2):
        result = run(tmp_path, view=view, **LEAST)
    assert result.exit_code == 0
    rows = lines(result.folder)
    assert [row["update/skipped"] for row in rows] == [0, 1, 1, 1]
    assert rows[1]["skipped"] == rows[1]["fault"]
    assert rows[1]["fault"].startswith("the gradient of 'model.")
    assert signal(rows[1])[-1] == "update skipped"
    assert not any("loss" in row for row in rows[1:2]) and "loss" in rows[2]
    assert [row["policy_version"] for row in rows] == [1, 1, 2, 3]
    (alarm,) = map(json.loads, (result.folder / "alarms.jsonl").read_text().splitlines())
    assert (alarm["name"], alarm["step"], alarm["stops"]) == ("non_finite", 2, False)
    assert alarm["reason"].startswith("the gradient of 'model.")
    assert any("non_finite" in note for note in view.notes)
    assert "1 more skipped" in (result.folder / "report.html").read_text()
    groups = read_run(result.folder)
    assert len(groups.metrics) == 4


def test_three_in_a_row_end_a_run_and_a_resume_says_so_after_one_step(tmp_path) -> None:
    """The weights that are saved are those of the last sound update."""
    words = (
        r"^{} updates in a row were skipped, the last at step {}: the gradient of 'model\..*, in "
    )
    with broken_from(2), pytest.raises(RunError, match=words.format(3, 4)) as error:
        run(tmp_path, **LONGER)
    assert error.value.exit_code == 1
    folder = tmp_path / "r"
    (saved,) = folder.glob("checkpoints/step-*")
    assert saved.name == "step-000004"
    assert [row["update/skipped"] for row in lines(folder)] == [0, 1, 2, 3]
    weights = load_file(saved / "policy" / "model.safetensors")
    assert all(value.isfinite().all() for value in weights.values())
    assert (folder / "report.html").exists()
    with broken_from(0), pytest.raises(RunError, match=words.format(4, 5)):
        run(tmp_path, **LONGER)
    (again,) = folder.glob("checkpoints/step-000005")
    found = load_file(again / "policy" / "model.safetensors")
    assert all(torch.equal(found[name], weights[name]) for name in weights)
    assert run(tmp_path, **LONGER).exit_code == 0
    assert [row["update/skipped"] for row in lines(folder)] == [0, 1, 2, 3, 4, 4, 4]

"""The state of a checkpoint: asked for field by field, refused in one line where one is gone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from safetensors.torch import load_file, save_file

from evenodds.curricula import make_curriculum
from evenodds.durable import Start
from evenodds.errors import RunError
from evenodds.learner import LearnerOptions, TorchLearner
from evenodds.objectives import EntropyBonus
from evenodds.run import checkpoint
from evenodds.run.saved import Progress, read_saved_state
from evenodds.step import State
from evenodds.tasks import problems_task
from tests.faults.ablation import Loss as Lost
from tests.faults.ablation import deleted, keys, lose
from tests.tiny import make_lora, make_policy

TASK = problems_task([("7*8=", "56"), ("12*3=", "36")], lambda problem, text: 1.0)
LOGS = {name: Start(0, "0" * 64) for name in ("metrics.jsonl", "groups.jsonl", "alarms.jsonl")}


def saved(folder: Path, adapter: bool = False) -> tuple[Path, TorchLearner]:
    """A checkpoint of a policy that has moved once, with all that a state may have."""
    policy = make_lora(make_policy()) if adapter else make_policy()
    learner = TorchLearner(policy, LearnerOptions())
    for parameter in learner.parameters.values():
        parameter.grad = parameter.detach().clone()
    learner.optimizer.step()
    learner.updates = 1
    state = State(make_curriculum("ladder", TASK), step=3, version=1, bonus=EntropyBonus(0.5))
    folder.mkdir()
    draft = checkpoint.draft(folder, state, learner, policy)
    return checkpoint.commit(draft, Progress(1.5, LOGS, {"step": 3}, 7), 2), learner


def load(folder: Path, learner: TorchLearner):
    found = read_saved_state(folder)
    return checkpoint.load(found, TASK, learner, learner.policy), found.progress


def refused(folder: Path, learner: TorchLearner) -> str:
    with pytest.raises(RunError) as caught:
        load(folder, learner)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_all_comes_back_as_it_was(tmp_path) -> None:
    folder, learner = saved(tmp_path / "c")
    state, progress = load(folder, learner)
    assert (state.step, state.version, state.bonus) == (3, 1, EntropyBonus(0.5))
    assert progress == Progress(1.5, LOGS, {"step": 3}, 7)


def test_every_key_is_asked_for(tmp_path) -> None:
    folder, learner = saved(tmp_path / "c")
    text = (folder / "state.json").read_text()
    names = [name for name in keys(json.loads(text)) if not name.startswith("pending.")]
    assert len(names) > 30
    for name in names:
        lose(Lost(name, "deleted", deleted(name)), folder)
        said = refused(folder, learner)
        assert name.rpartition(".")[2].replace("/", ".") in said or "None" in said, (name, said)
        (folder / "state.json").write_text(text)


@pytest.mark.parametrize("adapter", [False, True])
def test_every_tensor_is_asked_for(tmp_path, adapter) -> None:
    folder, learner = saved(tmp_path / "c", adapter)
    weights = "policy/adapter_model.safetensors" if adapter else "policy/model.safetensors"
    for name in ("optimizer.safetensors", weights):
        whole = load_file(folder / name)
        for key, value in list(whole.items())[:: len(whole) // 5]:
            rest = {k: v for k, v in whole.items() if k != key}
            save_file(rest, folder / name)
            assert "lacks" in refused(folder, learner)
            if value.dim():
                save_file(
                    rest | {key: value[:1].repeat(3, *[1] * (value.dim() - 1))}, folder / name
                )
                assert "other weights" in refused(folder, learner), key
        save_file(whole, folder / name)
        load(folder, learner)
        (folder / name).unlink()
        assert "lacks" in refused(folder, learner)
        save_file(whole, folder / name)


def test_a_newer_and_an_older_format(tmp_path) -> None:
    folder, learner = saved(tmp_path / "c")
    record = json.loads((folder / "state.json").read_text())
    (folder / "state.json").write_text(json.dumps(record | {"format": 3}))
    assert "Update evenodds" in refused(folder, learner)
    old = {name: record[name] for name in ("state", "learner", "elapsed", "pending")}
    for name in ("bonus", "skips"):
        old["state"].pop(name)
    (folder / "state.json").write_text(json.dumps(old | {"metrics_length": 12}))
    state, progress = load(folder, learner)
    assert state.bonus is None and state.step == 3
    assert (progress.logs, progress.seals) == ({"metrics.jsonl": Start(12)}, None)


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{", "[" * 9000, "{}", '{"format": 2}', '{"format": "x"}', '{"format": 1e99}'],
)
def test_a_strange_state_is_one_line(tmp_path, text) -> None:
    (tmp_path / "state.json").write_text(text)
    with pytest.raises(RunError) as caught:
        read_saved_state(tmp_path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("value", [None, "x", [], {}, -1, 1e99, True])
def test_a_strange_value_is_one_line(tmp_path, value) -> None:
    folder, learner = saved(tmp_path / "c")
    text = (folder / "state.json").read_text()
    for name in keys(json.loads(text)):
        if name.startswith("pending."):
            continue
        record = json.loads(text)
        *above, last = [part.replace("/", ".") for part in name.split(".")]
        table = record
        for part in above:
            table = table[part]
        table[last] = value
        (folder / "state.json").write_text(json.dumps(record))
        try:
            load(folder, learner)
        except RunError as error:
            assert "\n" not in str(error)

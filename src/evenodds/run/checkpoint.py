"""A checkpoint: the policy as an ordinary folder, optimizer moments, and the state as JSON."""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from safetensors.torch import load_file, save_file

from evenodds.curricula import load_curriculum
from evenodds.errors import RunError
from evenodds.learner import TorchLearner
from evenodds.objectives import EntropyBonus
from evenodds.policies import Policy
from evenodds.run import durable
from evenodds.step import State
from evenodds.tasks import Task

PREFIX = "step-"


@dataclass(frozen=True)
class Progress:
    """What the loop itself must remember: seconds used, and how long metrics.jsonl was.

    pending: the line of the step, where a signal came in the evaluation that belongs to it; it is
    made again when the run goes on, and the line is written then.
    """

    elapsed: float
    metrics_length: int
    pending: dict[str, Any] | None = None


@dataclass(frozen=True)
class Draft:
    """What must be read before the next update, written to a temporary folder beside `target`.

    It is not on the disk yet, and nobody takes it for a checkpoint.
    """

    folder: Path
    target: Path
    record: dict[str, Any]


def draft(parent: Path, state: State, learner: TorchLearner, policy: Policy) -> Draft:
    """The first half of a checkpoint of this step, which the run has to wait for."""
    moments, counts = learner.state()
    target = parent / f"{PREFIX}{state.step:06d}"
    folder = durable.temporary(parent)
    saved = {
        "curriculum": state.curriculum.to_dict(),
        "seed": state.seed,
        "step": state.step,
        "version": state.version,
        "tokens": state.tokens,
        "bonus": state.bonus and state.bonus.to_dict(),
    }
    with durable.told(target, sum(value.nbytes for value in moments.values())):
        try:
            folder.mkdir()
            policy.save(folder / "policy")
            save_file(moments, folder / "optimizer.safetensors")
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
    return Draft(folder, target, {"state": saved, "learner": counts})


def commit(draft: Draft, progress: Progress, keep: int) -> Path:
    """The other half: bring it to the disk and give it its name; only then prune older ones.

    It needs nothing of the run but the draft, so another thread may do it while the run goes on.
    """

    def fill(folder: Path) -> None:
        for path in draft.folder.iterdir():
            path.rename(folder / path.name)
        record = draft.record | asdict(progress)
        (folder / "state.json").write_text(json.dumps(record, indent=1))

    try:
        durable.commit_folder(draft.target, fill)
    finally:
        shutil.rmtree(draft.folder, ignore_errors=True)
    durable.prune(draft.target.parent, PREFIX, keep)
    return draft.target


def load(folder: Path, task: Task, learner: TorchLearner, policy: Policy) -> tuple[State, Progress]:
    """Put weights and moments back in place and return the state. The folder was verified."""
    record: dict[str, Any] = json.loads((folder / "state.json").read_text())
    saved = dict(record["state"])
    curriculum = load_curriculum(saved.pop("curriculum"), task)
    _load_weights(policy, folder / "policy")
    learner.restore(load_file(folder / "optimizer.safetensors"), record["learner"])
    bonus = saved.pop("bonus", None)
    bonus = bonus and EntropyBonus.from_dict(bonus)
    state = State(curriculum=curriculum, bonus=bonus, **saved)
    return state, Progress(record["elapsed"], record["metrics_length"], record.get("pending"))


def _load_weights(policy: Policy, folder: Path) -> None:
    if policy.peft is not None:
        from peft import set_peft_model_state_dict

        tensors = load_file(folder / "adapter_model.safetensors")
        result = set_peft_model_state_dict(policy.peft, tensors)
        unexpected = result.unexpected_keys
    else:
        tensors = load_file(folder / "model.safetensors")
        unexpected = policy.model.load_state_dict(tensors, strict=False).unexpected_keys
    if unexpected:
        raise RunError(
            f"the checkpoint {str(folder)!r} holds other weights than this policy: "
            f"{unexpected[0]}. Use the policy of that run."
        )

"""A checkpoint: the policy as an ordinary folder, optimizer moments, and the state as JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass
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
    """What the loop itself must remember: seconds used, and how long metrics.jsonl was."""

    elapsed: float
    metrics_length: int


def save(
    parent: Path, state: State, learner: TorchLearner, policy: Policy, progress: Progress, keep: int
) -> Path:
    """Commit a checkpoint of this step; older ones are pruned only after it is durable."""
    moments, counts = learner.state()

    def fill(folder: Path) -> None:
        policy.save(folder / "policy")
        save_file(moments, folder / "optimizer.safetensors")
        record = {
            "state": {
                "curriculum": state.curriculum.to_dict(),
                "seed": state.seed,
                "step": state.step,
                "version": state.version,
                "tokens": state.tokens,
                "bonus": state.bonus and state.bonus.to_dict(),
            },
            "learner": counts,
            "elapsed": progress.elapsed,
            "metrics_length": progress.metrics_length,
        }
        (folder / "state.json").write_text(json.dumps(record, indent=1))

    target = parent / f"{PREFIX}{state.step:06d}"
    durable.commit_folder(target, fill)
    durable.prune(parent, PREFIX, keep)
    return target


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
    return state, Progress(record["elapsed"], record["metrics_length"])


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

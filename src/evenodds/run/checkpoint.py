"""A checkpoint: the policy as an ordinary folder, optimizer moments, and the state as JSON."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from evenodds import durable
from evenodds.errors import RunError
from evenodds.learner import TorchLearner
from evenodds.policies import Policy
from evenodds.policies.vetted.weights import ADAPTER, INDEX, WHOLE
from evenodds.run.folder import PREFIX
from evenodds.run.saved import (
    FILE,
    FORMAT,
    WHAT_TO_DO,
    Progress,
    Saved,
    state_of,
    state_record,
)
from evenodds.step import State
from evenodds.tasks import Task

MOMENTS = "optimizer.safetensors"


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
    record = {
        "format": FORMAT,
        "state": state_record(state),
        "learner": counts,
        "moments": len(moments),
    }
    with durable.told(target, sum(value.nbytes for value in moments.values())):
        try:
            folder.mkdir()
            policy.save(folder / "policy")
            save_file(moments, folder / MOMENTS)
        except BaseException:
            durable.remove(folder)
            raise
    return Draft(folder, target, record)


def commit(draft: Draft, progress: Progress, keep: int) -> Path:
    """The other half: bring it to the disk and give it its name; only then prune older ones.

    It needs nothing of the run but the draft, so another thread may do it while the run goes on.
    """

    def fill(folder: Path) -> None:
        for path in draft.folder.iterdir():
            path.rename(folder / path.name)
        (folder / FILE).write_text(json.dumps(draft.record | progress.to_dict(), indent=1))

    try:
        durable.commit_folder(draft.target, fill)
    finally:
        durable.remove(draft.folder)
    durable.prune(draft.target.parent, PREFIX, keep)
    return draft.target


def load(saved: Saved, task: Task, learner: TorchLearner, policy: Policy) -> State:
    """Put weights and moments back in place and return the state. The folder was verified.

    Raises `RunError` in one line where something is missing, or of another policy; then nothing
    has been changed but, at the worst, weights.
    """
    state = state_of(saved, task)
    moments = _tensors(saved.folder / MOMENTS)
    _require_moments(moments, saved, learner)
    load_weights(policy, saved.folder / "policy")
    learner.restore(moments, saved.learner)
    return state


def _tensors(path: Path) -> dict[str, Tensor]:
    try:
        return load_file(path)
    except (OSError, SafetensorError) as error:
        raise RunError(
            f"the checkpoint {str(path.parent)!r} lacks {path.name}: {error}. " + WHAT_TO_DO
        ) from error


def _require_moments(moments: Mapping[str, Tensor], saved: Saved, learner: TorchLearner) -> None:
    """Raise `RunError` unless all that the optimizer had is there, and fits these parameters."""
    where = saved.path.with_name(MOMENTS)
    _require_same(where, set(saved.learner), set(learner.state()[1]), "count")
    if saved.moments is not None and len(moments) != saved.moments:
        raise RunError(
            f"{str(where)!r} lacks moments: it has {len(moments)} tensors of {saved.moments}. "
            + WHAT_TO_DO
        )
    named = {key.rpartition("::")[0] for key in moments}
    kinds = ("step", "exp_avg", "exp_avg_sq")
    _require_same(where, set(moments), {f"{n}::{kind}" for n in named for kind in kinds}, "moment")
    for key, value in moments.items():
        name, _, kind = key.rpartition("::")
        shape = () if kind == "step" else getattr(learner.parameters.get(name), "shape", None)
        if shape is None or value.shape != shape:
            raise RunError(_other_weights(where, key))


def _require_same(where: Path, found: Collection[str], asked: Collection[str], kind: str) -> None:
    for name in sorted(set(asked) - set(found)):
        raise RunError(f"{str(where)!r} lacks the {kind} {name!r}. " + WHAT_TO_DO)
    for name in sorted(set(found) - set(asked)):
        raise RunError(_other_weights(where, name))


def _other_weights(where: Path, name: str) -> str:
    return (
        f"the checkpoint {str(where)!r} holds other weights than this policy: {name}. "
        "Use the policy of that run."
    )


def load_weights(policy: Policy, folder: Path) -> None:
    """Put the weights that a checkpoint has of a policy, of `policy/`, back in place."""
    if policy.peft is not None:
        from peft import get_peft_model_state_dict, set_peft_model_state_dict

        tensors = _tensors(folder / ADAPTER)
        _require_weights(folder, tensors, get_peft_model_state_dict(policy.peft))
        set_peft_model_state_dict(policy.peft, tensors)
    else:
        tensors, there = _whole_model(folder), policy.model.state_dict()
        shared = {there[name].data_ptr() for name in tensors if name in there}
        learned = {n for n, p in policy.model.named_parameters() if p.data_ptr() not in shared}
        _require_weights(folder, tensors, {n: there[n] for n in learned | (tensors.keys() & there)})
        policy.model.load_state_dict(tensors, strict=False)  # what is shared stands there once


def _whole_model(folder: Path) -> dict[str, Tensor]:
    """All weights, from one file or from the parts that a large model is saved in."""
    index = folder / INDEX
    if not index.is_file():
        return _tensors(folder / WHOLE)
    parts = sorted(set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values()))
    return {name: value for part in parts for name, value in _tensors(folder / part).items()}


def _require_weights(
    folder: Path, tensors: Mapping[str, Tensor], there: Mapping[str, Tensor]
) -> None:
    _require_same(folder, tensors, there, "weight")
    for name, value in tensors.items():
        if value.shape != there[name].shape:
            raise RunError(_other_weights(folder, name))

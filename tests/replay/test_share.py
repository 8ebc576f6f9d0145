"""The loss from the record alone, against the learner that made it."""

from __future__ import annotations

import numpy as np
import pytest

from evenodds.batch import collate
from evenodds.learner import LearnerOptions, TorchLearner
from evenodds.objectives import make_objective, shaped
from evenodds.records import as_parquet, read_groups, rollout_table
from evenodds.reference import TorchReference
from evenodds.replay.share import share_of, step_loss
from evenodds.replay.told import loss
from evenodds.step import StepReport
from tests.tiny import make_group, make_policy

CASES = {
    "dr_grpo": {},
    "two passes": {"recipe": "grpo", "passes": 2},
    "by sequence": {"recipe": "gspo", "passes": 2},
    "whitened": {"recipe": "reinforce_pp"},
    "corrected": {"recipe": "dapo", "correction": "sequence_mask", "passes": 2},
    "KL and entropy": {"kl": 0.1, "entropy": 0.01},
    "KL in the reward": {"kl": 0.1, "kl_in": "reward"},
}


def recorded(tmp_path, passes: int = 1, **axes):
    """A step learned from by a real learner, written down and read back: groups, loss."""
    objective = make_objective(**axes)
    policy = make_policy()
    groups = [make_group([1, 0, 1], [3, 5, 4]), make_group([0, 0, 1], [2, 6, 3])]
    groups.append(make_group([1, 1], [2, 3]))
    if objective.needs_reference:
        groups = TorchReference(policy).annotate(groups)
    groups = [shaped(group, objective) for group in groups]
    learner = TorchLearner(policy, LearnerOptions(passes=passes, warmup_steps=1))
    update = learner.update(collate(groups, objective), objective)
    report = StepReport(groups, objective, (3,), update)
    path = tmp_path / "step-00001.parquet"
    path.write_bytes(as_parquet(rollout_table(1, report, "number", ["1*2="] * 3)))
    return read_groups(path), objective, update.metrics


@pytest.mark.parametrize("case", CASES)
def test_parts_add_up_to_the_loss(tmp_path, case) -> None:
    axes = dict(CASES[case])
    groups, objective, metrics = recorded(tmp_path, **axes)
    found = step_loss(groups, objective, axes.get("passes", 1))
    assert found.without == "" and found.tokens == metrics["extent/tokens"]
    assert found.loss == pytest.approx(metrics["loss"], abs=2e-6)
    shares = [share_of(groups, (g, a), found, metrics) for g in (0, 1) for a in range(3)]
    assert all(s.part is not None and s.part.advantage == s.recorded_advantage for s in shares)
    pulls = [share.pull for share in shares]
    extra = share_of(groups, (2, 0), found, metrics).pull
    assert sum(pulls) + 2 * extra == pytest.approx(1, abs=0.5 if extra else 1e-9)


def test_what_the_record_does_not_hold_is_said(tmp_path) -> None:
    groups, objective, metrics = recorded(tmp_path, passes=2, entropy=0.01)
    found = step_loss(groups, objective, 2)
    share = share_of(groups, (0, 0), found, metrics)
    assert "entropy of the last pass" in "".join(loss(share))
    assert share.part is not None and np.isfinite(share.part.loss)
    missing = step_loss(groups, objective, 2)
    groups, objective, metrics = recorded(tmp_path)  # one pass, read as if it had had two
    missing = step_loss(groups, objective, 2)
    assert missing.loss is None and "log-probabilities of the last pass" in missing.without
    assert "does not hold" in loss(share_of(groups, (0, 0), missing, metrics))[-1]


def test_an_answer_that_is_not_in_the_loss_says_why(tmp_path) -> None:
    groups, objective, metrics = recorded(tmp_path)
    share = share_of(groups, (2, 1), step_loss(groups, objective, 1), metrics)
    assert share.part is None and loss(share)[-1] == "Not in the loss: its group agreed."

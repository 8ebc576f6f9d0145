"""The named objectives, each one line over the axes. `choose.py` changes their axes by name."""

from __future__ import annotations

from evenodds.credit import centered, leave_one_out, mean_normalized, raw, standardized
from evenodds.objectives.objective import Objective
from evenodds.objectives.ratio import sequence
from evenodds.objectives.reduce import per_answer, per_budget, per_sequence, per_token
from evenodds.objectives.surrogate import Cispo, Clip, DualClip, Reinforce, SoftGate

RECIPES: dict[str, Objective] = {
    "dr_grpo": Objective(centered, surrogate=Clip(0.2, 0.28), reduce=per_budget),
    "grpo": Objective(standardized, surrogate=Clip(0.2, 0.2), reduce=per_answer),
    "dapo": Objective(
        standardized, reduce=per_token, mask_truncated=False, overlong=0.2, zero_signal="refill"
    ),
    "gspo": Objective(
        standardized, ratio=sequence, surrogate=Clip(3e-4, 4e-4), reduce=per_sequence
    ),
    "cispo": Objective(standardized, surrogate=Cispo(), reduce=per_token),
    "sapo": Objective(standardized, surrogate=SoftGate(), reduce=per_answer),
    "dual_clip": Objective(standardized, surrogate=DualClip(0.2, 0.2, 3.0), reduce=per_answer),
    "maxrl": Objective(mean_normalized, reduce=per_budget),
    "rloo": Objective(leave_one_out, surrogate=Reinforce(), reduce=per_budget),
    "reinforce": Objective(raw, surrogate=Reinforce(), reduce=per_budget, zero_signal="keep"),
    "reinforce_pp": Objective(
        raw, whiten=True, surrogate=Clip(0.2, 0.2), reduce=per_token, zero_signal="keep"
    ),
    "reinforce_pp_baseline": Objective(
        centered, whiten=True, surrogate=Clip(0.2, 0.2), reduce=per_token, zero_signal="keep"
    ),
}

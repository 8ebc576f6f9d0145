"""All checks of the preflight, and what is done with what they find."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from evenodds.errors import GateError, unknown
from evenodds.report.text import one_line
from evenodds.run.preflight import (
    arithmetic,
    asking,
    budget,
    copying,
    ending,
    fits,
    golds,
    neutral,
    pace,
    problems,
    push,
    ratio,
    signal,
    tuning,
    weights,
)
from evenodds.run.preflight.finding import Finding, fatal
from evenodds.run.preflight.ground import Ground
from evenodds.run.stopping import Interrupted

When = Literal["start", "probe"]


@dataclass(frozen=True)
class Check:
    """look: returns None where it does not apply.

    when: `start` checks run in `doctor` and at every start of `train`, and cost a tenth of a
    second at most; `probe` checks run in `doctor` on fresh answers (`Ground.probe`), and in `train`
    on the evaluation of the base (`Ground.base`).
    """

    look: Callable[[Ground], Finding | None]
    when: When


CHECKS: dict[str, Check] = {
    "end_token": Check(ending.end_token, "start"),
    "pad_token": Check(ending.pad_token, "start"),
    "stop_strings": Check(ending.stop_strings, "start"),
    "first_token": Check(asking.first_token, "start"),
    "marks": Check(asking.marks, "start"),
    "template": Check(asking.template, "start"),
    "end_of_turn": Check(asking.end_of_turn, "start"),
    "thinking": Check(asking.thinking, "start"),
    "answer_fits": Check(asking.answer_fits, "start"),
    "weights": Check(weights.empty_weights, "start"),
    "tied": Check(weights.tied, "start"),
    "learns": Check(weights.learns, "start"),
    "rounding": Check(weights.rounding, "start"),
    "dropout": Check(weights.dropout, "start"),
    "ratio": Check(ratio.first_ratio, "start"),
    "positions": Check(ratio.positions, "start"),
    "generation_config": Check(neutral.generation_config, "start"),
    "distribution": Check(neutral.distribution, "start"),
    "unnamed_tokens": Check(neutral.unnamed_tokens, "start"),
    "gold": Check(golds.look_at_gold, "start"),
    "context": Check(budget.look_at_context, "start"),
    "memory": Check(fits.look_at_memory, "start"),
    "batch": Check(arithmetic.look_at_batch, "start"),
    "group_size": Check(arithmetic.look_at_group_size, "start"),
    "learning_rate": Check(tuning.look_at_rate, "start"),
    "lora_scale": Check(tuning.look_at_scale, "start"),
    "warm_up": Check(arithmetic.look_at_warm_up, "start"),
    "passes": Check(tuning.look_at_passes, "start"),
    "clip": Check(tuning.look_at_clip, "start"),
    "grad_norm": Check(tuning.look_at_norm, "start"),
    "weight_decay": Check(tuning.look_at_decay, "start"),
    "kl": Check(tuning.look_at_kl, "start"),
    "objective": Check(push.look_at_objective, "start"),
    "entropy": Check(tuning.look_at_entropy, "start"),
    "temperature": Check(tuning.look_at_temperature, "start"),
    "evaluation_budget": Check(arithmetic.look_at_evaluation_budget, "start"),
    "evaluation_levels": Check(arithmetic.look_at_evaluated_levels, "start"),
    "evaluation_every": Check(arithmetic.look_at_evaluating, "start"),
    "save_every": Check(arithmetic.look_at_saving, "start"),
    "held_out": Check(arithmetic.look_at_held_out, "start"),
    "left_out": Check(problems.look_at_rows, "start"),
    "levels": Check(problems.look_at_levels, "start"),
    "problems": Check(problems.look_at_problems, "start"),
    "repeats": Check(problems.look_at_repeats, "start"),
    "deadline": Check(problems.look_at_deadline, "start"),
    "probe": Check(signal.look_at_probe, "probe"),
    "informative": Check(signal.look_at_signal, "probe"),
    "truncation": Check(budget.look_at_truncation, "probe"),
    "throughput": Check(pace.look_at_throughput, "probe"),
    "checkpoint_time": Check(pace.look_at_cadence, "probe"),
    "evaluation_time": Check(pace.look_at_evaluation_time, "probe"),
    "judging": Check(pace.look_at_judging, "probe"),
    "verdicts": Check(problems.look_at_verdicts, "probe"),
    "copying": Check(copying.look_at_copying, "probe"),
    "disk": Check(fits.look_at_disk, "probe"),
    "ratio_after_update": Check(ratio.warm_ratio, "probe"),
    "ends": Check(ending.ends, "probe"),
}
"""By the name under which a finding is told and ignored, in the order in which they are made."""


def require_known(ignored: Iterable[str]) -> None:
    """Raise `UsageError` for a name in `check.ignore` that no check has."""
    for name in ignored:
        if name not in CHECKS:
            raise unknown("check in check.ignore", name, CHECKS)


def examine(
    ground: Ground, when: When, tell: Callable[[int, int], None] | None = None
) -> list[Finding]:
    """What the checks of that time find, in their order. tell: is called with how far they are."""
    chosen = {name: check for name, check in CHECKS.items() if check.when == when}
    found: list[Finding | None] = []
    for number, (name, check) in enumerate(chosen.items()):
        if tell is not None:
            tell(number, len(chosen))
        found.append(_looked(name, check, ground))
    return [finding for finding in found if finding is not None]


def _looked(name: str, check: Check, ground: Ground) -> Finding | None:
    """A check that fails itself must not keep a sound run from starting: it says so, and is out."""
    try:
        return check.look(ground)
    except Interrupted:
        raise
    except Exception as error:
        return Finding(name, "skipped", f"could not be checked: {one_line(str(error), 200)}")


def require(findings: Sequence[Finding], ignored: Iterable[str]) -> None:
    """Raise `GateError` for the first fatal finding that is not ignored by its name."""
    for finding in fatal(findings, ignored):
        raise GateError(
            f"{finding.sentence} More with `evenodds doctor` and the same settings; to start all "
            f"the same: --check.ignore {finding.name}"
        )

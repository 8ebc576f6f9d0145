"""What a configuration will do, found out by asking the code that trains.

An example group goes through `shaped`, `collate` and `lay_out` into `Objective.score`, whose
gradient is read off; the push at other ratios is the gradient of `Objective.value`. No weight and
no clip is written down here a second time, so a surrogate of a person's own is explained as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from evenodds.batch import Batch, advantages, collate, lay_out
from evenodds.domain import Group, Limits, Problem, Rollout, Status, Stop, Verdict
from evenodds.errors import UsageError
from evenodds.lab.explain.odds import counted_of, lone_of, odds_of
from evenodds.lab.explain.push import curves_of
from evenodds.lab.explain.remarks import remarks_of
from evenodds.lab.explain.tables import tables_of
from evenodds.lab.explain.words import formula_of, signs_of
from evenodds.objectives import Objective, shaped
from evenodds.objectives.check import is_own
from evenodds.objectives.describe import axes_of
from evenodds.objectives.ratio import sequence
from evenodds.own import FAILURES, described, quiet
from evenodds.report.explain import Answer, Example, Explanation
from evenodds.run.build import objective_of
from evenodds.run.config import Config

SHOWN = 6  # answers of the example group, where nobody asks for others
MOST = 64  # answers that one may ask for
PATTERN: tuple[tuple[float, float, bool], ...] = (  # score, share of the budget, cut by it
    (1.0, 0.125, False),
    (0.0, 0.3, False),
    (0.0, 1.0, True),
    (1.0, 0.5, False),
    (0.0, 0.2, False),
    (1.0, 0.9, False),
)
Found = tuple[NDArray[np.float64], NDArray[np.float64]]  # of an answer: weights and shares

CELLS = 2**40  # all in one micro-batch


@dataclass(frozen=True)
class Asked:
    """One answer of an example: what it is paid (None: nobody could judge it), tokens, its end."""

    score: float | None
    length: int
    is_cut: bool = False


def default_example(count: int, max_tokens: int) -> list[Asked]:
    """`count` answers of different lengths within the budget, repeating after six."""
    rows = [PATTERN[place % len(PATTERN)] for place in range(count)]
    return [Asked(score, max(1, round(share * max_tokens)), cut) for score, share, cut in rows]


def explained(config: Config, asked: Sequence[Asked] = ()) -> Explanation:
    """What `config` will do. asked: the example group; one of six kinds of answers by default.

    Raises `UsageError` for an objective that cannot be, an example that does not fit the budget,
    and a function of a person's own that fails.
    """
    objective = objective_of(config)
    sampling = config.sampling
    rows = list(asked) or default_example(min(SHOWN, sampling.group_size), sampling.max_tokens)
    _require_example(rows, sampling.max_tokens)
    with quiet():
        try:
            return _explained(config, objective, rows)
        except UsageError:
            raise
        except FAILURES as error:
            if not _is_own(objective):
                raise
            raise UsageError(
                f"the objective of your own failed on the example. Got {described(error)}. Mend it."
            ) from error


def _explained(config: Config, objective: Objective, rows: Sequence[Asked]) -> Explanation:
    sampling, curriculum = config.sampling, config.curriculum
    limits = Limits(sampling.max_tokens, sampling.temperature)
    target = curriculum.target if curriculum.kind == "ladder" else None
    up, down = curves_of(without_penalties(objective))
    better, worse = signs_of(objective)
    return Explanation(
        recipe=config.objective.recipe,
        axes=axes_of(objective),
        formula=formula_of(objective, config),
        example=example_of(objective, example_group(rows, limits)),
        up=up,
        down=down,
        is_by_sequence=objective.ratio is sequence,
        since="when drawn" if objective.correction is None else "before the step's first update",
        better=better,
        worse=worse,
        odds=odds_of(objective, config, target),
        counted=counted_of(objective, sampling.group_size),
        lone=lone_of(objective, sampling.group_size),
        groups=sampling.groups,
        group_size=sampling.group_size,
        rounds=sampling.rounds,
        zero_signal=objective.zero_signal,
        target=target,
        tables=tables_of(objective, config),
        remarks=remarks_of(objective, config, (up, down), (better, worse)),
    )


def without_penalties(objective: Objective) -> Objective:
    """The objective without KL and entropy in the loss: what the rewards alone ask for."""
    return replace(objective, kl_loss=None, entropy=0.0)


def _is_own(objective: Objective) -> bool:
    axes: list[Any] = [objective.credit, objective.ratio, objective.surrogate, objective.reduce]
    axes += [objective.correction.bound] if objective.correction is not None else []
    return any(map(is_own, axes))


def _require_example(rows: Sequence[Asked], max_tokens: int) -> None:
    if not 2 <= len(rows) <= MOST:
        raise UsageError(f"an example group has 2 to {MOST} answers. Got {len(rows)}.")
    for number, row in enumerate(rows, start=1):
        if not 1 <= row.length <= max_tokens:
            raise UsageError(
                f"answer {number} of the example cannot have {row.length} tokens: the budget is "
                f"{max_tokens}. Change --lengths, or set --sampling.max_tokens."
            )
        if row.is_cut and row.length != max_tokens:
            raise UsageError(
                f"answer {number} of the example cannot be cut at {row.length} tokens: the budget "
                f"that cuts is {max_tokens}. Write {max_tokens}+ in --lengths, or {row.length}."
            )


def _verdict(row: Asked) -> Verdict:
    if row.score is None:
        return Verdict(0.0, Status.ERROR)
    if row.is_cut:
        return Verdict(row.score, Status.TRUNCATED)
    return Verdict(row.score, Status.RIGHT if row.score > 0 else Status.WRONG)


def _rollout(row: Asked, limits: Limits) -> Rollout:
    """Drawn by the very policy that learns from it, and that is still the reference."""
    logprobs: Any = np.full(row.length, -1.0, dtype=np.float64)  # so that all of it is float64
    return Rollout(
        prompt_ids=np.zeros(1, dtype=np.int64),
        ids=np.zeros(row.length, dtype=np.int64),
        logprobs=logprobs,
        stop=Stop.BUDGET if row.is_cut else Stop.END_TOKEN,
        text="",
        limits=limits,
        reference_logprobs=logprobs,
    )


def example_group(rows: Sequence[Asked], limits: Limits) -> Group:
    """The group that a sampler and a judge would hand to the step."""
    problem = Problem("example", "", "", "example")
    return Group(problem, [_rollout(row, limits) for row in rows], [_verdict(row) for row in rows])


def example_of(objective: Objective, group: Group) -> Example:
    """The group as a whole step: what each token of each answer weighs in J."""
    paid = shaped(group, objective)
    batch = collate([paid], objective)
    found = weights_of(batch, without_penalties(objective))
    (credit,) = advantages([paid], objective)
    answers = tuple(
        _answer(group, paid, place, float(credit[place]), objective, found.get(place))
        for place in range(len(group.rollouts))
    )
    weights = np.concatenate([[0.0], *(weights for weights, _ in found.values())])
    extent = batch.extent
    return Example(
        answers,
        up=float(weights[weights > 0].sum()),
        down=float(-weights[weights < 0].sum()),
        tokens=extent.tokens,
        rollouts=extent.rollouts,
        max_tokens=extent.max_tokens,
    )


def _answer(
    group: Group, paid: Group, place: int, credit: float, objective: Objective, found: Found | None
) -> Answer:
    rollout, verdict = group.rollouts[place], group.verdicts[place]
    weights, shares = found or (np.zeros(1), np.zeros(1))
    return Answer(
        score=verdict.score if verdict.is_judged else None,
        reward=round(paid.verdicts[place].score, 12) if verdict.is_judged else None,
        length=rollout.ids.size,
        is_cut=rollout.is_truncated,
        advantage=credit,
        why="" if found else _why(rollout, verdict, objective),
        lowest=float(weights.min()),
        highest=float(weights.max()),
        total=float(weights.sum()),
        share=float(shares[0]),
    )


def weights_of(batch: Batch, objective: Objective) -> dict[int, Found]:
    """answer -> dJ / d log pi of each token at ratio 1, and what the reduction gives each token."""
    found: dict[int, Found] = {}
    cpu = torch.device("cpu")
    for micro in lay_out(batch, CELLS, pad_id=0, device=cpu, can_share=False):
        logprobs = micro.old_logprobs.clone().requires_grad_()
        tokens = micro.tokens(logprobs)
        scored = objective.score(tokens, batch.extent)
        (gradient,) = torch.autograd.grad(-scored.loss, logprobs)
        shares = objective.reduce(tokens, batch.extent).detach().numpy()
        ends = np.cumsum(micro.lengths.numpy())[:-1]
        parts = zip(np.split(gradient.numpy(), ends), np.split(shares, ends), strict=True)
        found |= dict(zip(micro.index, parts, strict=True))
    return found


def _why(rollout: Rollout, verdict: Verdict, objective: Objective) -> str:
    """Why an answer that `collate` left out is out."""
    if not verdict.is_judged:
        return "could not be judged"
    if objective.mask_truncated and rollout.is_truncated:
        return "cut by the budget"
    return "the group has no signal"

"""Our side of the comparison with TRL: which setting is which, and our loss on TRL's batches."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from evenodds.batch import advantages, collate, lay_out
from evenodds.credit import centered, leave_one_out, standardized_sample
from evenodds.domain import Extent, Group, Limits, Problem, Rollout, Status, Stop, Verdict
from evenodds.objectives import Objective, Tokens, make_objective, shaped
from evenodds.objectives.penalty import KL
from evenodds.objectives.ratio import sequence
from evenodds.objectives.reduce import per_answer, per_sequence, per_token
from evenodds.objectives.surrogate import Clip

CAP = {"correction_cap": 1.5}
GRPO = {"recipe": "grpo"}
DAPO = {"recipe": "dapo", "zero_signal": "keep", "overlong": 0.0}
GSPO = {"recipe": "gspo", "clip_low": 0.1}
CISPO = {"recipe": "cispo", "clip_high": 0.5, "mask_truncated": False}
DR_GRPO = {"recipe": "dr_grpo", "clip_high": 0.2}
PLAIN_KL = {"kl": 0.1}
WEIGHTED_KL = {"kl": 0.1, "kl_weighted": True}

EQUAL: dict[str, dict[str, Any]] = {
    "grpo": GRPO,
    "grpo, asymmetric clip": GRPO | {"clip_low": 0.1, "clip_high": 0.28},
    "grpo, two-sided": {"recipe": "dual_clip", "dual_clip": 1.5},
    "bnpo": GRPO | {"reduce": "per_token"},
    "dr_grpo": DR_GRPO,
    "dapo": DAPO,
    "gspo": {"recipe": "gspo"},
    "gspo, wide clip": GSPO | {"clip_high": 0.15},
    "gspo, two-sided": GSPO | {"surrogate": "dual_clip", "clip_high": 0.15, "dual_clip": 1.3},
    "cispo": CISPO,
    "cispo, recommended cap": CISPO | {"clip_high": 4.0},
    "sapo": {"recipe": "sapo"},
    "sapo, other temperatures": {"recipe": "sapo", "gate_positive": 0.7, "gate_negative": 2.0},
    "sapo by sequence": {"recipe": "gspo", "surrogate": "soft_gate"},
    "grpo, KL": GRPO | PLAIN_KL,
    "grpo, weighted KL": GRPO | WEIGHTED_KL,
    "dr_grpo, KL": DR_GRPO | PLAIN_KL,
    "dapo, weighted KL": DAPO | WEIGHTED_KL,
    "gspo, KL": GSPO | {"clip_high": 0.1} | PLAIN_KL,
    "cispo, weighted KL": CISPO | WEIGHTED_KL,
    "sapo, weighted KL": {"recipe": "sapo"} | WEIGHTED_KL,
    **{
        f"dapo, {name} correction": DAPO | CAP | {"correction": name.replace(" ", "_")}
        for name in ("token truncate", "token mask", "sequence truncate", "sequence mask")
    },
    "grpo, correction": GRPO | CAP | {"correction": "token_truncate"},
    "gspo, correction": GSPO | CAP | {"clip_high": 0.1, "correction": "sequence_mask"},
    "cispo, correction": CISPO | CAP | {"correction": "sequence_mask"},
    "sapo, correction": {"recipe": "sapo", "correction": "sequence_mask"} | CAP,
    "dr_grpo, two-sided, weighted KL, correction": {
        **DR_GRPO, **CAP, **WEIGHTED_KL,
        "surrogate": "dual_clip", "clip_low": 0.2, "dual_clip": 1.5, "correction": "sequence_mask",
    },
    "dapo, entropy": DAPO | {"entropy": 0.05},
    "dapo, truncated masked": DAPO | {"mask_truncated": True},
    "dapo, truncated scored": DAPO,
    "cispo, truncated masked": CISPO | {"mask_truncated": True},
    "grpo in 2 micro-batches": GRPO,
    "dr_grpo in 2 micro-batches": DR_GRPO,
    "dapo in 2 micro-batches": DAPO | {"clip_high": 0.2},
    "cispo in 2 micro-batches": CISPO,
    "sapo in 2 micro-batches": {"recipe": "sapo"},
    "gspo in 2 micro-batches": GSPO | {"clip_high": 0.1},
    "dapo, everything, in 2 micro-batches": {
        **DAPO, **CAP, **WEIGHTED_KL,
        "surrogate": "dual_clip", "clip_low": 0.2, "clip_high": 0.28, "dual_clip": 1.5,
        "correction": "sequence_mask", "mask_truncated": True,
    },
    "dr_grpo, half of a generation batch": DR_GRPO,
    "dapo, scale batch": DAPO,
    "dapo, scale none": DAPO,
}  # fmt: skip
"""TRL's mode -> the settings of `make_objective` that give the same loss and gradient."""

DIFFERENT: dict[str, dict[str, Any]] = {
    "grpo, entropy": GRPO | {"entropy": 0.05},
    "dapo, entropy, in 2 micro-batches": DAPO | {"entropy": 0.05},
    "grpo, truncated masked": GRPO,
    "dr_grpo, truncated masked": DR_GRPO,
    "bnpo in 2 micro-batches": GRPO | {"reduce": "per_token"},
    "dapo, half of a generation batch": DAPO,
    "cispo, default cap": CISPO | {"clip_high": 4.0},
    "dapo, noisy rewards": DAPO,
    "dapo, unjudged": DAPO,
    "grpo, unjudged": GRPO,
    "dapo, far": DAPO,
    "grpo, two-sided under the clip": {"recipe": "dual_clip", "dual_clip": 1.1},
    "dapo, uncorrected sampler": DAPO,
    "dapo, adaptive entropy": DAPO | {"entropy": 0.05},
    "rloo, first update": {"recipe": "rloo"},
}
"""Modes that differ on purpose: each has a test of its own, and a line in docs/trl.md."""


# What evenodds has under no name, as functions of one's own.


def product(log_ratio: torch.Tensor, tokens: Tokens) -> torch.Tensor:
    """The ratio of whole answers, not its geometric mean. RLOO, arXiv 2402.14740."""
    return tokens.sum_by_answer(log_ratio)[tokens.rollout]


def whole_answers(tokens: Tokens, extent: Extent) -> torch.Tensor:
    """1 / answers on every token, so that an answer counts by its length. LUSPO."""
    return torch.full_like(tokens.logprobs, 1.0 / extent.rollouts)


def gamma_weighted(log_ratio: torch.Tensor, tokens: Tokens) -> torch.Tensor:
    """sg(e^l w^k e^(-l w)) A log pi, w the ratio of the whole answer. VESPO, arXiv 2602.10693."""
    log_weight = product(log_ratio.detach().clamp(-20, 20), tokens).clamp(np.log(1e-8), 20)
    good = tokens.advantages >= 0
    k, decay = torch.where(good, 2.0, 3.0), torch.where(good, 3.0, 2.0)
    phi = (decay + k * log_weight - decay * log_weight.exp()).exp()
    return phi * tokens.advantages * tokens.logprobs


def without_drifted(log_ratio: torch.Tensor, tokens: Tokens) -> torch.Tensor:
    """The clip, without wrong answers that the policy has left behind. DeepSeek-V3.2, eq. 9."""
    drift = -sequence(log_ratio.detach(), tokens)
    kept = (tokens.advantages >= 0) | (drift <= 0.05)
    return kept * Clip(0.2, 0.28)(log_ratio, tokens)


@dataclass(frozen=True)
class AtForks:
    """The clip on the 40 % of tokens with the highest entropy. Beyond the 80/20 Rule."""

    def __call__(self, log_ratio: torch.Tensor, tokens: Tokens) -> torch.Tensor:
        assert tokens.entropy is not None
        entropy = tokens.entropy.detach()
        kept = entropy >= torch.quantile(entropy.float(), 0.6)
        return kept * Clip(0.2, 0.28)(log_ratio, tokens)


RLOO = Objective(leave_one_out, ratio=product, surrogate=Clip(0.2, 0.2), reduce=per_answer)
BY_HAND: dict[str, Objective] = {
    "rloo": RLOO,
    "rloo in 2 micro-batches": RLOO,
    "rloo, KL in the reward": replace(RLOO, kl_reward=0.05),
    "luspo": Objective(ratio=sequence, surrogate=Clip(0.1, 0.1), reduce=whole_answers),
    "vespo": Objective(surrogate=gamma_weighted, reduce=per_token),
    "dapo, off-policy mask": Objective(surrogate=without_drifted, reduce=per_token),
    "dapo, top entropy": Objective(surrogate=AtForks(), reduce=per_token),
    "gspo, weighted KL": Objective(
        ratio=sequence,
        surrogate=Clip(0.1, 0.1),
        reduce=per_sequence,
        kl_loss=KL(0.1, "k3", weighted=True),
    ),
}
"""Modes of TRL that have no name here, or that `make_objective` refuses."""

CREDIT = {"group": standardized_sample, "none": centered}
"""TRL's scale_rewards -> our credit."""


@dataclass(frozen=True)
class Result:
    """loss, and its gradient by each token's log-probability and by its entropy, both [n]."""

    loss: float
    gradient: NDArray[np.float64]
    entropy_gradient: NDArray[np.float64]


@cache
def goldens() -> dict[str, Any]:
    """What benchmarks/trl_goldens.py wrote down."""
    return json.loads(gzip.decompress((Path(__file__).parent / "trl.json.gz").read_bytes()))


def pairs(mode: str) -> list[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    """The cases of a mode, each with what TRL made of it."""
    golden = goldens()["modes"][mode]
    found = goldens()["cases"][golden["settings"].get("cases", "whole")]
    return list(zip(found, golden["outcomes"], strict=True))


def settings_of(mode: str) -> dict[str, Any]:
    """TRL's settings."""
    return goldens()["modes"][mode]["settings"]


def objective_of(mode: str) -> Objective:
    """Our objective, with TRL's advantages and with every group kept, as TRL keeps it."""
    made = BY_HAND[mode] if mode in BY_HAND else make_objective(**(EQUAL | DIFFERENT)[mode])
    settings = settings_of(mode)
    scale = settings["config"].get("scale_rewards", "group")
    credit = made.credit if settings["trainer"] == "rloo" else CREDIT.get(scale, made.credit)
    return replace(made, credit=credit, zero_signal="keep")


def answer_tokens(case: Mapping[str, Any], answers: Sequence[int]) -> NDArray[np.int64]:
    """Where the tokens of these answers are in the case's arrays."""
    starts = np.concatenate([[0], np.cumsum(case["lengths"])])
    empty = np.zeros(0, dtype=np.int64)
    return np.concatenate([empty, *(np.arange(starts[a], starts[a + 1]) for a in answers)])


def kept(case: Mapping[str, Any], answers: Sequence[int], objective: Objective) -> list[int]:
    """Those of the answers that are in our loss."""
    return [a for a in answers if not (objective.mask_truncated and case["truncated"][a])]


def extent_of(case: Mapping[str, Any], answers: Sequence[int]) -> Extent:
    return Extent(answer_tokens(case, answers).size, len(answers), case["budget"])


def score(
    objective: Objective,
    case: Mapping[str, Any],
    outcome: Mapping[str, Any],
    settings: Mapping[str, Any],
) -> Result:
    """Our loss on one optimizer step of TRL's: its advantages, its micro-batches, our weights."""
    leaf = torch.tensor(case["current"], dtype=torch.float64, requires_grad=True)
    entropy = torch.tensor(case["entropy"], dtype=torch.float64, requires_grad=True)
    first = _first(case, settings)
    old = case["sampled"] if settings.get("vllm") else first
    arrays = [torch.tensor(values, dtype=torch.float64) for values in (old, first)]
    reference = torch.tensor(case["reference"], dtype=torch.float64)
    rows = [kept(case, answers, objective) for answers in outcome["rows"]]
    extent = extent_of(case, [answer for row in rows for answer in row])
    total = torch.zeros((), dtype=torch.float64)
    for answers in filter(None, rows):
        at = torch.from_numpy(answer_tokens(case, answers))
        lengths = torch.tensor([case["lengths"][a] for a in answers])
        rollout = torch.repeat_interleave(torch.arange(len(answers)), lengths)
        credit = torch.tensor([outcome["advantages"][a] for a in answers], dtype=torch.float64)
        tokens = Tokens(
            leaf[at], arrays[0][at], credit[rollout], rollout, lengths,
            arrays[1][at], reference[at], entropy[at],
        )  # fmt: skip
        total = total + objective.score(tokens, extent).loss
    if total.requires_grad:
        total.backward()
    return Result(float(total.detach()), _gradient(leaf), _gradient(entropy))


def _gradient(leaf: torch.Tensor) -> NDArray[np.float64]:
    return np.zeros(len(leaf)) if leaf.grad is None else leaf.grad.numpy()


def deviation(result: Result, outcome: Mapping[str, Any]) -> tuple[float, float]:
    """Largest differences from TRL: of the loss, and of any gradient."""
    gap = np.abs(result.gradient - outcome["gradient"]).max()
    if outcome["entropy_gradient"]:
        gap = max(gap, np.abs(result.entropy_gradient - outcome["entropy_gradient"]).max())
    return abs(result.loss - outcome["loss"]), float(gap)


# The whole way: groups of rollouts, our advantages, our batch, our micro-batches.


def groups_of(case: Mapping[str, Any], settings: Mapping[str, Any]) -> list[Group]:
    """A case as rollouts. A token's id is its place in the case's arrays."""
    old = case["sampled"] if settings.get("vllm") else _first(case, settings)
    size, groups = len(case["rewards"][0]), []
    for number, rewards in enumerate(case["rewards"]):
        answers = range(number * size, (number + 1) * size)
        rollouts = [_rollout(case, answer, old) for answer in answers]
        verdicts = [Verdict(0.0, Status.ERROR) if r is None else _verdict(r) for r in rewards]
        groups.append(Group(Problem(f"p{number}", "p", "1", "golden"), rollouts, verdicts))
    return groups


def _first(case: Mapping[str, Any], settings: Mapping[str, Any]) -> list[float]:
    return case["current"] if settings.get("on_policy") else case["first"]


def _verdict(reward: float) -> Verdict:
    return Verdict(reward, Status.RIGHT if reward >= 1 else Status.WRONG)


def _rollout(case: Mapping[str, Any], answer: int, old: Sequence[float]) -> Rollout:
    at = answer_tokens(case, [answer])
    return Rollout(
        prompt_ids=np.zeros(1, dtype=np.int64),
        ids=at,
        logprobs=np.array(old, dtype=np.float64)[at],
        stop=Stop.BUDGET if case["truncated"][answer] else Stop.END_TOKEN,
        text="",
        limits=Limits(max_tokens=case["budget"]),
        reference_logprobs=np.array(case["reference"], dtype=np.float64)[at],
    )


def score_groups(
    objective: Objective, case: Mapping[str, Any], settings: Mapping[str, Any], cells: int
) -> Result:
    """Our loss and gradient from rewards on, in micro-batches of at most so many cells."""
    leaf = torch.tensor(case["current"], dtype=torch.float64, requires_grad=True)
    entropy = torch.tensor(case["entropy"], dtype=torch.float64, requires_grad=True)
    first = np.array(_first(case, settings), dtype=np.float64)
    groups = [shaped(group, objective) for group in groups_of(case, settings)]
    batch = collate(groups, objective)
    batch = batch.with_first({answer.index: first[answer.ids] for answer in batch.answers})
    loss = 0.0
    device = torch.device("cpu")
    for micro in lay_out(batch, cells, pad_id=0, device=device, can_share=False):
        tokens = micro.tokens(leaf[micro.targets], entropy[micro.targets])
        part = objective.score(tokens, batch.extent).loss
        part.backward()
        loss += part.item()
    return Result(loss, _gradient(leaf), _gradient(entropy))


def our_advantages(objective: Objective, case: Mapping[str, Any], settings: Any) -> list[float]:
    """Of every answer; 0 for those that could not be judged."""
    groups = [shaped(group, objective) for group in groups_of(case, settings)]
    return np.concatenate(advantages(groups, objective)).tolist()

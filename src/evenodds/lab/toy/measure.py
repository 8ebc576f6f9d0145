"""A policy on some problems: our evaluation, and on the very same answers the reward and the KL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch

from evenodds.domain import Group, Limits, Problem, Rollout, Verdict
from evenodds.evaluation import EvaluationSettings, Summary, evaluate, levels_of, tally_of
from evenodds.evaluation import Record as EvaluationRecord
from evenodds.judge import InlineJudge, Judge
from evenodds.lab.toy.grammar import TOKENS
from evenodds.lab.toy.gru import GruPolicy, GruSampler
from evenodds.lab.toy.problems import WEIGHTS, Sums
from evenodds.statistics import Estimate, mean_of_shares, pass_at_k

ROWS = 1024  # answers of one forward pass
K = 4

METRICS = (
    "accuracy",
    "mean reward",
    "mean length",
    "token entropy",
    "KL to the reference",
    f"pass@{K}",
)


@dataclass
class Witness:
    """A judge that keeps what it judged."""

    judge_: Judge
    groups: list[Group] = field(default_factory=list)

    def judge(
        self, problems: Sequence[Problem], rollouts: Sequence[Sequence[Rollout]]
    ) -> list[list[Verdict]]:
        verdicts = self.judge_.judge(problems, rollouts)
        self.groups += [Group(*row) for row in zip(problems, rollouts, verdicts, strict=True)]
        return verdicts


@dataclass(frozen=True)
class Quality:
    """What a policy could do on one side of the split.

    record: the evaluation as a run folder keeps it. rewards: [problems] mean reward. parts: mean
    of each part of the reward, by its weight. kl: nats a token, from the policy to the reference.
    """

    record: EvaluationRecord
    summary: Summary
    rewards: tuple[float, ...]
    parts: Mapping[str, float]
    kl: float

    @property
    def rates(self) -> dict[str, tuple[float, ...]]:
        """By metric, [problems] in the order of the record: what is counted problem by problem."""
        (level,) = levels_of(self.record).values()
        tally = tally_of(level)
        pairs = [(int(n), int(c)) for n, c in zip(tally.tries, tally.right, strict=True)]
        return {
            "accuracy": tuple(tally.rates.tolist()),
            "mean reward": self.rewards,
            f"pass@{K}": tuple(pass_at_k(n, c, K) for n, c in pairs),
        }

    def estimate(self, metric: str) -> Estimate | None:
        """A metric with its 95 % interval over problems; None where it has none."""
        overall = self.summary.overall
        if metric == "accuracy":
            return overall.side.sampled
        if metric == "mean reward":
            return mean_of_shares(self.rewards)
        return overall.pass_at[K] if metric == f"pass@{K}" else None

    def __getitem__(self, metric: str) -> float:
        """One of `METRICS`."""
        found = self.estimate(metric)
        side = self.summary.overall.side
        plain = {
            "mean length": side.length,
            "token entropy": side.entropy,
            "KL to the reference": self.kl,
        }
        value = plain[metric] if found is None else found.mean
        return float("nan") if value is None else value


def measure(
    policy: GruPolicy, reference: GruPolicy, task: Sums, limits: Limits, samples: int, seed: int
) -> tuple[Quality, list[Group]]:
    """The policy on the held-out problems of `task`, and the judged answers themselves."""
    witness = Witness(InlineJudge(task.verifier))
    settings = EvaluationSettings(limits, samples, len(task.held), greedy=False, seed=seed)
    found = evaluate(policy.name, GruSampler(policy), witness, task, settings)
    groups = witness.groups
    rewards = tuple(float(group.rewards.mean()) for group in groups)
    verdicts = [verdict for group in groups for verdict in group.verdicts]
    parts = {name: float(np.mean([v.parts[name] for v in verdicts])) for name in WEIGHTS}
    rollouts = [rollout for group in groups for rollout in group.rollouts]
    distance = kl_to(policy, reference, rollouts, limits.temperature)
    return Quality(found.to_dict(), found.summary(), rewards, parts, distance), groups


@torch.inference_mode()
def kl_to(
    policy: GruPolicy, reference: GruPolicy, rollouts: Sequence[Rollout], temperature: float = 1.0
) -> float:
    """Teacher-forced KL(policy || reference), the mean over the answers' tokens, in nats.

    At each token of answers that the policy drew, the KL of what it might have drawn there: exact
    over the vocabulary, so that only the prefixes are sampled.
    """
    total, count = 0.0, 0
    for start in range(0, len(rollouts), ROWS):
        part = rollouts[start : start + ROWS]
        rows = [np.concatenate([rollout.prompt_ids, rollout.ids]) for rollout in part]
        ids = torch.zeros(len(rows), max(map(len, rows)), dtype=torch.long)
        asked = torch.zeros(ids.shape, dtype=torch.bool)
        for at, (row, rollout) in enumerate(zip(rows, part, strict=True)):
            ids[at, : len(row)] = torch.from_numpy(row)
            asked[at, len(rollout.prompt_ids) - 1 : len(row) - 1] = True
        row, column = asked.nonzero(as_tuple=True)
        ours, theirs = (
            (p.logits(ids, (row, column)).double() / temperature).log_softmax(-1)
            for p in (policy, reference)
        )
        gap = (ours - theirs).masked_fill(torch.isneginf(ours), 0.0)
        total += float((ours.exp() * gap).sum())
        count += len(row)
    return total / max(1, count)


def text_of(rollout: Rollout) -> str:
    """An answer as it was drawn, its end token left out."""
    return "".join(TOKENS[i] for i in rollout.ids if TOKENS[i] in TOKENS[2:])

"""Numbers that are not finite, put into a real training step: which, where, and what is left.

The step is `step.train_step` with the real sampler, learner and objective on a tiny policy, in
several micro-batches. Twins without the fault say what must be there afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import product
from typing import Any
from unittest.mock import patch

import numpy as np
import torch

from evenodds import learner as learning
from evenodds.batch import collate
from evenodds.curricula import make_curriculum
from evenodds.domain import Group, Limits, Status, Verdict
from evenodds.errors import NotFinite
from evenodds.learner import LearnerOptions, TorchLearner, Update, asked
from evenodds.objectives import Objective, make_objective
from evenodds.policies import Policy
from evenodds.sampling.native import NativeSampler
from evenodds.step import State, StepConfig, StepReport, Tools, train_step
from evenodds.tasks import make_task
from tests.tiny import make_lora, make_policy

TENSORS = ("reward", "old log-prob", "logits", "loss", "gradient", "weight")
PLACES = ("first", "middle", "last")
VALUES = (float("nan"), float("inf"), float("-inf"))
EVERY = tuple(product(TENSORS, PLACES, VALUES))
BUDGET = 60  # tokens of a micro-batch: four and more of them
TASK = make_task("multiplication")

SAID = {  # how the sentence of a skipped update begins
    "reward": "the advantage",
    "old log-prob": "the log-probability that the sampler recorded",
    "logits": "the log-probability of the policy",
    "loss": "the loss",
    "gradient": "the gradient of",
    "weight": "the weight",
}


class Halves:
    """Pays every other answer, whatever it says."""

    def judge(self, problems, rollouts):
        sides = (Status.WRONG, Status.RIGHT)
        return [
            [Verdict(float(i % 2), sides[i % 2]) for i, _ in enumerate(row)] for row in rollouts
        ]


@dataclass
class Bench:
    """A policy with all that trains it. steps: reports so far."""

    kind: str = "all weights"
    passes: int = 1
    objective: Objective = field(
        default_factory=lambda: make_objective("grpo", mask_truncated=False)
    )
    steps: list[StepReport] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.policy: Policy = make_policy("qwen3")
        if self.kind == "LoRA":
            self.policy = make_lora(self.policy)
        options = LearnerOptions(
            learning_rate=3e-3, warmup_steps=3, micro_batch_tokens=BUDGET, passes=self.passes
        )
        self.learner = TorchLearner(self.policy, options)
        self.tools = Tools(NativeSampler(self.policy), Halves(), self.learner)
        self.config = StepConfig(4, 4, Limits(10), self.objective)
        self.state = State(make_curriculum("uniform", TASK), seed=3)

    def step(self) -> StepReport:
        self.state, report = train_step(self.state, self.tools, self.config)
        self.steps.append(report)
        return report

    def tensors(self) -> dict[str, torch.Tensor]:
        """Weights, frozen ones too, moments and counts."""
        found = {f"weight {n}": p.detach().clone() for n, p in self.policy.model.named_parameters()}
        moments, counts = self.learner.state()
        found |= {f"moment {name}": value.clone() for name, value in moments.items()}
        return found | {f"count {n}": torch.tensor(v) for n, v in counts.items()}


def same(one: dict[str, torch.Tensor], two: dict[str, torch.Tensor]) -> bool:
    return one.keys() == two.keys() and all(torch.equal(one[name], two[name]) for name in one)


def finite(tensors: dict[str, torch.Tensor]) -> bool:
    return all(bool(value.isfinite().all()) for value in tensors.values())


@dataclass
class Fault:
    """One bad number. keys: of the problems in the micro-batch it is in, known once it was put."""

    tensor: str
    place: str
    value: float
    turn: int = 1
    keys: set[str] = field(default_factory=set)

    @contextmanager
    def put(self, bench: Bench) -> Iterator[None]:
        """In the next update of the bench, once for each of its steps."""
        update = bench.learner.update

        def harmed(batch, objective) -> Update:
            micros = [m.index for m in asked(bench.policy, batch, BUDGET)]
            assert len(micros) >= 3
            at = {"first": 0, "middle": len(micros) // 2, "last": len(micros) - 1}[self.place]
            self.keys |= {self._key[index] for index in micros[at]}
            with self._at(bench, at + (self.turn - 1) * len(micros)):
                return update(batch, objective)

        with patch.object(bench.learner, "update", harmed), self._groups(bench):
            yield

    @contextmanager
    def _groups(self, bench: Bench) -> Iterator[None]:
        """Faults that come with the answers are put into them before the batch is made."""
        import evenodds.step as step

        def harmed(groups: list[Group], objective: Objective):
            keys = [group.problem.key for group in groups for _ in group.rollouts]
            self._key = keys
            if self.tensor not in ("reward", "old log-prob"):
                return collate(groups, objective)
            micros = [m.index for m in asked(bench.policy, collate(groups, objective), BUDGET)]
            at = {"first": 0, "middle": len(micros) // 2, "last": len(micros) - 1}[self.place]
            return collate(self._harmed(groups, micros[at][0]), objective)

        with patch.object(step, "collate", harmed):
            yield

    def _harmed(self, groups: list[Group], index: int) -> list[Group]:
        found = list(groups)
        number, place = divmod(index, len(groups[0].rollouts))
        group = groups[number]
        rollouts, verdicts = list(group.rollouts), list(group.verdicts)
        if self.tensor == "reward":
            verdicts[place] = replace(verdicts[place], score=self.value)
        else:
            logprobs = rollouts[place].logprobs.copy()
            logprobs[-1] = self.value
            rollouts[place] = replace(rollouts[place], logprobs=logprobs)
        found[number] = Group(group.problem, rollouts, verdicts)
        return found

    @contextmanager
    def _at(self, bench: Bench, number: int) -> Iterator[None]:
        """Faults that are made on the way, in the micro-batch with this number."""
        calls = {"count": -1}
        ask, score, value = learning.ask, Objective.score, self.value
        first = next(iter(bench.learner.parameters.values()))

        def here(tensor: str) -> bool:
            return self.tensor == tensor and calls["count"] == number

        def asking(policy, micro, *rest) -> Any:
            calls["count"] += 1
            if here("weight"):
                first.data.view(-1)[first.numel() // 2 :] = value
                policy.refresh()  # LoRA's factors are read once a pass
            return ask(policy, micro, *rest)

        def hidden(policy, cells, inner: Callable[..., Any] = Policy._hidden) -> torch.Tensor:
            found = inner(policy, cells)
            if here("logits"):
                found = found.clone()
                found[-1] = value
            return found

        def scoring(objective, *rest) -> Any:
            found = score(objective, *rest)
            return found._replace(loss=found.loss + value) if here("loss") else found

        def gradient(found: torch.Tensor) -> torch.Tensor:
            if here("gradient"):
                found = found.clone()
                found.view(-1)[0] = value
            return found

        hook = first.register_hook(gradient)
        with (
            patch.object(learning, "ask", asking),
            patch.object(Policy, "_hidden", hidden),
            patch.object(Objective, "score", scoring),
        ):
            yield
        hook.remove()


@contextmanager
def no_update(bench: Bench) -> Iterator[None]:
    """The twin: a step whose update is not made at all."""
    with patch.object(bench.learner, "update", lambda batch, objective: Update({}, {})):
        yield


def drawn_in(report: StepReport) -> list[list[int]]:
    return [rollout.ids.tolist() for group in report.groups for rollout in group.rollouts]


@dataclass(frozen=True)
class Story:
    """What must be there behind each of some steps, without the fault: once for all of them."""

    tensors: list[dict[str, torch.Tensor]]
    drawn: list[list[list[int]]]
    version: int


@cache
def without_the_second(kind: str) -> Story:
    """Three steps, of which the second makes no update."""
    twin = Bench(kind)
    twin.step()
    tensors = [twin.tensors()]
    with no_update(twin):
        twin.step()
    tensors.append(twin.tensors())
    twin.step()
    return Story([*tensors, twin.tensors()], [drawn_in(r) for r in twin.steps], twin.state.version)


def amiss(fault: Fault, kind: str = "all weights") -> list[str]:
    """A fault between sound steps: what is not as if that step had made no update."""
    bench, story, found = Bench(kind), without_the_second(kind), []
    bench.step()
    with fault.put(bench), np.errstate(all="ignore"):
        report = bench.step()
    after, skips = bench.tensors(), bench.state.skips
    if not (finite(after) and same(story.tensors[0], after) and same(story.tensors[1], after)):
        found.append("weights, moments or counts are not those before")
    if (skips.total, skips.in_a_row, report.update and report.update.is_taken) != (1, 1, False):
        found.append(f"counted as {skips}")
    if not report.fault.startswith(SAID[fault.tensor]) or report.skipped != report.fault:
        found.append(f"told as {report.fault!r}")
    if not any(repr(key) in report.fault for key in fault.keys):
        found.append(f"no key of {sorted(fault.keys)} in {report.fault!r}")
    bench.step()
    drawn = [drawn_in(one) for one in bench.steps]
    if drawn != story.drawn or not same(bench.tensors(), story.tensors[2]):
        found.append("the step behind it is another one")
    if bench.state.skips.in_a_row or bench.state.version != story.version:
        found.append("a sound step does not end the row")
    return found


def amiss_in_a_row(fault: Fault, kind: str = "all weights") -> list[str]:
    """The same fault in three steps in a row: what is not as it should be at the end."""
    bench, found = Bench(kind), []
    bench.step()
    before = bench.tensors()
    with fault.put(bench), np.errstate(all="ignore"):
        for _ in range(3):
            bench.step()
        try:
            bench.step()
            found.append("a fourth step was made")
        except NotFinite as error:
            told = str(error)
            if "at step 4: " + SAID[fault.tensor] not in told or "3 updates in a row" not in told:
                found.append(f"told as {told!r}")
            if not any(repr(key) in told for key in fault.keys):
                found.append(f"no key of {sorted(fault.keys)} in {told!r}")
    if not same(before, bench.tensors()):
        found.append("weights, moments or counts are not those before")
    return found


@cache
def with_one_pass_first(kind: str) -> tuple[Story, dict[str, float]]:
    """Two steps, of which the first has one pass instead of two; and its metrics."""
    twin = Bench(kind, 2)
    whole = twin.learner.options
    twin.learner.options = replace(whole, passes=1)
    update = twin.step().update
    assert update is not None
    tensors = [twin.tensors()]
    twin.learner.options = whole
    twin.step()
    return Story([*tensors, twin.tensors()], [], twin.state.version), dict(update.metrics)


def amiss_in_pass_two(fault: Fault, kind: str = "all weights") -> list[str]:
    """A fault in the second of two passes: what is not as if there had been one pass alone."""
    fault = replace(fault, turn=2)
    bench, found = Bench(kind, 2), []
    story, metrics = with_one_pass_first(kind)
    with fault.put(bench), np.errstate(all="ignore"):
        report = bench.step()
    update = report.update
    if update is None or not update.is_taken or not same(bench.tensors(), story.tensors[0]):
        found.append("the first pass does not stay")
    if update is None or dict(update.metrics) != metrics:
        found.append("metrics are not those of one pass")
    if bench.state.skips.total != 1 or "pass 2" not in report.fault or report.skipped:
        found.append(f"counted as {bench.state.skips}")
    bench.step()
    if not same(bench.tensors(), story.tensors[1]):
        found.append("the step behind it is another one")
    return found

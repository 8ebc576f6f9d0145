"""Our contender: the real `train_step`, with its records written as a run writes them."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.speed_parts.clock import Clock
from benchmarks.speed_parts.forced import forced
from benchmarks.speed_parts.work import RATE, Work, coin, lengths, prompts
from evenodds.domain import Completion, Group, Limits, Problem, Status, Verdict
from evenodds.judge import InlineJudge
from evenodds.learner import TorchLearner
from evenodds.policies import Policy
from evenodds.policies.load import PolicyOptions, load_policy
from evenodds.records import rollout_table
from evenodds.run.build import learner_options, objective_of, policy_options
from evenodds.run.config import Config, make_config
from evenodds.run.folder import RunFolder
from evenodds.run.timing import Stopwatch, timed
from evenodds.run.writer import RunWriter
from evenodds.sampling.native import NativeSampler, Pages
from evenodds.step import State, StepConfig, Tools, train_step

WRITE = Pages.write


def force_ours(targets: Sequence[int], harmless: int) -> None:
    """From now on our engine's lines end at these lengths, in the order of its rollouts."""
    goal = np.asarray(targets)

    def forced_write(
        pages: Pages, lines: NDArray[np.int64], tokens: NDArray[np.int64], *rest: Any
    ) -> Any:
        ends = pages.codec.stop_ids
        forced(tokens, pages.lengths[lines] + 1, goal[lines], ends, harmless)
        return WRITE(pages, lines, tokens, *rest)

    Pages.write = forced_write  # type: ignore[method-assign]


@dataclass(frozen=True)
class Given:
    """A curriculum without a choice: the problems of this turn."""

    problems: Sequence[Problem]

    def propose(self, n: int, rng: np.random.Generator) -> list[Problem]:
        return list(self.problems[:n])

    def observe(self, groups: Sequence[Group]) -> Given:
        return self

    def metrics(self) -> dict[str, float]:
        return {}


def config_of(work: Work) -> Config:
    """What `evenodds train` would be told; everything else is as it is when nothing is said."""
    lora = {"adapter": "lora", "rank": work.rank, "alpha": 2 * work.rank}
    return make_config(
        {
            "policy": {"name": work.model, **(lora if work.rank else {"adapter": "none"})},
            "learner": {"learning_rate": RATE, "warmup_steps": 0},
            "sampling": {
                "groups": work.groups,
                "group_size": work.group_size,
                "max_tokens": work.max_tokens,
            },
        }
    )


class Ours:
    """Sampler, judge and learner as a run has them, around the work's model."""

    def __init__(self, work: Work, profile: str) -> None:
        self.work, self.profile = work, profile
        config = config_of(work)
        self.policy = load_policy(policy_options(config))
        self.watch, self.clock = Stopwatch(), Clock()
        self.clock.watch_backward()
        judge = InlineJudge(self._verdict)
        learner = TorchLearner(self.policy, learner_options(config, self.policy))
        self.tools = timed(Tools(NativeSampler(self.policy), judge, learner), self.watch)
        limits = Limits(work.max_tokens)
        self.config = StepConfig(work.groups, work.group_size, limits, objective_of(config))
        self.folder = tempfile.TemporaryDirectory()
        self.writer = RunWriter(RunFolder(Path(self.folder.name)))
        self.state: Any = State(Given([]))
        self.number = 0

    def _verdict(self, problem: Problem, completion: Completion) -> Verdict:
        score = coin(completion.text, self.number)
        return Verdict(score, Status.RIGHT if score else Status.WRONG)

    def turn(self, number: int) -> dict[str, Any]:
        """One training step on the turn's prompts, and its rollouts on the disk."""
        self.number = number
        put = prompts(self.work, number)
        given = Given([Problem(f"{number}/{p}", text, "", "speed") for p, text in enumerate(put)])
        force_ours(lengths(self.work, self.profile, number), self._harmless())
        state = replace(self.state, curriculum=given, seed=number)
        started = time.perf_counter()
        self.state, report = train_step(state, self.tools, self.config)
        with self.watch.measure("write"):
            table = rollout_table(self.state.step, report, "coin", put)
            self.writer.rollouts(self.state.step, table)
        seconds = time.perf_counter() - started
        rollouts = [rollout for group in report.groups for rollout in group.rollouts]
        return {
            "seconds": seconds,
            "phases": self._phases(),
            "tokens": [rollout.ids.size for rollout in rollouts],
            "prompt_tokens": sum(group.rollouts[0].prompt_ids.size for group in report.groups),
            "learned": report.update.metrics["extent/rollouts"] if report.update else 0,
        }

    def _phases(self) -> dict[str, float]:
        taken = {name.removeprefix("time/"): s for name, s in self.watch.lap().items()}
        backward = self.clock.lap().get("backward", 0.0)
        forward = taken.pop("learn", 0.0) - backward
        return {**taken, "forward": forward, "backward": backward}

    def _harmless(self) -> int:
        return harmless(self.policy)


def harmless(policy: Policy) -> int:
    """A token that ends nothing: that of the digit 1."""
    return int(policy.codec.encode("1")[-1])


class Engine:
    """Our sampler alone on the base model without an adapter, as Hugging Face generate has it."""

    def __init__(self, work: Work, profile: str) -> None:
        self.work, self.profile = work, profile
        dtype = "bfloat16" if work.rank else "float32"
        self.policy = load_policy(PolicyOptions(name=work.model, adapter="none", dtype=dtype))
        self.policy.model.requires_grad_(False)
        self.sampler = NativeSampler(self.policy)

    def turn(self, number: int) -> dict[str, Any]:
        put = prompts(self.work, number)
        force_ours(lengths(self.work, self.profile, number), harmless(self.policy))
        started = time.perf_counter()
        limits = Limits(self.work.max_tokens)
        groups = self.sampler.sample(put, self.work.group_size, limits, number)
        seconds = time.perf_counter() - started
        return {
            "seconds": seconds,
            "phases": {"sample": seconds},
            "tokens": [rollout.ids.size for group in groups for rollout in group],
            "prompt_tokens": sum(group[0].prompt_ids.size for group in groups),
            "learned": 0,
        }

"""R1 and R2: a run that was ended anywhere and taken up again is the run that nobody disturbed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

from tests.faults import children
from tests.faults.fingerprint import differences, fingerprint, leftovers
from tests.faults.moments import Moment, install

STEPS = 10
MOST = 300.0  # seconds for a sitting, which has one where a machine is quiet
SMALLER: dict[str, Any] = {
    "run__steps": STEPS,
    "run__keep": 1,  # so that what is there at the end does not depend on where it was ended
    "sampling__groups": 3,
    "sampling__max_tokens": 8,
    "evaluation__problems": 1,
    "evaluation__samples": 1,
    "evaluation__greedy": "false",
    "check__ignore": "truncation",  # two answers of eight tokens are often cut both
}
LORA = {"policy__adapter": "lora", "policy__rank": 2, "policy__alpha": 4}
RECIPES = ("grpo", "dr_grpo", "dapo")
ARMS: dict[str, dict[str, Any]] = {
    f"{recipe}, {adapter}, {passes} passes": {
        "objective__recipe": recipe,
        "learner__passes": passes,
        "sampling__rounds": 3,  # where the recipe refills
        **(LORA if adapter == "LoRA" else {}),
    }
    for recipe, adapter, passes in product(RECIPES, ("all weights", "LoRA"), (1, 4))
}
OTHERS: dict[str, dict[str, Any]] = {
    "a checkpoint each 3 steps, correction": {
        "run__save_every": 3,
        "objective__correction": "token_truncate",
        "learner__passes": 2,
    },
    "LoRA, KL, each 3 steps": {**LORA, "run__save_every": 3, "objective__kl": 0.1},
    "KL, entropy target, review": {
        "objective__kl": 0.1,
        "objective__entropy_target": 2.0,
        "objective__entropy_step": 0.02,
        "curriculum__review": 0.3,
    },
    "dapo, a long tail, uniform, each 3 steps": {
        "objective__recipe": "dapo",
        "objective__overlong": 0.5,
        "sampling__rounds": 3,
        "curriculum__kind": "uniform",
        "run__save_every": 3,
    },
    "evaluations on the way": {
        "evaluation__every": 3,
        "evaluation__every_problems": 1,
        "run__save_every": 2,
        "learner__weight_decay": 0.1,
    },
}


@dataclass(frozen=True)
class Arm:
    """One configuration. whole: the fingerprint of its run that nobody disturbed.

    refills: steps in which a second round was drawn. updated: those in which something was learned.
    """

    name: str
    root: Path
    settings: Mapping[str, Any]
    whole: dict[str, Any]
    refills: tuple[int, ...]
    updated: frozenset[int]

    def arguments(self, name: str) -> list[str]:
        return children.tiny(self.root, name, **self.settings)


@dataclass(frozen=True)
class Story:
    """The moments that end its sittings, one after the other; then it goes on to its end."""

    arm: str
    moments: tuple[Moment, ...]

    def __str__(self) -> str:
        return f"{self.arm}: {', then '.join(map(str, self.moments))}"


def arm_of(name: str, root: Path, settings: Mapping[str, Any] | None = None) -> Arm:
    """The run of an arm from its start to its end, by its name; or with settings of its own,
    and the steps of a run in trouble.
    """
    odd = settings is not None
    settings = {**SMALLER, **((ARMS | OTHERS)[name] if settings is None else settings)}
    arguments = children.tiny(root, "whole", **settings)
    ended = sitting(arguments, root / "said-whole", None, 0, odd)
    assert ended.code == 0, ended.err
    rounds = {row["step"]: max(row["round"]) for row in rows(root / "whole" / "groups.jsonl")}
    refills = tuple(step for step, most in rounds.items() if most)
    lines = rows(root / "whole" / "metrics.jsonl")
    updated = frozenset(row["step"] for row in lines if row.get("loss") is not None)
    return Arm(name, root, settings, fingerprint(root / "whole"), refills, updated)


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def sitting(
    arguments: Sequence[str], said: Path, moment: Moment | None, seed: int, odd: bool = False
) -> children.Ended:
    return children.start(arguments, said, before=partial(install, moment, seed, odd)).wait(MOST)


def tell(story: Story, arm: Arm, name: str) -> list[str]:
    """What differs at the end; empty where nothing does. Every way to go on is taken in turn."""
    run, seed = arm.root / name, len(name)
    ways = [arm.arguments(name), ["train", "--resume", str(run)]]
    for turn, moment in enumerate(story.moments):
        ended = sitting(ways[turn % 2], arm.root / f"said-{name}-{turn}", moment, seed + turn)
        if ended.code != moment.code:
            return [f"{moment} ended with {ended.code}: {ended.err[-500:]}"]
    turn = len(story.moments)
    ended = sitting(ways[turn % 2], arm.root / f"said-{name}-{turn}", None, seed + turn)
    if ended.code != 0:
        return [f"went on to exit {ended.code}: {ended.err[-500:]}"]
    return [*differences(arm.whole, fingerprint(run)), *leftovers(run)]


def moments_of(arm: Arm) -> list[Moment]:
    """Ways to end a sitting, without their steps: between steps, and inside one."""
    many = int(arm.settings.get("learner__passes", 1))
    kinds = [
        ("finishing", "kill", 1, True),
        ("pass", "kill", max(1, many - 1), False),
        ("judging", "kill", 1, False),
        ("finishing", "stop", 1, True),
        ("pass", "fail", many, True),
        ("writing", "kill", 1, True),
        ("sampling", "kill", 1, True),
        ("judging", "fail", 1, False),
        ("saving", "kill", 1, True),
        ("recording", "fail", 1, True),
    ]
    return [Moment(0, where, how, nth, after) for where, how, nth, after in kinds]


def stories_of(arm: Arm, number: int) -> Iterator[Story]:
    """One for every step, in another way each; refills where there are; one of three deep."""
    kinds = moments_of(arm)
    chosen = [kinds[(step + 3 * number) % len(kinds)] for step in range(1, STEPS + 1)]
    at = [_in_step(kind, step, arm) for step, kind in enumerate(chosen, 1)]
    yield from (Story(arm.name, (moment,)) for moment in at)
    if arm.refills:
        yield Story(arm.name, (Moment(arm.refills[-1], "sampling", "kill", 2),))
        yield Story(arm.name, (Moment(arm.refills[0], "judging", "fail", 2),))
    if "evaluation__every" in arm.settings:
        yield Story(arm.name, (Moment(3, "evaluating", "stop"), Moment(6, "evaluating", "kill")))
        yield Story(arm.name, (Moment(6, "evaluating", "stop"), Moment(6, "evaluating", "stop")))
    yield Story(arm.name, (at[1], at[4], at[7]))


def _in_step(moment: Moment, step: int, arm: Arm) -> Moment:
    every = {"where": moment.where, "how": moment.how, "nth": moment.nth, "after": moment.after}
    learns = moment.where != "pass" or step in arm.updated
    if moment.where == "saving" or not learns:  # not every step is saved, nor teaches something
        every |= {"where": "recording", "nth": 1}
    return Moment(step, **every)

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
from tests.faults.setting import MOST, RUN, WHOLE, Setting, undisturbed

STEPS = 10
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


NAMES = [*ARMS, *OTHERS]


@dataclass(frozen=True)
class Story:
    """The moments that end its sittings, one after the other; then it goes on to its end."""

    arm: str
    moments: tuple[Moment, ...]

    def __str__(self) -> str:
        return f"{self.arm}: {', then '.join(map(str, self.moments))}"


def arm_of(name: str, root: Path, settings: Mapping[str, Any] | None = None) -> Setting:
    """The run of an arm from its start to its end, by its name; or with settings of its own,
    and the steps of a run in trouble.
    """
    odd = settings is not None
    settings = {**SMALLER, **((ARMS | OTHERS)[name] if settings is None else settings)}
    return undisturbed(root, before=partial(install, None, 0, odd), once=True, **settings)


def refills(arm: Setting) -> tuple[int, ...]:
    """Steps in which a second round was drawn."""
    lines = rows(arm.run(WHOLE) / "groups.jsonl")
    return tuple(row["step"] for row in lines if max(row["round"]))


def updated(arm: Setting) -> frozenset[int]:
    """Steps in which something was learned."""
    lines = rows(arm.run(WHOLE) / "metrics.jsonl")
    return frozenset(row["step"] for row in lines if row.get("loss") is not None)


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def sitting(
    arguments: Sequence[str],
    said: Path,
    moment: Moment | None,
    seed: int,
    odd: bool = False,
    within: Path | None = None,
) -> children.Ended:
    before = partial(install, moment, seed, odd)
    return children.start(arguments, said, None, before, within).wait(MOST)


def tell(story: Story, arm: Setting, name: str) -> list[str]:
    """What differs at the end; empty where nothing does. Every way to go on is taken in turn."""
    place, seed = arm.begin(name), len(name)
    ways = [arm.arguments, ["train", "--resume", RUN]]
    for turn, moment in enumerate((*story.moments, None)):
        said = place / f"said-{turn}"
        ended = sitting(ways[turn % 2], said, moment, seed + turn, within=place)
        if ended.code != (moment.code if moment else 0):
            return [f"{moment or 'the last'} ended with {ended.code}: {ended.err[-500:]}"]
    run = arm.run(name)
    return [*differences(arm.whole, fingerprint(run)), *leftovers(run)]


def moments_of(arm: Setting) -> list[Moment]:
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


def stories_of(arm: Setting, name: str) -> Iterator[Story]:
    """One for every step, in another way each; refills where there are; one of three deep."""
    kinds, number, again = moments_of(arm), NAMES.index(name), refills(arm)
    chosen = [kinds[(step + 3 * number) % len(kinds)] for step in range(1, STEPS + 1)]
    learned = updated(arm)
    at = [_in_step(kind, step, step in learned) for step, kind in enumerate(chosen, 1)]
    yield from (Story(name, (moment,)) for moment in at)
    if again:
        yield Story(name, (Moment(again[-1], "sampling", "kill", 2),))
        yield Story(name, (Moment(again[0], "judging", "fail", 2),))
    if "evaluation__every" in arm.settings:
        yield Story(name, (Moment(3, "evaluating", "stop"), Moment(6, "evaluating", "kill")))
        yield Story(name, (Moment(6, "evaluating", "stop"), Moment(6, "evaluating", "stop")))
    yield Story(name, (at[1], at[4], at[7]))


def _in_step(moment: Moment, step: int, learns: bool) -> Moment:
    every = {"where": moment.where, "how": moment.how, "nth": moment.nth, "after": moment.after}
    # not every step is saved, nor teaches something
    if moment.where == "saving" or (moment.where == "pass" and not learns):
        every |= {"where": "recording", "nth": 1}
    return Moment(step, **every)

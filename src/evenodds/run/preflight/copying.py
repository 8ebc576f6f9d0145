"""Whether a prompt gives its own answer away: the verifier is asked about pieces of prompts."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from evenodds.domain import SAME_REWARD, Completion, Problem, as_text
from evenodds.judge import open_judge, rows_by
from evenodds.judge.opening import runs_inline
from evenodds.run.build import judge_options
from evenodds.run.preflight.finding import Finding
from evenodds.run.preflight.ground import Ground, trained_levels
from evenodds.run.preflight.trial import SEED
from evenodds.statistics import percent
from evenodds.tasks.values import short

ASKED, FEWEST = 48, 8  # problems of training, over all levels
SECONDS = 3.0  # for judging all pieces of them
MUCH = 0.15  # share that is paid for a piece of its own prompt, and not for that of another's
NUMBER = re.compile(r"-?\d+(?:[.,]\d+)*")


def _line(text: str) -> str:
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "")


def _number(text: str, at: int) -> str:
    found = NUMBER.findall(text)
    return found[at] if found else ""


PIECES: Mapping[str, Callable[[str], str]] = {
    "the whole prompt": str.strip,
    "its last line": _line,
    "its last number": lambda text: _number(text, -1),
    "its first number": lambda text: _number(text, 0),
}
"""What a policy may copy."""


@dataclass(frozen=True)
class Copied:
    """A piece of prompts as an answer. own: problems that pay for that of their own prompt, of
    `asked`; others: for that of the next problem's. example: the first that pays, and what."""

    piece: str
    own: int
    others: int
    asked: int
    example: tuple[str, str] = ("", "")

    @property
    def share(self) -> float:
        """What is paid for the prompt, and not for being of the kind that answers are."""
        return (self.own - self.others) / max(1, self.asked)


def copying(found: Sequence[Copied]) -> Finding | None:
    """found: of each piece; a task that is to be copied is told too, for nothing tells it apart."""
    worst = max(found, key=lambda one: one.share, default=None)
    if worst is None or not worst.asked:
        return None
    if worst.share < MUCH:
        return Finding("copying", "fine", "no piece of a prompt is paid as its answer")
    prompt, said = worst.example
    return Finding(
        "copying",
        "warning",
        f"{percent(worst.own / worst.asked)} of {worst.asked} problems pay for {worst.piece}, and "
        f"{percent(worst.others / worst.asked)} for that of another: {short(prompt)} pays for "
        f"{short(said)}",
        "where the answer stands in the prompt, copying it is what is learned; unless that is the "
        "task, the gain says nothing of it",
        "the column in --task.prompt, or prompts without their answers",
    )


def question(problem: Problem) -> str:
    """What is asked: a plain prompt, or the last message of a conversation."""
    prompt = problem.prompt
    return prompt if isinstance(prompt, str) else prompt[-1]["content"]


def look_at_copying(ground: Ground) -> Finding | None:
    """In `train` only where the verifier needs no processes of its own."""
    verifier = ground.plan.task.verifier
    if ground.probe is None and not runs_inline(verifier):
        return None
    problems = _problems(ground)[: _count(ground)]
    if len(problems) < FEWEST:
        return None
    texts = [question(one) for one in problems]
    with open_judge(verifier, judge_options(ground.plan.config)) as judge:

        def paid(rows: Sequence[tuple[Problem, str]]) -> list[bool]:
            asked = [(problem, Completion(said)) for problem, said in rows]
            return [one.is_judged and one.score > SAME_REWARD for one in rows_by(judge, asked)]

        return copying([_copied(name, problems, texts, paid) for name in PIECES])


def _copied(
    name: str,
    problems: Sequence[Problem],
    texts: Sequence[str],
    paid: Callable[[Sequence[tuple[Problem, str]]], list[bool]],
) -> Copied:
    said = [PIECES[name](text) for text in texts]
    own = paid([*zip(problems, said, strict=True)])
    others = paid([*zip(problems, [*said[1:], *said[:1]], strict=True)])
    at = next((n for n, is_paid in enumerate(own) if is_paid), None)
    example = ("", "") if at is None else (texts[at], said[at])
    return Copied(name, sum(own), sum(others), len(problems), example)


def _count(ground: Ground) -> int:
    """How many problems are asked, as far as it is known what judging takes."""
    probe = ground.probe
    if probe is None or probe.timed is None:
        return ASKED
    return affordable(probe.timed.judge, sum(len(group.rollouts) for group in probe.batch))


def affordable(seconds: float, answers: int) -> int:
    """Problems for which there is time where so many answers took so long to judge."""
    each = seconds / max(1, answers)
    return int(SECONDS / max(1e-9, 2 * len(PIECES) * each))


def _problems(ground: Ground) -> list[Problem]:
    """Different problems, drawn as training draws them, over its levels in turn."""
    task, rng = ground.plan.task, np.random.default_rng(SEED)
    levels = trained_levels(ground.plan)
    drawn = [task.generate(levels[n % len(levels)], rng) for n in range(ASKED)]
    return [*{as_text(one.prompt): one for one in drawn}.values()]

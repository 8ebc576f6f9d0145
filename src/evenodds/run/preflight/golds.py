"""Golds on the whole path of an answer: as tokens, ended as a sampler does, as text, judged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from evenodds.domain import Completion, Limits, Problem, Status, Stop
from evenodds.judge import OpenJudge, open_judge, rows_by
from evenodds.report.text import counted
from evenodds.run.build import judge_options, limits_of
from evenodds.run.preflight.finding import Finding
from evenodds.run.preflight.ground import Ground, right_answers
from evenodds.tasks.check import wrong_of
from evenodds.tasks.values import short
from evenodds.verifiers import RegisteredVerifier

if TYPE_CHECKING:
    from evenodds.policies import Policy

GOLDS, WRONG = 20, 4  # that are looked at, over all levels
FATAL = 0.1  # share of golds that are lost on the way
CLOSED = "</think>\n"


@dataclass(frozen=True)
class Passed:
    """An answer and what is left of it when it was drawn token by token."""

    problem: Problem
    right: str
    completion: Completion

    @property
    def changed(self) -> bool:
        return self.completion.text.strip() != self.right.strip()

    @property
    def doubtful(self) -> bool:
        """Whether a verifier may say anything else than of the bare answer."""
        return self.changed or "<think>" in self.completion.prompt_tail


def passed(rows: Sequence[tuple[Problem, str]], policy: Policy, limits: Limits) -> list[Passed]:
    """Problems with an answer each, as a sampler that drew the tokens of these would hand them
    over. The budget is no matter here, for another check looks at it."""
    from evenodds.sampling.native import Pages

    codec = policy.codec
    end = sorted(codec.stop_ids)[:1]
    ids = [[*codec.tokenizer.encode(said, add_special_tokens=False), *end] for _, said in rows]
    budget = 1 + max(map(len, ids), default=0)
    drawn = replace(limits, max_tokens=budget)
    pages = Pages([0] * len(rows), drawn, codec, policy.model.config.vocab_size)
    none = np.zeros(1, np.float32)
    for line, tokens in enumerate(ids):
        for token in tokens:
            if not pages.over[line]:
                pages.write(np.array([line]), np.array([token]), none)
    found: list[Passed] = []
    for line, (problem, said) in enumerate(rows):
        rollout = pages.rollout(line, np.zeros(0, np.int64))
        stop = Stop.END_TOKEN if rollout.stop is Stop.BUDGET else rollout.stop
        tail = codec.tail(problem.prompt)
        found.append(Passed(problem, said, Completion(rollout.text, stop, tail)))
    return found


def gold(lost: Sequence[Passed], looked_at: int, paid_wrong: Sequence[Passed] = ()) -> Finding:
    """lost: right answers that are not right any more when they come out.

    paid_wrong: wrong answers that are right when they come out.
    """
    what = f"{looked_at - len(lost)} of {counted(looked_at, 'gold')} are right when drawn as tokens"
    why = "what cannot be said cannot be learned: the policy is paid nothing for the right answer"
    worst = [*lost, *paid_wrong][:1]
    if not worst:
        return Finding("gold", "fine", what)
    one = worst[0]
    if not lost:
        what = f"a wrong answer is paid after it was drawn as tokens: {short(one.right)}"
        why = "the policy learns what is paid"
    what = f"{what}; {short(one.right)} comes out as {short(one.completion.text)}"
    change = "--task.style or --task.verifier, or another --policy.name: it cannot write the answer"
    level = "fatal" if len(lost) >= FATAL * looked_at or not lost else "warning"
    return Finding("gold", level, what, why, change)


def golds(ground: Ground) -> list[Passed]:
    """Some right answers of each level that is asked, passed through."""
    rows = right_answers(ground.plan, GOLDS)
    return passed(rows, ground.made.policy, limits_of(ground.plan.config, ground.plan.task))


def wrongs(ground: Ground, found: Sequence[Passed]) -> list[list[Passed]]:
    """Wrong answers to some of the same problems, passed through."""
    task, policy = ground.plan.task, ground.made.policy
    limits = limits_of(ground.plan.config, task)
    chosen = found[:: -(-len(found) // WRONG)]
    answers = [(one.problem, wrong_of(task, one.problem, one.right)) for one in chosen]
    return [passed([(p, said) for said in rows], policy, limits) for p, rows in answers if rows]


def look_at_gold(ground: Ground) -> Finding | None:
    """Only what a registered verifier judges has a gold of which is known that it is right.

    Answers that come out as they went in were judged when the task was made; a verifier that runs
    in other processes is asked again only where they do not.
    """
    found, verifier = golds(ground), ground.plan.task.verifier
    if not found or not isinstance(verifier, RegisteredVerifier):
        return None
    inline = verifier.kind.runs == "inline"
    looked = found if inline else [one for one in found if one.doubtful]
    if not looked:
        return gold([], len(found))
    with open_judge(verifier, judge_options(ground.plan.config)) as judge:
        lost = [one for one in looked if not _is_right(judge, one)]
        rows = wrongs(ground, found) if inline else []
        paid = [row[0] for row in rows if all(_is_right(judge, one) for one in row)]
    return gold(lost, len(found), paid)


def _is_right(judge: OpenJudge, one: Passed) -> bool:
    """Whether it is right as it came out, or behind the end of what a template opened."""
    closed = replace(one.completion, text=CLOSED + one.completion.text)
    ways = [(one.problem, one.completion), (one.problem, closed)]
    return any(verdict.status is Status.RIGHT for verdict in rows_by(judge, ways))

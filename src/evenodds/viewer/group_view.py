"""A recorded group as its page shows it: every value a word, a number or safe markup."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from evenodds.domain import Verdict, differ
from evenodds.judge.audit import disagrees
from evenodds.records.values import Answer, RecordedGroup
from evenodds.report.text import counted, listed, safe, tail
from evenodds.viewer.coin import share_words, shown
from evenodds.viewer.gradient import Push, Pushes
from evenodds.viewer.marks import Marked, Table, marked, table_of
from evenodds.viewer.pieces import Vocabulary, numbered
from evenodds.viewer.scales import Legend, number
from evenodds.viewer.tokens import Coloured, coloured

PROMPT_TAIL = 600  # characters of a prompt that stand on the page before it is opened
STOPS = {"end_token": "end token", "stop_string": "stop string", "budget": "cut by the budget"}


@dataclass(frozen=True)
class AuditView:
    """What the second verifier says. differs: both could judge, and only one calls it right."""

    status: str
    score: str
    note: str
    differs: bool


@dataclass(frozen=True)
class AnswerView:
    """One answer. mark: right, wrong, unjudged or coin; sign: the same without colour.

    pushed: its advantage under the chosen objective, and whether it is in that loss; empty where
    that is the run's own. facts: what stands in small print.
    """

    place: int
    mark: str
    sign: str
    status: str
    reward: str
    parts: tuple[tuple[str, str], ...]
    extracted: str | None
    note: str
    audit: AuditView | None
    advantage: str
    why: str
    pushed: str
    facts: tuple[str, str]
    tokens: Marked


@dataclass(frozen=True)
class GroupView:
    """One group. prompt: its end; whole_prompt: all of it, where that is more. taught: whether
    the group had a gradient, in one sentence. coin: a coin paid, so `right` counts what it paid."""

    step: int
    number: int
    key: str
    prompt: str
    whole_prompt: str | None
    gold: str
    level: int
    round: int | None
    right: int
    judged: int
    size: int
    informative: bool
    taught: str
    answers: tuple[AnswerView, ...]
    legends: tuple[Legend, ...]
    has_last: bool
    table: Table | None
    coin: bool = False


def group_view(
    group: RecordedGroup,
    vocabulary: Vocabulary | None,
    pushes: Pushes | None,
    turn: str,
    *,
    other: str = "",
    only: int | None = None,
    coin: bool = False,
) -> GroupView:
    """The view of a group. pushes: of the chosen objective; other: what that is called where it
    is not the run's.

    only: the one answer to show, with all of its tokens; None: all answers, long ones cut.
    """
    colours = coloured(group, pushes, turn)
    prompt = safe(group.prompt)
    judged = group.group.judged
    places = range(len(group.answers)) if only is None else [only]
    return GroupView(
        step=group.step,
        number=group.number,
        key=safe(group.problem.key),
        prompt=tail(prompt, PROMPT_TAIL),
        whole_prompt=prompt if len(prompt) > PROMPT_TAIL else None,
        gold=safe(group.problem.answer),
        level=group.problem.level,
        round=group.round,
        right=group.group.right,
        judged=int(judged.sum()),
        size=len(group.answers),
        informative=group.group.is_informative,
        taught=taught(group, coin),
        answers=tuple(
            _answer(group, place, vocabulary, colours, pushes, other, only is not None, coin)
            for place in places
        ),
        legends=colours.legends,
        has_last=any(answer.last is not None for answer in group.answers),
        table=None if only is None else _table(group.answers[only], vocabulary, colours, only),
        coin=coin,
    )


def taught(group: RecordedGroup, coin: bool = False) -> str:
    """Whether a group had a gradient in its run, and why, in one sentence."""
    rewards = group.group.rewards
    right, judged = group.group.right, rewards.size
    if not judged:
        return "It taught nothing: no answer could be judged."
    kept = sum(answer.kept for answer in group.answers)
    if not differ(rewards):
        kind = "all right" if right == judged else "all wrong" if not right else "all alike"
        if coin:
            kind = "all paid alike by a coin"
        rest = ", and stays in the denominators" if kept else ""
        return f"It taught nothing: its answers are {kind}, with one reward, so no advantage{rest}."
    if not kept:
        whys = Counter(answer.why for answer in group.answers if answer.why)
        return f"Its rewards differ, yet nothing of it is in the loss: {listed([*whys])}."
    out = len(group.answers) - kept
    left = f"; {counted(out, 'answer')} left out" if out else ""
    if coin:
        said = share_words(right, judged, coin)
        return f"It taught chance: {said}, and the weights moved by that{left}."
    return f"It taught: {right} of {judged} right, and the rewards differ{left}."


def _answer(
    group: RecordedGroup,
    place: int,
    vocabulary: Vocabulary | None,
    colours: Coloured,
    pushes: Pushes | None,
    other: str,
    whole: bool,
    coin: bool,
) -> AnswerView:
    answer = group.answers[place]
    texts = _texts(answer, vocabulary)
    verdict = answer.verdict
    mark, sign, status = shown(verdict.status, coin)
    push = None if pushes is None else pushes.by_place.get((group.number, place))
    return AnswerView(
        place=place,
        mark=mark,
        sign=sign,
        status=status,
        reward=number(verdict.score),
        parts=tuple((safe(name), number(value)) for name, value in verdict.parts.items()),
        extracted=None if verdict.extracted is None else safe(verdict.extracted),
        note=safe(verdict.note),
        audit=_audit(answer.audit, verdict, coin),
        advantage=signed(answer.advantage),
        why=safe(answer.why),
        pushed="" if not other or pushes is None else f"{other}: {_pushed(push)}",
        facts=_facts(answer),
        tokens=marked(texts, colours.classes[place], colours.numbers[place], whole),
    )


def _texts(answer: Answer, vocabulary: Vocabulary | None) -> list[str]:
    ids: Any = answer.rollout.ids
    return numbered(ids) if vocabulary is None else vocabulary.texts(ids)


def _table(answer: Answer, vocabulary: Vocabulary | None, colours: Coloured, place: int) -> Table:
    return table_of(_texts(answer, vocabulary), colours.numbers[place])


def _audit(audit: Verdict | None, verdict: Verdict, coin: bool) -> AuditView | None:
    if audit is None:
        return None
    differs = not coin and disagrees(verdict, audit)  # from a coin it differs by chance
    status = audit.status.replace("_", " ")
    return AuditView(status, number(audit.score), safe(audit.note), differs)


def _pushed(push: Push | None) -> str:
    return "not in its loss" if push is None else f"A {signed(push.advantage)}"


def signed(value: float) -> str:
    return number(value) if value <= 0 else f"+{number(value)}"


def _facts(answer: Answer) -> tuple[str, str]:
    rollout = answer.rollout
    length = f"{rollout.ids.size:,} of {counted(rollout.limits.max_tokens, 'token')}"
    how = STOPS.get(rollout.stop, str(rollout.stop))
    return f"{length} · {how}", f"seed {rollout.seed} · policy {rollout.version}"

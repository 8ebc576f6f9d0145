"""The audit of a run as its configuration declares it: the second verifier, and the canaries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from evenodds.domain import Completion, Group, Message, Problem, Prompt, as_text
from evenodds.errors import UsageError
from evenodds.judge import Judge, JudgeOptions, OpenJudge, open_judge, rows_by
from evenodds.judge.audit import Audit, audit_metrics, is_right
from evenodds.judge.canary import FORMS, Canary, find_canary
from evenodds.places import expanded
from evenodds.run.config import Config
from evenodds.run.timing import Stopwatch
from evenodds.tasks import Task, check_gold
from evenodds.tasks.check import PER_LEVEL, right_of
from evenodds.tasks.prompting import user_message
from evenodds.tasks.rows import read_file
from evenodds.tasks.values import short
from evenodds.verifiers import RegisteredVerifier, Verifier, find_verifier
from evenodds.verifiers.function import NAME

if TYPE_CHECKING:
    from evenodds.policies import Policy

MOST_CANARIES = 1000
LONGEST_CANARY = 100_000  # characters of a file's prompt; a tokenizer takes minutes for millions


@dataclass(frozen=True)
class Evidence:
    """What a run has beside its verifier. audit: the second verifier, None without one.

    canary: how golds that nobody can know are made for this verifier, None where it has none.
    prompts: problems without a right answer, for evaluations.
    """

    audit: Verifier | None = None
    canary: Canary | None = None
    prompts: tuple[Problem, ...] = ()


@dataclass(frozen=True)
class _Audited:
    """A task whose answers another verifier judges."""

    task: Task
    verifier: Verifier
    verifier_name: str
    verifier_flag: str = "--audit.verifier"

    def __getattr__(self, name: str) -> Any:
        return getattr(self.task, name)


def evidence_of(
    config: Config, task: Task, style: str, judge: OpenJudge, options: JudgeOptions
) -> Evidence:
    """The audit and the canaries, checked. style: of prompts. judge: of the task's verifier.

    Raises `UsageError` for an audit that is the verifier itself, one that does not find the golds
    right, and canaries that cannot be read or that this verifier cannot judge.
    """
    audit = _audit_of(config, task, options, judge)
    canary = _canary_of(task, judge)
    prompts = _prompts(config.audit.canaries, style, canary)
    return Evidence(audit, None if config.run.random_reward else canary, prompts)


def _audit_of(
    config: Config, task: Task, options: JudgeOptions, payer: OpenJudge
) -> Verifier | None:
    """The second verifier, which finds the golds right as the first one does."""
    name, table = config.audit.verifier, config.audit.policy
    if name is None:
        if table:
            raise UsageError("audit.policy has no verifier. Got only the policy. Name one too.")
        return None
    audit = find_verifier(name, table)
    if _identity(audit) == _identity(task.verifier):
        raise UsageError(
            f"the audit is the verifier itself: both are {name!r} with the same policy. An audit "
            "must be independent. Name another audit.verifier, or a stricter audit.policy."
        )
    with open_judge(audit, options) as judge:
        audited = cast(Task, _Audited(task, audit, f"audit {name}"))
        check_gold(audited, judge_rows=lambda _, pairs: rows_by(judge, pairs))
        if not isinstance(audit, RegisteredVerifier):
            _require_golds_right(name, task, judge, payer)
    return audit


def _require_golds_right(name: str, task: Task, audit: OpenJudge, payer: OpenJudge) -> None:
    """Raise `UsageError` where a person's audit calls most golds wrong: it would refuse all.

    It may want more than the bare answer, so each is tried in several forms. Where neither it nor
    the verifier takes any of them, the form that both want is not known, and nothing is said.
    """
    known = [
        (problem, right)
        for level in range(len(task.levels))
        for problem in task.held_out(level)[:PER_LEVEL]
        if (right := right_of(task, problem)) is not None
    ]
    refused = [pair for pair in known if not _takes(audit, *pair)]
    if 2 * len(refused) <= len(known) or not any(_takes(payer, *pair) for pair in refused):
        return
    problem, right = refused[0]
    raise UsageError(
        f"audit.verifier {name!r} calls {len(refused)} of {len(known)} golds wrong, such as "
        f"{short(right)} for {short(as_text(problem.prompt))}. Mend the function, or name another."
    )


def _takes(judge: OpenJudge, problem: Problem, right: str) -> bool:
    """Whether a right answer is found right in one of the forms that verifiers want."""
    texts = (form.replace("«R»", right) for form in FORMS)
    return any(is_right(next(iter(rows_by(judge, [(problem, Completion(t))])))) for t in texts)


def _identity(verifier: Verifier) -> tuple[object, ...]:
    """What makes two verifiers the same: kind and policy, or the place of a function."""
    if isinstance(verifier, RegisteredVerifier):
        return (verifier.kind.name, verifier.policy)
    name = getattr(verifier, NAME, None)
    if name is None:
        return (id(verifier),)
    place, _, function = str(name).rpartition(":")
    return (Path(place).resolve() if place.endswith(".py") else place, function)


def _canary_of(task: Task, judge: OpenJudge) -> Canary | None:
    """Canaries that this verifier reads, tried on the first held-out problem that has an answer."""
    for level in range(len(task.levels)):
        for problem in task.held_out(level)[:1]:
            right = right_of(task, problem)
            if right is not None:
                return find_canary(problem, right, lambda pairs: [*rows_by(judge, pairs)])
    return None


def _prompts(name: str | None, style: str, canary: Canary | None) -> tuple[Problem, ...]:
    """The prompts of audit.canaries, each with a gold that nobody can know."""
    if name is None:
        return ()
    if canary is None:
        raise UsageError(
            "audit.canaries needs a verifier that reads a gold which nobody can know. Got one "
            "that does not look at problem.answer, or wants more than an answer. Leave it out."
        )
    rows = read_file(expanded(name))
    if len(rows) > MOST_CANARIES:
        raise UsageError(f"{name!r} is too long. Got {len(rows)} rows. Give {MOST_CANARIES}.")
    return tuple(
        canary.problem(Problem(f"canary/{at}", _prompt(place, row, style), "", "canary"), at)
        for at, (place, row) in enumerate(rows)
    )


def _prompt(place: str, row: Mapping[str, object], style: str) -> Prompt:
    """The prompt of one row, as a text or as the messages of a conversation."""
    prompt = row.get("prompt")
    if len(str(prompt)) > LONGEST_CANARY:
        raise UsageError(
            f"{place} is too long for a canary. Got {len(str(prompt)):,} characters. "
            f"Give {LONGEST_CANARY:,} at most."
        )
    if isinstance(prompt, str) and prompt.strip():
        return user_message(prompt) if style == "chat" else prompt
    if isinstance(prompt, list) and prompt:
        try:
            return tuple(_message(message) for message in cast(list[Any], prompt))
        except (TypeError, KeyError):
            pass
    raise UsageError(
        f'{place} is no canary. Got {str(row)[:80]!r}. Write {{"prompt": "…"}} in each row.'
    )


def require_askable(prompts: Sequence[Problem], policy: Policy, budget: int) -> None:
    """Raise `UsageError` for a canary that the policy cannot read. budget: tokens of an answer."""
    codec, room = policy.codec, policy.context
    for problem in prompts:
        codec.require_readable(codec.render(problem.prompt))
        tokens = codec.encode(problem.prompt).size
        if room is not None and tokens + budget > room:
            raise UsageError(
                f"a prompt of audit.canaries is too long. Got {tokens} tokens, and answers of "
                f"{budget}, where {room} are read. Shorten it."
            )


def _message(value: Any) -> Message:
    """A message of a conversation. Raises `TypeError` or `KeyError` for what is none."""
    role, content = value["role"], value["content"]
    if not (isinstance(role, str) and isinstance(content, str)):
        raise TypeError
    return Message(role=role, content=content)


def canary_metrics(
    canary: Canary | None, judge: Judge, groups: Sequence[Group], seed: int, step: int
) -> dict[str, float]:
    """The share of one group's answers that are paid for a gold nobody can know.

    Another group in every step. It costs one more judging of a group, and no sampling.
    """
    if canary is None or not groups:
        return {}
    group = groups[int(np.random.default_rng([seed, step]).integers(len(groups)))]
    fake = canary.problem(group.problem, seed, step)
    verdicts = [v for v in judge.judge([fake], [group.rollouts])[0] if v.is_judged]
    return {"canary/paid": sum(map(is_right, verdicts)) / len(verdicts)} if verdicts else {}


@dataclass
class Examiner:
    """Asks the second judge, and the canaries, about the answers of a step before it is learned.

    Where one of them hangs a signal may leave the step, which then has changed nothing. A coin has
    nothing that could be audited: in the control arm neither is asked while the policy learns.
    judge: the verifier. verdicts: of the audit on the newest step, None without one.
    """

    judge: Judge
    audit: Judge | None
    canary: Canary | None
    seed: int
    watch: Stopwatch
    step: int = 0
    verdicts: Audit | None = None
    paid: Mapping[str, float] = field(default_factory=dict[str, float])

    def __call__(self, groups: Sequence[Group]) -> None:
        with self.watch.measure("audit"):
            if self.audit is not None:
                problems = [group.problem for group in groups]
                self.verdicts = self.audit.judge(problems, [group.rollouts for group in groups])
            self.paid = canary_metrics(self.canary, self.judge, groups, self.seed, self.step)

    def metrics(self, groups: Sequence[Group]) -> dict[str, float]:
        """What both say of the newest step, under the names of docs/metrics.md."""
        found = dict(self.paid)
        return found if self.verdicts is None else found | audit_metrics(groups, self.verdicts)


def examiner_of(
    config: Config, evidence: Evidence, judge: Judge, audit: Judge | None, watch: Stopwatch
) -> Examiner:
    """What examines the steps of a run."""
    paid = None if config.run.random_reward else audit
    return Examiner(judge, paid, evidence.canary, config.run.seed, watch)

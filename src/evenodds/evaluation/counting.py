"""What is counted of the answers to one problem."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from evenodds.domain import Group, Problem, Rollout, Status, Stop, Verdict
from evenodds.evaluation.record import ProblemResult, Vote
from evenodds.judge.audit import disagrees, is_right, overpaid
from evenodds.similarity import near_duplicates, strategies

LONGEST = 200  # characters of a vote: longer ones are cut, so that a record stays small
SOURCE = "source"


def result_of(
    group: Group, greedy: Group | None = None, audit: Sequence[Verdict] | None = None
) -> ProblemResult:
    """greedy: the likeliest answer, alone. audit: [answers] what the audit says of the sampled."""
    statuses = [verdict.status for verdict in group.verdicts]
    judged = greedy is not None and greedy.verdicts[0].is_judged
    texts = [rollout.text for rollout in group.rollouts]
    right = [text for text, status in zip(texts, statuses, strict=True) if status == Status.RIGHT]
    return ProblemResult(
        key=group.problem.key,
        tries=int(group.judged.sum()),
        right=group.right,
        greedy_right=greedy.right == 1 if greedy is not None and judged else None,
        truncated=sum(rollout.is_truncated for rollout in group.rollouts),
        no_answer=statuses.count(Status.NO_ANSWER),
        mean_length=float(np.mean([rollout.ids.size for rollout in group.rollouts])),
        source=source_of(group.problem),
        ended=sum(rollout.stop is Stop.END_TOKEN for rollout in group.rollouts),
        votes=votes_of(group.verdicts),
        duplicates=near_duplicates(texts),
        strategies=strategies(right),
        entropy=entropy_of(group.rollouts),
        **_audited(group.verdicts, audit),
    )


def _audited(verdicts: Sequence[Verdict], audit: Sequence[Verdict] | None) -> dict[str, int]:
    if audit is None:
        return {}
    pairs = [*zip(verdicts, audit, strict=True)]
    both = [second for first, second in pairs if first.is_judged and second.is_judged]
    return {
        "audit_tries": len(both),
        "audit_right": sum(map(is_right, both)),
        "disagree": sum(disagrees(*pair) for pair in pairs),
        "overpaid": sum(overpaid(*pair) for pair in pairs),
    }


def source_of(problem: Problem) -> str:
    """The column `source` of a person's data, or else the name of the task."""
    found = problem.columns.get(SOURCE)
    return problem.task if found is None else _plain(str(found))


def votes_of(verdicts: Sequence[Verdict]) -> tuple[Vote, ...]:
    """What the judged answers say, most frequent first; the right ones are one vote together.

    The right vote carries the text that was extracted most often among the right answers. Wrong
    answers are one where the texts that were extracted from them are the same.
    """
    said = [(v.extracted, is_right(v)) for v in verdicts if v.is_judged and v.extracted is not None]
    wrong = Counter(_plain(text) for text, is_paid in said if not is_paid)
    right = Counter(_plain(text) for text, is_paid in said if is_paid)
    votes: list[Vote] = [(text, count, False) for text, count in wrong.items()]
    if right:
        votes.append((right.most_common(1)[0][0], right.total(), True))
    return tuple(sorted(votes, key=lambda vote: (-vote[1], vote[0])))


def _plain(text: str) -> str:
    """A short text that JSON and UTF-8 can hold."""
    return text.strip()[:LONGEST].encode("utf-8", "replace").decode()


def entropy_of(rollouts: Sequence[Rollout]) -> float:
    """Nats a token: the mean of -log p over the tokens that were drawn."""
    drawn = np.concatenate([rollout.logprobs for rollout in rollouts])
    return float(-drawn.mean()) if drawn.size else 0.0


def first_note(groups: Sequence[Group | None]) -> str:
    """What was said of the first answer that could not be judged, on one line."""
    verdicts = [verdict for group in groups if group for verdict in group.verdicts]
    unjudged = [verdict for verdict in verdicts if not verdict.is_judged]
    return " ".join((unjudged[0].note or str(unjudged[0].status)).split()) if unjudged else ""

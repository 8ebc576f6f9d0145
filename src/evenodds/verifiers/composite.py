"""The `composite` verifier: a weighted sum of verifiers and of forms, its parts kept apart."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Literal

from evenodds.domain import Completion, Problem, Status, Verdict
from evenodds.errors import UsageError
from evenodds.verifiers import reasoning
from evenodds.verifiers.formats import FORMATS, Format, is_asked
from evenodds.verifiers.function import Verifier
from evenodds.verifiers.kind import Kind

MOST_FOR_FORM = 0.5
"""Forms weigh less than this together, so that no form is worth as much as being right."""


@dataclass(frozen=True)
class Part:
    """One summand: a verifier or a form, never both.

    weight: its share of the reward. name: what its score is called among the parts of a verdict;
    the verifier's or the form's own name by default.
    verifier, policy: the name of a verifier, as a task names it, and its policy table.
    column: the column of the data row that holds the gold of this part; else it is the answer.
    format: `think`, `answer tags` or `box`.
    asked: the prompt must ask for the form. False says that the model's template does.
    """

    __pydantic_config__ = {"extra": "forbid"}  # noqa: RUF012 - a misspelled entry is an error

    weight: float
    name: str = ""
    verifier: str = ""
    policy: Mapping[str, object] = field(default_factory=dict[str, object], hash=False)
    column: str = ""
    format: Format | Literal[""] = ""
    asked: bool = True

    def __post_init__(self) -> None:
        if bool(self.verifier) == bool(self.format):
            raise _unfit("a part names either a verifier or a format", self)
        if not (math.isfinite(self.weight) and self.weight > 0):
            raise _unfit("a part has a weight above 0", self.weight)
        if self.verifier == "composite":
            raise _unfit("a composite is no part of a composite", self.verifier)
        if self.format and (self.policy or self.column):
            raise _unfit("a format takes neither a policy nor a column", self)
        if self.verifier:
            find(self.verifier, self.policy)

    @property
    def called(self) -> str:
        return self.name or self.verifier or str(self.format)


@dataclass(frozen=True)
class Policy:
    """parts: the summands of the reward, at least one of them a verifier; their weights sum to 1.

    The first verifier is the main part: the answer is right only where it says so.
    """

    parts: tuple[Part, ...] = ()

    def __post_init__(self) -> None:
        if not self.parts:
            return  # the default, which judges nothing; `composite` says so
        names = [part.called for part in self.parts]
        weights = [part.weight for part in self.parts]
        if not any(part.verifier for part in self.parts):
            raise _unfit("one part at least is a verifier, for a form alone is not paid", names)
        if abs(math.fsum(weights) - 1) > 1e-6:
            raise _unfit("the weights of the parts sum to 1", weights)
        if math.fsum(part.weight for part in self.parts if part.format) >= MOST_FOR_FORM:
            raise _unfit(f"formats weigh less than {MOST_FOR_FORM} together", weights)
        if len({*names}) < len(names):
            raise _unfit("every part has a name of its own", names)


def _unfit(rule: str, got: object) -> UsageError:
    return UsageError(f"the parts of a composite are unfit: {rule}. Got {str(got)[:120]}.")


DEFAULT = Policy()


def composite(problem: Problem, completion: Completion, policy: Policy = DEFAULT) -> Verdict:
    """The sum of weights times the scores of the parts; status and answer are the main part's.

    A part that could not be judged makes the whole not judged, and so does a form that the prompt
    does not ask for. Parts: the score of each, before its weight. Never raises, if no part does.
    """
    if not policy.parts:
        return Verdict(0.0, Status.ERROR, note="composite has no parts: name them in its policy")
    verdicts = [(part, _judged(part, problem, completion)) for part in policy.parts]
    scores = {part.called: verdict.score for part, verdict in verdicts if verdict.is_judged}
    for part, verdict in verdicts:
        if not verdict.is_judged:
            note = f"{part.called} could not be judged: {verdict.note}"
            return Verdict(0.0, verdict.status, verdict.extracted, note[:300], scores)
    main = next(verdict for part, verdict in verdicts if part.verifier)
    score = math.fsum(part.weight * scores[part.called] for part in policy.parts)
    note = "; ".join(f"{part.called}: {verdict.note}" for part, verdict in verdicts)
    return replace(main, score=round(score, 9), note=note[:300], parts=scores)


def _judged(part: Part, problem: Problem, completion: Completion) -> Verdict:
    if part.format:
        return _form(part.format, part.asked, problem, completion)
    if part.column:
        gold = problem.columns.get(part.column)
        if gold is None:
            note = f"the row has no column {part.column!r}"
            return Verdict(0.0, Status.GOLD_UNREADABLE, note=note)
        problem = replace(problem, answer=gold if isinstance(gold, str) else json.dumps(gold))
    return find(part.verifier, part.policy)(problem, completion)


def _form(name: Format, asked: bool, problem: Problem, completion: Completion) -> Verdict:
    if asked and not is_asked(name, problem, completion):
        words = " or ".join(FORMATS[name].asked_by)
        note = (
            f"the prompt does not ask for it. Write {words} into the prompt, or set asked = false"
        )
        return Verdict(0.0, Status.ERROR, note=note)
    fault = FORMATS[name].fault(completion)
    status = Status.WRONG if fault else Status.RIGHT
    return Verdict(float(not fault), status, note=fault or "as asked")


def find(name: str, policy: Mapping[str, object]) -> Verifier:
    """The verifier of a part. Raises `UsageError` where there is none of that name or policy."""
    return _found(name, json.dumps(dict(policy), sort_keys=True, default=str))


@lru_cache(maxsize=64)
def _found(name: str, policy: str) -> Verifier:
    from evenodds.verifiers import find_verifier  # the registry holds this file too

    return find_verifier(name, json.loads(policy) or None)


KIND = Kind(
    name="composite",
    summary="a weighted sum of verifiers and forms; right only where the main part is",
    gold="what its parts read; a part may name a column of the row that holds its own",
    judge=composite,
    policy=DEFAULT,
    gold_is="table",
    runs="worker",
    limits={"characters_read": reasoning.MAX_CHARACTERS},
)

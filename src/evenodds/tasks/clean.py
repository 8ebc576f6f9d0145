"""What must not be in given data: the same problem twice, and one prompt with two golds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from evenodds.domain import Completion, Problem, Status, as_text
from evenodds.errors import UsageError
from evenodds.tasks.values import short
from evenodds.verifiers import RegisteredVerifier, Verifier

Placed = tuple[str, Problem]
"""A problem with the place it was read from."""


@dataclass(frozen=True)
class Clean:
    """The problems that are left, and how many rows were taken out for which reason."""

    rows: tuple[Placed, ...]
    duplicates: int = 0
    contradictory: int = 0

    @property
    def problems(self) -> tuple[Problem, ...]:
        return tuple(problem for _, problem in self.rows)


def cleaned(rows: Iterable[Placed], verifier: Verifier, drop: bool, by_level: bool) -> Clean:
    """The rows without duplicates, of which the first stays, and without contradictions.

    Two rows are duplicates where their prompts are the same and their golds agree; by_level: only
    those of one level. Raises `UsageError` for a prompt with golds that do not agree, with its
    rows; with `drop` all rows of such a prompt are left out instead.
    """
    groups: dict[str, list[Placed]] = {}
    for row in rows:
        groups.setdefault(as_text(row[1].prompt), []).append(row)
    against = [text for text, group in groups.items() if not _agree(group, verifier)]
    if against and not drop:
        raise _contradiction([groups[text] for text in against])
    lost = sum(len(groups.pop(text)) for text in against)
    kept = [row for group in groups.values() for row in _first(group, by_level)]
    return Clean(tuple(kept), sum(map(len, groups.values())) - len(kept), lost)


def _first(group: Sequence[Placed], by_level: bool) -> Iterable[Placed]:
    """The first row of the group, or the first of each level."""
    seen: dict[int, Placed] = {}
    for row in group:
        seen.setdefault(row[1].level if by_level else 0, row)
    return seen.values()


def _agree(group: Sequence[Placed], verifier: Verifier) -> bool:
    first = group[0][1]
    return all(_same_gold(first, other, verifier) for _, other in group[1:])


def _same_gold(first: Problem, second: Problem, verifier: Verifier) -> bool:
    """Whether two golds are one: the same text, or each right by the other.

    That is asked of cheap kinds only, whose gold is an answer itself.
    """
    if first.answer == second.answer:
        return True
    kind = verifier.kind if isinstance(verifier, RegisteredVerifier) else None
    if kind is None or (kind.gold_is, kind.runs) != ("answer", "inline"):
        return False
    pairs = ((first, second), (second, first))
    return all(verifier(p, Completion(other.answer)).status is Status.RIGHT for p, other in pairs)


def _contradiction(groups: Sequence[Sequence[Placed]]) -> UsageError:
    group = groups[0]
    first = group[0]
    other = next(row for row in group[1:] if row[1].answer != first[1].answer)
    more = f" ({len(groups) - 1} more prompts like it)" if len(groups) > 1 else ""
    return UsageError(
        f"{first[0]} and {other[0]} have the same prompt {short(as_text(first[1].prompt))} but "
        f"different answers. Got {short(first[1].answer)} and {short(other[1].answer)}{more}. "
        "Mend them, or leave all such rows out: task.drop_contradictory = true."
    )


def apart(training: Iterable[Placed], held: Iterable[Problem]) -> tuple[tuple[Placed, ...], int]:
    """Training rows whose prompt is not held out, and how many were left out for that.

    Prompts count as the same when only case and white space differ.
    """
    kept_out = {_folded(problem) for problem in held}
    rows = [*training]
    left = tuple(row for row in rows if _folded(row[1]) not in kept_out)
    return left, len(rows) - len(left)


def _folded(problem: Problem) -> str:
    return " ".join(as_text(problem.prompt).split()).casefold()

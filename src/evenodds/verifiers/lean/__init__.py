"""The `lean` verifier: is an answer a proof that Lean 4 accepts of exactly the gold's statement.

An adapter to a Lean that the user has installed: nothing of Lean is part of this package.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, cast

from annotated_types import Gt

from evenodds.domain import Completion, Problem, Status, Stop, Verdict
from evenodds.verifiers import reasoning
from evenodds.verifiers.fences import program_of
from evenodds.verifiers.json_gold import BadGold, table_of
from evenodds.verifiers.kind import Kind
from evenodds.verifiers.lean import process
from evenodds.verifiers.lean.proof import (
    MAX_PROOF,
    File,
    Refused,
    Statement,
    file_of,
    read_proof,
    read_statement,
)
from evenodds.verifiers.verdicts import final_text, gold_unreadable, paid, unpaid

LANGUAGES = ("lean", "lean4")
MAX_GOLD = 200_000
_LAYOUT = 'a gold is {"header": "import …", "statement": "theorem … :="}'
_DEPENDS = re.compile(r"depends on axioms:\s*\[([^\]]*)\]\s*\Z")


@dataclass(frozen=True)
class Policy:
    """Which Lean is run, how long, and what a proof may rest on.

    command: the words that start Lean; empty finds `lean` on the PATH, or, with a project,
    `lake env lean`. project: the folder of a Lake project whose packages, such as Mathlib, the
    header imports. seconds: the deadline of one proof. memory_mb: Lean's own memory limit.
    axioms: what a proof may rest on.
    """

    command: tuple[str, ...] = ()
    project: str = ""
    seconds: Annotated[float, Gt(0)] = 60.0
    memory_mb: Annotated[int, Gt(0)] = 8_192
    axioms: tuple[str, ...] = ("propext", "Classical.choice", "Quot.sound")


DEFAULT = Policy()


@dataclass(frozen=True)
class Message:
    """One message of Lean: how bad, on which line of the file, and what it says."""

    severity: str
    line: int
    text: str


def missing(policy: Policy = DEFAULT) -> str | None:
    """Why no proof can be judged here, in words; None where Lean is found."""
    return process.missing(policy.command, policy.project)


def lean(problem: Problem, completion: Completion, policy: Policy = DEFAULT) -> Verdict:
    """Pays 1 for a proof of the gold's statement that rests on allowed axioms only; else 0.

    The proof is read from the last answer tags or the last `lean` fence, else it is the whole
    text. The answer may restate the theorem, word for word, or give the proof alone. Where Lean is
    not installed the status is `error`, and where it runs beyond the deadline `timeout`. Never
    raises.
    """
    try:
        header, statement = read_gold(problem.answer)
    except BadGold as error:
        return gold_unreadable(str(error))
    final = final_text(completion)
    if isinstance(final, Verdict):
        return final
    found = program_of(final, LANGUAGES)
    if completion.stop is Stop.BUDGET and not found.is_closed:
        return unpaid(completion, Status.TRUNCATED, "cut before the proof was complete")
    proof = read_proof(found.text, statement)
    if isinstance(proof, Refused):
        status = Status.WRONG if found.text.strip() else Status.NO_ANSWER
        return unpaid(completion, status, proof.note, found.text.strip() or None)
    against = missing(policy) or process.too_little_memory(policy.memory_mb)
    if against:
        return Verdict(0.0, Status.ERROR, note=f"lean: {against}")
    return _proved(completion, proof, file_of(header, statement, proof), policy)


@lru_cache(maxsize=1_024)
def read_gold(text: str) -> tuple[str, Statement]:
    """The header and the statement of a JSON text. Raises `BadGold`."""
    fields = table_of(text, MAX_GOLD, _LAYOUT)
    header, statement = fields.get("header", ""), fields.get("statement")
    if not isinstance(header, str) or not isinstance(statement, str):
        raise BadGold(_LAYOUT)
    read = read_statement(statement)
    if isinstance(read, Refused):
        raise BadGold(read.note)
    return header, read


def _proved(completion: Completion, proof: str, file: File, policy: Policy) -> Verdict:
    try:
        outcome = process.run_lean(
            file.text, policy.command, policy.project, policy.seconds, policy.memory_mb
        )
    except OSError as error:
        return Verdict(0.0, Status.ERROR, note=f"lean could not be run: {error}"[:300])
    if outcome.code is None:
        note = f"Lean took more than {policy.seconds:g} seconds"
        return Verdict(0.0, Status.TIMEOUT, proof.strip()[:200], note)
    return _read(completion, proof, file, outcome, policy)


def _read(
    completion: Completion, proof: str, file: File, outcome: process.Outcome, policy: Policy
) -> Verdict:
    """The verdict by Lean's messages: no error, no `sorry`, and axioms that are allowed."""
    messages = [*_messages(outcome.output)]
    errors = [message for message in messages if message.severity == "error"]
    if errors and errors[0].line < file.statement_line:
        return gold_unreadable(f"of its header Lean says: {_line(errors[0].text)}")
    text = proof.strip()
    if errors:
        return unpaid(completion, Status.WRONG, f"Lean says: {_line(errors[0].text)}", text)
    axioms = _axioms(messages, file.print_line)
    if outcome.code or axioms is None:
        note = f"lean did not answer: {_line(outcome.output[-300:]) or 'it printed nothing'}"
        return Verdict(0.0, Status.ERROR, note=note)
    others = [name for name in axioms if name not in policy.axioms]
    if others or any("sorry" in message.text for message in messages):
        return unpaid(completion, Status.WRONG, f"it rests on {others or 'sorry'}", text)
    return paid(completion, text, f"Lean accepts it; axioms: {', '.join(axioms) or 'none'}")


def _messages(output: str) -> Iterator[Message]:
    """Lean's messages; lines that are none, such as Lake's own, are skipped."""
    for line in output.splitlines():
        if not line.startswith("{"):
            continue
        try:
            value = cast(dict[str, object], json.loads(line))
            place = cast(dict[str, object], value.get("pos") or {})
            row = place.get("line", 0)
        except (ValueError, RecursionError, AttributeError):
            continue
        number = row if isinstance(row, int) else 0
        yield Message(str(value.get("severity")), number, str(value.get("data")))


def _axioms(messages: list[Message], line: int) -> list[str] | None:
    """The axioms that Lean names where the file asks for them; None where it does not answer."""
    answers = [m.text for m in messages if m.line == line and m.severity.startswith("info")]
    if len(answers) != 1:
        return None
    if answers[0].rstrip().endswith("does not depend on any axioms"):
        return []
    found = _DEPENDS.search(answers[0])
    return [name.strip() for name in found[1].split(",")] if found else None


def _line(text: str) -> str:
    return " ".join(text.split())[:200]


KIND = Kind(
    name="lean",
    summary="a proof that a Lean 4 of yours accepts of exactly the gold's statement",
    gold='JSON {"header": "import Mathlib …", "statement": "theorem name … :="}',
    judge=lean,
    policy=DEFAULT,
    gold_is="table",
    runs="worker",
    limits={
        "characters_read": reasoning.MAX_CHARACTERS,
        "characters_of_a_proof": MAX_PROOF,
        "seconds": DEFAULT.seconds,
        "memory_mb": DEFAULT.memory_mb,
    },
    seconds=DEFAULT.seconds + 5.0,
    unavailable=missing,
)

__all__ = ["KIND", "Policy", "lean", "missing"]

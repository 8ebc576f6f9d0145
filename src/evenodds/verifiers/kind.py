"""What a registered verifier is: how it judges, by which policy, and where it may run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal

from evenodds.domain import Completion, Problem, Verdict
from evenodds.errors import UsageError, unknown

Runs = Literal["inline", "worker"]
GoldIs = Literal["answer", "rule", "table"]
RULES = {"tuple_type": 'it is a list, as in {}=["box", "answer tags"]'}
"""What pydantic calls a fault -> the rule in words of ours, that say how to write it."""


@dataclass(frozen=True)
class Kind:
    """A way to judge that is registered by name. One file in this folder defines one.

    name: what a task or a command calls it by. summary: one line for `evenodds list verifiers`.
    gold: what `Problem.answer` holds for it, in words. gold_is: the same for programs: an `answer`
    that is right as it stands, a `rule` that answers are held against, or a `table` in JSON, of
    which a list or an object in a row of data is one.
    judge: (problem, completion, policy) -> verdict; it never raises, whatever the text.
    policy: the default policy table, a frozen dataclass whose docstring explains each field.
    runs: `inline` where the time is linear in the text and small, so that it may run in the
    trainer's process; `worker` where only a process that can be killed may run it.
    limits: the sizes beyond which a text is refused, for the checker passport.
    seconds: for a kind that bounds its own work, how long a verdict may take at the most: the
    deadline of a judge is to be no shorter. None where the judge's own deadline serves.
    unavailable: from the policy, why the kind cannot judge on this machine, in one line, or None
    where it can; for kinds that need what not every machine has. It may take a second at first;
    `evenodds.judge.require_available` asks before a judge is opened.
    """

    name: str
    summary: str
    gold: str
    judge: Callable[[Problem, Completion, Any], Verdict]
    policy: Any
    gold_is: GoldIs = "answer"
    runs: Runs = "inline"
    limits: Mapping[str, object] = field(default_factory=dict[str, object], hash=False)
    seconds: float | None = None
    unavailable: Callable[[Any], str | None] | None = None

    def with_policy(self, table: Mapping[str, object] | None = None) -> RegisteredVerifier:
        """The verifier with the entries of a policy table in place of its defaults.

        Raises `UsageError` for an entry that this kind does not have, or of an unfit value.
        """
        return RegisteredVerifier(self, _policy(self, table) if table else self.policy)


@dataclass(frozen=True)
class RegisteredVerifier:
    """A kind with its policy: what a task holds and a judge calls."""

    kind: Kind
    policy: Any

    def __call__(self, problem: Problem, completion: Completion) -> Verdict:
        return self.kind.judge(problem, completion, self.policy)

    @property
    def table(self) -> dict[str, object]:
        """The entries in which its policy differs from the default, as JSON and TOML hold them."""
        from pydantic import TypeAdapter

        adapter: TypeAdapter[Any] = TypeAdapter(type(self.policy))
        mine, default = (
            adapter.dump_python(p, mode="json") for p in (self.policy, self.kind.policy)
        )
        return {key: value for key, value in mine.items() if value != default[key]}


def _policy(kind: Kind, table: Mapping[str, object]) -> Any:
    from pydantic import TypeAdapter, ValidationError  # .1 s, and most verifiers have no table

    known = [field.name for field in fields(kind.policy)]
    if not known:
        raise UsageError(f"the verifier {kind.name!r} has no policy table. Got {[*table]}.")
    for key in table:
        if key not in known:
            raise unknown(f"policy of {kind.name}", key, known)
    try:
        adapter: TypeAdapter[Any] = TypeAdapter(type(kind.policy))
        return adapter.validate_python(dict(table))
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"][:1])
        rule = RULES.get(first["type"], first["msg"].lower()).format(place)
        raise UsageError(
            f"the policy {place!r} of the verifier {kind.name!r} is unfit: "
            f"{rule}. Got {str(first['input'])[:60]!r}."
        ) from error

"""The `json` verifier: the answer is JSON that fits a schema, equals a value, or both."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, NamedTuple, cast

from evenodds.domain import Completion, Problem, Status, Stop, Verdict
from evenodds.verifiers import json_text, reasoning
from evenodds.verifiers.extract import Mark, tags
from evenodds.verifiers.fences import fences
from evenodds.verifiers.json_text import (
    Arrays,
    NotJSONError,
    Numbers,
    canonical,
    last_object,
    plain,
    strict,
)
from evenodds.verifiers.kind import Kind
from evenodds.verifiers.verdicts import CUT, final_text, gold_unreadable, paid, standing, unpaid

Where = Literal["fence", "answer tags", "whole text", "last object"]


@dataclass(frozen=True)
class Policy:
    """How JSON is found, read and compared.

    order: where it may stand: the last fence of ```json, the last answer tags, all of the final
    text, or the last object whose braces balance.
    gold: what `Problem.answer` is: a `table` of schema and value, the `value` itself, or the
    `schema` itself.
    duplicates: a key may stand twice in one object; the last value counts. constants: NaN and
    Infinity may stand. Both are refused by default, for no JSON has them.
    arrays: whether the order of their items counts.
    numbers: `by value`, 1 is 1.0; `by type`, it is not.
    """

    order: tuple[Where, ...] = ("fence", "answer tags", "whole text", "last object")
    gold: Literal["table", "value", "schema"] = "table"
    duplicates: bool = False
    constants: bool = False
    arrays: Arrays = "ordered"
    numbers: Numbers = "by value"


DEFAULT = Policy()


class Gold(NamedTuple):
    """What the answer must be: a check of its schema, the canonical text of its value, or both."""

    fault: Callable[[object], str | None] | None
    value: str | None


def json_answer(problem: Problem, completion: Completion, policy: Policy = DEFAULT) -> Verdict:
    """Right where the answer is valid JSON, fits the gold's schema and equals the gold's value.

    Parts: `valid`, and `schema` and `value` where the gold has them, each 0 or 1; only all of them
    together are paid. A schema may hold slow patterns: a judge calls it in a worker. Never raises.
    """
    gold = read_gold(problem.answer, policy)
    if isinstance(gold, str):
        return gold_unreadable(gold)
    answer = _found(completion, policy)
    if isinstance(answer, Verdict):
        return answer
    try:
        value = strict(answer.text, duplicates=policy.duplicates, constants=policy.constants)
    except NotJSONError as error:
        note = f"{answer.how}; {error}"
        return unpaid(completion, Status.WRONG, note, answer.text, parts={"valid": 0.0})
    return _compared(completion, answer, value, gold, policy)


def _compared(
    completion: Completion, answer: Mark, value: object, gold: Gold, policy: Policy
) -> Verdict:
    parts, faults = {"valid": 1.0}, list[str]()
    if gold.fault is not None:
        fault = gold.fault(plain(value))
        parts["schema"] = float(fault is None)
        faults += [fault] if fault else []
    if gold.value is not None:
        is_same = canonical(value, policy.arrays, policy.numbers) == gold.value
        parts["value"] = float(is_same)
        faults += [] if is_same else ["its value is not the gold's"]
    note = f"{answer.how}; {'; '.join(faults) or ' and '.join(parts)}"
    if not faults:
        return paid(completion, answer.text, note, parts=parts)
    return unpaid(completion, Status.WRONG, note, answer.text, parts=parts)


def _found(completion: Completion, policy: Policy) -> Mark | Verdict:
    text = final_text(completion)
    if isinstance(text, Verdict):
        return text
    for where in policy.order:
        marks = _PLACES[where](text)
        if marks:
            break
    else:
        return unpaid(completion, Status.NO_ANSWER, "no JSON was found")
    if completion.stop is Stop.BUDGET and not marks[-1].is_closed:
        return unpaid(completion, Status.TRUNCATED, CUT)
    if marks[-1].how == "last object" and _has_neighbour(text, marks[-1]):
        note = "objects side by side"
        return unpaid(completion, Status.SEVERAL_ANSWERS, note, marks[-1].text)
    return standing(completion, text, marks)


def _has_neighbour(text: str, mark: Mark) -> bool:
    """Whether another object stands right before the last one: `{…} or {…}`."""
    return _NEIGHBOUR.search(text, max(0, mark.start - 40), mark.start) is not None


_NEIGHBOUR = re.compile(
    r"\}[`*]{0,3}(?:[\s,;/|&]|or\b|and\b|maybe\b|perhaps\b|possibly\b|else\b|even\b){0,20}[`*]{0,3}\Z"
)


def _fences(text: str) -> list[Mark]:
    return [mark for name, mark in fences(text) if name in ("json", "")]


def _whole(text: str) -> list[Mark]:
    """All of the text where it looks like JSON by its first and last sign."""
    whole = text.strip()
    if not whole or (whole[0] + whole[-1] not in ("{}", "[]", '""') and not _is_scalar(whole)):
        return []
    return [Mark(whole, "whole text", 0, len(text), is_closed=False)]


def _is_scalar(text: str) -> bool:
    if text in ("true", "false", "null"):
        return True
    return len(text) < 400 and text[-1].isdigit() and text[0] in "-0123456789" and " " not in text


def _object(text: str) -> list[Mark]:
    span = last_object(text)
    if span is None:
        return []
    return [Mark(text[slice(*span)], "last object", *span, is_closed=False)]


_PLACES: dict[Where, Callable[[str], list[Mark]]] = {
    "fence": _fences,
    "answer tags": tags,
    "whole text": _whole,
    "last object": _object,
}


@lru_cache(maxsize=512)
def read_gold(text: str, policy: Policy = DEFAULT) -> Gold | str:
    """What the gold asks for, or why it asks for nothing that can be checked.

    A value that does not fit the schema beside it is a contradiction, and unreadable.
    """
    try:
        gold = strict(text)
        table = cast(dict[str, object], gold) if policy.gold == "table" else {policy.gold: gold}
        if not isinstance(cast(object, table), dict) or not {*table} <= {"schema", "value"}:
            return "it is no JSON table of `schema`, `value` or both"
        if not table:
            return "it has neither a schema nor a value"
        fault = schema_check(table["schema"]) if "schema" in table else None
        if fault and "value" in table and fault(plain(table["value"])):
            return "its value does not fit its schema"
    except (NotJSONError, SchemaError) as error:
        return str(error)
    if "value" not in table:
        return Gold(fault, None)
    return Gold(fault, canonical(table["value"], policy.arrays, policy.numbers))


class SchemaError(Exception):
    """Why a schema cannot be used."""


def schema_check(schema: object) -> Callable[[object], str | None]:
    """A function that says what is wrong with a value by a JSON Schema (draft 2020-12), or None.

    A `$ref` leads inside the schema only: nothing is ever fetched. Raises SchemaError for a schema
    that is none, and where a reference leads out of it, nowhere, or round in a circle. The function
    never raises: an answer that cannot be checked does not fit, or a model could escape judgement.
    """
    return _checked(json.dumps(plain(schema)))


@lru_cache(maxsize=256)  # golds with values of their own share a schema, which takes 3 ms to check
def _checked(schema: str) -> Callable[[object], str | None]:
    from jsonschema import Draft202012Validator  # .1 s, and only this kind needs it
    from referencing import Registry

    rules = json.loads(schema)
    if not isinstance(rules, dict | bool):
        raise SchemaError("its schema is neither a table nor true or false")
    try:
        Draft202012Validator.check_schema(cast(Any, rules))
        _follow(rules)
        validator = Draft202012Validator(cast(Any, rules), registry=Registry())
        next(validator.iter_errors(None), None)
    except Exception as error:  # whatever a schema breaks is said in one line
        raise SchemaError(f"its schema cannot be used: {_line(error)}") from error

    def fault(value: object) -> str | None:
        try:
            error = next(validator.iter_errors(cast(Any, value)), None)
        except Exception as failure:  # such as an answer nested too deep for a recursive schema
            return f"its schema cannot check it: {_line(failure)}"
        return f"{error.json_path} does not fit: {_line(error.message)}" if error else None

    return fault


def _follow(schema: object) -> None:
    """Raises where a reference in the schema does not lead to a place in it."""
    from referencing import Registry
    from referencing.jsonschema import DRAFT202012

    registry = Registry().with_resource("", DRAFT202012.create_resource(cast(Any, schema)))
    resolver = registry.resolver()
    for reference in _references(schema):
        if not reference.startswith("#"):
            raise SchemaError(f"$ref {reference[:80]!r} leads out of it")
        resolver.lookup(reference)


def _references(schema: object) -> Iterator[str]:
    if isinstance(schema, dict):
        for key, item in cast(dict[str, object], schema).items():
            if key in ("$ref", "$dynamicRef") and isinstance(item, str):
                yield item
            yield from _references(item)
    elif isinstance(schema, list):
        for item in cast(list[object], schema):
            yield from _references(item)


def _line(error: object) -> str:
    return " ".join(str(getattr(error, "message", error)).split())[:160]


KIND = Kind(
    name="json",
    summary="JSON that fits a schema (draft 2020-12), equals a value, or both",
    gold='JSON {"schema": …, "value": …}, one or both; by policy the value or schema itself',
    judge=json_answer,
    policy=DEFAULT,
    gold_is="table",
    runs="worker",
    limits={
        "characters_read": reasoning.MAX_CHARACTERS,
        "depth": json_text.MAX_DEPTH,
        "digits_of_a_number": json_text.MAX_DIGITS,
        "exponent": json_text.MAX_EXPONENT,
    },
)

"""Facts in a text as JSON: people, orders and measurements, with more fields, more records and
more that is not asked for from level to level.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from evenodds.tasks.drawn import Drawn, DrawnTask
from evenodds.tasks.task import TaskOptions

Value = str | int | float | bool
Table = dict[str, object]
T = TypeVar("T")

_NAMES = (
    *("Ada", "Bela", "Carl", "Dora", "Emil", "Fay", "Gus", "Hana", "Ivo", "Jana", "Kai", "Lena"),
    *("Milo", "Nora", "Otto", "Pia", "Quinn", "Rosa", "Sven", "Tara", "Udo", "Vera", "Wim", "Yara"),
)
_SURNAMES = (
    *("Abbot", "Berg", "Costa", "Dahl", "Evans", "Fonda", "Grant", "Holm", "Ivers", "Jensen"),
    *("Keller", "Lund", "Moreau", "Novak", "Olsen", "Petit", "Rossi", "Stone", "Turner", "Weber"),
)
_CITIES = (
    *("Oslo", "Lima", "Cairo", "Turin", "Kyoto", "Perth", "Quito", "Riga", "Sofia", "Tunis"),
    *("Utrecht", "Vienna", "Warsaw", "Accra", "Basel", "Cork", "Dakar", "Ghent"),
)
_JOBS = (
    *("baker", "nurse", "pilot", "teacher", "plumber", "judge", "painter", "farmer", "chemist"),
    *("tailor", "sailor", "printer", "gardener", "dentist", "welder", "cook"),
)
_ITEMS = (
    *("lamps", "chairs", "kettles", "maps", "brushes", "ropes", "clocks", "pillows", "ladders"),
    *("baskets", "candles", "mirrors", "buckets", "notebooks", "drums", "tents"),
)
_MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July", "August", "September"),
    *("October", "November", "December"),
)
_WORDS = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven")
_UNITS = {"temperature": "°C", "pressure": "hPa", "wind speed": "km/h", "rainfall": "mm"}

TEXT: Table = {"type": "string"}
WHOLE: Table = {"type": "integer"}
NUMBER: Table = {"type": "number"}
TRUTH: Table = {"type": "boolean"}
_DATE = "date as YYYY-MM-DD"
_WORDED = {
    "string": "text",
    "integer": "whole number",
    "number": "number",
    "boolean": "true or false",
}


@dataclass(frozen=True)
class Fact:
    """One field of a record: its key, its value, its type, and the sentence that states it.

    shown: how the question names its type, where the schema alone does not say.
    """

    key: str
    value: Value
    schema: Table
    sentence: str
    shown: str = ""

    @property
    def type_name(self) -> str:
        return self.shown or _WORDED[str(self.schema["type"])]


@dataclass(frozen=True)
class Record:
    """Facts about one thing, the first of which names it."""

    facts: tuple[Fact, ...]
    aside: str = ""


def _one(rng: np.random.Generator, rows: Sequence[T]) -> T:
    return rows[int(rng.integers(len(rows)))]


def _date(rng: np.random.Generator) -> tuple[str, str]:
    """A date as a text writes it and as JSON does."""
    year, month, day = (int(rng.integers(a, b)) for a, b in ((2005, 2025), (1, 13), (1, 29)))
    return f"{day} {_MONTHS[month - 1]} {year}", f"{year}-{month:02d}-{day:02d}"


def _counted(rng: np.random.Generator) -> tuple[str, int]:
    """A small number in digits or as a word."""
    number = int(rng.integers(2, 12))
    return (_WORDS[number - 2] if rng.integers(2) else str(number)), number


def person(name: str, rng: np.random.Generator) -> Record:
    """A person of that name; the aside is about somebody else."""
    age, city, job = int(rng.integers(18, 90)), _one(rng, _CITIES), _one(rng, _JOBS)
    (said, since), height = _date(rng), int(rng.integers(150, 200))
    facts = (
        Fact("name", name, TEXT, ""),
        Fact(
            "age",
            age,
            WHOLE,
            _one(rng, (f"{name} is {age} years old.", f"The age of {name} is {age}.")),
        ),
        Fact(
            "city",
            city,
            TEXT,
            _one(rng, (f"{name} lives in {city}.", f"The home of {name} is {city}.")),
        ),
        Fact(
            "job",
            job,
            TEXT,
            _one(rng, (f"{name} works as a {job}.", f"By trade {name} is a {job}.")),
        ),
        Fact("since", since, TEXT, f"{name} has been a member since {said}.", _DATE),
        Fact("height_cm", height, WHOLE, f"{name} is {height / 100:.2f} metres tall."),
    )
    other = f"{_one(rng, _NAMES)} {_one(rng, _SURNAMES)}-{_one(rng, _SURNAMES)}"
    aside = f"A neighbour, {other}, is {age + int(rng.integers(1, 9))} years old."
    return Record(facts, aside)


def order(name: str, rng: np.random.Generator) -> Record:
    """What a customer of that name ordered; the aside is about an order that was not placed."""
    number, item = int(rng.integers(1_000, 10_000)), _one(rng, _ITEMS)
    written, count = _counted(rng)
    cents, (said, date), paid = int(rng.integers(100, 20_000)), _date(rng), bool(rng.integers(2))
    facts = (
        Fact("customer", name, TEXT, f"Order {number} was placed by {name}."),
        Fact("number", number, WHOLE, ""),
        Fact("item", item, TEXT, f"It is for {written} {item}."),
        Fact("quantity", count, WHOLE, ""),
        Fact("price", cents / 100, NUMBER, f"The price of one is {cents / 100:.2f} euros."),
        Fact("date", date, TEXT, f"It was placed on {said}.", _DATE),
        Fact("paid", paid, TRUTH, f"It has {'' if paid else 'not yet '}been paid."),
    )
    aside = (
        f"The shop also asked about {_one(rng, _WORDS)} {_one(rng, _ITEMS)}, which nobody ordered."
    )
    return Record(facts, aside)


def measurement(place: str, rng: np.random.Generator) -> Record:
    """What was measured at a place; the aside is about the day before."""
    quantity = _one(rng, tuple(_UNITS))
    tenths, (said, date), hour = int(rng.integers(10, 990)), _date(rng), int(rng.integers(10, 24))
    unit = _UNITS[quantity]
    facts = (
        Fact("place", place, TEXT, f"The station at {place} sent a report."),
        Fact("quantity", quantity, TEXT, f"Its {quantity} was {tenths / 10:.1f} {unit}."),
        Fact("value", tenths / 10, NUMBER, ""),
        Fact("unit", unit, TEXT, ""),
        Fact("date", date, TEXT, f"The day was {said}.", _DATE),
        Fact("time", f"{hour}:30", TEXT, f"The time was half past {hour}.", "time as HH:MM"),
    )
    return Record(facts, f"The day before it had been {(tenths + 7) / 10:.1f} {unit}.")


@dataclass(frozen=True)
class Rung:
    """A level: how many records, how many facts of each, and what is added to make it harder.

    asides: whether the text also says what is not asked for. mixed: whether the sentences of a
    record are shuffled. nested: whether the first facts stand in an object of their own.
    """

    label: str
    kinds: tuple[Callable[[str, np.random.Generator], Record], ...]
    records: int
    facts: int
    asides: bool = False
    mixed: bool = False
    nested: bool = False


RUNGS = (
    Rung("2 fields", (person,), 1, 2),
    Rung("3 fields", (person, order, measurement), 1, 3),
    Rung("4 fields, and more that is not asked", (person, order, measurement), 1, 4, asides=True),
    Rung("5 fields, shuffled", (person, order, measurement), 1, 5, asides=True, mixed=True),
    Rung("2 records of 3 fields", (person, order), 2, 3),
    Rung(
        "4 fields, 2 of them nested", (person, order, measurement), 1, 4, asides=True, nested=True
    ),
    Rung("3 records of 4 fields", (person, order), 3, 4, asides=True),
    Rung(
        "4 records of 5 fields, nested", (person, order), 4, 5, asides=True, mixed=True, nested=True
    ),
)


def draw(level: int, rng: np.random.Generator) -> Drawn:
    """A text with its question, the JSON that it states, and JSON that it does not."""
    rung = RUNGS[level]
    kind = _one(rng, rung.kinds)
    whole = [kind(name, rng) for name in _titles(kind, rung.records, rng)]
    places = _places(whole[0], rung.facts, rng)
    records = [Record(tuple(one.facts[at] for at in places), one.aside) for one in whole]
    text = " ".join(_told(record, rung, rng) for record in records)
    shape, value, schema = _joined([_parts(record, rung.nested) for record in records])
    question = (
        "Give the facts of the text as JSON, and nothing else, in the shape "
        f"{shape}{', in the order of the text' * (rung.records > 1)}.\nText: {text}"
    )
    gold = json.dumps({"schema": schema, "value": value}, ensure_ascii=False)
    return Drawn(question, gold, json.dumps(value, ensure_ascii=False), _wrong(value))


def _titles(
    kind: Callable[[str, np.random.Generator], Record], count: int, rng: np.random.Generator
) -> list[str]:
    """A different name for each record."""
    if kind is measurement:
        return [str(name) for name in rng.choice(_CITIES, count, replace=False)]
    first = rng.choice(_NAMES, count, replace=False)
    return [f"{name} {_one(rng, _SURNAMES)}" for name in first]


def _places(record: Record, count: int, rng: np.random.Generator) -> list[int]:
    """Which facts are asked for; the first always is.

    Where one sentence states several facts, they are asked for in their order, so that each stays
    with its sentence.
    """
    others = range(1, len(record.facts))
    if not all(record.facts[at].sentence for at in others):
        return list(range(count))
    return [0, *sorted(rng.choice(others, count - 1, replace=False).tolist())]


def _told(record: Record, rung: Rung, rng: np.random.Generator) -> str:
    """The sentences of a record; the one that names it comes first where it is needed."""
    said = [fact.sentence for fact in record.facts if fact.sentence]
    head, rest = ([], said) if not record.facts[0].sentence else (said[:1], said[1:])
    if rung.asides:
        rest = [*rest, record.aside]
    if rung.mixed:
        rest = [rest[int(at)] for at in rng.permutation(len(rest))]
    return " ".join([*head, *rest])


Parts = tuple[str, Table, Table]
"""The shape that a question shows, the value, and its schema."""


def _parts(record: Record, nested: bool) -> Parts:
    if not nested:
        return _object(record.facts)
    inner, outer = record.facts[:2], record.facts[2:]
    shape, value, schema = _object(inner)
    shapes, values, schemas = _object(outer)
    properties = schemas["properties"]
    assert isinstance(properties, dict)
    return (
        f'{{"subject": {shape}, {shapes[1:]}',
        {"subject": value, **values},
        _schema({"subject": schema, **properties}),
    )


def _object(facts: Sequence[Fact]) -> Parts:
    shape = ", ".join(f'"{fact.key}": {fact.type_name}' for fact in facts)
    value: Table = {fact.key: fact.value for fact in facts}
    return f"{{{shape}}}", value, _schema({fact.key: fact.schema for fact in facts})


def _schema(properties: Table) -> Table:
    return {
        "type": "object",
        "properties": properties,
        "required": [*properties],
        "additionalProperties": False,
    }


def _joined(parts: Sequence[Parts]) -> tuple[str, object, Table]:
    """One record as it is; several as a list, whose items have one schema."""
    shapes, values, schemas = zip(*parts, strict=True)
    if len(parts) == 1:
        return shapes[0], values[0], schemas[0]
    size = len(parts)
    schema: Table = {"type": "array", "minItems": size, "maxItems": size, "items": schemas[0]}
    return f"[{shapes[0]}, …]", [*values], schema


def _wrong(value: object) -> tuple[str, ...]:
    """The JSON with its last value changed, and with a key too many."""
    more = [{**value[0], "note": ""}, *value[1:]] if isinstance(value, list) else None
    if isinstance(value, dict):
        more = {**value, "note": ""}
    return tuple(json.dumps(one, ensure_ascii=False) for one in (_changed(value), more))


def _changed(value: object) -> object:
    """The value with its last inner value changed into another of the same type."""
    if isinstance(value, list):
        return [*value[:-1], _changed(value[-1])]
    if isinstance(value, dict):
        last = [*value][-1]
        return {**value, last: _changed(value[last])}
    if isinstance(value, bool):
        return not value
    return value + 1 if isinstance(value, (int, float)) else f"{value}x"


def extraction_task(options: TaskOptions) -> DrawnTask:
    """The task `json-extraction`."""
    return DrawnTask(
        name="json-extraction",
        levels=tuple(rung.label for rung in RUNGS),
        kind="json",
        source="generated by evenodds: facts drawn uniformly from its own word lists",
        draw=draw,
        options=options,
    )

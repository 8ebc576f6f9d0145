"""Cases of the kind `instructions`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

from evenodds.bench.case import Case, asked, made
from evenodds.bench.hostile import hostile_sizes
from evenodds.domain import Problem, Stop

NONE = {
    "nothing": "",
    "white space": " \n \n ",
    "signs alone": "... !!! ---",
    "a zero-width space": "\u200b",
    "only reasoning": "<think>I shall write it.</think>",
    "reasoning that stays open": "<think>Here it is.",
}

TABLE: tuple[tuple[list[dict[str, object]], tuple[str, ...], tuple[str, ...]], ...] = (
    (
        [{"id": "punctuation:no_comma"}],
        ("It rains and it pours.", "One. Two. Three."),
        ("It rains, and it pours.", "a,b", "One.\nTwo,\nThree."),
    ),
    (
        [{"id": "change_case:english_lowercase"}],
        ("the rain is here and it will stay with us for days.",),
        ("The rain is here and it will stay with us for days.", "THE RAIN IS HERE TO STAY"),
    ),
    (
        [{"id": "startend:end_checker", "end_phrase": "That is all."}],
        ("It rains. That is all.",),
        ("That is all. It rains.", "It rains.", "It rains. That is all. Or not."),
    ),
    (
        [{"id": "startend:quotation"}],
        ('"It rains."',),
        ("It rains.", '"It rains.', 'It says "rain".'),
    ),
    (
        [{"id": "detectable_format:title"}],
        ("<<Rain>>\nIt rains.",),
        ("Rain\nIt rains.", "<Rain>\nIt rains.", "<<>>\nIt rains."),
    ),
    (
        [{"id": "keywords:forbidden_words", "forbidden_words": ["rain"]}],
        ("The sun shines.",),
        ("It may rain.", "RAIN!", "No rain."),
    ),
    (
        [{"id": "keywords:existence", "keywords": ["rain", "snow"]}],
        ("First rain and then snow.",),
        ("First rain.", "Snow alone.", "Neither."),
    ),
    (
        [{"id": "detectable_format:json_format"}],
        ('{"a": 1}', '```json\n{"a": 1}\n```'),
        ("a: 1", '{"a": 1', "{'a': 1}"),
    ),
    (
        [
            {"id": "length_constraints:number_words", "relation": "at least", "num_words": 5},
            {"id": "punctuation:no_comma"},
        ],
        ("one two three four five six",),
        ("one two three four", "one, two, three, four, five, six"),
    ),
)


def own_cases() -> Iterator[Case]:
    """The bench of the kind by itself."""
    for at, (rules, right, wrong) in enumerate(TABLE):
        problem = asked(
            "instructions", at, "Write of the rain.", json.dumps({"instructions": rules})
        )
        name = str(rules[0]["id"])
        for text in right:
            yield made("instructions", "right forms", problem, text, True, name)
            cut = "cut: its end is not known"
            yield made("instructions", "truncated", problem, text, False, cut, stop=Stop.BUDGET)
        for text in wrong:
            yield made("instructions", "wrong values", problem, text, False, name)
            note = "followed in the reasoning alone"
            hidden = f"<think>{right[0]}</think>\n{text}"
            yield made("instructions", "reasoning only", problem, hidden, False, note)
        yield from _nothing(problem)
    strict = asked("instructions", 99, "Write.", _gold("startend:end_checker", end_phrase="End."))
    yield from hostile_sizes("instructions", strict, "none")


def _gold(name: str, **arguments: object) -> str:
    return json.dumps({"instructions": [{"id": name, **arguments}]})


def _nothing(problem: Problem) -> Iterator[Case]:
    for note, text in NONE.items():
        yield made("instructions", "format games", problem, text, False, note)


def task_cases(problems: Sequence[Problem], table: Mapping[str, object]) -> Iterator[Case]:
    """Texts that follow nothing."""
    for problem in problems:
        yield from _nothing(problem)

"""The json verifier: what is JSON, what fits a schema, and what equals a value."""

from __future__ import annotations

import json
import socket
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenodds.domain import Completion, Problem, Status, Stop, Verdict
from evenodds.errors import UsageError
from evenodds.verifiers import find_verifier
from evenodds.verifiers.json_answer import DEFAULT, Policy, json_answer
from evenodds.verifiers.json_text import NotJSONError, canonical, depth_of, last_object, strict
from tests.verifiers.hostile import SMALL, slowest

VALUE = '{"value": {"a": 1, "b": [1, 2]}}'
SCHEMA = json.dumps(
    {
        "schema": {
            "type": "object",
            "properties": {"a": {"type": "integer"}, "b": {"type": "array"}},
            "required": ["a"],
            "additionalProperties": False,
        }
    }
)
RIGHT = '{"a": 1, "b": [1, 2]}'


def judged(
    answer: str, gold: str = VALUE, stop: Stop = Stop.END_TOKEN, policy: Policy = DEFAULT
) -> Verdict:
    return json_answer(Problem("key", "prompt", gold, "task"), Completion(answer, stop), policy)


PAID = [
    RIGHT,
    '{"b":[1,2],"a":1}',
    '{"a": 1.0, "b": [1, 2e0]}',
    f" \n{RIGHT}\n",
    f"```json\n{RIGHT}\n```",
    f"```\n{RIGHT}\n```",
    f"First\n```json\n{{}}\n```\nthen better\n```json\n{RIGHT}\n```\nIt has 2 keys.",
    f"<answer>{RIGHT}</answer>",
    f"<think>{{}}</think>{RIGHT}",
    f"The result is {RIGHT}. It has 2 keys, rather than 3.",
    f"The set {{1 and {RIGHT}",
    f'He said "hi". {RIGHT}',
    f"```json\n{RIGHT}",
]


@pytest.mark.parametrize("answer", PAID)
def test_the_value_is_paid(answer: str) -> None:
    verdict = judged(answer)
    assert (verdict.score, verdict.status) == (1.0, Status.RIGHT), verdict
    assert verdict.parts == {"valid": 1.0, "value": 1.0}


UNPAID = [
    ('{"a": 1, "b": [2, 1]}', Status.WRONG),
    ('{"a": true, "b": [1, 2]}', Status.WRONG),
    ('{"a": "1", "b": [1, 2]}', Status.WRONG),
    ('{"a": 1, "b": [1, 2], "c": null}', Status.WRONG),
    ('{"a": 1.0000000000000000001, "b": [1, 2]}', Status.WRONG),
    ('{"a": 2, "a": 1, "b": [1, 2]}', Status.WRONG),
    ('{"a": 1, "b": [1, NaN]}', Status.WRONG),
    ("{'a': 1, 'b': [1, 2]}", Status.WRONG),
    ('{"a": 1, "b": [1, 2],}', Status.WRONG),
    ('{"a": 1, "b": [1, 2]} // done }', Status.WRONG),
    ('{"a": 01, "b": [1, 2]}', Status.WRONG),
    (f"{RIGHT} {RIGHT}", Status.WRONG),
    (f'Either {{"a": 2}} or {RIGHT}', Status.SEVERAL_ANSWERS),
    (f'So: {{"a": 2}}\n{RIGHT}', Status.SEVERAL_ANSWERS),
    (f"<answer>{{}}</answer><answer>{RIGHT}</answer>", Status.SEVERAL_ANSWERS),
    (f"The answer is not\n```json\n{RIGHT}\n```\nWait, it is another one.", Status.WRONG),
    (f"The answer is not: {RIGHT} .", Status.WRONG),
    (f"<think>{RIGHT}</think>", Status.NO_ANSWER),
    (f"<think>{RIGHT}", Status.NO_ANSWER),
    (f"<think>{RIGHT}</think>none", Status.NO_ANSWER),
    ("no JSON", Status.NO_ANSWER),
    ("```json\n```", Status.NO_ANSWER),
    (json.dumps(RIGHT), Status.WRONG),
]


@pytest.mark.parametrize(("answer", "status"), UNPAID)
def test_other_values_are_not_paid(answer: str, status: Status) -> None:
    verdict = judged(answer)
    assert (verdict.score, verdict.status) == (0.0, status), verdict


@pytest.mark.parametrize(
    ("answer", "score"),
    [(f"```json\n{RIGHT}\n```", 1.0), (f"<answer>{RIGHT}</answer>", 1.0), (RIGHT, 0.0)],
)
def test_a_cut_answer_is_paid_only_in_closed_marks(answer: str, score: float) -> None:
    verdict = judged(answer, stop=Stop.BUDGET)
    assert (verdict.score, verdict.status) == (score, Status.TRUNCATED)


@pytest.mark.parametrize(
    ("answer", "score"),
    [
        ('{"a": 1}', 1.0),
        ('{"a": 1.0, "b": []}', 1.0),
        ('{"a": 1.5}', 0.0),
        ('{"a": true}', 0.0),
        ("{}", 0.0),
        ("[]", 0.0),
        ('{"a": 1, "c": 2}', 0.0),
    ],
)
def test_a_schema_is_checked(answer: str, score: float) -> None:
    verdict = judged(answer, SCHEMA)
    assert verdict.score == score, verdict
    assert verdict.parts == {"valid": 1.0, "schema": score}


def test_parts_are_kept_apart() -> None:
    gold = json.dumps({**json.loads(SCHEMA), **json.loads(VALUE)})
    assert judged('{"a": 2}', gold).parts == {"valid": 1.0, "schema": 1.0, "value": 0.0}
    assert judged("{}", gold).parts == {"valid": 1.0, "schema": 0.0, "value": 0.0}
    assert judged('{"a": }', gold).parts == {"valid": 0.0}
    assert judged(RIGHT, gold).score == 1.0


@pytest.mark.parametrize(
    ("policy", "answer", "gold", "score"),
    [
        (Policy(arrays="any order"), "[2, 1, 1]", '{"value": [1, 2, 1]}', 1.0),
        (Policy(arrays="any order"), "[2, 2, 1]", '{"value": [1, 2, 1]}', 0.0),
        (Policy(numbers="by type"), "[1.0]", '{"value": [1]}', 0.0),
        (Policy(numbers="by type"), "[1.50]", '{"value": [1.5]}', 1.0),
        (Policy(duplicates=True), '{"a": 2, "a": 1}', '{"value": {"a": 1}}', 1.0),
        (Policy(constants=True), "[NaN]", '{"value": [1]}', 0.0),
        (Policy(gold="value"), "[1]", "[1]", 1.0),
        (Policy(gold="value"), "3", "3.0", 1.0),
        (Policy(gold="schema"), "[1]", '{"type": "array"}', 1.0),
        (Policy(gold="schema"), "[1]", '{"type": "object"}', 0.0),
        (Policy(order=("answer tags",)), "[1]", '{"value": [1]}', 0.0),
    ],
)
def test_policies(policy: Policy, answer: str, gold: str, score: float) -> None:
    assert judged(answer, gold, policy=policy).score == score


@pytest.mark.parametrize(
    "gold",
    [
        "",
        "{}",
        "[]",
        "null",
        '{"value": 1, "other": 2}',
        '{"value": NaN}',
        '{"schema": 1}',
        '{"schema": {"type": "foo"}}',
        '{"schema": {"pattern": "("}}',
        '{"schema": {"$ref": "#"}}',
        '{"schema": {"$ref": "#/nowhere"}}',
        '{"schema": {"properties": {"a": {"$ref": "https://example.org/x.json"}}}}',
        '{"schema": {"$ref": "file:///etc/passwd"}}',
        '{"schema": {"type": "string"}, "value": 1}',
    ],
)
def test_golds_that_cannot_be_used(gold: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object, **named: object) -> None:
        raise AssertionError("a schema opened a connection")

    monkeypatch.setattr(socket, "socket", refuse)
    assert judged('{"a": "x"}', gold).status is Status.GOLD_UNREADABLE


def test_a_deep_answer_does_not_escape_a_recursive_schema() -> None:
    gold = '{"schema": {"type": "array", "items": {"$ref": "#"}}}'
    assert judged("[[[]]]", gold).score == 1.0
    assert judged("[" * 63 + "1" + "]" * 63, gold).status is Status.WRONG
    assert judged("[" * 5_000 + "]" * 5_000, gold).status is Status.WRONG


def test_numbers_of_any_size_are_bounded_before_they_are_read() -> None:
    for text in ["9" * 100_000, "1e999999999", "1e-999999999", "1." + "0" * 5_000, "-" + "9" * 400]:
        with pytest.raises(NotJSONError):
            strict(text)


@pytest.mark.parametrize(
    ("text", "depth"), [("", 0), ("[[]]", 2), ('{"[[[": []}', 2), ('"\\"[["', 0), ("]]][", 0)]
)
def test_depth_is_counted_outside_of_strings(text: str, depth: int) -> None:
    assert depth_of(text) == depth or text == "]]]["


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a {} b", "{}"),
        ('x {"a": "}"} y', '{"a": "}"}'),
        ('x {"a": "\\"}"} y', '{"a": "\\"}"}'),
        ("{ {} {}", "{}"),
        ("{", None),
        ("}", None),
        ("", None),
    ],
)
def test_the_last_object(text: str, found: str | None) -> None:
    span = last_object(text)
    assert (text[slice(*span)] if span else None) == found


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False, width=32)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(values, values)
def test_a_value_equals_itself_and_nothing_else(one: object, other: object) -> None:
    gold = json.dumps({"value": one}, ensure_ascii=False)
    text = json.dumps(one, indent=1)
    order = Policy(order=("fence", "whole text"))
    assert judged(f"```json\n{text}\n```", gold, policy=order).score == 1.0
    are_same = canonical(strict(json.dumps(one))) == canonical(strict(json.dumps(other)))
    assert judged(f"```json\n{json.dumps(other)}\n```", gold).score == float(are_same)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(
    st.lists(st.sampled_from([*SMALL, RIGHT, '{"a":', "]", "1"]) | st.text(max_size=20)),
    st.sampled_from([VALUE, SCHEMA]) | st.text(max_size=20),
    st.sampled_from(list(Stop)),
)
def test_any_text_gives_a_verdict(pieces: list[str], gold: str, stop: Stop) -> None:
    assert judged("".join(pieces), gold, stop).score in (0.0, 1.0)


@pytest.mark.parametrize("text", SMALL)
def test_hostile_texts(text: str) -> None:
    assert judged(text).score == 0.0


def test_its_time_is_linear_in_the_text() -> None:
    assert slowest(json_answer_of, Problem("key", "prompt", VALUE, "task"), 1_000_000) < 2


def test_an_open_string_is_read_once() -> None:
    """A quote that a backslash at the very end leaves open is no reason to begin again."""
    text = '"' + '\\"' * 45_000 + "\\"
    start = time.process_time()
    assert depth_of(text) == 0
    assert judged(f"```json\n{text}\n```").status is Status.WRONG
    assert time.process_time() - start < 2


def json_answer_of(problem: Problem, completion: Completion) -> Verdict:
    return json_answer(problem, completion)


def test_it_is_registered() -> None:
    verifier = find_verifier("json", {"arrays": "any order"})
    assert verifier(Problem("k", "p", '{"value": [1, 2]}', "t"), Completion("[2, 1]")).score == 1.0
    with pytest.raises(UsageError, match="arrays"):
        find_verifier("json", {"arrays": "sorted"})

"""The `code` kind: golds in their forms, where a program is found, what it is paid."""

from __future__ import annotations

import json
from typing import Any

import pytest

from evenodds.domain import Completion, Problem, Status, Stop, Verdict
from evenodds.errors import UsageError
from evenodds.verifiers import find_verifier
from evenodds.verifiers.code import gold as golds
from evenodds.verifiers.code.policy import DEFAULT, Policy, spread
from evenodds.verifiers.code.printed import matches
from evenodds.verifiers.code.program import Program, find
from tests.sandbox.opened import needs_sandbox

ASSERTS = {"test_list": ["assert add(1, 2) == 3", "assert add([1], [2]) == [1, 2]"]}
CHECK = {
    "entry_point": "add",
    "prompt": 'from math import inf\n\ndef add(a, b):\n    """The sum."""\n',
    "test": "def check(candidate):\n    assert candidate(1, 2) == 3\n    assert add(2, 2) == 4\n",
}
CALLS = {"fn_name": "add", "inputs": [[1, 2], [2.5, 2]], "outputs": [3, 4.5]}
PAIRS = {"inputs": ["1 2\n", "5 6\n"], "outputs": ["3\n", "11\n"]}
ADD = "def add(a, b):\n    return a + b\n"
PRINT = "a, b = map(int, input().split())\nprint(a + b)\n"


def problem(gold: Any) -> Problem:
    return Problem("k", "p", gold if isinstance(gold, str) else json.dumps(gold), "t")


def fenced(program: str, language: str = "python") -> str:
    return f"Here it is.\n```{language}\n{program}\n```\nDone."


def judged(gold: Any, text: str, stop: Stop = Stop.END_TOKEN, **policy: Any) -> Verdict:
    return find_verifier("code", policy)(problem(gold), Completion(text, stop))


@needs_sandbox
@pytest.mark.parametrize("gold", [ASSERTS, CHECK, CALLS], ids=["asserts", "check", "calls"])
def test_a_function_is_paid_when_it_passes_all_tests(gold) -> None:
    assert judged(gold, fenced(ADD)).status is Status.RIGHT
    assert judged(gold, fenced(ADD)).score == 1.0
    for wrong in ("def add(a, b):\n    return a - b", "def add(a): return a", "def ad(): 1", "x ="):
        verdict = judged(gold, fenced(wrong))
        assert (verdict.status, verdict.score) == (Status.WRONG, 0.0), wrong


@needs_sandbox
def test_a_method_of_a_solution_is_called_too() -> None:
    method = "class Solution:\n    def add(self, a: List[int], b: Any):\n        return a + b"
    assert judged(CALLS, fenced(method)).status is Status.RIGHT


@needs_sandbox
def test_programs_that_print_are_compared_line_by_line() -> None:
    assert judged(PAIRS, fenced(PRINT)).status is Status.RIGHT
    assert judged(PAIRS, fenced(PRINT + "print()")).status is Status.RIGHT
    assert judged(PAIRS, fenced("print(3)")).status is Status.WRONG
    assert judged(PAIRS, fenced(PRINT + "1 / 0")).note.endswith(
        "ZeroDivisionError: division by zero"
    )
    main = "def main(): print(sum(map(int, input().split())))\nif __name__ == '__main__': main()"
    assert judged(PAIRS, fenced(main)).status is Status.RIGHT


@pytest.mark.parametrize(
    ("printed", "expected", "same"),
    [
        ("1 2\n3", "1  2 \n3\n\n", True),
        ("1 2 3", "1 2\n3", False),
        ("\n1", "1", False),
        ("0.3333333333", "0.33333333331", True),
        ("0.34", "0.33", False),
        ("1000000.5", "1000000.4", True),
        ("1000001", "1000000", False),
        ("3.0", "3", False),
        ("3", "3.0", True),
        ("nan", "1.0", False),
        ("inf", "1.0", False),
        ("5", "1e400", False),
        ("Yes", "YES", False),
        ("1_0.0", "10.0", False),
        ("٣.٠", "3.0", False),
        ("", "\n", True),
    ],
)
def test_what_counts_as_the_same_output(printed: str, expected: str, same: bool) -> None:
    assert matches(printed, expected, 1e-6) is same


@needs_sandbox
@pytest.mark.parametrize(
    ("expected", "returned", "right"),
    [
        ([1, 2], "(1, 2)", True), ({"1": 2}, "{1: 2}", True), (True, "True", True),
        (True, "1", False), (1, "True", False), (2, "2.0", True), (0.5, "0.5000000001", True),
        ("a", "'a'", True), (None, "None", True), ([1], "[1, 2]", False), ([], "()", True),
        (1.0, "float('nan')", False), ([[1.5]], "[[1.5]]", True), (10**30, "10**30", True),
        (3, "'3'", False), ([1, 2], "{1, 2}", False), ([1, 2], "iter([1, 2])", False),
    ],
)  # fmt: skip
def test_what_counts_as_the_same_result(expected, returned: str, right: bool) -> None:
    gold = {"fn_name": "f", "inputs": [[]], "outputs": [expected]}
    status = judged(gold, fenced(f"def f(): return {returned}")).status
    assert status is (Status.RIGHT if right else Status.WRONG)


def test_results_wrapped_in_lists_of_one_are_read_as_data_sets_mean_them() -> None:
    wrapped = golds.read(json.dumps({"fn_name": "f", "inputs": [[1], [2]], "outputs": [[3], [4]]}))
    assert isinstance(wrapped, golds.Calls)
    assert wrapped.cases[0] == ([1], [[3], 3])
    plain = golds.read(json.dumps({"fn_name": "f", "inputs": ["1\n[2]"], "outputs": ["[1, 2]"]}))
    assert isinstance(plain, golds.Calls)
    assert plain.cases == (([1, [2]], [[1, 2]]),)


@needs_sandbox
def test_partial_pay_is_the_share_of_tests_and_all_or_nothing_is_the_default() -> None:
    half = fenced("def add(a, b):\n    return 3")
    assert judged(ASSERTS, half).score == 0.0
    verdict = judged(ASSERTS, half, partial=True)
    assert (verdict.score, verdict.status, verdict.parts) == (0.5, Status.WRONG, {"tests": 0.5})
    assert judged(PAIRS, fenced("print(3)"), partial=True).score == 0.5


@needs_sandbox
def test_what_is_passed_crosses_as_it_is() -> None:
    tests = [
        "import collections, datetime, decimal, fractions",
        "x = (1, [2, {3}], {'a': (None, True)}, b'x')\nassert same(x) == x",
        "assert same(1j) == 1j",
        "assert same(fractions.Fraction(1, 3)) + 1 == fractions.Fraction(4, 3)",
        "assert same(decimal.Decimal('1.10')) == decimal.Decimal('1.1')",
        "assert same(datetime.date(2024, 2, 29)).day == 29",
        "assert type(same(True)) is bool and same(2**100) == 2**100 and str(same(-0.0)) == '-0.0'",
        "assert same(frozenset([1])) == frozenset([1]) and same(range(3)) == range(3)",
        "assert same(key='k') == {'key': 'k'} and same('\\ud800') == '\\ud800'",
        "assert list(numbers()) == [1, 2] and next(numbers()) == 1 and sorted(keys()) == [1, 2]",
        "assert count([1, 1]) == {1: 2} and pair() == (1, 2) and sys.version",
    ]
    program = """
import collections
def same(x=None, **named): return named or x
def numbers():
    yield 1
    yield 2
def keys(): return {1: 0, 2: 0}.keys()
def count(x): return collections.Counter(x)
def pair(): return collections.namedtuple('P', 'a b')(1, 2)
"""
    gold = {"test_list": ["\n".join([tests[0], test]) for test in tests[1:]]}
    verdict = judged(gold, fenced(program))
    assert verdict.status is Status.RIGHT, verdict.note


@needs_sandbox
def test_changes_in_place_are_seen_where_nothing_is_returned() -> None:
    gold = {
        "test_list": [
            "x = [[2], [1]]\ny = x[0]\nassert order(x) is None\nassert x == [[1], [2, 9]]"
        ]
    }
    program = fenced("def order(x):\n    x[0].append(9)\n    x.sort()")
    assert judged(gold, program).status is Status.RIGHT
    assert judged(gold, program, in_place="never").status is Status.WRONG
    cheat = {"test_list": ["x = [3, 1]\nassert order(x) == sorted(x)"]}
    assert (
        judged(cheat, fenced("def order(x):\n    x.clear()\n    return []")).status is Status.WRONG
    )


@needs_sandbox
def test_exceptions_that_tests_expect_cross_by_name() -> None:
    test = (
        "try:\n    f(0)\nexcept ZeroDivisionError as e:\n    ok = 'zero' in str(e)\n"
        "else:\n    ok = False\nassert ok"
    )
    assert judged({"test_list": [test]}, fenced("def f(x): return 1 / x")).status is Status.RIGHT
    own = "class Odd(KeyError): pass\ndef f(x): raise Odd('odd')"
    expecting = {"test_list": ["try:\n    f(1)\n    raise AssertionError\nexcept KeyError: pass"]}
    assert judged(expecting, fenced(own)).status is Status.RIGHT


@needs_sandbox
@pytest.mark.parametrize("raised", ["ValueError", "KeyError", "Exception", "Own"])
def test_a_test_may_read_what_an_exception_was_raised_with(raised: str) -> None:
    test = (
        "try:\n    f(0)\nexcept Exception as e:\n    ok = e.args == ('below', 1)\n"
        "else:\n    ok = False\nassert ok"
    )
    program = f"class Own(Exception): pass\ndef f(x): raise {raised}('below', x + 1)"
    assert judged({"test_list": [test]}, fenced(program)).status is Status.RIGHT
    other = program.replace("x + 1", "x")
    assert judged({"test_list": [test]}, fenced(other)).status is Status.WRONG


@needs_sandbox
@pytest.mark.parametrize("way", ["return 10 ** 5000", "raise KeyError(10 ** 5000)"])
def test_what_cannot_be_shown_is_wrong_and_not_the_fault_of_the_tests(way: str) -> None:
    gold = {"test_list": ["r = f(1)\nassert r == 2, r"]}
    assert judged(gold, fenced(f"def f(x): {way}")).status is Status.WRONG


@needs_sandbox
def test_a_bare_except_of_the_tests_does_not_hide_that_the_program_ended() -> None:
    gold = {"test_list": ["try:\n    f(-1)\n    ok = False\nexcept:\n    ok = True\nassert ok"]}
    honest = "def f(x):\n    if x < 0: raise ValueError(x)"
    assert judged(gold, fenced(honest)).status is Status.RIGHT
    verdict = judged(gold, fenced("import os\ndef f(x): os._exit(0)"))
    assert (verdict.status, verdict.score) == (Status.WRONG, 0.0)
    assert "the program ended" in verdict.note


@needs_sandbox
def test_an_exception_cannot_end_a_loop_of_the_tests() -> None:
    """`all(map(...))` is true as soon as a StopIteration comes out of what it maps."""
    gold = {"test_list": ["assert all(map(lambda c: f(c[0]) == c[1], [(1, 2), (2, 3)]))"]}
    assert judged(gold, fenced("def f(x): raise StopIteration")).status is Status.WRONG
    assert judged(gold, fenced("def f(x): return x + 1")).status is Status.RIGHT


@needs_sandbox
def test_slow_large_and_crashing_programs_are_wrong_not_unjudged() -> None:
    short = {"seconds": 0.3, "total_seconds": 2.0}
    bodies = {
        "while True: pass": "ran out of time",
        "import time; time.sleep(60)": "ran out of time",
        "x = bytearray(2**40)": "MemoryError",
        "import ctypes; ctypes.string_at(0)": "signal 11",
        "print('x' * 10**7)": "printed without end",
    }
    for body, why in bodies.items():
        verdict = judged(ASSERTS, fenced(f"def add(a, b):\n    {body}"), **short)
        assert verdict.status is Status.WRONG
        assert why in verdict.note
        assert judged(PAIRS, fenced(body), **short).status is Status.WRONG
    slow = "import time\ndef add(a, b):\n    time.sleep(.2)\n    return a + b"
    assert judged(ASSERTS, fenced(slow), **short).status is Status.RIGHT  # each has its own time


@needs_sandbox
def test_one_answer_never_takes_longer_than_its_total() -> None:
    gold = {"inputs": ["1"] * 20, "outputs": ["1"] * 20}
    sleepy = fenced("import time\ntime.sleep(.2)\nprint(1)")
    verdict = judged(gold, sleepy, total_seconds=0.7, partial=True)
    assert 0 < verdict.score < 0.3
    assert "ran out of time" in verdict.note
    gold = {"inputs": ["1", "2", "1", "1"], "outputs": ["1"] * 4}
    hangs = fenced("if input() == '2':\n    while True: pass\nprint(1)")
    verdict = judged(gold, hangs, seconds=0.3, partial=True)  # not asked again after a time-out
    assert (verdict.score, verdict.status) == (0.25, Status.WRONG)


@needs_sandbox
@pytest.mark.parametrize(
    "gold",
    [
        "", "42", "no JSON", "[]", "{}", '{"tests": []}', '{"test_list": []}',
        '{"test_list": "assert f()"}', '{"test": "x = 1", "entry_point": "f"}',
        '{"test": "def check(c): pass"}', '{"inputs": ["1"], "outputs": []}',
        '{"inputs": [1], "outputs": [1]}', '{"inputs": ["{"], "outputs": [1], "fn_name": "f"}',
        '{"inputs": [[1]], "outputs": [1], "fn_name": "a b"}', "[" * 100_000,
        '{"test": "def check(c): pass", "entry_point": "f(x)"}',
    ],
)  # fmt: skip
def test_a_gold_that_holds_no_tests_is_said_to_be_unreadable(gold: str) -> None:
    verdict = judged(gold, fenced(ADD))
    assert verdict.status is Status.GOLD_UNREADABLE
    assert verdict.note.startswith("the gold")


@needs_sandbox
@pytest.mark.parametrize(
    "gold",
    [
        {"test_list": ["assert add(1, 2 =="]},
        {"test_list": ["assert 1 + 1 == 2"]},
        {"test_list": ["assert add(1, 2) == 3"], "test_setup_code": "import no_such_module"},
        {"entry_point": "add", "test": "def check(candidate):\n    assert True"},
        {"entry_point": "add", "test": "def check(candidate):\n    pass\nraise OSError"},
    ],
)
def test_tests_that_cannot_run_or_call_nothing_are_the_golds_fault(gold) -> None:
    assert judged(gold, fenced(ADD)).status is Status.GOLD_UNREADABLE


@needs_sandbox
def test_a_program_named_like_a_builtin_is_under_test() -> None:
    gold = {"test_list": ["assert sum(10, 15) == 6"]}
    assert judged(gold, fenced("def sum(a, b): return 6")).status is Status.RIGHT
    named = {"test_list": ["assert sorted(set([3, 3])) == [3]"], "entry_point": "set"}
    assert judged(named, fenced("def set(x): return [x[0]]")).status is Status.RIGHT


MARKS = f'def f():\n    """\n    ```python\n    add(1, 2)\n    ```\n    """\n{ADD}'
INDENTED = "".join(f"    {line}\n" for line in ADD.splitlines())
LISTED = f"1. So:\n\n    ```python\n{INDENTED}    ```\n"

CASES = [
    (fenced(MARKS), MARKS),
    (LISTED, ADD),
    (LISTED.replace("    ```\n", "\t```\n"), ADD),
    (f"```python\n{ADD}     ```\nSo.", ADD),
    (fenced(ADD), ADD),
    (fenced(ADD, "py"), ADD),
    (fenced(ADD, ""), ADD),
    (fenced("def add(a, b): return 0") + fenced(ADD), ADD),
    (fenced(ADD) + "Use it:\n" + fenced("print(add(1, 2))"), ADD),
    (fenced("pip install x", "bash") + fenced(ADD), ADD),
    (f"<think>\n{fenced('def add(a, b): return 1')}</think>\n{fenced(ADD)}", ADD),
    (f"~~~python\n{ADD}\n~~~", ADD),
    (ADD, ADD),
    (f"```python\n{ADD}", ADD),
]


@pytest.mark.parametrize(("text", "program"), CASES)
def test_where_a_program_is_found(text: str, program: str) -> None:
    found = find(Completion(text), golds.read(json.dumps(ASSERTS)), DEFAULT)
    assert isinstance(found, Program)
    assert found.text.strip() == program.strip()


@needs_sandbox
@pytest.mark.parametrize(
    ("text", "stop", "status"),
    [
        ("", Stop.END_TOKEN, Status.NO_ANSWER),
        ("<think>def add", Stop.END_TOKEN, Status.NO_ANSWER),
        (fenced(ADD, "rust"), Stop.END_TOKEN, Status.NO_ANSWER),
        (ADD, Stop.BUDGET, Status.TRUNCATED),
        (f"```python\n{ADD}", Stop.BUDGET, Status.TRUNCATED),
        (fenced(ADD) + "Better:\n```python\ndef add(a", Stop.BUDGET, Status.TRUNCATED),
    ],
)
def test_where_none_is_found(text: str, stop: Stop, status: Status) -> None:
    found = find(Completion(text, stop), golds.read(json.dumps(ASSERTS)), DEFAULT)
    assert isinstance(found, Verdict)
    assert found.status is status
    assert judged(ASSERTS, text, stop).status is status


@needs_sandbox
def test_a_cut_answer_is_paid_where_its_fence_was_closed() -> None:
    verdict = judged(ASSERTS, fenced(ADD) + " It adds", Stop.BUDGET)
    assert (verdict.score, verdict.status) == (1.0, Status.TRUNCATED)
    verdict = judged(ASSERTS, fenced("def add(a, b): pass") + " It adds", Stop.BUDGET)
    assert (verdict.score, verdict.status) == (0.0, Status.TRUNCATED)


@needs_sandbox
def test_prose_is_no_answer_and_a_policy_may_ask_for_a_fence() -> None:
    assert judged(ASSERTS, "I would add both numbers.").status is Status.NO_ANSWER
    assert judged(ASSERTS, ADD).status is Status.RIGHT
    assert judged(ASSERTS, ADD, fence="python").status is Status.NO_ANSWER
    assert judged(ASSERTS, fenced(ADD, ""), fence="python").status is Status.NO_ANSWER


@needs_sandbox
def test_a_continuation_of_the_prompt_is_joined_to_it() -> None:
    body = "    assert inf > a\n    return a + b\n"
    for text in (body, body + "\nprint('more')\n", body + "\n\nThis adds.", fenced(body)):
        assert judged(CHECK, text).status is Status.RIGHT, text
    whole = "def add(a, b):\n    return a + b if inf else 0"  # imports of the prompt stay
    assert judged(CHECK, fenced(whole)).status is Status.RIGHT
    for bound in ("add = lambda a, b: a + b", "from operator import add", "import x\nadd: Any = 1"):
        right = "x" not in bound
        assert (judged(CHECK, fenced(bound)).status is Status.RIGHT) is right
        found = find(Completion(fenced(bound)), golds.read(json.dumps(CHECK)), DEFAULT)
        assert isinstance(found, Program) and "The sum." not in found.text


def test_policies_are_bounded() -> None:
    with pytest.raises(UsageError, match="total_seconds"):
        Policy(total_seconds=1000)
    with pytest.raises(UsageError, match="seconds"):
        find_verifier("code", {"seconds": 0})
    kind = find_verifier("code").kind  # type: ignore[union-attr]
    assert kind.seconds > 100  # a judge waits longer than any policy lets an answer take


def test_tests_are_spread_evenly() -> None:
    assert spread(range(5), 9) == range(5)
    assert spread(range(100), 4) == [0, 33, 66, 99]
    assert spread([1, 2, 3], 1) == [3]


def test_without_a_sandbox_a_verdict_is_an_error_that_says_why(monkeypatch) -> None:
    from evenodds.sandbox import SandboxUnavailable
    from evenodds.verifiers import code

    def refuse() -> None:
        raise SandboxUnavailable("code rewards are off: no server.")

    monkeypatch.setattr(code, "available", lambda: None)
    monkeypatch.setattr(code, "shared_sandbox", refuse)
    verdict = judged(ASSERTS, fenced(ADD))
    assert (verdict.status, verdict.note) == (Status.ERROR, "code rewards are off: no server.")
    monkeypatch.setattr(code, "available", lambda: "code rewards are off: no Linux.")
    verdict = judged(ASSERTS, fenced(ADD))
    assert (verdict.status, verdict.note) == (Status.ERROR, "code rewards are off: no Linux.")


@needs_sandbox
def test_verdicts_repeat() -> None:
    program = fenced("import random\ndef f(): return random.random() < .5")
    gold = {"test_list": ["import random\nassert f() == (random.random() < .5)"]}
    assert len({judged(gold, program).status for _ in range(5)}) == 1

"""The `expression` verifier: a sum of given numbers that makes a target, as in countdown."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, NamedTuple, cast

from evenodds.domain import Completion, Problem, Status, Verdict
from evenodds.verifiers import reasoning
from evenodds.verifiers.kind import Kind
from evenodds.verifiers.verdicts import Place, final_answer, gold_unreadable, paid, unpaid

MAX_CHARACTERS = 1_000
MAX_TOKENS = 300
MAX_DEPTH = 40
MAX_DIGITS = 12


@dataclass(frozen=True)
class Policy:
    """How the expression is found, and what it may be.

    order: where the final answer may stand.
    use: every given number `exactly once`, or `at most once`.
    steps: what the results on the way may be: `any` rational number, `whole` ones, or `positive`
    whole ones, as the television game has it.
    """

    order: tuple[Place, ...] = ("box", "answer tags", "####", "answer line", "last line")
    use: Literal["exactly once", "at most once"] = "exactly once"
    steps: Literal["any", "whole", "positive"] = "any"


DEFAULT = Policy()


class Puzzle(NamedTuple):
    """The numbers that may be used, and what they shall make."""

    numbers: tuple[int, ...]
    target: Fraction


class RefusedError(Exception):
    """Why a text is no expression that the policy allows."""


def expression(problem: Problem, completion: Completion, policy: Policy = DEFAULT) -> Verdict:
    """Right where the answer is an expression over the given numbers whose value is the target.

    It may hold whole numbers, + − × ÷ and brackets; it is worked out in exact fractions by a parser
    of its own. `expression = target` is read too. Parts: `readable`, `numbers` and `value`, each 0
    or 1; only all three are paid. Never raises.
    """
    puzzle = read_gold(problem.answer, problem.columns)
    if isinstance(puzzle, str):
        return gold_unreadable(puzzle)
    answer = final_answer(completion, policy.order)
    if isinstance(answer, Verdict):
        return answer
    parts = {"readable": 0.0, "numbers": 0.0, "value": 0.0}
    try:
        value, used = worked_out(answer.text, puzzle.target, policy.steps)
    except RefusedError as refused:
        note = f"{answer.how}; {refused}"
        return unpaid(completion, Status.WRONG, note, answer.text, parts=parts)
    misuse = _misuse(used, puzzle.numbers, policy.use)
    is_hit = value == puzzle.target
    parts = {"readable": 1.0, "numbers": float(not misuse), "value": float(is_hit)}
    note = f"{answer.how}; {misuse or f'it makes {_short(value)}'}"
    if is_hit and not misuse:
        return paid(completion, answer.text, note, parts=parts)
    return unpaid(completion, Status.WRONG, note, answer.text, parts=parts)


def _short(value: Fraction) -> str:
    bits = value.numerator.bit_length() + value.denominator.bit_length()
    return str(value) if bits < 200 else "a number of many digits"


def _misuse(used: Sequence[int], given: Sequence[int], use: str) -> str:
    """What is wrong with the numbers that were used; empty where nothing is."""
    extra = Counter(used) - Counter(given)
    if extra:
        return f"it uses {next(iter(extra))} more often than it is given"
    missing = Counter(given) - Counter(used)
    if missing and use == "exactly once":
        return f"it leaves out {next(iter(missing))}"
    return "" if used else "it uses no number"


def read_gold(gold: str, columns: Mapping[str, object]) -> Puzzle | str:
    """The puzzle of a JSON gold, or of the columns of the row; why there is none.

    Its fields are `numbers` or `nums`, and `target`. Where the gold is no JSON table, the columns
    of these names count, and a gold that is a number is the target.
    """
    try:
        table = json.loads(gold) if len(gold) < 10_000 else None
    except (ValueError, RecursionError):
        table = None
    row = dict(columns)
    if isinstance(table, dict):
        row = cast(dict[str, object], table)
    elif table is not None:
        row = {**row, "target": table}
    numbers, target = row.get("numbers", row.get("nums")), row.get("target")
    if not isinstance(numbers, list | tuple):
        return "it has no list of numbers"
    whole = [_whole(number) for number in cast(Sequence[object], numbers)]
    goal = _whole(target)
    if goal is None or not whole or len(whole) > 100 or None in whole:
        return "its numbers and its target are not whole numbers"
    return Puzzle(tuple(n for n in whole if n is not None), Fraction(goal))


def _whole(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if value != value or abs(value) >= 10**MAX_DIGITS or value != int(value):
        return None
    return int(value)


_TOKEN = re.compile(r"\s{0,9}(?:([0-9]+)|(.))", re.DOTALL)
_SIGNS = {
    ord(sign): plain
    for signs, plain in {"×✕✖·⋅∙∗＊": "*", "÷∕⁄／": "/", "−–－": "-", "＋": "+", "＝": "="}.items()
    for sign in signs
}
_LATEX = re.compile(r"\\(times|cdot|div|left|right|,|;|!|:|quad|\(|\)|\[|\]| )")
_LATEX_SIGNS = {"times": "*", "cdot": "*", "div": "/"}
_FRACTION = re.compile(r"\\[dt]?frac\s?\{([^{}]{1,200})\}\s?\{([^{}]{1,200})\}")
_ENDS = " \t\n.*`$"


def worked_out(text: str, target: Fraction, steps: str = "any") -> tuple[Fraction, list[int]]:
    """The value of an expression and the numbers it uses.

    Raises RefusedError for what is none, for one beyond the limits, for a step that `steps` does
    not allow, and where a right side says another number than the target.
    """
    if len(text) > MAX_CHARACTERS:
        raise RefusedError(f"{len(text)} characters are too many for an expression")
    left, equals, right = _plain(text).partition("=")
    parser = _Parser(_tokens(left), steps)
    value = parser.whole()
    if equals and not re.fullmatch(r"\s*-?[0-9]{1,15}\s*", right):
        raise RefusedError("what follows the equals sign is not one whole number")
    if equals and int(right) != target:
        raise RefusedError(f"it is said to equal {int(right)}")
    return value, parser.used


def _plain(text: str) -> str:
    text = text.strip(_ENDS).translate(_SIGNS)
    if "\\" in text:
        for _ in range(4):  # fractions in fractions
            text = _FRACTION.sub(r"((\1)/(\2))", text)
        text = _LATEX.sub(lambda match: _LATEX_SIGNS.get(match[1], " "), text)
    return re.sub(r"(?<=[0-9)\s])[xX](?=[0-9(\s])", "*", text).strip(_ENDS)


def _tokens(text: str) -> list[str]:
    found: list[str] = []
    for number, sign in _TOKEN.findall(text.rstrip()):
        if sign and sign not in "+-*/()[]{}":
            raise RefusedError(f"{sign!r} has no place in it")
        if len(number) > MAX_DIGITS or (number[:1] == "0" and number != "0"):
            raise RefusedError("a number has too many digits, or zeros in front")
        found.append(number or sign)
    if len(found) > MAX_TOKENS:
        raise RefusedError(f"it has more than {MAX_TOKENS} numbers and signs")
    return found


_CLOSING = {"(": ")", "[": "]", "{": "}"}


class _Parser:
    """One pass over the tokens of an expression, which it works out on the way."""

    def __init__(self, tokens: Sequence[str], steps: str) -> None:
        self.tokens = [*tokens, ""]
        self.steps = steps
        self.at = 0
        self.used: list[int] = []

    def whole(self) -> Fraction:
        value = self.sum(0)
        if self.at < len(self.tokens) - 1:
            raise RefusedError(f"{self.tokens[self.at]!r} stands where a sign is needed")
        return value

    def sum(self, depth: int) -> Fraction:
        value = self.product(depth)
        while (sign := self.tokens[self.at]) in ("+", "-"):
            self.at += 1
            other = self.product(depth)
            value = self.step(value + other if sign == "+" else value - other)
        return value

    def product(self, depth: int) -> Fraction:
        value = self.atom(depth)
        while (sign := self.tokens[self.at]) in ("*", "/"):
            self.at += 1
            other = self.atom(depth)
            if sign == "/" and not other:
                raise RefusedError("it divides by zero")
            value = self.step(value * other if sign == "*" else value / other)
        return value

    def atom(self, depth: int) -> Fraction:
        token = self.tokens[self.at]
        self.at += 1
        if token.isdigit():
            self.used.append(int(token))
            return Fraction(int(token))
        if token not in _CLOSING or depth >= MAX_DEPTH:
            raise RefusedError(
                f"{token!r} stands where a number is needed" if token else "it ends too early"
            )
        value = self.sum(depth + 1)
        if self.tokens[self.at] != _CLOSING[token]:
            raise RefusedError("its brackets do not match")
        self.at += 1
        return value

    def step(self, value: Fraction) -> Fraction:
        if self.steps != "any" and value.denominator != 1:
            raise RefusedError("a step makes a fraction")
        if self.steps == "positive" and value <= 0:
            raise RefusedError("a step makes a number that is not positive")
        return value


KIND = Kind(
    name="expression",
    summary="countdown: given numbers, + − × ÷ and brackets make a target; worked out exactly",
    gold='JSON {"numbers": [1, 2, 3], "target": 9}, or columns of these names (also nums)',
    judge=expression,
    policy=DEFAULT,
    gold_is="table",
    limits={
        "characters_read": reasoning.MAX_CHARACTERS,
        "characters_of_an_answer": MAX_CHARACTERS,
        "tokens": MAX_TOKENS,
        "depth": MAX_DEPTH,
        "digits": MAX_DIGITS,
    },
)

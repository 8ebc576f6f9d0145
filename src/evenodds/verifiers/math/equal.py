"""Whether two expressions are equal, and how that was found out."""

from __future__ import annotations

from evenodds.verifiers.decimals import near, same_rational
from evenodds.verifiers.math import numeric, sampled, units
from evenodds.verifiers.math.exact import (
    UndefinedError,
    exact,
    is_rational_function,
    residue,
    varying,
)
from evenodds.verifiers.math.policy import Policy
from evenodds.verifiers.math.tree import Node, NotMathError, is_decimal, kinds, num, symbols

POINT = 1
MAX_DIGITS = 500
_CONSTANTS = frozenset(["pi", "e", "i"])
_GAMMA = frozenset(["!", "binom"])
_STEPS = frozenset(["floor", "ceil", "sgn"])
_UNIT_LETTERS = frozenset("mgshLKNJWVCF")


def scalar(gold: Node, answer: Node, policy: Policy) -> str | None:
    """How two expressions are equal, in words; None where they are not, or it is not known."""
    if ("base" in kinds(gold)) != ("base" in kinds(answer)):
        return None
    if units.differ(gold, answer):
        return _converted(gold, answer, policy)
    for left in _forms(gold, policy):
        for right in _forms(answer, policy):
            how = expression(left, right, policy)
            if how is not None:
                return how
    return _without_letter(gold, answer, policy) if policy.units else None


def _converted(gold: Node, answer: Node, policy: Policy) -> str | None:
    pair = units.converted(gold, answer)
    return expression(*pair, policy) if pair is not None else None


def _forms(node: Node, policy: Policy) -> list[Node]:
    """What a value with a unit, a degree or a percent sign may stand for."""
    if node.kind == "unit":
        return _forms(node.args[0], policy) if policy.units else [node]
    if node.kind == "deg":
        return [*_forms(node.args[0], policy), node]
    if node.kind == "percent":
        inner = node.args[0]
        shares = [inner, Node("/", (inner, num(100)))]
        return shares if policy.percent == "either" else [shares[policy.percent == "ratio"]]
    return [node]


def _without_letter(gold: Node, answer: Node, policy: Policy) -> str | None:
    """`1,000 m^2` and `9 m/s^2` meet golds without units: letters behind one written number."""
    value = answer
    while value.kind in ("*", "/") and _measures(value.args[1]):
        value = value.args[0]
    if symbols(gold) or value == answer or symbols(value) or value.kind not in ("num", "/", "deg"):
        return None
    how = scalar(gold, value, policy)
    return f"{how}, a unit aside" if how else None


def _measures(unit: Node) -> bool:
    if unit.kind == "^" and unit.args[1] in (num(2), num(3)):
        unit = unit.args[0]
    return unit.kind == "sym" and unit.name in _UNIT_LETTERS


def expression(gold: Node, answer: Node, policy: Policy) -> str | None:
    """How two expressions without units are equal; None where they are not."""
    if gold == answer and not _is_structure(gold):
        return "written alike" if _is_defined(gold) else None
    try:
        return _compared(gold, answer, policy)
    except NotMathError:
        return None
    except (ArithmeticError, ValueError, TypeError, RecursionError, MemoryError):
        return None


def _is_structure(node: Node) -> bool:
    return bool(kinds(node) & {"group", "list", "rel", "text", "matrix"})


def _is_defined(node: Node) -> bool:
    """Whether it is no division by zero, which is equal to nothing."""
    try:
        exact(node)
        residue(node, POINT)
    except UndefinedError:
        return False
    except NotMathError:
        return True
    return True


def _compared(gold: Node, answer: Node, policy: Policy) -> str | None:
    if gold.kind == "inf" or answer.kind == "inf" or "inf" in kinds(gold) | kinds(answer):
        return "both infinite" if _infinity(gold) == _infinity(answer) != 0 else None
    left, right = exact(gold), exact(answer)
    if left is not None and right is not None:
        written = (is_decimal(gold), is_decimal(answer))
        return same_rational(left, right, written, policy.tolerance, policy.rounded_gold)
    if _same_residues(gold, answer):
        return "equal exactly as formulas"
    if is_rational_function(gold) and is_rational_function(answer):
        return None
    names = (symbols(gold) | symbols(answer)) - _CONSTANTS
    if names and symbols(gold) - _CONSTANTS != symbols(answer) - _CONSTANTS:
        return None
    if not names and (is_decimal(gold) or is_decimal(answer)):
        return _near(gold, answer, policy)
    return _numeric(gold, answer, bool(names))


def _infinity(node: Node) -> int:
    if node.kind == "inf":
        return 1
    if node.kind == "neg" and node.args[0].kind == "inf":
        return -1
    return 0


def _same_residues(gold: Node, answer: Node) -> bool:
    return residue(gold, POINT) == residue(answer, POINT)


def _digits(*nodes: Node) -> int:
    """Enough digits to tell two values apart whose rational parts have so many."""
    needed = numeric.DIGITS + 2 * max(map(_written, nodes))
    if needed > MAX_DIGITS:
        raise NotMathError("its numbers are too long to compare")
    return needed // 10 * 10


def _written(node: Node) -> int:
    """A bound on the digits of the rational values in a tree."""
    return _digits_of(node, varying(node))


def _digits_of(node: Node, unknown: set[int]) -> int:
    value = None if id(node) in unknown else exact(node)
    if value is None:
        return sum(_digits_of(arg, unknown) for arg in node.args)
    return (value.numerator.bit_length() + value.denominator.bit_length()) // 3


def _near(gold: Node, answer: Node, policy: Policy) -> str | None:
    """A decimal beside an exact value that is irrational, such as 4.1231056 and √17."""
    mp = numeric.evaluator(_digits(gold, answer))
    is_gold = is_decimal(gold)
    decimal, other = (exact(gold), answer) if is_gold else (exact(answer), gold)
    if decimal is None or decimal.denominator == 1:
        return None
    value = numeric.value(other, mp, numeric.ANY)
    if mp.im(value) != 0:
        return None
    return near(decimal, mp.re(value), is_gold, policy.tolerance, policy.rounded_gold)


def _numeric(gold: Node, answer: Node, has_names: bool) -> str | None:
    if has_names and (_calls(gold) | _calls(answer)) & _STEPS:
        raise NotMathError("it rounds a variable")
    bases = (0, 10) if "log" in _calls(gold) | _calls(answer) else (0,)
    digits = _digits(gold, answer)
    # the gamma function takes long for so many
    is_gamma = bool(_GAMMA & (kinds(gold) | kinds(answer)))
    confirming = 2 * digits if is_gamma else max(2 * digits, numeric.CONFIRMING)
    for base in bases:
        # what agrees is looked at again with digits enough for the smallest part of a sum
        if has_names:
            is_same = sampled.same(gold, answer, (digits, confirming), base)
        else:
            is_same = all(_agree(gold, answer, n, base) for n in (digits, confirming))
        if is_same:
            where = " at random points" if has_names else ""
            return f"equal to {confirming - numeric.SPARE} digits{where}"
    return None


def _agree(gold: Node, answer: Node, digits: int, base: int) -> bool:
    mp = numeric.evaluator(digits)
    left, right = (numeric.value(node, mp, numeric.ANY, base) for node in (gold, answer))
    return numeric.agree(left, right, mp)


def _calls(node: Node) -> frozenset[str]:
    """The names of the functions in a tree."""
    own = frozenset((node.name,)) if node.kind == "call" else frozenset[str]()
    return own.union(*map(_calls, node.args))

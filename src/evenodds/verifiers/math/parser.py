"""Expressions: a recursive descent over tokens, bounded in depth, one pass, nothing evaluated."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from evenodds.verifiers.math.lexer import END, Token
from evenodds.verifiers.math.tree import MAX_DEPTH, Node, NotMathError, call, num, sym

_OPEN = {"(": ")", "[": ")]", "\\{": "\\}", "{": "}", "<(": ")>", "]": "["}
_FACTOR_SIGNS = frozenset(["(", "[", "{", "\\{", "<("])
_CALLED = frozenset("fgh")
_INVERTED = ["^", "{", "-", "1", "}", "("]
MAX_DIGITS = 1_200
MAX_EXPONENT = 1_000
MAX_FACTORS = 60


@dataclass
class Cursor:
    """The tokens with the place that reading has reached, and how deep it is."""

    tokens: list[Token]
    at: int = 0
    depth: int = 0
    bars: int = 0

    def peek(self, ahead: int = 0) -> Token:
        place = self.at + ahead
        return self.tokens[place] if place < len(self.tokens) else END

    def take(self) -> Token:
        token = self.peek()
        self.at += 1
        return token

    def takes(self, sign: str) -> bool:
        """Whether the next token is that sign, which is then passed."""
        token = self.peek()
        if token.kind != "sign" or token.text != sign:
            return False
        self.at += 1
        return True

    def need(self, sign: str) -> None:
        if not self.takes(sign):
            raise NotMathError(f"a {sign} is missing")


def expression(cursor: Cursor) -> Node:
    """Terms joined by +, - and ±."""
    cursor.depth += 1
    if cursor.depth > MAX_DEPTH:
        raise NotMathError("it is nested too deeply")
    total = _signed(cursor)
    while (sign := _adds(cursor)) is not None:
        cursor.take()
        total = _joined(total, sign, _signed_term(cursor))
    cursor.depth -= 1
    return total


def _adds(cursor: Cursor) -> str | None:
    token = cursor.peek()
    return token.text if token.kind == "sign" and token.text in ("+", "-", "pm", "mp") else None


def _joined(left: Node, sign: str, right: Node) -> Node:
    if sign in ("pm", "mp"):
        right = Node("pm", (right,), "-" if sign == "mp" else "+")
    if sign == "-":
        right = Node("neg", (right,))
    return Node("+", (*left.args, right) if left.kind == "+" else (left, right))


def _signed(cursor: Cursor) -> Node:
    sign = _adds(cursor)
    if sign is None:
        return _term(cursor)
    cursor.take()
    term = _signed_term(cursor)
    if sign == "+":
        return term
    return (
        Node("neg", (term,)) if sign == "-" else Node("pm", (term,), "-" if sign == "mp" else "+")
    )


def _signed_term(cursor: Cursor) -> Node:
    """A term that may have one more sign, as in `3 + -2`."""
    if cursor.takes("-"):
        return Node("neg", (_term(cursor),))
    cursor.takes("+")
    return _term(cursor)


def _term(cursor: Cursor) -> Node:
    """Factors joined by signs or by standing side by side."""
    product = _factor(cursor)
    for _ in range(MAX_FACTORS):
        token = cursor.peek()
        if token.kind == "sign" and token.text in ("*", "/"):
            cursor.take()
            right = _signed_factor(cursor)
            product = Node(token.text, (product, right))
        elif _starts_factor(cursor, product):
            # `p(x)` may be a product or a function: it is marked, for it may name a value
            name = "()" if token.text == "(" and product.kind == "sym" else ""
            product = Node("*", (product, _factor(cursor)), name)
        else:
            return product
    raise NotMathError("it has too many factors")


def _signed_factor(cursor: Cursor) -> Node:
    if cursor.takes("-"):
        return Node("neg", (_factor(cursor),))
    return _factor(cursor)


def _starts_factor(cursor: Cursor, before: Node) -> bool:
    token = cursor.peek()
    if token.kind in ("name", "function", "constant"):
        return True
    if token.kind == "special":
        return token.text not in ("finish", "pmod", "rfloor", "rceil")
    if token.kind == "number":
        # `2^6 3^5` and `\sqrt{2} 3` are products; `2 3` is two numbers
        last = before.args[-1] if before.kind == "*" else before
        return token.is_spaced and last.kind == "^"
    if token.kind == "sign" and token.text == "|":
        return cursor.bars == 0
    return token.kind == "sign" and token.text in _FACTOR_SIGNS


def _factor(cursor: Cursor) -> Node:
    base = _postfix(cursor, _atom(cursor))
    if not cursor.takes("^"):
        return base
    if cursor.takes("°"):
        return _postfix(cursor, Node("deg", (base,)))
    exponent = _exponent(cursor)
    if exponent == sym("'"):
        return Node("deg", (base,))
    return _postfix(cursor, Node("^", (base, exponent)))


def _exponent(cursor: Cursor) -> Node:
    cursor.depth += 1
    if cursor.depth > MAX_DEPTH:
        raise NotMathError("it is nested too deeply")
    if cursor.peek().text == "{" and cursor.peek(1).text == "°" and cursor.peek(2).text == "}":
        cursor.at += 3
        cursor.depth -= 1
        return sym("'")
    if cursor.takes("-"):
        power = Node("neg", (_factor(cursor),))
    else:
        cursor.takes("+")
        power = _factor(cursor)
    cursor.depth -= 1
    return power


def _postfix(cursor: Cursor, node: Node) -> Node:
    while cursor.peek().kind == "sign" and cursor.peek().text in ("!", "%", "°"):
        sign = cursor.take().text
        node = Node({"!": "!", "%": "percent", "°": "deg"}[sign], (node,))
    return node


def _atom(cursor: Cursor) -> Node:
    token = cursor.take()
    if token.kind == "number":
        return _number(cursor, token)
    if token.kind == "name":
        return _name(cursor, token)
    if token.kind == "constant":
        return Node("inf") if token.text == "inf" else sym(token.text)
    if token.kind == "function":
        return _function(cursor, token.text)
    if token.kind == "special":
        return _special(cursor, token.text)
    if token.kind == "sign" and token.text == "|":
        return _bars(cursor)
    if token.kind == "sign" and token.text in _OPEN:
        return bracket(cursor, token.text)
    raise NotMathError("a value is missing")


def literal(text: str) -> Node:
    """The exact value of digits with a point and an exponent."""
    if len(text) < 18 and text.isdecimal():
        return Node("num", (), "", Fraction(int(text)))
    digits, _, exponent = text.replace("E", "e").partition("e")
    whole, _, part = digits.partition(".")
    power = int(exponent) if exponent else 0
    if len(whole) + len(part) > MAX_DIGITS or abs(power) > MAX_EXPONENT:
        raise NotMathError("its number is too long")
    value = Fraction(int((whole + part) or "0")) * Fraction(10) ** (power - len(part))
    return num(value, is_decimal=bool(part or exponent))


def _number(cursor: Cursor, token: Token) -> Node:
    value = literal(token.text)
    after = cursor.peek()
    if after.kind == "special" and after.text == "overline" and "." in token.text:
        return _repeating(cursor, token.text)
    if after.kind == "sign" and after.text == "_":
        cursor.take()
        return Node("base", (Node("text", (), token.text), num(int(_base(cursor)))))
    return _mixed(cursor, value) if value.name == "" else value


def _base(cursor: Cursor) -> str:
    digits = subscript(cursor)
    if digits == "\\text{ten}":
        digits = "10"
    if not digits.isdecimal() or not 2 <= int(digits[:3]) <= 36 or len(digits) > 2:
        raise NotMathError("its base is no number")
    return digits


def _repeating(cursor: Cursor, head: str) -> Node:
    """`0.1\\overline{6}`: the digits under the line go on without end."""
    cursor.take()
    cursor.need("{")
    digits = cursor.take().text
    cursor.need("}")
    if not digits.isdecimal() or len(digits) > 60:
        raise NotMathError("only digits can repeat")
    places = len(head.partition(".")[2])
    tail = Fraction(int(digits), (10 ** len(digits) - 1) * 10**places)
    return num(Fraction(head.rstrip(".") or "0") + tail)


def _mixed(cursor: Cursor, whole: Node) -> Node:
    """A whole number with a proper fraction behind it is their sum: `2\\frac{1}{2}`, `1 1/2`."""
    start, after = cursor.at, cursor.peek()
    if after.kind == "special" and after.text == "frac":
        part = _special(cursor, cursor.take().text)
    elif after.kind == "number" and after.is_spaced and cursor.peek(1) == Token("sign", "/"):
        top = literal(cursor.take().text)
        cursor.take()
        if cursor.peek().kind != "number" or cursor.peek().is_spaced:
            raise NotMathError("two numbers stand side by side")
        part = Node("/", (top, literal(cursor.take().text)))
    else:
        return whole
    top, bottom = part.args
    if top.kind != "num" or bottom.kind != "num":
        cursor.at = start
        return whole
    if top.name or bottom.name or not 0 <= top.number < bottom.number:
        raise NotMathError("the fraction of a mixed number is not proper")
    return num(whole.number + top.number / bottom.number)


def subscript(cursor: Cursor) -> str:
    """What stands behind `_`, letter by letter."""
    if not cursor.takes("{"):
        return cursor.take().text
    depth, parts = 1, list[str]()
    while depth:
        token = cursor.take()
        if token.kind == "end":
            raise NotMathError("a subscript does not end")
        depth += (token.text == "{") - (token.text == "}")
        parts.append(token.text)
    return "".join(parts[:-1])


def _name(cursor: Cursor, token: Token) -> Node:
    name = token.text
    if cursor.takes("_"):
        name += "_" + subscript(cursor)
    while cursor.takes("'"):
        name += "'"
    if name in _CALLED and [cursor.peek(i).text for i in range(6)] == _INVERTED:
        cursor.at += 5
        name += "^-1"
    if name[0] in _CALLED and cursor.peek().text == "(" and not cursor.peek().is_spaced:
        cursor.take()
        inside = bracket(cursor, "(")
        return call(name, *(inside.args if inside.kind == "group" else (inside,)))
    return sym(name)


def bracket(cursor: Cursor, opening: str) -> Node:
    """What stands in brackets: one expression, or the elements of a group."""
    cursor.depth += 1
    bars, cursor.bars = cursor.bars, 0
    if cursor.depth > MAX_DEPTH:
        raise NotMathError("it is nested too deeply")
    parts = [] if cursor.peek().text == "\\}" else [expression(cursor)]
    while cursor.peek().text in (",", ";") and cursor.peek().kind == "sign":
        cursor.take()
        parts.append(expression(cursor))
    closing = cursor.take().text
    _check(opening, closing)
    cursor.depth -= 1
    cursor.bars = bars
    if len(parts) == 1 and opening != "\\{":
        if (opening + closing) not in ("()", "[]", "{}"):
            raise NotMathError("its brackets do not match")
        return parts[0]
    return Node("group", tuple(parts), _brackets(opening, closing))


def _check(opening: str, closing: str) -> None:
    allowed = {"(": (")", "]", "["), "[": (")", "]", "["), "]": ("[", "]", ")")}
    if closing not in allowed.get(opening, (_OPEN[opening],)):
        raise NotMathError("its brackets do not match")


def _brackets(opening: str, closing: str) -> str:
    """The two brackets in one notation: `]a,b[` is `(a,b)`; braces are a set."""
    if opening in ("{", "\\{"):
        return "{}"
    if opening == "<(":
        return "()"
    left = "(" if opening == "]" else opening
    right = ")" if closing == "[" else closing
    return left + right


def _bars(cursor: Cursor) -> Node:
    cursor.bars += 1
    inside = expression(cursor)
    cursor.need("|")
    cursor.bars -= 1
    return Node("abs", (inside,))


def argument(cursor: Cursor) -> Node:
    """One argument of a command: what stands in braces, or one factor's base."""
    if cursor.takes("{"):
        inside = expression(cursor)
        cursor.need("}")
        return inside
    return _atom(cursor)


def _special(cursor: Cursor, text: str) -> Node:
    from evenodds.verifiers.math import special

    return special.special(cursor, text)


def _function(cursor: Cursor, name: str) -> Node:
    from evenodds.verifiers.math import special

    return special.function(cursor, name)


def factor(cursor: Cursor) -> Node:
    return _factor(cursor)


def starts_argument(cursor: Cursor) -> bool:
    """Whether what follows goes on with the argument of `\\sin`: `\\sin 2x` is sin of 2x."""
    token = cursor.peek()
    if token.kind in ("name", "constant"):
        return True
    return token.kind == "special" and token.text in ("frac", "sqrt")

"""Whole answers: lists, relations, unions, units and words around expressions."""

from __future__ import annotations

import re

from evenodds.verifiers.grammar import SCALES, is_unit
from evenodds.verifiers.math.exact import exact
from evenodds.verifiers.math.lexer import Token, tokenize
from evenodds.verifiers.math.parser import Cursor, expression
from evenodds.verifiers.math.tree import MAX_CHARACTERS, Node, NotMathError, num, symbols

MAX_PARTS = 60
_PERCENT = frozenset(["percent", "percentage", "pct", "percents"])

_THOUSANDS = re.compile(
    r"(?<![0-9.,])[1-9][0-9]{0,2}(?:,[0-9]{3}){1,12}(?:\.[0-9]{1,40})?(?![0-9]|,[0-9])"
)
_DECIMAL = re.compile(r"(?<![0-9.,])[0-9]{1,40},[0-9]{1,40}(?![0-9]|[.,][0-9])")
_EUROPEAN = re.compile(r"(?<![0-9.,])[1-9][0-9]{0,2}(?:\.[0-9]{3}){1,12},[0-9]{1,40}(?![0-9.,])")
_DOTTED = re.compile(r"(?<![0-9.,])[1-9][0-9]{0,2}(?:\.[0-9]{3}){2,12}(?![0-9.,])")
_ZEROS = re.compile(r"[0-9],0[0-9]{2}(?![0-9])")
_PROSE = re.compile(
    r"\b(?:so|where|since|because|then|thus|hence|therefore|if|is|are|was|we|for|let|with|when|not"
    r"|that|which|get|gives|have|but|either|suppose|assume|wrong|maybe|perhaps)\b",
    re.IGNORECASE,
)
_BRACKET = re.compile(r"[(\[{]")
_COMMA = re.compile(r"[0-9],[0-9]")


def readings(text: str, decimal_comma: bool = True) -> list[Node]:
    """What a cleaned text may say: `1,22` is a number and a pair; most texts say one thing.

    Raises NotMathError where it says nothing that is understood.
    """
    if len(text) > MAX_CHARACTERS:
        raise NotMathError(f"an answer of {len(text)} characters is too long")
    number = _as_numbers(text, decimal_comma)
    found: list[Node] = []
    refusal = NotMathError("it is empty")
    # `1,000,000` is one number: no list has an element of 000
    is_number = number != text and _ZEROS.search(text) is not None
    for variant in dict.fromkeys((number,) if is_number else (number, text)):
        try:
            found.append(read(variant))
        except NotMathError as error:
            refusal = error
    if not found:
        raise refusal
    return found


def _as_numbers(text: str, decimal_comma: bool) -> str:
    """The text with commas that may belong to numbers read so: thousands, or a decimal mark."""
    if "." in text and text.count(".") > 1:
        text = _DOTTED.sub(lambda match: match[0].replace(".", ""), text)
    # in brackets a comma parts elements
    bracket = _BRACKET.search(text)
    if bracket:
        return _as_numbers(text[: bracket.start()], decimal_comma) + text[bracket.start() :]
    if not _COMMA.search(text):
        return text
    text = _EUROPEAN.sub(lambda m: m[0].replace(".", "").replace(",", "."), text)
    text = _THOUSANDS.sub(lambda match: match[0].replace(",", ""), text)
    if decimal_comma:
        text = _DECIMAL.sub(lambda match: match[0].replace(",", "."), text)
    return text


def read(text: str) -> Node:
    """The tree of a cleaned text. Raises NotMathError where any of it is not understood."""
    tokens = tokenize(text)
    if not tokens:
        raise NotMathError("it is empty")
    # `= 5` and `≈ 5` go on from what is not repeated
    cursor = Cursor(tokens, at=int(tokens[0].kind == "relation" and tokens[0].text in ("=", "~")))
    try:
        return _list(cursor)
    except (OverflowError, ValueError, RecursionError, ZeroDivisionError) as error:
        raise NotMathError("it is not a readable formula") from error


def _list(cursor: Cursor) -> Node:
    """Clauses parted by commas, semicolons, `and`, `or`."""
    parts, joins = [_clause(cursor)], set[str]()
    while cursor.peek().kind != "end":
        join = _separator(cursor)
        if join is None:
            raise NotMathError("more follows than is understood")
        joins.add(join)
        parts.append(_clause(cursor))
        if len(parts) > MAX_PARTS:
            raise NotMathError("it lists too much")
    if len(parts) == 1:
        return parts[0]
    name = "or" if "or" in joins else "and" if "and" in joins else ","
    return Node("list", tuple(parts), name)


def _separator(cursor: Cursor) -> str | None:
    found: str | None = None
    while True:
        token = cursor.peek()
        if token.kind == "and":
            found = token.text
        elif token.kind == "sign" and token.text in (",", ";"):
            found = found or ","
        else:
            return found
        cursor.take()


def _clause(cursor: Cursor) -> Node:
    """Sides joined by relation signs; a lone side is that side."""
    sides, signs = [_side(cursor)], list[str]()
    while cursor.peek().kind == "relation":
        signs.append(cursor.take().text)
        sides.append(_side(cursor))
    if cursor.peek().kind == "special" and cursor.peek().text == "pmod":
        sides[-1] = _with_modulus(cursor, sides[-1])
    return Node("rel", tuple(sides), " ".join(signs)) if signs else sides[0]


def _with_modulus(cursor: Cursor, side: Node) -> Node:
    """`7 \\pmod{11}`: the modulus is kept like a unit."""
    cursor.take()
    if cursor.peek().kind == "number":  # TeX takes one digit: `\\pmod 5`
        modulus = exact(num(int(cursor.take().text[:9])))
    else:
        cursor.need("{")
        modulus = exact(expression(cursor))
        cursor.need("}")
    if modulus is None:
        raise NotMathError("its modulus is no number")
    return Node("unit", (side,), f"mod {modulus}")


def _side(cursor: Cursor) -> Node:
    if cursor.peek().kind in ("word", "text"):
        return _words(cursor)
    if cursor.peek().kind == "sign" and cursor.peek().text == "\\{" and _builder(cursor):
        return _built(cursor)
    side = _union_part(cursor)
    while cursor.peek().kind == "set":
        kind = cursor.take().text
        side = Node(kind, (side, _union_part(cursor)))
    terms = [side]
    while cursor.takes(":"):
        terms.append(expression(cursor))
    return _clock(cursor, Node("ratio", tuple(terms))) if len(terms) > 1 else side


def _clock(cursor: Cursor, ratio: Node) -> Node:
    """`5:00 p.m.`: a time of day with its half."""
    half = cursor.peek().text.replace(".", "").replace(" ", "").lower()
    if cursor.peek().kind in ("text", "word", "name") and half in ("am", "pm"):
        cursor.take()
        return Node("unit", (ratio,), half)
    return ratio


def _union_part(cursor: Cursor) -> Node:
    return _with_unit(cursor, expression(cursor))


def _words(cursor: Cursor) -> Node:
    """A side of words only, such as a name before `=` or a word that is the answer."""
    start = cursor.at
    while cursor.peek().kind in ("word", "text", "name") or cursor.peek().text == "-":
        cursor.take()
    text = " ".join(token.text for token in cursor.tokens[start : cursor.at])
    after = cursor.peek()
    is_alone = start == 0 and after.kind == "end"
    if after.kind not in ("end", "relation", "and") and after.text not in (",", ";"):
        raise NotMathError("words stand before a formula")
    if _PROSE.search(text) and not is_alone:
        raise NotMathError("a sentence stands where a formula was expected")
    return Node("text", (), text)


def _with_unit(cursor: Cursor, node: Node) -> Node:
    start = cursor.at
    words: list[str] = []
    if cursor.peek().kind == "word" and symbols(node):
        return node
    while _in_unit(cursor.peek(), bool(words)):
        words.append(cursor.take().text)
    if not words:
        return node
    if _starts_relation(cursor):
        raise NotMathError("words stand in a formula")
    text = " ".join(words)
    scale = SCALES.get(words[0].lower())
    if scale is not None:
        node, text = Node("*", (node, num(scale))), " ".join(words[1:])
    if text.lower() in _PERCENT:
        return Node("percent", (node,))
    if text and not is_unit(text.replace("^ ", "^").replace("{ ", "{").replace(" }", "}")):
        raise NotMathError(f"what follows the value is no unit (token {start})")
    return Node("unit", (node,), text.lower()) if text else node


def _starts_relation(cursor: Cursor) -> bool:
    return cursor.peek().kind == "relation" and cursor.peek().text not in ("~", "=")


def _in_unit(token: Token, is_started: bool) -> bool:
    if token.kind in ("word", "text"):
        return True
    if not is_started:
        return False
    return token.kind in ("number", "name") or token.text in ("^", "/", "{", "}", "%", "-", "*")


def _builder(cursor: Cursor) -> bool:
    """Whether braces hold a set builder, `\\{x : x > 3\\}`."""
    for token in cursor.tokens[cursor.at : cursor.at + 12]:
        if token.text == "\\}":
            return False
        if token.text in ("mid", ":") or (token.text == "|" and token.kind == "sign"):
            return True
    return False


def _built(cursor: Cursor) -> Node:
    cursor.take()
    head = _clause_until(cursor)
    condition = [_clause(cursor)]
    joins = {","}
    while (join := _separator(cursor)) is not None:
        joins.add(join)
        condition.append(_clause(cursor))
    cursor.need("\\}")
    name = "or" if "or" in joins else "and"
    body = condition[0] if len(condition) == 1 else Node("list", tuple(condition), name)
    return Node("builder", (head, body))


def _clause_until(cursor: Cursor) -> Node:
    bars, cursor.bars = cursor.bars, 1
    sides, signs = [expression(cursor)], list[str]()
    while cursor.peek().kind == "relation":
        signs.append(cursor.take().text)
        sides.append(expression(cursor))
    cursor.bars = bars
    if cursor.take().text not in ("mid", ":", "|"):
        raise NotMathError("its set has no condition")
    return Node("rel", tuple(sides), " ".join(signs)) if signs else sides[0]

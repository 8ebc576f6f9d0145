"""From the text of an answer or a gold to what it claims."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from evenodds.verifiers.extract import stated
from evenodds.verifiers.math import choice, words
from evenodds.verifiers.math.clean import clean
from evenodds.verifiers.math.exact import UndefinedError, exact
from evenodds.verifiers.math.find import box_cluster, phrase_marks
from evenodds.verifiers.math.policy import Policy
from evenodds.verifiers.math.resolve import SeveralError, resolve
from evenodds.verifiers.math.statement import readings
from evenodds.verifiers.math.tree import MAX_CHARACTERS, Node, NotMathError, is_literal, kinds, num

_THEREFORE = re.compile(
    r"\\(?:[lL]ong)?[rR]ightarrow(?![a-zA-Z])|\\(?:implies|therefore)(?![a-zA-Z])|[⇒∴→]|=>"
)
_WORDS_BEHIND = re.compile(
    r"\s*\$([^$]{0,500}[0-9][^$]{0,500})\$\s{1,9}"
    r"(?!(?:is|are|or|and|if|for|when|where|with|to|from|of|mod)\b)"
    r"([A-Za-z]{1,20}(?: [A-Za-z]{1,20})?)\s*"
)
_WHOLE = re.compile(r"[1-9][0-9]{0,17}\Z")
_WORKED = frozenset(["+", "*", "!", "binom", "matrix"])


@dataclass(frozen=True)
class Claim:
    """What a text says.

    text: as it was found. key: letter by letter, for comparing texts. values: what it may mean,
    none where it was not understood. note: why it was not. is_several: whether it contradicts
    itself. is_unworked: whether a value was left to the reader.
    """

    text: str
    key: str
    values: tuple[Node, ...] = ()
    note: str = ""
    is_several: bool = False
    is_unworked: bool = False


@dataclass(frozen=True)
class Gold:
    """The gold answer as read: its claim, its letter where it is a choice, why it is none.

    is_number: whether it is one rational number.
    """

    claim: Claim
    letter: str | None = None
    refusal: str = ""
    is_number: bool = False

    @property
    def is_word(self) -> bool:
        """Whether it is words and no value."""
        values = self.claim.values
        return bool(values) and all(value.kind == "text" for value in values)

    @property
    def is_several(self) -> bool:
        """Whether it lists several values."""
        return any(value.kind in ("list", "assign", "group") for value in self.claim.values)


def read_claim(text: str, policy: Policy, is_gold: bool = False) -> Claim:
    """What a text claims; where it is not understood, its letters and a note. Never raises."""
    if len(text) > 2 * MAX_CHARACTERS:
        return Claim(text[:200], "", note="it is too long")
    if _WHOLE.match(text):
        return Claim(text, text, (num(int(text)),))
    cleaned = clean(text)
    key = words.text_key(cleaned)
    found = words.synonym(key) if policy.synonyms else None
    if found is not None:
        return Claim(text, key, (found,))
    try:
        bare = choice.without_label(_worded(text) if is_gold else _concluded(text))
        nodes = readings(_bare(cleaned if bare == text else clean(bare)), policy.decimal_comma)
        values = [resolve(node, policy, is_gold) for node in nodes]
    except SeveralError as error:
        return Claim(text, key, note=str(error), is_several=True)
    except NotMathError as error:
        return Claim(text, key, note=str(error))
    except (ArithmeticError, ValueError, RecursionError, MemoryError):
        return Claim(text, key, note="it is not a readable formula")
    return Claim(text, key, tuple(values), is_unworked=any(map(is_unworked, nodes)))


def _worded(text: str) -> str:
    """`$10\\pi$ cm` with its words marked as such: behind the formula they are no product c·m."""
    found = _WORDS_BEHIND.fullmatch(text)
    return f"{found[1]} \\text{{ {found[2]}}}" if found else text


def _concluded(text: str) -> str:
    """What stands behind the last `therefore` of an answer, where it is a value."""
    parts = _THEREFORE.split(text)
    return parts[-1] if len(parts) > 1 and any(sign.isdigit() for sign in parts[-1]) else text


def _bare(text: str) -> str:
    """`(35 + 70 = 105)` without its brackets."""
    if text[:1] == "(" and text[-1:] == ")" and "=" in text and not set(text[1:-1]) & set("(),"):
        return text[1:-1]
    return text


def join_claims(claims: list[Claim]) -> Claim:
    """Several marks of one answer as one claim: the same value again, or a list."""
    last = claims[-1]
    distinct = list({claim.key: claim for claim in claims}.values())
    if len(distinct) == 1:
        return last
    if not all(claim.values for claim in distinct):
        bad = next(claim for claim in distinct if not claim.values)
        return Claim(last.text, last.key, note=bad.note, is_several=True)
    parts = [part for claim in claims for part in _parts(claim.values[-1])]
    text = ", ".join(claim.text for claim in claims)
    return Claim(text, words.text_key(clean(text)), (Node("list", tuple(parts), ","),))


def _parts(node: Node) -> tuple[Node, ...]:
    return node.args if node.kind == "list" else (node,)


def is_unworked(node: Node) -> bool:
    """Whether a number was left to be worked out; `3 \\cdot 10^5` is a written number."""
    if node.kind in ("rel", "list", "group", "row"):
        return any(map(is_unworked, node.args[-1:] if node.kind == "rel" else node.args))
    if node.kind in ("unit", "percent", "deg"):
        return is_unworked(node.args[0])
    if not kinds(node) & _WORKED:
        return node.kind == "/" and not all(map(is_literal, node.args)) and _number(node)
    if node.kind == "matrix":
        return any(is_unworked(cell) for row in node.args for cell in row.args)
    return _number(node) and not _is_scientific(node)


def _number(node: Node) -> bool:
    try:
        return exact(node) is not None
    except UndefinedError:
        return True


def _is_scientific(node: Node) -> bool:
    if node.kind != "*" or not is_literal(node.args[0]):
        return False
    power = node.args[1]
    if power.kind == "num":
        return power.number in (10**3, 10**6, 10**9, 10**12)
    return power.kind == "^" and power.args[0] == num(10)


@lru_cache(maxsize=4096)
def read_gold(text: str, policy: Policy) -> Gold:
    """The gold answer: what its last box holds, or what stands behind `####`, or all of it."""
    cut = stated(text)
    empty = Claim(cut[:200], "")
    if not cut.strip():
        return Gold(empty, refusal="it is empty")
    if words.is_placeholder(cut):
        return Gold(empty, refusal="it points elsewhere and says nothing itself")
    claim = _gold_claim(text.strip(), cut, policy)
    letter = choice.gold_letter(cut) if policy.choices else None
    if not claim.key:
        return Gold(claim, letter, "it is empty" if not letter else "")
    if not claim.values and not letter and len(cut) > MAX_CHARACTERS:
        return Gold(claim, None, "it is too long")
    return Gold(claim, letter, _undefined(claim), all(map(_is_rational, claim.values)))


def _is_rational(value: Node) -> bool:
    while value.kind in ("unit", "percent", "deg", "named", "fact"):
        value = value.args[-1 if value.kind == "fact" else 0]
    return _number(value)


def _gold_claim(text: str, cut: str, policy: Policy) -> Claim:
    cluster = box_cluster(text) if "box" in text else []
    said = phrase_marks(text) if not cluster and len(text) > 40 else []
    if said:
        return read_claim(said[0].text, policy, is_gold=True)
    if len(cluster) > 1 and all(mark.is_closed for mark in cluster):
        return join_claims([read_claim(mark.text, policy, is_gold=True) for mark in cluster])
    return read_claim(cut, policy, is_gold=True)


def _undefined(claim: Claim) -> str:
    for value in claim.values:
        try:
            exact(value)
        except UndefinedError as error:
            return str(error)
    if not claim.values and not any(sign.isalnum() for sign in claim.key):
        return "it holds neither a value nor words"
    return ""

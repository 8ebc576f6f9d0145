"""A model's chat template, which is a program, run so that it ends soon and stays small.

Jinja's sandbox keeps a template from the machine, but not from running for ever or asking for all
memory: `{% for %}` in `{% for %}`, `'x' * 10**10`, a text doubled forty times. Here every turn of a
loop, call, filter, operator and comparison is counted and its values are weighed.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache
from string import Formatter
from typing import Any, cast

from jinja2 import nodes
from jinja2.exceptions import SecurityError
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.visitor import NodeTransformer

SECONDS = 1.0  # of this thread's processor time, for one conversation
LARGEST = 2**20  # characters and entries of one value, and of all that is written
PRODUCT = 2**26  # of the sizes and numbers that go into one call
NUMBER = 100_000  # whole numbers that are given to a call: widths, counts
DIGITS = 4096  # bits of a whole number
UNKNOWN = 10_000  # entries of what tells its length only when it is read
EVERY = 8  # steps between two looks at the clock
WIDTH = re.compile(r"\d{5}")
CODECS = ("utf-8", "utf8", "ascii")  # others take minutes for a million characters
SOURCE = 100_000  # characters of a template: ten times the longest that is published
WITHOUT = ("lipsum", "cycler")
SLOW = ("wordwrap", "urlize", "pprint", "filesizeformat", "random", "center", "xmlattr")


@dataclass
class Meter:
    """What one rendering has used."""

    deadline: float
    steps: int = 0
    written: int = 0

    def step(self) -> None:
        self.steps += 1
        if self.steps % EVERY == 0 and time.thread_time() > self.deadline:
            raise TooMuch(f"it runs for more than {SECONDS:g} seconds.")

    def write(self, size: int) -> None:
        self.written += size
        if self.written > LARGEST:
            raise TooMuch(f"it writes more than {LARGEST:,} characters.")


_meter: ContextVar[Meter] = ContextVar("meter")


class TooMuch(SecurityError):
    """A template that runs too long, or makes too much."""


def render_chat(
    template: str, messages: Sequence[Mapping[str, Any]], tokens: Mapping[str, str]
) -> str:
    """What the template makes of a conversation, up to where the answer begins.

    tokens: the tokenizer's special tokens by name. Equal to what transformers makes of it. Raises
    what Jinja raises, and `TooMuch`.
    """
    if len(template) > SOURCE:  # to compile one takes time and memory too
        raise TooMuch(f"it has more than {SOURCE:,} characters.")
    given = [dict(message) for message in messages]
    with _metered():
        return _compiled(template).render(
            messages=given, tools=None, documents=None, add_generation_prompt=True, **tokens
        )


@contextmanager
def _metered() -> Generator[None]:
    token = _meter.set(Meter(time.thread_time() + SECONDS))
    try:
        yield
    finally:
        _meter.reset(token)


@lru_cache(maxsize=16)
def _compiled(text: str) -> Any:
    from transformers.utils.chat_template_utils import (
        _compile_jinja_template,  # pyright: ignore[reportPrivateUsage]
    )

    return _bounded(_compile_jinja_template("").environment).from_string(text)


def _bounded(theirs: Any) -> Bounded:
    """An environment like that of transformers, whose every step is counted."""
    kinds = [type(extension) for extension in theirs.extensions.values()]
    made = Bounded(
        trim_blocks=True, lstrip_blocks=True, extensions=kinds, finalize=written, optimized=False
    )
    made.globals.update(theirs.globals)
    for name in WITHOUT:
        made.globals.pop(name, None)
    ours: dict[str, Any] = {TICK: tick, WEIGHED: weighed, JOINED: joined}
    cast(dict[str, Any], made.globals).update(ours)
    made.filters = {name: _filter(function) for name, function in theirs.filters.items()}
    for name in SLOW:  # at a million characters they take minutes
        made.filters.pop(name, None)
    return made


TICK, WEIGHED, JOINED = "__tick", "__weighed", "__joined"


def tick() -> None:
    _meter.get().step()


def weight(value: Any, left: int = LARGEST) -> int:
    """Characters and entries of a value and all that it holds, counted up to a little over `left`.

    What is held twice counts twice: it would be written twice.
    """
    if isinstance(value, str | bytes):
        return len(value)
    if isinstance(value, int):
        return 1 if value.bit_length() <= DIGITS else LARGEST + 1
    inner: list[Any] = []
    if isinstance(value, dict):
        inner = [part for pair in cast(dict[Any, Any], value).items() for part in pair]
    elif isinstance(value, list | tuple | set | frozenset):
        inner = list(cast(Sequence[Any], value))
    total = 1
    for part in inner:
        total += weight(part, left - total)
        if total > left:
            break
    return total


def weighed(value: Any) -> Any:
    """The value itself, where it is not too large."""
    tick()
    if weight(value) > LARGEST:
        raise TooMuch(f"it makes a value of more than {LARGEST:,} characters.")
    return value


def written(value: Any) -> Any:
    """The value itself, which goes into the text, or into a part of it that is kept."""
    _meter.get().write(weight(weighed(value)))
    return value


def joined(*parts: Any) -> str:
    """What `a ~ b` makes."""
    return cast(str, weighed("".join(str(weighed(part)) for part in parts)))


def _require_modest(values: Sequence[Any]) -> None:
    """What goes into one call is of a size that a conversation may need, one with another."""
    product = 1
    for value in values:
        if isinstance(value, int):
            if abs(value) > NUMBER:
                raise TooMuch(f"it asks for a number of {abs(value).bit_length()} bits.")
            product *= max(1, abs(value))
        elif isinstance(value, str | bytes | list | tuple | dict):
            weighed(value)
            product *= max(1, weight(cast(Any, value)))
        elif isinstance(value, range):
            product *= max(1, len(value))
        elif isinstance(value, Iterator):
            product *= UNKNOWN
    if product > PRODUCT:
        raise TooMuch("it asks for more than a conversation can need.")


def _require_narrow(*texts: Any) -> None:
    """No width or precision of five digits, and none from elsewhere, in a format."""
    for text in texts:
        if isinstance(text, str) and (WIDTH.search(text) or "%*" in text):
            raise TooMuch("it asks for a text of a great width.")


def _require_quick(*names: Any) -> None:
    for name in names:
        if name not in (*CODECS, "strict", "ignore", "replace"):
            raise TooMuch(f"it asks for the encoding {str(name)[:40]!r}.")


def _filter(function: Callable[..., Any]) -> Callable[..., Any]:
    """A filter with its values weighed; what Jinja hands it first stays the first argument."""

    def bounded(*args: Any, **known: Any) -> Any:
        values = [*args, *known.values()]
        _require_modest(values)
        if function.__name__ in ("do_format", "do_round"):
            _require_narrow(*values)
        return weighed(function(*args, **known))

    for mark in ("jinja_pass_arg", "jinja_async_variant"):
        if hasattr(function, mark):
            setattr(bounded, mark, getattr(function, mark))
    return bounded


class Bounded(ImmutableSandboxedEnvironment):
    """Jinja's sandbox, with every call and operator looked at before and after."""

    intercepted_binops = frozenset(["+", "*", "**", "%"])

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        return cast(nodes.Template, Counted().visit(super()._parse(source, name, filename)))

    def call(self, context: Any, obj: Any, *args: Any, **known: Any) -> Any:  # pyright: ignore
        # the receiver is an argument too: `a.join(b)` is as large as both
        owner = getattr(obj, "__self__", None)
        _require_modest([owner, *args, *known.values()])
        if isinstance(owner, str | bytes) and obj.__name__ in ("encode", "decode"):
            _require_quick(*args[:1], *known.values())
        return weighed(super().call(context, obj, *args, **known))

    def wrap_str_format(self, value: Any) -> Any:
        made = super().wrap_str_format(value)
        if made is None:
            return None
        text = value.__self__

        def narrow(*args: Any, **known: Any) -> str:
            _require_narrow(text, *args, *known.values())
            specs = [spec or "" for _, _, spec, _ in Formatter().parse(text)]
            # a width in braces may be put together from pieces that are narrow
            if len(specs) > 1000 or any("{" in spec for spec in specs):
                raise TooMuch("it asks for a text of a great width.")
            return made(*args, **known)

        return narrow

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        if operator == "**" and (abs(left) > 1e6 or not abs(right) <= 64):
            raise TooMuch("it asks for a great power.")
        if operator == "*":
            _require_product(left, right)
        if operator == "%":
            _require_narrow(left)
        made = super().call_binop(context, operator, weighed(left), weighed(right))
        return weighed(made)

    def getitem(self, obj: Any, argument: Any) -> Any:
        return super().getitem(obj, weighed(argument))


def _require_product(left: Any, right: Any) -> None:
    """What is repeated is not too large when it was."""
    for value, times in ((left, right), (right, left)):
        if isinstance(times, int) and isinstance(value, str | bytes | list | tuple):
            size = weight(cast(Any, value))
            if times.bit_length() > DIGITS or size * max(0, times) > LARGEST:
                raise TooMuch(f"it makes a value of more than {LARGEST:,} characters.")


class Counted(NodeTransformer):
    """A parsed template in which turns of loops are counted, and comparisons and joins weighed."""

    def visit_For(self, node: nodes.For) -> nodes.Node:
        self.generic_visit(node)
        node.body.insert(0, nodes.ExprStmt(_called(TICK, [])))
        return node

    def visit_Concat(self, node: nodes.Concat) -> nodes.Node:
        self.generic_visit(node)
        return _called(JOINED, node.nodes)

    def visit_Compare(self, node: nodes.Compare) -> nodes.Node:
        self.generic_visit(node)
        node.expr = _called(WEIGHED, [node.expr])
        for operand in node.ops:
            operand.expr = _called(WEIGHED, [operand.expr])
        return node

    def visit_Pair(self, node: nodes.Pair) -> nodes.Node:
        self.generic_visit(node)
        node.key = _called(WEIGHED, [node.key])
        return node


def _called(name: str, arguments: list[nodes.Expr]) -> nodes.Call:
    return nodes.Call(nodes.Name(name, "load"), arguments, [], None, None)

"""The trusted side: runs the tests; the program that they test is reached through proxies only.

A proxy sends arguments as plain data and rebuilds plain data from the reply. One line of JSON is
printed for each test: {"passed": bool, "note": str}, or {"gold": why} where the tests are unfit.
"""

from __future__ import annotations

import ast
import builtins
import importlib.util
import json
import math
import os
import random
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from types import ModuleType
from typing import Any, TypeGuard

from evenodds.sandbox.talk import wire

NO_DATA = "the program sent what is no data"
KEPT_BACK = (AssertionError, StopIteration, StopAsyncIteration)
IN_PLACE = (list, dict, set, bytearray)


class Broken(BaseException):
    """The other side is gone or sent no plain data. Not to be caught as an `Exception`."""


class SolutionError(Exception):
    """What the solution raised, where it is no exception of Python's own. told: it, in words."""

    told = ""


class Link:
    """The line to the solution: how often it was called, and why it broke."""

    def __init__(self, in_place: bool) -> None:
        self.in_place, self.calls, self.broken = in_place, 0, ""

    def ask(self, request: dict[str, Any] | None) -> dict[str, Any]:
        if self.broken:
            raise Broken(self.broken)
        try:
            if request is not None:
                wire.send(request)
            return wire.receive()
        except (OSError, EOFError):
            self.broken = "the program ended"
        except (ValueError, RecursionError, MemoryError):
            self.broken = NO_DATA
        raise Broken(self.broken)

    def open(self) -> None:
        reply = self.ask(None)
        if reply.get("ready") is not True:
            self.broken = str(reply.get("failed", NO_DATA))[:300]

    def call(self, name: str, arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
        self.calls += 1
        packer = wire.Packer()
        request = {
            "name": name,
            "arguments": packer.pack(list(arguments)),
            "named": packer.pack(named),
        }
        reply = self.ask(request)
        try:
            failure = as_exception(reply) if "raised" in reply else None
            value = None if failure else wire.unpack(reply["value"])
            if not failure and value is None and self.in_place and "arguments" in reply:
                update(list(arguments), wire.unpack(reply["arguments"]))
        except Exception as error:
            self.broken = NO_DATA
            raise Broken(self.broken) from error
        if failure:
            raise failure
        return value


def as_exception(reply: dict[str, Any]) -> BaseException:
    """The nearest exception of Python's own that a test may expect; else `SolutionError`.

    A StopIteration would end a loop of the test, and `all(map(test, cases))` would be true.
    """
    text = str(reply.get("text"))[:300]
    arguments = list(wire.unpack(reply.get("args", [text])))
    for name in reply["raised"] if isinstance(reply["raised"], list) else []:
        kind = getattr(builtins, name, None) if isinstance(name, str) else None
        if kind is Exception or not isinstance(kind, type):
            continue
        if issubclass(kind, Exception) and not issubclass(kind, KEPT_BACK):
            for given in (arguments, [text]):
                with suppress(Exception):  # a few want more than a text
                    return kind(*given)
    error = SolutionError(*arguments)
    error.told = text
    return error


def update(old: Any, new: Any) -> None:
    """Change containers in place into what the other side made of them, also inside each other."""
    if type(old) is not type(new):
        return
    if isinstance(old, list | tuple):
        for before, after in zip(old, new, strict=False):
            update(before, after)
    if isinstance(old, dict):
        for key in old.keys() & new.keys():
            update(old[key], new[key])
    if isinstance(old, list):
        old[:] = [kept(a, b) for a, b in zip(old, new, strict=False)] + new[len(old) :]
    elif isinstance(old, dict):
        items = {key: kept(old.get(key), value) for key, value in new.items()}
        old.clear()
        old.update(items)
    elif isinstance(old, set):
        old.clear()
        old.update(new)
    elif isinstance(old, bytearray):
        old[:] = new


def kept(old: Any, new: Any) -> Any:
    """The old object where it was updated to equal the new one, so that names of it stay true."""
    return old if type(old) is type(new) and isinstance(old, IN_PLACE) else new


def proxy(link: Link, name: str) -> Callable[..., Any]:
    def candidate(*arguments: Any, **named: Any) -> Any:
        return link.call(name, arguments, named)

    candidate.__name__ = candidate.__qualname__ = name
    return candidate


def load(name: str, file: str, names: dict[str, Any]) -> ModuleType:
    """Run a file with `names` in its namespace."""
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise ImportError(file)
    module = importlib.util.module_from_spec(spec)
    vars(module).update(names)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def wanted(source: str, known: set[str], link: Link) -> dict[str, Any]:
    """What a test uses and nobody defines: proxies of functions under test, and modules.

    A name that only stands before a dot is a module that the program was to import. Where all
    names are known, the one called first is under test: a program may be named like a builtin.
    """
    nodes = list(ast.walk(ast.parse(source)))
    calls = [node.func.id for node in nodes if isinstance(node, ast.Call) and is_name(node.func)]
    bases = {
        node.value.id for node in nodes if isinstance(node, ast.Attribute) and is_name(node.value)
    }
    used = {node.id for node in nodes if is_name(node) and isinstance(node.ctx, ast.Load)}
    made = {node.id for node in nodes if is_name(node) and isinstance(node.ctx, ast.Store)}
    names = used - made - known
    modules = (names & bases & sys.stdlib_module_names) - {*calls}
    functions = names - modules or {*calls[:1]}
    found: dict[str, Any] = {name: importlib.import_module(name) for name in modules}
    return found | {name: proxy(link, name) for name in functions}


def is_name(node: ast.AST) -> TypeGuard[ast.Name]:
    return isinstance(node, ast.Name)


def check_tests(job: dict[str, Any], link: Link) -> Iterator[Callable[[], None]]:
    """HumanEval: a function `check(candidate)`, in one namespace with the prompt's helpers."""
    entry = job["entry_point"]
    module = load("tests", "tests.py", {})
    setattr(module, entry, proxy(link, entry))
    check = module.check
    yield lambda: check(proxy(link, entry))


def assert_tests(job: dict[str, Any], link: Link) -> Iterator[Callable[[], None]]:
    """MBPP: asserts, each a test, behind shared imports and set-up."""
    module = load("setup", "setup.py", {})
    shared = {key: value for key, value in vars(module).items() if not key.startswith("__")}
    known = {*vars(builtins), *shared} - {job.get("entry_point")}
    files = [f"test_{at}.py" for at in range(job["tests"])]
    for file in files:
        with open(file, encoding="utf-8") as opened:
            names = wanted(opened.read(), known, link)
        yield lambda file=file, names=names: void(load(file[:-3], file, shared | names))


def call_tests(job: dict[str, Any], link: Link) -> Iterator[Callable[[], None]]:
    """A function called with arguments; what it returns is compared with what is expected."""
    function = proxy(link, job["fn_name"])
    for arguments, accepted in job["cases"]:
        yield lambda arguments=arguments, accepted=accepted: expect(
            function(*arguments), accepted, job["tolerance"]
        )


def expect(value: Any, accepted: list[Any], tolerance: float) -> None:
    if not any(same(value, right, tolerance) for right in accepted):
        raise AssertionError(f"returned {value!r:.100}")


def same(value: Any, right: Any, tolerance: float) -> bool:
    """Equal as JSON would hold them: tuples are lists, keys are texts; floats within tolerance."""
    if isinstance(right, bool) or right is None or isinstance(right, str):
        return type(value) is type(right) and value == right
    if isinstance(right, int):
        return isinstance(value, int | float) and not isinstance(value, bool) and value == right
    if isinstance(right, float):
        return is_near(value, right, tolerance)
    if isinstance(right, list):
        return (
            isinstance(value, list | tuple)
            and len(value) == len(right)
            and all(same(a, b, tolerance) for a, b in zip(value, right, strict=True))
        )
    if not isinstance(value, dict) or len(value) != len(right):
        return False
    texts = {str(key): item for key, item in value.items()}
    return texts.keys() == right.keys() and all(
        same(texts[key], item, tolerance) for key, item in right.items()
    )


def is_near(value: Any, right: float, tolerance: float) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    if not math.isfinite(right):
        return value == right or (value != value and right != right)
    return abs(value - right) <= tolerance * max(1.0, abs(right))


def void(value: object) -> None:
    """Nothing: tests pass by not raising."""


def passed(test: Callable[[], None], link: Link) -> tuple[bool, str]:
    """Whether a test passed, and the reason where it did not."""
    before = link.calls
    try:
        if link.broken:
            raise Broken(link.broken)
        test()
    except BaseException as error:
        try:
            return False, explained(error)[:200]
        except Exception:  # it holds what the program sent, such as a number of a million digits
            return False, type(error).__name__
    if link.broken:  # a bare `except:` of the test caught it
        return False, link.broken
    if link.calls == before:
        raise LookupError("a test passed that calls nothing of the program")
    return True, ""


def explained(error: BaseException) -> str:
    """An exception of a test in words, one line as the solution would have shown it."""
    if isinstance(error, Broken | SolutionError):
        return error.told if isinstance(error, SolutionError) else str(error)
    if isinstance(error, AssertionError):
        return f"AssertionError {error}".strip()
    return f"{type(error).__name__}: {error}"


def main() -> None:
    """Run the tests that `job.json` and the files beside it state, and report on stdout."""
    report, sys.stdout = sys.stdout, open(os.devnull, "w")  # noqa: SIM115, for the whole process
    tell = partial(print, file=report, flush=True)
    with open("job.json", encoding="utf-8") as file:
        job = json.load(file)
    random.seed(job["seed"])
    link = Link(job["in_place"])
    kinds = {"check": check_tests, "asserts": assert_tests, "calls": call_tests}
    with suppress(Broken):
        link.open()
    tests = kinds[job["kind"]](job, link)
    while True:
        try:
            test = next(tests, None)
            if test is None:
                tell(json.dumps({"end": True}))
                return
            is_passed, note = passed(test, link)
        except MemoryError:  # what the program sent may still fill it: no fault of the tests
            return
        except Exception as error:
            tell(json.dumps({"gold": f"{type(error).__name__}: {error}"[:200]}))
            return
        tell(json.dumps({"passed": is_passed, "note": note}))
        if not is_passed and not job["all"]:
            return

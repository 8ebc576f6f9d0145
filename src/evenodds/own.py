"""A person's own Python code: found by name, and run without letting it disturb a run."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import signal
import sys
import warnings
from collections.abc import Generator, Iterable
from contextlib import contextmanager, redirect_stdout, suppress
from pathlib import Path
from types import ModuleType
from typing import IO, Any, TextIO, cast

from evenodds.errors import UsageError, check_path, nearest

FAILURES = (Exception, SystemExit, GeneratorExit)
"""What a person's code may raise without ending a run; an interrupt is let through."""


class Leaving(SystemExit):
    """A second signal ends the process: no failure of the code that it comes in."""


class OutOfTime(BaseException):
    """A person's code took too long. No `Exception`, for it may catch all of these."""


def failure_of(error: BaseException) -> str:
    """What a person's code has raised, in one line. What a signal raised there goes on instead.

    While a run goes on signals are noted and raise no plain `KeyboardInterrupt`, so that one is
    the code's own.
    """
    is_plain = type(error) is KeyboardInterrupt
    is_ours = isinstance(error, Leaving | OutOfTime)
    if is_ours or (isinstance(error, KeyboardInterrupt) and not is_plain):
        raise error
    if is_plain and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        raise error
    return described(error)


class Heedless:
    """A stream, of text or of bytes, that loses what it cannot write, such as to a full disk or to
    a pipe without a reader; and that cannot be closed.

    What code prints is no part of what it computes: a verifier must not judge otherwise, nor a run
    end, because the log is full. Nor is the stream the code's own: a wrapper around its buffer
    closes that when it goes, and every line of the run after that would be lost.
    """

    def __init__(self, beneath: IO[Any]) -> None:
        self.beneath = beneath

    def write(self, text: Any) -> int:
        with suppress(OSError):
            self.beneath.write(text)
        return len(text)

    def writelines(self, lines: Iterable[Any]) -> None:
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        with suppress(OSError):
            self.beneath.flush()

    def close(self) -> None:
        """It is not theirs."""

    @property
    def buffer(self) -> Heedless:
        """The stream of bytes beneath one of text."""
        return Heedless(cast(Any, self.beneath).buffer)

    def detach(self) -> Heedless:
        """The buffer, as of any stream of text, which goes on being one as well."""
        return self.buffer

    def __getattr__(self, name: str) -> Any:
        return getattr(self.beneath, name)


def heedless(stream: TextIO | None) -> TextIO | None:
    """The stream, which loses what it cannot write; None, which is one that is closed, stays so."""
    if stream is None or isinstance(stream, Heedless):
        return stream
    return cast(TextIO, Heedless(stream))


@contextmanager
def quiet() -> Generator[None]:
    """While a person's code runs: what it prints goes to stderr, its warnings nowhere."""
    with redirect_stdout(heedless(sys.stderr)), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def described(error: BaseException) -> str:
    """An exception in one line of at most 300 characters."""
    try:
        text = str(error).encode("utf-8", "replace").decode("utf-8")
    except FAILURES:  # __str__ of a foreign type may raise
        text = ""
    return " ".join(f"{type(error).__name__}: {text}".split()).rstrip(":")[:300]


def load_named(name: str) -> object:
    """What `path/to/file.py:name` or `package.module:name` names.

    Raises `UsageError` where the file or module is missing, cannot be imported, or lacks the name.
    """
    place, _, attribute = name.rpartition(":")
    if not place or not attribute:
        raise UsageError(
            f"no function is named by {name!r}. Write file.py:function or package.module:function."
        )
    module = _from_file(place) if place.endswith(".py") else _from_module(place)
    found: object = getattr(module, attribute, None)
    if found is None:
        names = [key for key, value in vars(module).items() if inspect.isfunction(value)]
        hint = nearest(attribute, names) if names else "It defines no functions."
        raise UsageError(f"{place} has no function {attribute!r}. {hint}")
    return found


def _from_file(place: str) -> ModuleType:
    path = Path(place)
    if not path.is_file():
        what_to_do = check_path(place, " before the colon")
        raise UsageError(f"the file {place} does not exist. {what_to_do}")
    spec = importlib.util.spec_from_file_location(f"evenodds_own_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise UsageError(f"the file {place} cannot be imported. Check that it is a Python file.")
    module = importlib.util.module_from_spec(spec)
    # registered before it runs, for dataclasses in the file look their own module up
    sys.modules[spec.name] = module
    try:
        with quiet():
            spec.loader.exec_module(module)
    except BaseException as error:  # whatever the file raises, the file could not be read
        sys.modules.pop(spec.name, None)
        if isinstance(error, KeyboardInterrupt):  # a person waits for it no longer
            raise
        raise _failed(place, error) from error
    return module


def _from_module(place: str) -> ModuleType:
    try:
        with quiet():
            return importlib.import_module(place)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # as for a file
        raise _failed(place, error) from error


def _failed(place: str, error: BaseException) -> UsageError:
    what = described(error)
    beside = _beside(place, error)
    remedy = f"Set PYTHONPATH to {beside}" if beside else "Mend it or name another"
    return UsageError(f"{place} could not be imported. Got {what}. {remedy}.")


def _beside(place: str, error: BaseException) -> str:
    """The folder of a person's file where it holds the module that was not found, else nothing.

    Such a folder is no place that Python looks in by itself: a file of that name could then stand
    in for any module of ours.
    """
    if not place.endswith(".py") or not isinstance(error, ModuleNotFoundError) or not error.name:
        return ""
    folder, name = Path(place).parent, error.name.partition(".")[0]
    found = (folder / f"{name}.py").is_file() or (folder / name).is_dir()
    return f"{str(folder)!r}, where {name} lies" if found else ""

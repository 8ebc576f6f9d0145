"""What passes between a judge and its workers: JSON behind its length. No pickle.

Texts come out exactly as they went in: NUL, lone surrogates and two that stand side by side too.
"""

from __future__ import annotations

import base64
import datetime
import decimal
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

from evenodds.domain import Completion, Message, Problem, Status, Stop, Verdict

HEAD = 8  # bytes of a length
MAX_REPLY = 64 * 2**20  # bytes; verdicts are short, and a runaway one must not fill the memory
MARK = "\0type"  # a dict that holds this stands for a value that JSON has no form of

READERS: dict[str, Callable[[str], object]] = {
    "datetime": datetime.datetime.fromisoformat,
    "date": datetime.date.fromisoformat,
    "time": datetime.time.fromisoformat,
    "Decimal": decimal.Decimal,
    "bytes": base64.b64decode,
}


@dataclass(frozen=True)
class Call:
    """One call of the verifier: a problem with one answer, or with a whole group of them."""

    problem: Problem
    completions: Sequence[Completion]
    ids: Sequence[Sequence[int]] | None = None


def pack(value: object) -> bytes:
    """A value as one frame. Raises `ValueError` or `TypeError` for what JSON cannot hold."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=_marked)
    body = text.encode("utf-8", "surrogatepass")
    return len(body).to_bytes(HEAD, "big") + body


def unpack(body: bytes | bytearray) -> Any:
    text = bytes(body).decode("utf-8", "surrogatepass")
    return json.loads(text, object_hook=_unmarked)


def _marked(value: Any) -> object:
    """A value of a row of data that JSON does not know; what has no form here becomes its text."""
    name = type(value).__name__
    if isinstance(value, bytes):
        return {MARK: "bytes", "text": base64.b64encode(value).decode()}
    if isinstance(value, datetime.date | datetime.time):
        return {MARK: name if name in READERS else "datetime", "text": value.isoformat()}
    if isinstance(value, decimal.Decimal):
        return {MARK: "Decimal", "text": str(value)}
    if hasattr(value, "tolist"):  # of numpy: arrays and scalars
        return value.tolist()
    if isinstance(value, set | frozenset):
        return [*cast(set[object], value)]
    return str(value)


def _unmarked(found: dict[str, Any]) -> object:
    if found.keys() != {MARK, "text"}:
        return found
    try:
        return READERS[found[MARK]](found["text"])
    except (ArithmeticError, LookupError, TypeError, ValueError):  # a row of data that looks so
        return found


def unframed(pending: bytearray) -> Iterator[Any]:
    """The whole frames at the front of what has arrived; they are taken from it.

    Raises `ValueError` where the bytes are no frames.
    """
    while len(pending) >= HEAD:
        size = int.from_bytes(pending[:HEAD], "big")
        if size > MAX_REPLY:
            raise ValueError(f"a frame of {size} bytes")
        if len(pending) < HEAD + size:
            return
        body = pending[HEAD : HEAD + size]
        del pending[: HEAD + size]
        yield unpack(body)


def read_frame(read: Callable[[int], bytes]) -> Any:
    """The next frame, waiting for it; None at the end. read: gives so many bytes, fewer at the end.

    Not a byte of what follows the frame is read, as long as `read` does not.
    """
    head = read(HEAD)
    if len(head) < HEAD:
        return None
    size = int.from_bytes(head, "big")
    body = read(size)
    return unpack(body) if len(body) == size else None


def call_to_json(call: Call) -> dict[str, object]:
    problem = call.problem
    return {
        "problem": [
            problem.key,
            problem.prompt,
            problem.answer,
            problem.task,
            problem.level,
            {str(key): value for key, value in problem.columns.items()},
        ],
        "completions": [[c.text, str(c.stop), c.prompt_tail] for c in call.completions],
        "ids": call.ids,
    }


def call_from_json(found: dict[str, Any]) -> Call:
    key, prompt, answer, task, level, columns = found["problem"]
    if not isinstance(prompt, str):
        prompt = tuple(cast(list[Message], prompt))
    completions = [Completion(text, Stop(stop), tail) for text, stop, tail in found["completions"]]
    return Call(Problem(key, prompt, answer, task, level, columns), completions, found["ids"])


def verdict_to_json(verdict: Verdict) -> list[object]:
    return [
        verdict.score,
        str(verdict.status),
        verdict.extracted,
        verdict.note,
        dict(verdict.parts),
        verdict.seconds,
    ]


def verdict_from_json(found: list[Any]) -> Verdict:
    score, status, extracted, note, parts, seconds = found
    return Verdict(score, Status(status), extracted, note, parts, seconds)

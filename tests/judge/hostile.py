"""A verifier that does to its process what the answer says; nothing here is imported by a test."""

from __future__ import annotations

import ctypes
import os
import re
import signal
import sys
import time
from contextlib import suppress

from evenodds.domain import Problem, Status, Verdict

FILE = f"{__file__}:judge"
CALLS: list[str] = []


def loop() -> None:
    while True:
        pass


def fork_and_return() -> None:
    if os.fork() == 0:
        time.sleep(0.05)  # and then comes back into the worker, as a second one


def fork_and_hold() -> None:
    if os.fork() == 0:
        time.sleep(60)
        os._exit(0)
    os._exit(4)  # while the child holds the pipe


def speak() -> None:
    os.write(1, b"not a frame" * 20_000)
    print("hello" * 10_000)


def speak_frames() -> None:
    """Verdicts of its own making on every pipe: none, two, of odd types, and a greeting."""
    twice = b'[[1.0,"right",null,"",{},0],[1.0,"right",null,"",{},0]]'
    for body in (b"[]", b"[[1,2,3,4,5,6]]", twice, b'{"ready":1}', b"7"):
        for descriptor in range(3, 64):
            with suppress(OSError):
                os.write(descriptor, len(body).to_bytes(8, "big") + body)


def recurse() -> None:
    def deeper(depth: int) -> int:
        return deeper(depth + 1)

    deeper(0)


DEEDS = {
    "loop": loop,
    "sleep": lambda: time.sleep(1e6),
    "regex": lambda: re.match(r"(a|aa)+$", "a" * 80 + "b"),
    "stop": lambda: os.kill(os.getpid(), signal.SIGSTOP),
    "exit": lambda: os._exit(3),
    "sysexit": lambda: sys.exit(5),
    "segfault": lambda: ctypes.string_at(0),
    "terminate": lambda: os.kill(os.getpid(), signal.SIGTERM),
    "memory": lambda: bytearray(2**33),
    "memory piece by piece": lambda: [bytearray(2**24) for _ in range(2**9)],
    "speak": speak,
    "speak frames": speak_frames,
    "close": lambda: os.closerange(3, 256),
    "close all": lambda: os.closerange(0, 256),
    "fork and return": fork_and_return,
    "fork and hold": fork_and_hold,
    "recurse": recurse,
    "kill the parent": lambda: os.kill(os.getppid(), signal.SIGKILL),
}
RAISED = {"raise": BaseException, "interrupt": KeyboardInterrupt, "generator": GeneratorExit}


def judge(problem: Problem, text: str) -> Verdict:
    """Does it, and then finds right what is the answer."""
    CALLS.append(text)
    if text in RAISED:
        raise RAISED[text]
    deed = DEEDS.get(text)
    if deed is not None:
        deed()
    status = Status.RIGHT if text == problem.answer else Status.WRONG
    return Verdict(float(text == problem.answer), status, extracted=str(len(CALLS)))

"""A seccomp filter, assembled by hand: calls that are not on the list fail with EPERM.

Default deny. A new process is refused (`clone` makes threads only, `fork` and `execve` are not on
the list), so that no fork bomb and no daemon can start and RLIMIT_AS bounds all memory there is.
"""

from __future__ import annotations

import ctypes
import errno
import platform
import struct
from collections.abc import Sequence

from evenodds.sandbox.inside import calls, libc

MACHINES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
"""For each machine its column in the table of calls and its number in the filter's data."""

KILL, ERRNO, ALLOW = 0x80000000, 0x00050000, 0x7FFF0000
LOAD, EQUAL, AT_LEAST, ABOVE, ANY_BIT, RETURN, AND = 0x20, 0x15, 0x35, 0x25, 0x45, 0x06, 0x54
NUMBER, MACHINE, ARGUMENT = 0, 4, (16, 24, 32)
X32 = 0x40000000
CLONE_THREAD = 0x00010000
HARMLESS_IOCTLS = (0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)
"""Is it a terminal, its size, bytes to be read, non-blocking, close on exec on and off."""
HARMLESS_FCNTLS = (0, 1, 2, 3, 4, 5, 6, 7, 36, 37, 38, 1030, 1032)
"""Copies of descriptors, their flags, locks, the size of a pipe: to ask for it, not to set it, for
what lies in a pipe or a socket is the kernel's memory, which no limit on address space bounds."""
HARMLESS_PRCTLS = (15, 16, 0x53564D41)  # the name of a thread, and the name of its memory
AF_UNIX, SOCK_STREAM = 1, 1

Instruction = tuple[int, int, int, int]  # code, jump if true, jump if false, constant


def _returns(action: int) -> Instruction:
    return (RETURN, 0, 0, action)


REFUSE = _returns(ERRNO | errno.EPERM)
PERMIT = _returns(ALLOW)


def _one_of(argument: int, values: Sequence[int]) -> list[Instruction]:
    found: list[Instruction] = [(LOAD, 0, 0, ARGUMENT[argument])]
    for value in values:
        found += [(EQUAL, 0, 1, value), PERMIT]
    return [*found, REFUSE]


def _when(number: int, block: list[Instruction]) -> list[Instruction]:
    """The block, which ends in a return, for one call only."""
    return [(EQUAL, 0, len(block), number), *block]


def ranges(numbers: Sequence[int]) -> list[tuple[int, int]]:
    """Runs of neighbours among sorted numbers: [1, 2, 3, 7] is [(1, 3), (7, 7)]."""
    runs: list[tuple[int, int]] = []
    for number in sorted(set(numbers)):
        if runs and runs[-1][1] == number - 1:
            runs[-1] = (runs[-1][0], number)
        else:
            runs.append((number, number))
    return runs


def program(machine: str) -> list[Instruction]:
    """The filter for a machine; raises `KeyError` where its calls are not known."""
    column, audit = MACHINES[machine]
    pair: list[Instruction] = [
        (LOAD, 0, 0, ARGUMENT[0]), (EQUAL, 1, 0, AF_UNIX), REFUSE,
        (LOAD, 0, 0, ARGUMENT[1]), (AND, 0, 0, 0xF), (EQUAL, 0, 1, SOCK_STREAM), PERMIT, REFUSE,
    ]  # fmt: skip
    thread: list[Instruction] = [
        (LOAD, 0, 0, ARGUMENT[0]), (ANY_BIT, 0, 1, CLONE_THREAD), PERMIT, REFUSE,
    ]  # fmt: skip
    code: list[Instruction] = [
        (LOAD, 0, 0, MACHINE), (EQUAL, 1, 0, audit), _returns(KILL), (LOAD, 0, 0, NUMBER),
    ]  # fmt: skip
    if machine == "x86_64":  # numbers from here on are the same calls once more, in another dress
        code += [(AT_LEAST, 0, 1, X32), REFUSE]
    code += _when(calls.CLONE[column], thread)
    code += _when(calls.CLONE3[column], [_returns(ERRNO | errno.ENOSYS)])  # then clone is tried
    code += _when(calls.IOCTL[column], _one_of(1, HARMLESS_IOCTLS))
    code += _when(calls.FCNTL[column], _one_of(1, HARMLESS_FCNTLS))
    code += _when(calls.PRCTL[column], _one_of(0, HARMLESS_PRCTLS))
    code += _when(calls.SOCKETPAIR[column], pair)
    numbers = [pair[column] for pair in calls.ALLOWED.values()]
    for first, last in ranges([number for number in numbers if number is not None]):
        code += [(AT_LEAST, 0, 2, first), (ABOVE, 1, 0, last), PERMIT]
    return [*code, REFUSE]


def assembled(code: Sequence[Instruction]) -> bytes:
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in code)


FILTER = assembled(program(platform.machine())) if platform.machine() in MACHINES else b""


def install() -> None:
    """Put the filter on this process, for ever. Needs no_new_privs first."""
    if not FILTER:
        raise OSError(errno.ENOSYS, f"no table of system calls for {platform.machine()}")
    text = ctypes.create_string_buffer(FILTER, len(FILTER))
    header = struct.pack("=HxxxxxxQ", len(FILTER) // 8, ctypes.addressof(text))
    whole = ctypes.create_string_buffer(header, len(header))
    libc.prctl(libc.PR_SET_SECCOMP, libc.SECCOMP_MODE_FILTER, ctypes.addressof(whole))

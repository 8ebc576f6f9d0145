"""The system call filter, read as the kernel would read it, on both machines."""

from __future__ import annotations

import errno
import re
import struct
from pathlib import Path

import pytest

from evenodds.sandbox.inside import calls, seccomp

HEADERS = {
    "x86_64": Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
    "aarch64": Path("/usr/include/asm-generic/unistd.h"),
}
DENIED = {  # some of what must never be there: (x86_64, aarch64)
    "execve": (59, 221), "ptrace": (101, 117), "mount": (165, 40), "unshare": (272, 97),
    "setns": (308, 268), "bpf": (321, 280), "keyctl": (250, 219), "kexec_load": (246, 104),
    "socket": (41, 198), "connect": (42, 203), "bind": (49, 200), "io_uring_setup": (425, 425),
    "userfaultfd": (323, 282), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271),
    "perf_event_open": (298, 241), "memfd_create": (319, 279), "shmget": (29, 194),
    "msgget": (68, 186), "semget": (64, 190), "mq_open": (240, 180), "setuid": (105, 146),
    "personality": (135, 92), "open_by_handle_at": (304, 265), "pidfd_getfd": (438, 438),
    "init_module": (175, 105), "reboot": (169, 142), "syslog": (103, 116),
    "sched_setaffinity": (203, 122), "mknodat": (259, 33), "execveat": (322, 281),
    "setsockopt": (54, 208),
}  # fmt: skip
ALLOW, EPERM = seccomp.ALLOW, seccomp.ERRNO | errno.EPERM
GROUPS = {"x86_64": 0, "aarch64": 1}


def verdict(machine: str, number: int, *arguments: int, audit: int | None = None) -> int:
    """What the filter returns for a call: a small simulator of the kernel's machine."""
    told = seccomp.MACHINES[machine][1] if audit is None else audit
    data = struct.pack("<IIQ6Q", number, told, 0, *arguments, *[0] * (6 - len(arguments)))
    code = seccomp.program(machine)
    at = value = 0
    while True:
        kind, yes, no, constant = code[at]
        at += 1
        if kind == seccomp.RETURN:
            return constant
        if kind == seccomp.LOAD:
            (value,) = struct.unpack_from("<I", data, constant)
        elif kind == seccomp.AND:
            value &= constant
        else:
            test = {
                seccomp.EQUAL: value == constant,
                seccomp.AT_LEAST: value >= constant,
                seccomp.ABOVE: value > constant,
                seccomp.ANY_BIT: bool(value & constant),
            }[kind]
            at += yes if test else no


@pytest.mark.parametrize("machine", list(GROUPS))
def test_the_list_is_allowed_and_nothing_else(machine: str) -> None:
    column = GROUPS[machine]
    listed = {pair[column] for pair in calls.ALLOWED.values()} - {None}
    special = {
        pair[column]
        for pair in (
            *(calls.CLONE, calls.CLONE3, calls.IOCTL, calls.FCNTL),
            *(calls.PRCTL, calls.SOCKETPAIR),
        )
    }
    for number in range(600):
        if number not in special:
            assert verdict(machine, number) == (ALLOW if number in listed else EPERM), number


@pytest.mark.parametrize("machine", list(GROUPS))
@pytest.mark.parametrize("name", list(DENIED))
def test_dangerous_calls_are_denied(machine: str, name: str) -> None:
    assert verdict(machine, DENIED[name][GROUPS[machine]]) == EPERM


@pytest.mark.parametrize("machine", list(GROUPS))
def test_calls_that_depend_on_an_argument(machine: str) -> None:
    column = GROUPS[machine]
    clone, clone3, ioctl = calls.CLONE[column], calls.CLONE3[column], calls.IOCTL[column]
    fcntl = calls.FCNTL[column]
    assert verdict(machine, fcntl, 5, 1030) == ALLOW  # a copy of a descriptor
    for larger_pipe_lease_owner_signal in (1031, 1024, 8, 10, 1026):
        assert verdict(machine, fcntl, 5, larger_pipe_lease_owner_signal) == EPERM
    prctl, pair = calls.PRCTL[column], calls.SOCKETPAIR[column]
    assert verdict(machine, clone, 0x3D0F00) == ALLOW  # a thread, with the flags of the C library
    assert verdict(machine, clone, 17) == EPERM  # fork
    assert verdict(machine, clone, 0x10000000) == EPERM  # a user namespace
    assert verdict(machine, clone3) == seccomp.ERRNO | errno.ENOSYS
    assert verdict(machine, ioctl, 0, 0x5401) == ALLOW  # is it a terminal
    assert verdict(machine, ioctl, 0, 0x5412) == EPERM  # type into the terminal
    assert verdict(machine, prctl, 15) == ALLOW
    assert verdict(machine, prctl, 4) == EPERM
    assert verdict(machine, pair, 1, 1 | 0o4000) == ALLOW  # two ends that talk to each other only
    assert verdict(machine, pair, 1, 2) == EPERM
    assert verdict(machine, pair, 2, 1) == EPERM


def test_calls_of_another_machine_end_the_program() -> None:
    assert verdict("x86_64", 1, audit=0x40000003) == seccomp.KILL  # 32 bits
    assert verdict("x86_64", 0x40000001) == EPERM  # x32
    assert verdict("aarch64", 64, audit=0x40000028) == seccomp.KILL


@pytest.mark.parametrize("machine", list(GROUPS))
def test_the_numbers_are_those_of_the_kernel(machine: str) -> None:
    if not HEADERS[machine].is_file():
        pytest.skip(f"no kernel headers at {HEADERS[machine]}")
    text = HEADERS[machine].read_text()
    numbers = {n: int(v) for n, v in re.findall(r"#define __NR(?:3264)?_(\w+)\s+(\d+)", text)}
    numbers["newfstatat"] = numbers.get("newfstatat", numbers.get("fstatat", -1))
    column = GROUPS[machine]
    for name, pair in calls.ALLOWED.items():
        if pair[column] is not None:
            assert pair[column] == numbers[name], name
    for name, pair in DENIED.items():
        assert pair[column] == numbers[name], name


def test_every_jump_stays_inside() -> None:
    for machine in GROUPS:
        code = seccomp.program(machine)
        assert code[-1][0] == seccomp.RETURN
        for at, (_, yes, no, _) in enumerate(code):
            assert max(yes, no) < 256
            assert at + 1 + max(yes, no) < len(code) or code[at][0] == seccomp.RETURN

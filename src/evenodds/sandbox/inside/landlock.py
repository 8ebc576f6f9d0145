"""Landlock: which folders a process may still touch. A second wall behind the private root."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Mapping

from evenodds.sandbox.inside import libc

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1, 2, 4, 8
TRUNCATE = 1 << 14
FILE_RIGHTS = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | 1 << 15
FILESYSTEM = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 5: (1 << 16) - 1}
"""From which version of the interface on which bits of file access are known."""
NETWORK = 0b11  # bind and connect of TCP, from version 4 on
SCOPES = 0b11  # abstract sockets and signals to outside, from version 6 on

READ = READ_FILE | READ_DIR
CHANGE = ~EXECUTE & ~(1 << 6) & ~(1 << 11)  # all but running files and making device nodes


def version() -> int:
    """The version of Landlock that this kernel has; 0 for none."""
    try:
        return libc.syscall(LANDLOCK_CREATE, None, ctypes.c_size_t(0), ctypes.c_uint32(1))
    except OSError:
        return 0


LANDLOCK_CREATE = libc.LANDLOCK["create_ruleset"]


def restrict(allowed: Mapping[str, int], abi: int) -> None:
    """Confine this process to `allowed` (path -> rights), for ever. Needs no_new_privs first."""
    handled = max(bits for since, bits in FILESYSTEM.items() if since <= abi)
    network, scopes = NETWORK * (abi >= 4), SCOPES * (abi >= 6)
    attributes = (ctypes.c_uint64 * 3)(handled, network, scopes)
    size = 8 * (1 + (abi >= 4) + (abi >= 6))
    ruleset = libc.syscall(
        LANDLOCK_CREATE, ctypes.byref(attributes), ctypes.c_size_t(size), ctypes.c_uint32(0)
    )
    try:
        for path, rights in allowed.items():
            _allow(ruleset, path, rights & handled)
        libc.syscall(libc.LANDLOCK["restrict_self"], ctypes.c_int(ruleset), ctypes.c_uint32(0))
    finally:
        os.close(ruleset)


def _allow(ruleset: int, path: str, rights: int) -> None:
    fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        if not os.path.isdir(path):
            rights &= FILE_RIGHTS
        rule = rights.to_bytes(8, "little") + fd.to_bytes(4, "little")  # a packed struct
        libc.syscall(
            libc.LANDLOCK["add_rule"],
            ctypes.c_int(ruleset),
            ctypes.c_int(1),
            rule,
            ctypes.c_uint32(0),
        )
    finally:
        os.close(fd)

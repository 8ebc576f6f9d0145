"""The walls: a root of its own for the server, and what shuts one program in before it starts."""

from __future__ import annotations

import errno
import os
import resource
import sys
from dataclasses import dataclass

from evenodds.sandbox.inside import landlock, libc, seccomp

WORK = "/work"
NOBODY = 65534
BASES = ("/tmp", "/mnt", "/run", "/var")
SHARED = libc.CLONE_NEWNET | libc.CLONE_NEWIPC | libc.CLONE_NEWUTS | libc.CLONE_NEWNS
PACKAGES = ("site-packages", "dist-packages")  # a data set with answers may be installed there
STACK = 64 << 20
"""Bytes: judges of contests give as much, and a recursion through C (`lru_cache`) needs it."""
STILL = libc.MS_RDONLY | libc.MS_NOSUID | libc.MS_NODEV


@dataclass(frozen=True)
class Cell:
    """What one program may use. Bytes, files, threads; `seconds` is the hard end of its CPU time.

    uid: whom to become; None where a user namespace did it already or there is nobody else.
    """

    memory: int
    disk: int
    threads: int
    seconds: int
    uid: int | None
    abi: int


def library() -> list[str]:
    """The folders of Python's own library, as `sys.path` names them."""
    return [path for path in sys.path if os.path.isdir(path) and path != "/"]


def leave(uid: int, gid: int) -> bool:
    """Leave the host's namespaces. True where a user namespace was needed for the right to.

    Raises `OSError` where the kernel refuses both ways.
    """
    try:
        libc.unshare(SHARED | libc.CLONE_NEWPID)
        return False
    except PermissionError:
        _become_apart()
    for name, text in (
        ("setgroups", "deny"),
        ("uid_map", f"{NOBODY} {uid} 1"),
        ("gid_map", f"{NOBODY} {gid} 1"),
    ):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)
    return True


def _become_apart() -> None:
    try:
        libc.unshare(SHARED | libc.CLONE_NEWPID | libc.CLONE_NEWUSER)
    except OSError as error:  # the kernel's own words (no space left on device) mislead
        why = errno.errorcode.get(error.errno or 0, "?")
        raise OSError(f"user namespaces are not allowed here ({why})") from error


def build_root() -> None:
    """Make a read-only root that holds Python's library, /dev/null and an empty folder; no more."""
    libc.mount("", "/", "", libc.MS_REC | libc.MS_PRIVATE)
    base = next(path for path in BASES if os.path.isdir(path))
    sources = {path: os.path.realpath(path) for path in [*library(), "/usr/share/zoneinfo"]}
    libc.mount("tmpfs", base, "tmpfs", libc.MS_NOSUID | libc.MS_NODEV, "size=1m,mode=755")
    os.mkdir(f"{base}/old")
    os.chdir(base)
    libc.pivot_root(".", "old")
    os.chdir("/")
    os.mkdir(WORK, 0o755)
    for target, source in sources.items():
        if os.path.isdir(f"/old{source}") and not os.path.isdir(target):
            _show(f"/old{source}", target)
    _show_null()
    libc.unmount("/old")
    os.rmdir("/old")
    libc.mount("", "/", "", libc.MS_REMOUNT | libc.MS_BIND | STILL)


def _show(source: str, target: str) -> None:
    os.makedirs(target, mode=0o755)
    libc.mount(source, target, "", libc.MS_BIND | libc.MS_REC)
    kept = os.statvfs(target).f_flag & libc.MS_NOEXEC  # a flag of the host's mount must stay
    libc.mount("", target, "", libc.MS_REMOUNT | libc.MS_BIND | STILL | kept)
    for name in PACKAGES:
        if os.path.isdir(f"{target}/{name}"):
            libc.mount("tmpfs", f"{target}/{name}", "tmpfs", STILL, "size=4k,mode=755")


def _show_null() -> None:
    os.mkdir("/dev", 0o755)
    os.close(os.open("/dev/null", os.O_CREAT | os.O_WRONLY, 0o600))
    libc.mount("/old/dev/null", "/dev/null", "", libc.MS_BIND)
    quiet = libc.MS_RDONLY | libc.MS_NOSUID | libc.MS_NOEXEC  # its times are not to be set
    libc.mount("", "/dev/null", "", libc.MS_REMOUNT | libc.MS_BIND | quiet)


def shut(cell: Cell) -> None:
    """Shut this process in, for ever; it is the first of its process namespace.

    Order matters: mounting needs rights, the filter forbids mounting, and so on downwards.
    """
    libc.unshare(libc.CLONE_NEWNS)
    user = (os.getuid(), os.getgid()) if cell.uid is None else (cell.uid, cell.uid)
    options = f"size={cell.disk},nr_inodes=512,mode=700,uid={user[0]},gid={user[1]}"
    libc.mount("tmpfs", WORK, "tmpfs", libc.MS_NOSUID | libc.MS_NODEV, options)
    if cell.uid is not None:
        os.setgroups([])
        os.setresgid(cell.uid, cell.uid, cell.uid)
        os.setresuid(cell.uid, cell.uid, cell.uid)
    os.chdir(WORK)
    confine(cell, [*library(), "/usr/share/zoneinfo"])


def confine(cell: Cell, readable: list[str]) -> None:
    """The walls that need no namespace: capabilities, Landlock, limits, system calls."""
    libc.drop_capabilities()
    if cell.abi:
        reading = {path: landlock.READ for path in readable if os.path.exists(path)}
        writing = {os.getcwd(): landlock.CHANGE, os.devnull: landlock.READ | landlock.WRITE_FILE}
        landlock.restrict(reading | writing, cell.abi)
    limit(cell)
    os.umask(0o077)
    seccomp.install()


def limit(cell: Cell) -> None:
    """Set the resource limits; one that is lower already stays."""
    wanted = {
        resource.RLIMIT_AS: cell.memory,
        resource.RLIMIT_CPU: cell.seconds,
        resource.RLIMIT_FSIZE: cell.disk,
        resource.RLIMIT_NOFILE: 64,
        resource.RLIMIT_NPROC: cell.threads,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_MEMLOCK: 0,
        resource.RLIMIT_MSGQUEUE: 0,
        resource.RLIMIT_SIGPENDING: 64,
        resource.RLIMIT_STACK: min(STACK, cell.memory // 4),
    }
    for kind, value in wanted.items():
        _, hard = resource.getrlimit(kind)
        least = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (least, least))

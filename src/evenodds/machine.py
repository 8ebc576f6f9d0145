"""What this machine offers (cores, memory, disk), and what it says when it refuses.

Standard library only; nothing is cached.
"""

from __future__ import annotations

import errno
import os
import platform
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

ROOT = Path("/")
ADVICE = {
    errno.ENOSPC: "Free some space there",
    errno.EDQUOT: "Free some space there or raise your quota",
    errno.EROFS: "Make the disk writable or choose another folder",
    errno.EACCES: "Make the folder writable or choose another one",
    errno.EPERM: "Make the folder writable or choose another one",
    errno.EMFILE: "Raise the limit of open files (ulimit -n)",
    errno.ENFILE: "Close some programs: the system is out of open files",
    errno.EFBIG: "Raise the limit of file sizes (ulimit -f)",
    errno.EIO: "Check the disk",
    errno.ENAMETOOLONG: "Choose a folder with a shorter path",
}


def _first_line(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").partition("\n")[0].strip()
    except (OSError, ValueError):
        return ""


def _group_folders(root: Path, controller: str) -> Iterator[Path]:
    """Control group folders that may limit this process: its own first, then those above it."""
    mount = root / "sys/fs/cgroup"
    try:
        memberships = (root / "proc/self/cgroup").read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError):
        memberships = []
    for line in [*memberships, "0::/", f"0:{controller}:/"]:  # the mount itself, always
        _, controllers, path = [*line.split(":", 2), "", ""][:3]
        if controllers and controller not in controllers.split(","):
            continue
        top = mount / controllers if (mount / controllers).is_dir() else mount / controller
        top = top if controllers else mount
        folder = top / path.strip("/")
        inside = ".." not in folder.parts
        yield from (
            above
            for above in (folder, *folder.parents)
            if inside and top in {above, *above.parents}
        )


def _quotas(root: Path) -> Iterator[float]:
    for folder in _group_folders(root, "cpu"):
        limit, _, period = _first_line(folder / "cpu.max").partition(" ")
        if not limit:
            limit = _first_line(folder / "cpu.cfs_quota_us")
            period = _first_line(folder / "cpu.cfs_period_us")
        if limit.isdigit() and period.isdigit() and int(limit) and int(period):
            yield int(limit) / int(period)


def usable_cores(root: Path = ROOT) -> int:
    """Cores that this process may really use: affinity, then the quota of its control groups.

    `root` is where `proc` and `sys` lie; tests put their own there.
    """
    if hasattr(os, "sched_getaffinity"):
        cores = len(os.sched_getaffinity(0))
    else:
        cores = os.cpu_count() or 1
    return min([cores, *(max(1, round(quota)) for quota in _quotas(root))])


def usable_memory(root: Path = ROOT) -> int:
    """Bytes of memory that this process may use; 0 where the system does not tell."""
    try:
        there = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return 0
    limits = [
        _first_line(folder / name)
        for folder in _group_folders(root, "memory")
        for name in ("memory.max", "memory.limit_in_bytes")
    ]
    return min([there, *(int(limit) for limit in limits if limit.isdigit())])


def peak_memory_mb() -> float:
    """The most memory this process has held so far, in 10^6 bytes; 0 where nothing tells it."""
    try:
        import resource
    except ImportError:
        return 0.0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    unit = 1 if sys.platform == "darwin" else 1024  # macOS counts bytes, Linux KiB
    return peak * unit / 1e6


def is_there(path: Path) -> bool:
    """Whether something has this name; no where no file can have it."""
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def lies_in(path: Path) -> Path:
    """The path itself, or the nearest folder above it that is there."""
    return next((above for above in (path, *path.parents) if is_there(above)), path)


def free_disk(path: Path) -> int:
    """Free bytes for an ordinary user where `path` lies or would lie."""
    return shutil.disk_usage(lies_in(path)).free


def free_files(path: Path) -> int | None:
    """How many files more there may be where `path` lies; None where the disk sets no number."""
    if not hasattr(os, "statvfs"):
        return None
    found = os.statvfs(lies_in(path))
    return found.f_favail if found.f_files else None


def cpu_name(root: Path = ROOT) -> str:
    """The processor's name as its maker writes it, or at least its architecture."""
    if sys.platform == "darwin":
        command = ["/usr/sbin/sysctl", "-n", "machdep.cpu.brand_string"]
        try:
            told = subprocess.run(command, capture_output=True, text=True, timeout=1, check=False)
            return told.stdout.strip() or platform.machine()
        except (OSError, subprocess.SubprocessError):
            return platform.machine()
    try:
        with open(root / "proc/cpuinfo", encoding="utf-8", errors="replace") as lines:
            names = (
                line.partition(":")[2].strip() for line in lines if line.startswith("model name")
            )
            return next(names, "") or platform.machine()
    except OSError:
        return platform.machine()


def size_text(size: int) -> str:
    """A size as a person reads it, in powers of ten."""
    for unit, name in ((10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if size >= unit:
            return f"{size / unit:.1f} {name}"
    return f"{size} bytes"


def system_reason(error: BaseException) -> int | None:
    """The system's error number behind an exception; 0 if it has none, None if it is no such error.

    Writers in other languages (safetensors) raise errors of their own that only quote the number.
    """
    if isinstance(error, OSError):
        return error.errno or 0
    quoted = re.search(r"\(os error (\d+)\)", str(error))
    return int(quoted[1]) if quoted else None


SCARCE = (  # words, in small letters, of what cannot be given memory or a thread
    "can't start new thread",
    "failed to map segment",
    "cannot allocate memory",
    "can't allocate memory",
    "bad_alloc",
    "out of memory",
)


def is_exhausted(error: BaseException | None) -> bool:
    """Whether memory or threads ran out, as an error says, or one behind it.

    Libraries in C say it in words of their own: torch of a tensor, the loader of a module.
    """
    while error is not None:
        if isinstance(error, MemoryError) or getattr(error, "errno", None) == errno.ENOMEM:
            return True
        if any(word in str(error).lower() for word in SCARCE):
            return True
        error = error.__cause__
    return False


def explain(error: BaseException, path: Path, needed: int = 0, verb: str = "write") -> str:
    """One line for a failed write, or `verb`: what failed, why, what it needs, what to do."""
    number = system_reason(error) or 0
    why = os.strerror(number) if number else " ".join(str(error).split())[:200]
    code = f" ({errno.errorcode[number]})" if number in errno.errorcode else ""
    need = ""
    if needed:
        with suppress(OSError):
            need = f"It needs {size_text(needed)}; {size_text(free_disk(path))} are free there. "
    advice = ADVICE.get(number, "Check that the path is there and can be written")
    with suppress(OSError):
        if number in (errno.ENOSPC, errno.EDQUOT) and free_files(path) == 0:
            need, advice = "", "No file more can be made there (no inodes are left): remove some"
    return (
        f"cannot {verb} {str(path)!r}: {why}{code}. {need}{advice}; what was saved before is kept."
    )


def above(descriptor: int) -> int:
    """The descriptor, or a copy of it in its place, above those of the standard streams.

    A child gets streams of its own, which would hide one that was closed here and given again.
    """
    if descriptor > 2:
        return descriptor
    import fcntl  # not on Windows

    copy = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 3)
    os.close(descriptor)
    return copy


def socket_above(end: socket.socket) -> socket.socket:
    """The socket, its descriptor above those of the standard streams."""
    return socket.socket(fileno=above(end.detach()))


def hold_streams() -> None:
    """Where descriptors 0 to 2 are closed, nothing takes their place.

    Else the next file that is opened has the number of standard error, and gets what is said there.
    """
    with suppress(OSError):
        while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
            os.set_inheritable(descriptor, True)
        os.close(descriptor)


def _has_temporary_folder() -> bool:
    """Whether a folder for temporary files can be written; that of the command is none."""
    import tempfile

    try:
        return tempfile.gettempdir() != os.getcwd()
    except OSError:
        return False


def prepare_environment() -> None:
    """Settings that torch reads when it is first imported; what the person has set stays.

    GOMP_SPINCOUNT: OpenMP threads spin at a barrier for milliseconds before they sleep. Where
    another process holds one of the cores, every small operation then waits for a time slice:
    measured, 22 s for what takes 0.3 s. Spinning briefly costs nothing on a quiet machine.
    """
    os.environ.setdefault("GOMP_SPINCOUNT", "10000")
    os.environ.setdefault("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # run.repeatable asks for it
    if not _has_temporary_folder():  # torch makes one for its compiler, which nothing here uses
        os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", str(ROOT))

"""The second way: each program in a bubblewrap of its own, which an ordinary user starts.

Slower, for an interpreter starts each time; for machines where only bubblewrap may make user
namespaces. What bubblewrap does not do (limits, system calls, Landlock) the child does itself.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
from dataclasses import asdict

from evenodds.sandbox.inside import jail, runner, server

SYSTEM = ("/usr", "/lib", "/lib64", "/bin")
LOADED = ("/usr/lib", "/usr/lib64", "/lib", "/lib64")
HERE = "/evenodds"
START_SECONDS = 10


def readable_python(candidates: list[str]) -> str:
    """The first of the interpreters that this user may start. Raises `OSError` for none."""
    for path in candidates:
        command = [path, "-S", "-s", "-c", "import sys; sys.exit(sys.version_info < (3, 11))"]
        with contextlib.suppress(OSError):
            if subprocess.run(command, capture_output=True, check=False, env={}).returncode == 0:
                return path
    raise OSError(f"no Python that an ordinary user may start among {', '.join(candidates)}")


def command_of(bwrap: str, python: str, order: server.Order, folder: str, info: int) -> list[str]:
    """The command line up to the program's own arguments."""
    prefix = os.path.dirname(os.path.dirname(os.path.realpath(python)))
    shown = [*SYSTEM, *([] if prefix.startswith("/usr") else [prefix])]
    binds = [word for path in shown for word in ("--ro-bind-try", path, path)]
    names = [word for item in os.environ.items() for word in ("--setenv", *item)]
    return [
        bwrap, "--unshare-all", "--unshare-user", "--disable-userns", "--die-with-parent",
        "--new-session", "--as-pid-1", "--clearenv", *names,
        "--uid", str(jail.NOBODY), "--gid", str(jail.NOBODY), *binds,
        "--ro-bind", folder, f"{HERE}/sandbox", "--dev-bind", "/dev/null", "/dev/null",
        "--size", str(int(order["disk"])), "--tmpfs", jail.WORK, "--remount-ro", "/",
        "--chdir", jail.WORK, "--info-fd", str(info), "--", python,
    ]  # fmt: skip


def start(order: server.Order, fds: list[int], tools: tuple[str, str, str, str]) -> server.Run:
    """Start a program. tools: bubblewrap, the interpreter, the boot text, this package's folder."""
    bwrap, python, boot, folder = tools
    news, told = os.pipe()
    reading, info = os.pipe()
    passed = [fds[0], told, *fds[1:]]
    cell = json.dumps(asdict(server.cell_of(order, None)) | {"seed": int(order["seed"])})
    process = subprocess.Popen(
        [
            *command_of(bwrap, python, order, folder, info), "-S", "-s", "-B", "-c", boot,
            "", HERE, f"{HERE}/sandbox", "wrapped", "alone", cell, *map(str, passed),
        ],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=fds[3],
        pass_fds=[*passed, info],
    )  # fmt: skip
    process.returncode = 0  # reaped by the server, not by this object
    for fd in (told, info):
        os.close(fd)
    clock = process.pid
    with open(reading, "rb") as file, contextlib.suppress(ValueError):
        clock = int(json.load(file)["child-pid"])
    begun = select.poll()
    begun.register(news, select.POLLIN)
    begun.poll(START_SECONDS * 1000)  # its clocks begin when it does
    return server.watched(order, process.pid, clock, news)


def main() -> None:
    """Become an ordinary user where this is root, and serve."""
    control = socket.socket(fileno=int(sys.argv[1]))
    server.begin()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    bwrap, boot, *pythons = sys.argv[6:]
    try:
        uid = server.spare_uid()
        if uid is not None:
            os.setgroups([])
            os.setresgid(uid, uid, uid)
            os.setresuid(uid, uid, uid)
        tools = (bwrap, readable_python(pythons), boot, sys.argv[3])
        how = f"bubblewrap as uid {os.getuid()}"
        server.serve(control, lambda order, fds: start(order, fds, tools), how)
    except BaseException as error:
        with contextlib.suppress(OSError):
            server.tell(control, {"failed": f"{type(error).__name__}: {error}"[:300]})
    finally:
        os._exit(0)


def alone() -> None:
    """In the bubblewrap: put up the other walls and run the program."""
    settings = json.loads(sys.argv[6])
    seed = int(settings.pop("seed"))
    sys.path[:] = [path for path in sys.path if path]

    def shut() -> None:
        jail.confine(jail.Cell(**settings), [*jail.library(), *LOADED, HERE])

    runner.live([int(word) for word in sys.argv[7:]], shut, seed)

"""The self-test: what a sandbox must refuse before it may hold a program that nobody has read."""

from __future__ import annotations

import json
import os
import secrets
import tempfile
from collections.abc import Callable
from pathlib import Path

from evenodds.sandbox.values import Check, Limits, Outcome, Sandbox

QUICK = Limits(seconds=1.0, patience=4.0, memory=256 * 2**20)
END = "tried all"
READ = ("/etc/shadow", "/etc/passwd", "/proc/self/environ", "/proc/1/maps")

NETWORK = """
import errno, socket
refused = {errno.EPERM, errno.EACCES, errno.ENETUNREACH, errno.ENETDOWN, errno.EADDRNOTAVAIL,
           errno.EAFNOSUPPORT, errno.ENOSYS}
for family, kind, address in (
    (socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 9)),
    (socket.AF_INET, socket.SOCK_STREAM, ("192.0.2.1", 80)),
    (socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 9)),
    (socket.AF_INET6, socket.SOCK_STREAM, ("::1", 9)),
    (socket.AF_UNIX, socket.SOCK_STREAM, b"\\0evenodds"),
):
    try:
        with socket.socket(family, kind) as there:
            there.settimeout(.2)
            there.connect(address)
            print("connected", address)
    except OSError as error:
        if error.errno not in refused:
            print("reached", address, error)
print("tried all")
"""

FILES = """
import json, os
with open("paths.json") as file:
    paths = json.load(file)
for path in paths["read"]:
    try:
        with open(path, "rb") as file:
            print("read", path, file.read(99))
    except OSError:
        pass
for path in paths["write"]:
    try:
        with open(path, "ab") as file:
            file.write(b"!")
        print("wrote", path)
    except OSError:
        pass
with open("own.txt", "w") as file:
    file.write("a private folder")
print("tried all")
"""

MEMORY = """
blocks = [bytearray(2 ** 24) for _ in range(64)]
print("had", len(blocks))
"""

TIME = "import time\nwhile True: {}\n"

FORKS = """
import os, subprocess, sys, threading, time
made = []
for _ in range(3):
    try:
        pid = os.fork()
        if pid == 0:
            time.sleep(5)
            os._exit(0)
        print("forked")
    except OSError:
        pass
    try:
        subprocess.Popen([sys.executable, "-c", "1"])
        print("started a program")
    except OSError:
        pass
wait = threading.Event()
try:
    for _ in range(300):
        threading.Thread(target=wait.wait, daemon=True).start()
    print("300 threads")
except (RuntimeError, MemoryError):
    pass
wait.set()
print("tried all")
"""


def self_test(sandbox: Sandbox) -> list[Check]:
    """Five checks (network, files, memory, time, forks), in well under a second."""
    return [_check(name, test, sandbox) for name, test in TESTS.items()]


def _check(name: str, test: Callable[[Sandbox], str], sandbox: Sandbox) -> Check:
    seen = test(sandbox)
    return Check(name, not seen, seen)


def _said(outcome: Outcome) -> str:
    """What a program managed to do; empty where it tried all and managed nothing."""
    text = outcome.stdout.decode("utf-8", "replace").strip()
    if text == END and outcome.status == "done":
        return ""
    return " ".join(f"{outcome.status}: {text} {outcome.last_words}".split())[:200]


def _network(sandbox: Sandbox) -> str:
    return _said(sandbox.run(NETWORK, limits=QUICK))


def _forks(sandbox: Sandbox) -> str:
    return _said(sandbox.run(FORKS, limits=QUICK))


def _files(sandbox: Sandbox) -> str:
    try:
        made = tempfile.TemporaryDirectory()
    except OSError:  # nowhere on this machine may a file be made: then none can be changed
        return _touched(sandbox, {"read": [__file__, *READ], "write": ["/new", __file__]})
    with made as folder:
        os.chmod(folder, 0o755)
        file = Path(folder, "host.txt")
        secret = secrets.token_hex(8)
        file.write_text(secret)
        file.chmod(0o666)
        paths = {
            "read": [str(file), *READ],
            "write": [str(file), f"{folder}/new", "/new", f"{os.path.dirname(os.__file__)}/new.py"],
        }
        seen = _touched(sandbox, paths)
        changed = file.read_text() != secret or len(os.listdir(folder)) > 1
        return seen or ("a file of the host was changed" if changed else "")


def _touched(sandbox: Sandbox, paths: dict[str, list[str]]) -> str:
    """What a program could read or write of some paths."""
    lines = f"with open('paths.json', 'w') as file:\n    file.write({json.dumps(paths)!r})\n"
    return _said(sandbox.run(lines + FILES, limits=QUICK))


def _memory(sandbox: Sandbox) -> str:
    outcome = sandbox.run(MEMORY, limits=QUICK)
    return "" if outcome.status in ("memory", "killed") else _said(outcome) or "nothing"


def _time(sandbox: Sandbox) -> str:
    short = Limits(seconds=0.1, patience=1.5)
    for action in ("pass", "time.sleep(60)"):
        outcome = sandbox.run(TIME.format(action), limits=short)
        if outcome.status != "timeout" or outcome.seconds > 5:
            return f"{action}: {_said(outcome)}"
    return ""


TESTS: dict[str, Callable[[Sandbox], str]] = {
    "network": _network,
    "files": _files,
    "memory": _memory,
    "time": _time,
    "forks": _forks,
}

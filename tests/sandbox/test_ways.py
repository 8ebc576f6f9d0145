"""Which way is taken, by whom, and what is said where there is none."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from evenodds.sandbox import Check, Job, Limits, SandboxUnavailable, choose, self_test
from evenodds.sandbox.forkserver import ForkServer, start_bubblewrap
from evenodds.sandbox.values import Outcome
from tests.sandbox.opened import needs_sandbox

SOURCE = Path(__file__).parents[2] / "src"


class Leaky:
    """A sandbox in which every program does all that it wants."""

    how = "a leaky bucket"

    def run(self, program: str, *, stdin: bytes = b"", limits: Limits = Limits()) -> Outcome:  # noqa: B008
        return Outcome("done", 0, b"read /etc/shadow\ntried all", b"", 0.0)

    def converse(self, trusted, untrusted, limits=None):
        raise NotImplementedError

    def close(self) -> None:
        self.is_closed = True


@pytest.fixture
def asked_anew():
    """Each test asks again, and what it was told is forgotten afterwards."""
    choose._tested.cache_clear()
    yield
    choose._tested.cache_clear()


def refuse():
    raise SandboxUnavailable("bubblewrap is not installed.")


def test_a_way_that_fails_its_self_test_is_not_used(monkeypatch, asked_anew) -> None:
    monkeypatch.setattr(choose, "WAYS", (Leaky, refuse))
    reason = choose.available()
    assert reason is not None
    assert reason.startswith("code rewards are off: programs cannot be contained here. Got ")
    assert "a leaky bucket" in reason
    assert "bubblewrap is not installed" in reason
    assert "\n" not in reason
    with pytest.raises(SandboxUnavailable) as told:
        choose.open_sandbox()
    assert str(told.value) == reason
    assert told.value.exit_code == 2


def test_every_check_can_fail() -> None:
    assert [check.refused for check in self_test(Leaky())] == [False] * 5


def test_the_second_way_is_taken_where_the_first_is_not_there(monkeypatch, asked_anew) -> None:
    class Tight(Leaky):
        how = "tight"

    checks = [Check(name, True) for name in ("network", "files", "memory", "time", "forks")]
    monkeypatch.setattr(choose, "self_test", lambda sandbox: checks)
    monkeypatch.setattr(choose, "WAYS", (refuse, Tight))
    assert choose.available() is None
    assert choose.open_sandbox().how == "tight"


def test_off_linux_it_says_so(monkeypatch, asked_anew) -> None:
    monkeypatch.setattr(choose.sys, "platform", "darwin")
    assert choose.available() == (
        "code rewards are off: programs are only contained on Linux. Got darwin. "
        "Use a Linux machine, container or virtual machine."
    )


def test_the_way_is_tested_once_in_a_process(monkeypatch, asked_anew) -> None:
    asked = []
    monkeypatch.setattr(choose, "WAYS", (lambda: asked.append(1) or refuse(),))
    assert choose.available() == choose.available()
    assert asked == [1]


def test_bubblewrap_contains_programs_too() -> None:
    try:
        sandbox = ForkServer(start_bubblewrap)
    except SandboxUnavailable as error:
        pytest.skip(str(error))
    with sandbox:
        probe = sandbox.run("print(input())", stdin=b"hello\n")
        if probe.status == "error":
            pytest.skip(f"bubblewrap cannot start here: {probe.stderr.decode()}")
        assert probe.stdout == b"hello\n"
        assert [check for check in self_test(sandbox) if not check.refused] == []
        assert sandbox.run("import sys; sys.exit(3)").exit_code == 3
        ask = Job("import os; os.write(4, b'hi'); print(os.read(3, 9).decode())")
        first, second = sandbox.converse(ask, Job("import os; os.write(4, os.read(3, 9) * 2)"))
        assert (first.stdout, first.status) == (b"hihi\n", "done")
        assert second.status in ("done", "killed")  # ended with the first, if it had not yet


def python_for_others() -> str | None:
    """A Python 3.11 that a user without rights may start, and that can read the source."""
    code = "import sys; sys.path.append(sys.argv[1]); import evenodds.sandbox"
    for path in (sys.executable, "/usr/bin/python3"):
        with suppress(OSError):
            if as_other([path, "-c", code, str(SOURCE)]).returncode == 0:
                return path
    return None


def as_other(command: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, user=54321, group=54321, extra_groups=[], capture_output=True, text=True,
        check=False, cwd="/",
    )  # fmt: skip


@needs_sandbox
@pytest.mark.skipif(os.name != "posix" or os.getuid() != 0, reason="only root can become others")
def test_an_ordinary_user_has_the_sandbox_too() -> None:
    python = python_for_others()
    if python is None:
        pytest.skip("no Python 3.11 and source that an ordinary user can read")
    code = (
        "import sys; sys.path.append(sys.argv[1])\n"
        "from evenodds.sandbox import available, open_sandbox\n"
        "import os; print(os.getuid(), available() or open_sandbox().how)\n"
    )
    told = as_other([python, "-B", "-c", code, str(SOURCE)]).stdout
    print(f"\n{told.strip()}")
    if "code rewards are off" in told:
        pytest.skip(told)
    assert told.startswith("54321 ")
    assert "fork server" in told or "bubblewrap" in told


@needs_sandbox
@pytest.mark.parametrize("uid", [0, 1000])
def test_in_a_container_it_is_had_or_refused_in_one_line(uid: int) -> None:
    """One that knows a single uid and forbids more user namespaces, as root and as another."""
    bwrap = shutil.which("bwrap")
    if bwrap is None:
        pytest.skip("bubblewrap is not installed")
    code = "from evenodds.sandbox import available, open_sandbox\n"
    code += "print(available() or open_sandbox().how)"
    inside = [bwrap, "--dev-bind", "/", "/", "--unshare-user", "--disable-userns"]
    told = subprocess.run(
        [*inside, "--uid", str(uid), sys.executable, "-B", "-c", code],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if told.returncode:
        pytest.skip(f"bubblewrap cannot start here: {told.stderr[-200:]}")
    print(f"\n{told.stdout.strip()}")
    assert told.stdout.count("\n") == 1
    assert told.stdout.startswith(("fork server", "bubblewrap", "code rewards are off: "))

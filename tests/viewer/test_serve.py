"""The real thing: a process that serves its own machine, and ends when it is told to."""

from __future__ import annotations

import http.client
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from evenodds.errors import UsageError
from evenodds.viewer.serve import HOST, listening
from tests.viewer.folder import write_run


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Path:
    return write_run(tmp_path_factory.mktemp("runs") / "mine")


@pytest.fixture
def process(run) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "evenodds", "inspect", str(run)]
    pipe = subprocess.PIPE
    made = subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True)
    yield made
    made.kill()
    made.communicate()


def get(host: str, path: str, **headers: str) -> tuple[int, dict[str, str], str]:
    connection = http.client.HTTPConnection(host, timeout=30)
    connection.request("GET", path, headers=headers)
    answer = connection.getresponse()
    found = (answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read().decode())
    connection.close()
    return found


def test_it_is_served_with_a_token_and_ends_with_ctrl_c(process) -> None:
    first = process.stdout.readline()
    match = re.fullmatch(r"http://(127\.0\.0\.1:\d+)(/run\?token=[\w-]{32})\n", first)
    assert match, first
    assert process.stdout.readline() == "Ctrl-C ends it.\n"
    host, path = match.groups()
    assert get(host, "/run")[0] == 403
    status, headers, _ = get(host, path)
    assert (status, headers["location"]) == (303, "/run")
    assert "server" not in headers
    cookie = headers["set-cookie"].partition(";")[0]
    status, headers, text = get(host, "/run", Cookie=cookie)
    assert status == 200
    assert "finished" in text
    assert headers["cache-control"] == "no-store"
    assert get(host, "/run", Cookie=cookie, Host="evil.example")[0] == 400
    loaded = Path(f"/proc/{process.pid}/maps")
    if loaded.exists():
        assert "libtorch" not in loaded.read_text()
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=20)
    assert process.returncode == 130
    assert error == "evenodds: stopped by SIGINT.\n"


def test_it_listens_to_this_machine_alone() -> None:
    with listening(0) as found:
        host, port = found.getsockname()
        assert host == HOST == "127.0.0.1"
        with socket.create_connection((host, port), timeout=5):
            pass
        with pytest.raises(UsageError, match=rf"cannot listen on port {port}: .*--port"):
            listening(port)


@pytest.mark.parametrize("port", [-1, 70000])
def test_a_port_that_is_none_is_refused_in_one_line(port) -> None:
    with pytest.raises(UsageError, match="cannot listen on port"):
        listening(port)

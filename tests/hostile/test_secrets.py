"""A run among secrets leaves none anywhere, and opens no socket of the internet."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from evenodds.masking import MASK, known_in_text, masked
from evenodds.report.inert import Inert
from tests.faults.children import tiny
from tests.hostile.watching import (
    CANARY,
    SECRETS,
    seen_by_workers,
    sockets_of,
    texts_below,
    watched,
)


def test_a_run_leaves_no_secret_and_opens_no_socket(tmp_path: Path) -> None:
    found = watched(tiny(tmp_path, "r"), tmp_path)
    assert found.code == 0, found.texts["stderr"]
    assert found.leaks() == []
    assert seen_by_workers() == []
    assert found.listening == set()
    assert found.open_sockets == set()
    command = next(text for name, text in found.texts.items() if name.endswith("environment.json"))
    assert f"--token={MASK}" in command and f"https://{MASK}@example.org" in command
    assert any(name.endswith("inside") for name in found.texts)


def test_what_is_looked_for_would_be_found(tmp_path: Path) -> None:
    """The test can fail: a canary in a parquet file, a socket that listens."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"a": [CANARY * 50] * 100}), tmp_path / "x.parquet", compression="zstd")
    assert "x.parquet inside" in {name for name, text in texts_below(tmp_path) if CANARY in text}
    program = "import socket, time\ns = socket.create_server(('127.0.0.1', 0))\nprint(1, flush=1)\n"
    with subprocess.Popen(
        [sys.executable, "-c", program + "time.sleep(60)"], stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert sockets_of(process.pid)[0]
        process.kill()


def test_streams_mask_what_is_secret(capsys: pytest.CaptureFixture[str]) -> None:
    known = known_in_text(SECRETS)
    shown = masked(" ".join(SECRETS.values()), known)
    assert CANARY not in shown.replace(SECRETS["SOMETHING_ELSE"], "")
    assert masked("https://me:pw@example.org/x") == f"https://{MASK}@example.org/x"
    assert known_in_text({"A_TOKEN": "12345678", "B_TOKEN": "short"}) == []
    assert masked("step 3 of 12, 0.5") == "step 3 of 12, 0.5"
    os.environ["X_TOKEN"] = "secretive-word"
    try:
        Inert(sys.stdout).write("a secretive-word\n")
    finally:
        del os.environ["X_TOKEN"]
    assert capsys.readouterr().out == f"a {MASK}\n"


@pytest.mark.parametrize(
    "text",
    [
        "https://example.org/d?a=1&token=PRIVATE-WORD",
        "https://example.net/c?sv=1&sig=PRIVATE-WORD%3D",
        "https://example.org/k?X-Amz-Credential=PRIVATE-WORD&X-Amz-Signature=PRIVATE-WORD",
        "s3://AKIAABCDEFGHIJKLMNOP:PRIVATE-WORD@bucket",
        "Authorization: Bearer PRIVATE-WORD",
        "ghu_PRIVATE-WORD123456",
        "npm_PRIVATE-WORD123456",
        "AIzaSyA-PRIVATE-WORD1234567890abcdefg",
        "gsk_PRIVATE-WORD123456",
    ],
)
def test_what_looks_like_a_secret_is_masked(text: str) -> None:
    assert MASK in masked(text)
    assert "PRIVATE-WORD" not in masked(text)


@pytest.mark.parametrize(
    "text",
    [
        "http://127.0.0.1:8123/run?token=which-is-to-be-opened",
        "https://example.org/d?page=2&answer=3",
        "the bearer of bad news, sk-learn and a monkey=banana",
    ],
)
def test_what_is_no_secret_of_anyone_stays(text: str) -> None:
    assert masked(text) == text


def test_an_error_masks_the_password_in_an_address(tmp_path: Path) -> None:
    found = watched(["eval", f"https://me:{CANARY}@example.org/x"], tmp_path)
    assert found.code == 2
    assert found.leaks() == []


# the viewer, attacked from outside


@pytest.fixture(scope="module")
def viewer(tmp_path_factory):
    """Its address and token, as it is really served."""
    from tests.viewer.folder import write_run

    run = write_run(tmp_path_factory.mktemp("runs") / "mine")
    command = [sys.executable, "-m", "evenodds", "inspect", str(run)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        address = process.stdout.readline().decode().strip()
        port, token = int(address.split(":")[2].split("/")[0]), address.split("token=")[1]
        yield process, port, token
        process.kill()


def asked(port: int, text: str, wait: float = 10.0) -> str:
    """What the server answers to these very bytes."""
    with socket.create_connection(("127.0.0.1", port), timeout=wait) as link:
        link.sendall(text.encode("latin-1"))
        found = b""
        while piece := link.recv(65536):
            found += piece
    return found.decode("latin-1")


def test_it_listens_on_this_machine_alone(viewer) -> None:
    process, port, _ = viewer
    listens = {address for pid in [process.pid] for address in sockets_of(pid)[0]}
    assert listens == {f"tcp 0100007F:{port:04X}"}


ATTACKS = {
    "DNS rebinding": ("GET /run HTTP/1.1\r\nHost: evil.example:{port}\r\nCookie: {cookie}", "400"),
    "no Host": ("GET /run HTTP/1.1\r\nCookie: {cookie}", "400"),
    "two Hosts": ("GET /run HTTP/1.1\r\nHost: {host}\r\nHost: evil\r\nCookie: {cookie}", "400"),
    "a whole address": ("GET http://evil.example/run HTTP/1.1\r\nHost: evil", "400"),
    "no token": ("GET /run HTTP/1.1\r\nHost: {host}", "403"),
    "a wrong token": ("GET /run?token=x HTTP/1.1\r\nHost: {host}", "403"),
    "CSRF by POST": ("POST /run HTTP/1.1\r\nHost: {host}\r\nCookie: {cookie}\r\n"
                     "Origin: https://evil.example\r\nContent-Length: 0", "405"),
    "DELETE": ("DELETE /run HTTP/1.1\r\nHost: {host}\r\nCookie: {cookie}", "405"),
    "a path above": ("GET /static/../../../etc/passwd HTTP/1.1\r\nHost: {host}\r\n"
                     "Cookie: {cookie}", "404"),
    "a path above, coded": ("GET /static/..%2f..%2f..%2fetc%2fpasswd HTTP/1.1\r\nHost: {host}\r\n"
                            "Cookie: {cookie}", "404"),
    "another run above": ("GET /r/..%2f..%2fetc/run HTTP/1.1\r\nHost: {host}\r\n"
                          "Cookie: {cookie}", "404"),
    "a long address": ("GET /run?q=" + "x" * 9000 + " HTTP/1.1\r\nHost: {host}\r\n"
                       "Cookie: {cookie}", "414"),
    "huge headers": ("GET /run HTTP/1.1\r\nHost: {host}\r\nX: " + "x" * 1_000_000, "400"),
    "a web socket": ("GET /live HTTP/1.1\r\nHost: {host}\r\nUpgrade: websocket\r\nConnection: "
                     "Upgrade\r\nSec-WebSocket-Key: x\r\nSec-WebSocket-Version: 13", "403"),
}  # fmt: skip


@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_gets_nothing(viewer, name: str) -> None:
    process, port, token = viewer
    text, status = ATTACKS[name]
    words = {"port": port, "host": f"127.0.0.1:{port}", "cookie": f"evenodds-{port}={token}"}
    try:
        answer = asked(port, text.format(**words) + "\r\nConnection: close\r\n\r\n")
    except OSError:
        answer = ""  # cut off, which is as good
    assert answer == "" or answer.split(" ")[1] in (status, "404", "400"), answer[:200]
    assert "root:" not in answer and token not in answer and "finished" not in answer
    assert process.poll() is None


def test_a_slow_asker_holds_nobody_up(viewer) -> None:
    """Sixty connections that never finish their request; the next one is answered."""
    _, port, token = viewer
    slow = [socket.create_connection(("127.0.0.1", port)) for _ in range(60)]
    try:
        for link in slow:
            link.sendall(b"GET /run HTTP/1.1\r\nHost: 127")
        began = time.monotonic()
        text = f"GET /run HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nCookie: evenodds-{port}={token}"
        assert " 200 " in asked(port, text + "\r\nConnection: close\r\n\r\n", 20)[:20]
        assert time.monotonic() - began < 15
    finally:
        for link in slow:
            link.close()

"""Who gets in: this machine, by its own name, with the token, to read."""

from __future__ import annotations

import pytest
from starlette.responses import PlainTextResponse
from starlette.testclient import TestClient

from evenodds.viewer.guard import HEADERS, Guard

TOKEN, PORT = "a-token", 8123
COOKIE = {"cookie": f"evenodds-{PORT}={TOKEN}"}


@pytest.fixture
def client() -> TestClient:
    guard = Guard(PlainTextResponse("inside"), TOKEN, PORT)
    return TestClient(guard, base_url=f"http://127.0.0.1:{PORT}", follow_redirects=False)


def test_without_the_token_nothing_is_shown(client) -> None:
    answer = client.get("/run")
    assert answer.status_code == 403
    assert "inside" not in answer.text
    assert "set-cookie" not in answer.headers


@pytest.mark.parametrize("token", ["", "a-toke", "a-token2", "A-TOKEN", "é", "%00"])
def test_a_wrong_token_is_refused_with_or_without_a_good_cookie(client, token) -> None:
    assert client.get(f"/run?token={token}").status_code == 403
    assert client.get(f"/run?token={token}", headers=COOKIE).status_code == 403


def test_the_token_becomes_a_cookie_and_leaves_the_address(client) -> None:
    answer = client.get(f"/groups?kind=mixed&token={TOKEN}&page=2")
    assert answer.status_code == 303
    assert answer.headers["location"] == "/groups?kind=mixed&page=2"
    assert answer.headers["set-cookie"] == (
        f"evenodds-{PORT}={TOKEN}; Path=/; HttpOnly; SameSite=Strict"
    )
    assert client.get("/groups", headers=COOKIE).text == "inside"


@pytest.mark.parametrize("path", ["//evil.example/x", "/\\evil.example", "///evil.example"])
def test_the_way_on_stays_on_this_server(path) -> None:
    sent: list = []
    scope = {
        "type": "http",
        "method": "GET",
        "path": path,
        "raw_path": path.encode(),
        "query_string": f"token={TOKEN}".encode(),
        "headers": [(b"host", f"127.0.0.1:{PORT}".encode())],
    }

    async def send(message) -> None:
        sent.append(message)

    coroutine = Guard(PlainTextResponse("inside"), TOKEN, PORT)(scope, None, send)
    with pytest.raises(StopIteration):
        coroutine.send(None)
    location = dict(sent[0]["headers"])[b"location"]
    assert location.startswith(b"/")
    assert location[1:2] not in (b"/", b"\\")


@pytest.mark.parametrize(
    "host",
    ["evil.example", f"evil.example:{PORT}", "127.0.0.1", "127.0.0.1:1", f"127.0.0.1.evil:{PORT}"],
)
def test_another_name_for_this_machine_is_refused(client, host) -> None:
    answer = client.get("/run", headers={**COOKIE, "host": host})
    assert answer.status_code == 400
    assert "inside" not in answer.text


def test_localhost_is_a_name_of_this_machine(client) -> None:
    assert client.get("/", headers={**COOKIE, "host": f"localhost:{PORT}"}).text == "inside"


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE"])
def test_only_reading_is_allowed(client, method) -> None:
    assert client.request(method, "/run", headers=COOKIE).status_code == 405


def test_an_absurd_address_is_refused(client) -> None:
    assert client.get("/groups?q=" + "x" * 5000, headers=COOKIE).status_code == 414


@pytest.mark.parametrize(
    "cookie", ["", "evenodds-8123", "evenodds-1=a-token", "evenodds-8123=a", "=;;=", "a" * 3000]
)
def test_a_cookie_that_is_not_ours_opens_nothing(client, cookie) -> None:
    assert client.get("/run", headers={"cookie": cookie}).status_code == 403


@pytest.mark.parametrize("headers", [{}, COOKIE, {"host": "evil.example"}])
def test_every_answer_has_every_header(client, headers) -> None:
    answer = client.get("/run", headers=headers)
    assert {name: answer.headers[name] for name in HEADERS} == HEADERS
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert answer.headers["cache-control"] == "no-store"


def test_no_socket_but_http() -> None:
    with pytest.raises(RuntimeError):
        Guard(PlainTextResponse(""), TOKEN, PORT)({"type": "websocket"}, None, None).send(None)

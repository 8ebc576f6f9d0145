"""Who may see the pages: only this machine, only with the token, only to read."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qsl, urlencode

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'self'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
}
LONGEST_QUERY = 4096  # bytes; a longer one was not made by our pages
REFUSED = {
    400: "This address is not one of these pages.",
    403: "This page needs the address that `evenodds inspect` printed, with its token. Open that.",
    405: "These pages can only be read.",
    414: "This address is too long.",
}


def new_token() -> str:
    return secrets.token_urlsafe(24)


@dataclass(frozen=True)
class Guard:
    """An ASGI app that lets through what may pass, and puts the headers on every answer.

    The token comes once in the address, then as a cookie, whose name has the port in it: cookies
    are shared between the ports of a machine, and two viewers must not put each other out. A
    request by any other name than this machine's is refused, or a page elsewhere could have its
    own name lead here.
    """

    app: App
    token: str
    port: int

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            raise RuntimeError(f"no {scope['type']} here")
        status, location = self._judge(scope)
        if status == 200:
            await self.app(scope, receive, _with_headers(send))
        else:
            await _answer(_with_headers(send), status, self._extra(location))

    def _judge(self, scope: Scope) -> tuple[int, str]:
        """The status to refuse with, or 200; with a redirect, where to."""
        headers = [(name, value.decode("latin-1")) for name, value in scope["headers"]]
        hosts = [value for name, value in headers if name == b"host"]
        if hosts not in ([f"127.0.0.1:{self.port}"], [f"localhost:{self.port}"]):
            return 400, ""
        if scope["method"] not in ("GET", "HEAD"):
            return 405, ""
        if len(scope["query_string"]) + len(scope["raw_path"]) > LONGEST_QUERY:
            return 414, ""
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        given = [value for name, value in query if name == "token"]
        if given and all(self._is_token(value) for value in given):
            rest = urlencode([pair for pair in query if pair[0] != "token"])
            return 303, _own_path(scope) + ("?" + rest if rest else "")
        cookies = [value for name, value in headers if name == b"cookie"]
        return (200 if not given and self._has_cookie(cookies) else 403), ""

    def _is_token(self, word: str) -> bool:
        return secrets.compare_digest(word.encode("utf-8", "replace"), self.token.encode())

    @property
    def cookie(self) -> str:
        return f"evenodds-{self.port}"

    def _has_cookie(self, lines: list[str]) -> bool:
        for line in lines:
            try:
                found = SimpleCookie(line).get(self.cookie)
            except CookieError:
                continue
            if found is not None and self._is_token(found.value):
                return True
        return False

    def _extra(self, location: str) -> dict[str, str]:
        if not location:
            return {}
        kept = f"{self.cookie}={self.token}; Path=/; HttpOnly; SameSite=Strict"
        return {"location": location, "set-cookie": kept}


def _own_path(scope: Scope) -> str:
    """The path of the request as a place on this server, whatever slashes it begins with."""
    return "/" + scope["raw_path"].decode("latin-1").lstrip("/\\")


def _with_headers(send: Send) -> Send:
    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            own = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
            others = [
                pair for pair in message.get("headers", []) if pair[0].decode() not in HEADERS
            ]
            message = {**message, "headers": [*others, *own]}
        await send(message)

    return sent


async def _answer(send: Send, status: int, extra: dict[str, str]) -> None:
    words = REFUSED.get(status, "")
    body = f"<!doctype html><html lang=en><title>evenodds</title><p>{words}</p>".encode()
    headers = {"content-type": "text/html; charset=utf-8", "content-length": str(len(body))}
    pairs = [(name.encode(), value.encode("latin-1")) for name, value in (headers | extra).items()]
    await send({"type": "http.response.start", "status": status, "headers": pairs})
    await send({"type": "http.response.body", "body": body})

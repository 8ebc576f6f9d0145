"""The pages on this machine's own address, until Ctrl-C. Nothing listens unless it is called."""

from __future__ import annotations

import socket
import sys
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import Timer

from evenodds.errors import UsageError
from evenodds.viewer.data import Source
from evenodds.viewer.guard import Guard, new_token
from evenodds.viewer.library import Library

HOST = "127.0.0.1"


def listening(port: int) -> socket.socket:
    """A socket of this machine alone, to which one can connect from now on.

    port: 0 for any that is free. Raises `UsageError` where it cannot be had.
    """
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        if sys.platform != "win32":  # there it would share the port with whoever asks
            found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind((HOST, port))
        found.listen(64)
    except (OSError, OverflowError) as error:
        found.close()
        why = getattr(error, "strerror", None) or str(error).rstrip(".")
        raise UsageError(
            f"cannot listen on port {port}: {why}. Choose another --port, or none for a free one."
        ) from None
    return found


def serve(
    run: Path, port: int = 0, say: Callable[[str], None] = print, opens: bool = False
) -> None:
    """Serve the pages of a run until it is interrupted.

    say: is given the address, token included, once requests are answered. opens: try to show it
    in a browser. Ctrl-C and SIGTERM end it as `KeyboardInterrupt`. Raises `UsageError` where the
    port cannot be had.
    """
    import uvicorn

    from evenodds.viewer.app import make_app
    from evenodds.viewer.pages import compile_templates
    from evenodds.viewer.patient import Interruptible, Patient

    with listening(port) as socket_:
        number = int(socket_.getsockname()[1])
        guard = Guard(make_app(Library(Source(run))), new_token(), number)
        address = f"http://{HOST}:{number}/run?token={guard.token}"
        config = uvicorn.Config(
            guard,
            loop="asyncio",
            http=Patient,
            ws="none",
            lifespan="off",
            log_config=None,
            log_level="critical",
            access_log=False,
            server_header=False,
            proxy_headers=False,
            limit_concurrency=64,
            timeout_graceful_shutdown=1,
        )
        say(address)
        _soon(compile_templates)
        if opens:
            _soon(lambda: _open(address), 0.0)
        Interruptible(config).run(sockets=[socket_])


def _soon(work: Callable[[], None], wait: float = 1.0) -> None:
    """Beside the pages, and after the first of them: it is waited for."""
    timer = Timer(wait, work)
    timer.daemon = True
    timer.start()


def _open(address: str) -> None:
    """A machine without a browser is no failure: the address was printed."""
    with suppress(webbrowser.Error, OSError):
        webbrowser.open(address)

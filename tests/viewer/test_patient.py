"""Connections that ask nothing do not lock others out."""

from __future__ import annotations

import asyncio

import pytest
import uvicorn
from starlette.responses import PlainTextResponse

from evenodds.viewer import patient
from evenodds.viewer.serve import listening

WHOLE = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"


async def talk(port: int, words: bytes, pause: float = 0.0) -> tuple[bytes, bool]:
    """What comes back on a new connection, and whether it was ended within a second."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        for byte in [words] if not pause else [words[n : n + 1] for n in range(len(words))]:
            writer.write(byte)
            await asyncio.sleep(pause)
        return await asyncio.wait_for(reader.read(), 1.0), True
    except TimeoutError:
        return b"", False
    except ConnectionError:  # ended while we were still writing
        return b"", True
    finally:
        writer.close()


async def served(words: bytes, pause: float = 0.0) -> tuple[bytes, bool]:
    with listening(0) as socket:
        config = uvicorn.Config(
            PlainTextResponse("inside"), http=patient.Patient, ws="none", lifespan="off",
            log_config=None, log_level="critical", timeout_keep_alive=60,
        )  # fmt: skip
        server = uvicorn.Server(config)
        task = asyncio.create_task(server.serve(sockets=[socket]))
        found = await talk(socket.getsockname()[1], words, pause)
        server.should_exit = True
        await task
    return found


@pytest.mark.parametrize(
    ("words", "pause", "answered"),
    [
        (b"", 0.0, False),
        (b"GET / HTTP/1.1\r\nHos", 0.0, False),
        (WHOLE, 0.0, True),
        (WHOLE + b"GET /half", 0.0, True),
        (WHOLE[:20], 0.02, False),
    ],
)
def test_a_connection_that_asks_nothing_is_ended(monkeypatch, words, pause, answered) -> None:
    monkeypatch.setattr(patient, "PATIENCE", 0.1)
    text, ended = asyncio.run(served(words, pause))
    assert ended
    assert (b"inside" in text) is answered


def test_a_request_that_comes_in_time_is_answered_after_the_first_look(monkeypatch) -> None:
    monkeypatch.setattr(patient, "PATIENCE", 0.3)
    text, ended = asyncio.run(served(WHOLE, 0.005))
    assert ended
    assert b"inside" in text

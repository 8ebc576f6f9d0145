"""Libraries that keep quiet, and that do not wait for a network that is not there."""

from __future__ import annotations

import logging
import os
import socket
import threading
import urllib.request
import warnings
from collections.abc import Generator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit

PATIENCE = 3.0  # seconds for one connection to the hub


def silence_transformers() -> None:
    """No progress bars and no advice of the libraries: what matters is said by us."""
    from transformers.utils import logging as transformers_logging

    transformers_logging.set_verbosity_error()
    transformers_logging.disable_progress_bar()
    for name in ("huggingface_hub", "httpx", "httpx2", "urllib3"):
        logging.getLogger(name).setLevel(logging.ERROR)


@contextmanager
def quietly() -> Generator[list[warnings.WarningMessage]]:
    """No warning is shown; they are in the list that is given."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        yield seen


@cache
def _answers(host: str, port: int) -> bool:
    """Whether a host can be connected to. Its name may be asked of a server that never answers,
    which no time-out of a socket ends, so that is waited for in a thread."""
    found: list[bool] = []

    def connect() -> None:
        with suppress(OSError), socket.create_connection((host, port), timeout=PATIENCE):
            found.append(True)

    asking = threading.Thread(target=connect, daemon=True)
    asking.start()
    asking.join(PATIENCE)
    return bool(found)


def is_cut_off(source: str) -> bool:
    """Whether `source` is a hub name and the hub cannot be reached: then only the cache is asked.

    Without this the hub's client tries five times over 25 seconds. Behind a proxy it is left to it.
    """
    if Path(source).exists() or os.environ.get("HF_HUB_OFFLINE") or urllib.request.getproxies():
        return False
    hub = urlsplit(os.environ.get("HF_ENDPOINT") or "https://huggingface.co")
    port = hub.port or (80 if hub.scheme == "http" else 443)
    return not _answers(hub.hostname or "huggingface.co", port)

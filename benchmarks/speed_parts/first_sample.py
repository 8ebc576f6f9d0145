"""`evenodds train` up to its first sampled token: python -m benchmarks.speed_parts.first_sample ...

Prints a line when the first tokens have been drawn, and ends there. The command is what a person
calls; only the method that writes drawn tokens down is replaced, as soon as its module is there.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from typing import Any, NoReturn

ENGINE = "evenodds.sampling.native"


def _stop(*_: Any) -> NoReturn:
    os.write(1, b"sampled\n")
    os._exit(0)


def _wait() -> None:
    """Replace the method once it is there: to import the engine here would import torch early."""
    while True:
        pages = getattr(sys.modules.get(ENGINE), "Pages", None)
        if pages is not None:
            pages.write = _stop
            return
        time.sleep(0.002)


if __name__ == "__main__":
    threading.Thread(target=_wait, daemon=True).start()
    from evenodds.cli import main

    sys.exit(main(["train", *sys.argv[1:]]))

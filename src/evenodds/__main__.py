"""`evenodds`, and `python -m evenodds`."""

from __future__ import annotations

import signal
import sys


def main() -> int:
    """The command line. A Ctrl-C while Python still imports it ends the process without a word."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # no traceback of an import, nor of the end
    from evenodds.cli import main as run

    return run()


if __name__ == "__main__":
    sys.exit(main())

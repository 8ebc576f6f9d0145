"""Programs that try to be paid without solving anything. None may be: the bench runs them all."""

from __future__ import annotations

import re

from evenodds.verifiers.code.forgery_texts import TEXT

HEAD = re.compile(r"^=== (.+)$", re.MULTILINE)


def forgeries(entry_point: str) -> list[tuple[str, str]]:
    """(what it tries, the program) for a function of that name, none of which is right.

    Which problem it is does not matter as long as no answer to it is an input of its own, None,
    True, 0 or 1.
    """
    parts = HEAD.split(TEXT)[1:]
    named = zip(parts[::2], parts[1::2], strict=True)
    return [(name, re.sub(r"\bNAME\b", entry_point, text.lstrip("\n"))) for name, text in named]


PRINTERS = {
    "exit 0": "import os; os._exit(0)",
    "an old answer": "print('PASS')",
    "everything it reads": "import sys; print(sys.stdin.read())",
    "all numbers": "print(*range(10000), sep='\\n')",
    "the test files": "import os; print([open(n).read() for n in os.listdir('.')])",
    "NaN": "print('nan')",
    "a blank": "print()",
    "control characters": "print('\\x1b[2K\\r\\b\\b')",
    "prints without end": "while True: print(1)",
    "a thread goes on": "import threading as t\nt.Timer(9, print).start()",
    "reads other descriptors": "import os\nfor n in range(3, 99):\n  try: print(os.read(n, 999))\n"
    "  except OSError: pass",
}
"""Programs for problems that are read from standard input, none of which solves one."""

"""A hundred texts that would steer a terminal which does not filter them, and what is steered."""

from __future__ import annotations

import re

from evenodds.report.text import HIDDEN, KEPT

ESC = "\x1b"
CSI = [f"{ESC}[{part}" for part in (
    *("2J", "H", "31337m", "1;1H", "9999A", "K", "2K", "s", "u", "6n", "c", ">c", "?25l", "?25h"),
    *("?1049h", "?1049l", "8m", "5m", "7m", "20t", "21t", "3J", "!p", "?1000h", "?2004h", "0q"),
    *("1;31337r", "?5h", "4h", "12h", "1\"q", "?1003h", "99999S", "99999T", "L", "M", "P", "X"),
)]  # fmt: skip
OSC = [f"{ESC}]{part}" for part in (
    *("0;31337\x07", "2;31337\x07", "52;c;MzEzMzc=\x07", "52;p;MzEzMzc=\x1b\\", "4;1;?\x07"),
    *("8;;https://evil.example\x1b\\31337\x1b]8;;\x1b\\", "9;31337\x07", "777;notify;a;31337\x07"),
    *("10;?\x07", "11;#ff0000\x07", "50;31337\x07", "1337;File=inline=1:MzEzMzc=\x07", "7;file:///\x07"),
    *("104\x07", "112\x07", "133;A\x07", "5522;31337\x1b\\"),
)]  # fmt: skip
STRINGS = [f"{ESC}{start}31337{ESC}\\" for start in ("P", "P1$r", "P$q", "Pq", "X", "^", "_", "k")]
SINGLE = [f"{ESC}{part}" for part in "c78DEHMNOZ=>#(B*"] + [f"{ESC}#8", f"{ESC} F", f"{ESC}%G"]
C1 = [f"{char}31337" for char in "\x84\x85\x88\x8d\x8e\x90\x98\x9b\x9c\x9d\x9e\x9f\x80\x99"]
C0 = [f"a{char}31337" for char in "\x00\x05\x07\x08\x0b\x0c\x0d\x0e\x0f\x1a\x7f\x11\x13\x18"]
HIDING = [f"a{char}31337" for char in (
    *"\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061c\u2028\u2029\u200b",
    *("\ufeff", "\u2060", "\U000e0041", "\ud800", "\udfff", "\udc1b", "\u00ad"),
)]  # fmt: skip
LONG = [f"{ESC}[" * 5000, "\r" * 10_000, f"{ESC}]52;c;" + "A" * 50_000 + "\x07"]
MIXED = [
    f"\r\n{ESC}[1A{ESC}[2Kevenodds: fine",
    "ok\b\b\b\b31337",
    f"{ESC}{ESC}[31337m",
    f"{ESC}\n[31337m",
    f"{ESC}[\x9b31337m",
]
ESCAPES = [*CSI, *OSC, *STRINGS, *SINGLE, *C1, *C0, *HIDING, *LONG, *MIXED]
assert len(set(ESCAPES)) == len(ESCAPES) >= 100
OURS = re.compile(r"\x1b\[[0-9;]{0,30}m|\x1b\[\?25[lh]|\x1b\[[0-9]{0,3}[AK]|\x1b\[2K|\r\n|\r")
"""What rich draws with: colours, the cursor hidden and moved up, a line cleared."""


def active(text: str) -> set[str]:
    """What in a text would steer a terminal, or hide or reorder what it says."""
    import unicodedata

    hidden = {char for char in text if unicodedata.category(char) in HIDDEN} - KEPT
    return {f"U+{ord(char):04X}" for char in hidden}


def active_beside_ours(text: str) -> set[str]:
    """The same of what came out of a terminal, beside what we draw ourselves."""
    steered = {found for found in OURS.findall(text) if "31337" in found}
    return active(OURS.sub("", text)) | steered

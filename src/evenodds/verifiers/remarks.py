"""Where the last sentence of a text says its value, once remarks behind it are left out.

What open texts end with is often no answer: `45 (9 of them red)`, `45, attained at x = 3`. And a
value in bold is said to be the one: `**$10** for 50 minutes`. Every pattern looks at a bounded end.
"""

from __future__ import annotations

import re

LONGEST = 200

_DENIED = (
    r"(?:\s?\(|[,;]\s|\s[-–—]\s?)(?:and\s|but\s)?(?:not|rather than|instead of|nicht|no)\s"
    r"[^()\n.,;]{1,40}\)?"
)
_ASIDE = (
    r"\s\((?![^()\n]{0,80}\b(?:or|maybe|perhaps|actually|wait|correct|should|wrong)\b)"
    r"(?=[^()\n]{0,80}[a-z]{3})[^()\n]{3,80}\)"
)
_CONDITION = (
    r",?\s(?:(?:attained|achieved|reached|occurring|occurs)\s(?:at|when|for|if)\s[^.\n]{1,60}"
    r"|(?:when|where|at|if|for)\s(?:\$|\\\()?[a-zA-Z]\s?=\s?[^.\n]{1,60}"
    r"|which is (?:a|an|the|divisible|even|odd|prime|less|greater|smaller|larger|more)\b"
    r"[^.\n]{1,60})"
)
_REMARK = re.compile(rf"(?:{_DENIED}|{_ASIDE}|{_CONDITION})[.!]?[\s*]{{0,9}}\Z")
_BOLD = re.compile(r"(?<![0-9A-Za-z*)])\*\*(?![\s*])([^*\n]{1,80})\*\*(?![0-9A-Za-z*(])")
_HEADING = re.compile(r"\A\s{0,9}(?:step|part|case|method|day|week|year|question|option)\b", re.I)
_UNIT_POWER = re.compile(
    r"[0-9][\s~$\\]{0,3}(?:\\(?:text|mathrm)\s?\{\s?)?[a-zA-Z]{1,12}(?:/[a-zA-Z]{1,8})?\}?\$?\Z"
)


def conclusion_end(text: str) -> int:
    """Where the text ends without the remarks at its end; they need a number before them."""
    end = len(text)
    for _ in range(3):
        begin = max(0, end - LONGEST)
        remark = _REMARK.search(text[:end], begin)
        if remark is None:
            break
        line = max(text.rfind("\n", 0, remark.start()), text.rfind(". ", 0, remark.start())) + 1
        if not re.search("[0-9]", text[max(line, remark.start() - LONGEST) : remark.start()]):
            break
        end = remark.start()
    return end


def bold_value(text: str, end: int) -> tuple[int, int] | None:
    """The one piece in bold with a number in the last line of a text, unless it is a heading."""
    whole = text[:end].rstrip()
    start = max(whole.rfind("\n") + 1, len(whole) - 2 * LONGEST)
    found = [match for match in _BOLD.finditer(text, start, end) if re.search("[0-9]", match[1])]
    if len(found) != 1:
        return None
    inside = found[0][1].strip()
    if inside.endswith(":") or _HEADING.match(inside) or text[found[0].end() :][:1] == ":":
        return None
    return found[0].span(1)


def before_power(text: str, start: int) -> int | None:
    """Where the number before a unit with a power ends: `45 cm` in front of `^2`."""
    if text[start : start + 1] != "^":
        return None
    found = _UNIT_POWER.search(text, max(0, start - 40), start)
    return found.start() + 1 if found else None

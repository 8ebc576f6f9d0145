"""Text of a run made inert in Markdown, as GitHub and the Hugging Face hub read it."""

from __future__ import annotations

import re

from evenodds.report.text import one_line

BREAK = "\u200b"
"""A space of no width: it keeps what stands at its two sides from being read as one."""
MARKS = re.compile(
    r"""
    [\\`*|~$]                            # code, emphasis, cells, strikes, formulas
    | (?<![^\W_])_ | _(?![^\W_])         # an underscore inside a word means nothing
    | \[ (?! [-+]?[\d.]+,\ [-+]?[\d.]+ \] )   # a link, unless it is an interval: [1.2, 3.4]
    | \] (?= [(\[:] )
    """,
    re.VERBOSE,
)
LINKS = re.compile(r"((?<!\bpass)(?<!\bmaj)@|#|://|www\.|\bGH-)", re.IGNORECASE)
BEGINS = re.compile(r"^(\d*)([-+=#.)])(?=\s|\2|$)")
LIMIT = 2000


def md_text(text: str, limit: int = LIMIT) -> str:
    """The text on one line, without any effect: no markup, HTML, link, image, mention or formula.

    Punctuation that means something is escaped; what platforms find without punctuation, such as
    mentions, issue numbers and bare addresses, is broken by a space of no width. Of a path of the
    machine only the last name stays.
    """
    plain = without_paths(one_line(text, limit)).strip()
    escaped = plain.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    marked = BEGINS.sub(r"\1\\\2", MARKS.sub(r"\\\g<0>", escaped))
    return LINKS.sub(lambda found: _broken(found[0]), marked)


def _broken(found: str) -> str:
    """A sign that begins a mention or a number, or an address, cut in two."""
    return found + BREAK if found in "@#" else f"{found[:1]}{BREAK}{found[1:]}"


def md_code(text: str) -> str:
    """The text as a code span, in which nothing but a pipe of a table means anything."""
    plain = without_paths(one_line(text, LIMIT)).replace("|", "\\|") or " "
    fence = "`" * (1 + max(map(len, re.findall("`+", plain)), default=0))
    pad = " " if plain.startswith("`") or plain.endswith("`") else ""
    return f"{fence}{pad}{plain}{pad}{fence}"


def md_block(lines: list[str], language: str = "") -> list[str]:
    """Lines of a fenced block, its fence longer than any in the text."""
    shown = [without_paths(one_line(line, LIMIT)) for line in lines]
    longest = max((len(run) for line in shown for run in re.findall("`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    return [f"{fence}{language}", *shown, fence]


PATHS = re.compile(
    r"""(?<![\w.:/~-])(?:file://)?(?:~|[A-Za-z]:)?[/\\](?:[^/\\\s"'`|<>]+[/\\])+([^/\\\s"'`|<>]*)"""
)


def without_paths(text: str) -> str:
    """Every absolute path of a machine cut down to its last name; addresses of the web stay.

    Only for text as it is: in text that is escaped already, it would take the backslashes away.
    """
    return PATHS.sub(lambda found: found[1] or "a folder", text)

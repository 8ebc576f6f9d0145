"""The functions that a query may call, and three of SQLite's own in a form that is bounded.

Within one call nothing can stop SQLite: where its own function could run for minutes, ours refuses
what no query needs.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable

Cell = None | int | float | str | bytes

MAX_SIGNS = 1_000
"""The most signs that `trim` may look for."""

_NAMES = """
abs char coalesce concat concat_ws format glob hex if ifnull iif instr length like likelihood likely
lower ltrim max min nullif octet_length printf quote replace round rtrim sign soundex substr
substring trim typeof unicode unlikely upper zeroblob
avg count group_concat string_agg sum total median
row_number rank dense_rank percent_rank cume_dist ntile lag lead first_value last_value nth_value
date time datetime julianday unixepoch strftime timediff current_date current_time current_timestamp
acos acosh asin asinh atan atan2 atanh ceil ceiling cos cosh degrees exp floor ln log log10 log2 mod
pi pow power radians sin sinh sqrt tan tanh trunc
json json_array json_array_length json_extract json_group_array json_group_object json_insert
json_object json_patch json_quote json_remove json_replace json_set json_type json_valid -> ->>
match bm25
"""
ALLOWED = frozenset(_NAMES.split())
"""None of them reaches outside, and none answers by chance."""

_DIRECTIVE = re.compile(r"%([-+ 0#]{0,5})([0-9]{0,3})(\.[0-9]{1,3})?l{0,2}([a-zA-Z%])")
_WHOLE, _REAL = frozenset("dixXou"), frozenset("feEgG")


def install(database: sqlite3.Connection) -> None:
    """Put our forms in place of SQLite's own."""
    for name, side in (("trim", str.strip), ("ltrim", str.lstrip), ("rtrim", str.rstrip)):
        database.create_function(name, 2, _cut(side), deterministic=True)
    for name in ("printf", "format"):
        database.create_function(name, -1, formatted, deterministic=True)


def _cut(side: Callable[[str, str], str]) -> Callable[[Cell, Cell], str | None]:
    def cut(text: Cell, signs: Cell) -> str | None:
        if text is None or signs is None:
            return None
        if len(str(signs)) > MAX_SIGNS:
            raise ValueError("too many signs to cut off")
        return side(str(text), str(signs))

    return cut


def formatted(*cells: Cell) -> str | None:
    """SQLite's `printf` for numbers and text, with widths of three digits at the most.

    An argument that is missing counts as NULL. Raises `ValueError` for any other directive.
    """
    if not cells or cells[0] is None:
        return None
    rest = iter(cells[1:])
    made: list[str] = []
    at = 0
    text = str(cells[0])
    while (start := text.find("%", at)) >= 0:
        found = _DIRECTIVE.match(text, start)
        if found is None:
            raise ValueError("a directive of printf is not known here")
        made += [text[at:start], "%" if found[4] == "%" else _one(found, next(rest, None))]
        at = found.end()
    return "".join(made) + text[at:]


def _one(found: re.Match[str], cell: Cell) -> str:
    """One argument, as its directive writes it."""
    kind = found[4]
    if kind in _WHOLE:
        return f"%{found[1]}{found[2]}{found[3] or ''}{kind}" % int(_number(cell))
    if kind in _REAL:
        return f"%{found[1]}{found[2]}{found[3] or ''}{kind}" % float(_number(cell))
    if kind == "s":
        flags = found[1].replace("0", "").replace("#", "")
        return f"%{flags}{found[2]}{found[3] or ''}s" % ("" if cell is None else str(cell))
    raise ValueError("a directive of printf is not known here")


def _number(cell: Cell) -> int | float:
    """A number as SQLite reads one: of a text its beginning, 0 where there is none."""
    if isinstance(cell, (int, float)):
        return cell
    found = re.match(r"\s{0,20}[-+]?[0-9]{1,18}(?:\.[0-9]{0,18})?", str(cell or ""))
    return float(found[0]) if found else 0

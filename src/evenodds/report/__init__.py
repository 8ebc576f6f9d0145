"""What a person sees of a run: a live view in the terminal, and a report at its end.

Where to look. Numbers: `comparison` (base and trained), `contrast` (arms of `compare`), `pairs`,
`measures`, `audited`, `cost`, `changes` (what got worse), `conclusion` (which of seven kinds).
Words: `sentence` (the conclusion), `story`, `where`, `beside` (audit, canaries, control), `signs`
(alarms), `checks` (question and bench), `facts` (what was trained). The report: `findings` holds
all of it; `html` hands it to the templates in `page/`; `markdown`, `card` and `summary` are the
other forms. Pictures: `pictures` says which, `plots` draws them from `svg`; `sheet` is several as
a file. Views: `terminal` chooses `live`, `plain` or `notebook`. Read back: `record`, `sound`,
`samples`, `shown`. Text: `text` (safe and short), `escape` (Markdown).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from evenodds.report.comparison import Comparison, compare
from evenodds.report.terminal import View, make_view
from evenodds.report.text import safe

__all__ = ["Comparison", "View", "compare", "make_view", "safe", "write_report"]


def write_report(run: Path, tell: Callable[[int, int], None] | None = None) -> Path:
    """Write `report.html`, `report.md` and `summary.json` into the folder; returns the page's path.

    Works while a run is under way and after it was stopped: what is missing is said to be. tell: is
    called with how much of the work is done.
    """
    from evenodds.report.files import write_page  # jinja2 and pyarrow are loaded only when needed

    return write_page(run, tell)

"""`evenodds inspect`: a run folder as local pages, read only, while it grows and afterwards.

A page is a file `NAME_page.py` and a template; `app.PAGES` names them. `data.Source` is the run as
all pages see it, `table` its groups, `filters` and `listing` what a list shows of them. The page of
a group goes through `group_view`, `tokens`, `scales`, `marks` and `gradient`. `guard` decides who
may look, `serve` and `export` are the two ways out, `text_pages` is the same for a terminal.
"""

from __future__ import annotations

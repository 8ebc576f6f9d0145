"""A sheet of panels as one SVG file that reads on light and on dark paper."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap

from evenodds.report.svg import HEIGHT, LETTER, WIDTH, number, text

MARGIN, GAP, HEAD, LINE = 24, 36, 46, 18
STYLE = """
:root { --paper: #fff; --ink: #1b1f24; --soft: #59626c; --rule: #d5dae0;
  --c1: #0067a6; --c2: #c24e00; --c3: #00815c; --c4: #96508b }
@media (prefers-color-scheme: dark) { :root { --paper: #12161b; --ink: #e8ebee; --soft: #a4aeb8;
  --rule: #333c46; --c1: #62b8f0; --c2: #f29c4b; --c3: #3fcaa0; --c4: #d79bcd } }
svg { font: 12px system-ui, sans-serif; fill: var(--ink) }
.paper { fill: var(--paper) } .head { font-size: 15px; font-weight: 600 }
.axis { stroke: var(--soft) } .grid { stroke: var(--rule); stroke-width: .7 }
.reference { stroke: var(--ink); stroke-dasharray: 5 4; stroke-width: 1.2 }
.label { fill: var(--soft) } .note { fill: var(--soft); font-size: 11px }
.c1 { --c: var(--c1) } .c2 { --c: var(--c2) } .c3 { --c: var(--c3) } .c4 { --c: var(--c4) }
.l { fill: none; stroke: var(--c); stroke-width: 2; stroke-linejoin: round }
.s { fill: var(--c); opacity: .4 }
.s.faint { opacity: 1; fill-opacity: .18; stroke: var(--c); stroke-width: .7 }
.t { fill: var(--c); font-weight: 600 }
.inside, .strong { font-weight: 600 }
.b { fill: var(--c); opacity: .16; stroke: none } .dot { fill: var(--c) }
.out { fill: none; stroke: var(--soft); stroke-dasharray: 3 2 }
"""


def sheet(title: str, panels: Sequence[str], subtitle: str = "") -> str:
    """Panels of `picture`, two side by side, under a title: a standing SVG document.

    subtitle: on as many lines as it needs.
    """
    rows, width = (len(panels) + 1) // 2, 2 * MARGIN + GAP + 2 * WIDTH
    lines = wrap(subtitle, int((width - 2 * MARGIN) / LETTER))
    head = HEAD + (LINE * len(lines) or 4)
    height = head + rows * (HEIGHT + GAP)
    placed = [_placed(panel, index, head) for index, panel in enumerate(panels)]
    starts = [28 + LINE * place for place in range(1, len(lines) + 1)]
    below = "".join(text(MARGIN, y, row, "label") for y, row in zip(starts, lines, strict=True))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" role="img"><style>{STYLE}</style>'
        f'<rect class="paper" width="{width}" height="{height}"/>'
        f"{text(MARGIN, 28, title, 'head')}{below}{''.join(placed)}</svg>\n"
    )


def _placed(panel: str, index: int, head: int) -> str:
    """A panel in its cell."""
    row, column = divmod(index, 2)
    x, y = MARGIN + column * (WIDTH + GAP), head + row * (HEIGHT + GAP)
    size = f'x="{x}" y="{y}" width="{WIDTH}" height="{number(HEIGHT)}"'
    return panel.replace("<svg ", f"<svg {size} ", 1)

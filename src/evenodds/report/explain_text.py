"""An explanation as lines of text, made to fit a terminal where its tables allow it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from textwrap import wrap

from evenodds.report.explain import Answer, Curve, Example, Explanation, Odds, Span, Table, Turn
from evenodds.report.text import counted, one_line

WIDTH, NARROWEST = 96, 80
PROSE = 92  # columns: longer lines are hard to read
HEAD = 9  # letters of a column's name where there is little room


def lines_of(found: Explanation, width: int = WIDTH) -> Iterator[str]:
    """Six parts, each under a heading. width: columns that there are, taken as 80 at least."""
    width = min(WIDTH, max(NARROWEST, width))
    yield f"== what is maximised: {one_line(found.recipe, width - 24)}"
    yield from _wrapped(found.axes, width)
    yield ""
    yield from (line for row in found.formula for line in _wrapped(row, width, "  ", "      "))
    yield ""
    yield from example_lines(found, width)
    yield ""
    yield from push_lines(found, width)
    yield ""
    yield from odds_lines(found, width)
    for table in found.tables:
        yield ""
        yield from table_lines(table, width)
    yield ""
    yield "== worth knowing"
    for remark in found.remarks:
        yield from _wrapped(remark, width, "- ", "  ")


def _wrapped(text: str, width: int, first: str = "", later: str = "") -> list[str]:
    return wrap(
        text,
        min(PROSE, width),
        initial_indent=first,
        subsequent_indent=later,
        break_long_words=False,
    )


def _heading(text: str, width: int) -> list[str]:
    return wrap(f"== {text}", width, subsequent_indent="   ")


def _below(text: str, width: int) -> list[str]:
    """A line below a table; what does not fit goes on farther in."""
    return _wrapped(text, width, "  ", "    ")


def signed(value: float | None, digits: int = 3) -> str:
    """`+0.125`, `−0.5`, `0`; a dash for nothing."""
    if value is None:
        return "–"
    shown = f"{abs(value):.{digits}g}"
    if "e-" in shown and abs(value) >= 1e-5:
        shown = f"{abs(value):.{digits + 4}f}"
    sign = "+" if value > 0 else "−" if value < 0 else ""
    return f"{sign}{shown}"


def plain(value: float | None, digits: int = 4) -> str:
    return "–" if value is None else f"{value + 0.0:.{digits}g}".replace("-", "−")


def columns(rows: Sequence[Sequence[str]], left: int = 0, width: int = WIDTH) -> Iterator[str]:
    """Rows of cells, right-aligned but for the last `left` columns.

    The first row becomes several where a line would be wider than `width`.
    """
    count = len(rows[0])
    if _across(rows) > width:
        rows = [*_stacked(rows[0]), *rows[1:]]
    widths = [max(len(row[place]) for row in rows) for place in range(count)]
    for row in rows:
        cells = [
            cell.ljust(width) if place >= count - left else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield f"  {'  '.join(cells)}".rstrip()


def _across(rows: Sequence[Sequence[str]]) -> int:
    return sum(2 + max(map(len, column)) for column in zip(*rows, strict=True))


def _stacked(head: Sequence[str]) -> list[list[str]]:
    """Names in rows of some HEAD letters, all ending in the last one."""
    parts = [wrap(cell, HEAD, break_long_words=False) for cell in head]
    depth = max(map(len, parts))
    filled = [[""] * (depth - len(part)) + part for part in parts]
    return [list(row) for row in zip(*filled, strict=True)]


def example_lines(found: Explanation, width: int = WIDTH) -> Iterator[str]:
    """The group, what each token weighs, and what the denominators are."""
    example = found.example
    count = len(example.answers)
    real = "" if count == found.group_size else f" (a real one has {found.group_size})"
    yield f"== an example group of {count} answers, at ratio 1{real}"
    rows = [_row(number, answer) for number, answer in enumerate(example.answers, start=1)]
    head = ("answer", "score", "reward", "tokens", "A", "a token", "all of it", "")
    if not _is_shaped(example):
        head, rows = (*head[:2], *head[3:]), [(*row[:2], *row[3:]) for row in rows]
    yield from columns([head, *rows], 1, width)
    yield (
        f"  Σ|weight| {plain(example.absolute)}, of which {plain(example.up)} pushes up and "
        f"{plain(example.down)} down"
    )
    yield from _denominators(found, width)


def _is_shaped(example: Example) -> bool:
    return any(answer.score != answer.reward for answer in example.answers)


def _row(number: int, answer: Answer) -> tuple[str, ...]:
    each = signed(answer.lowest)
    if answer.highest - answer.lowest > 1e-9 * max(abs(answer.highest), abs(answer.lowest)):
        each = f"{signed(answer.lowest)} to {signed(answer.highest)}"
    out = f"out: {answer.why}" if answer.why else ""
    return (
        str(number),
        plain(answer.score),
        plain(answer.reward),
        f"{answer.length}{'+' if answer.is_cut else ''}",
        signed(answer.advantage),
        "0" if answer.why else each,
        "0" if answer.why else signed(answer.total, 4),
        out,
    )


def _denominators(found: Explanation, width: int) -> Iterator[str]:
    example = found.example
    shares = sorted({answer.share for answer in example.answers if not answer.why})
    if not shares:
        yield "  nothing is in the loss: such a step is skipped"
        return
    span = " to ".join(plain(share, 3) for share in dict.fromkeys((shares[0], shares[-1])))
    yield from _below(
        f"in the loss: {counted(example.rollouts, 'answer')}, {counted(example.tokens, 'token')};"
        f" budget {example.max_tokens}; share of a token before A: {span}",
        width,
    )
    most = found.groups * found.group_size
    yield f"  a real step counts over all its groups: {most:,} answers where all of them teach"


def push_lines(found: Explanation, width: int = WIDTH) -> Iterator[str]:
    """The push by ratio for both signs, and in words."""
    what = "answer's mean token" if found.is_by_sequence else "token"
    head = f"what clips when: the push on log π, by how much likelier the {what} has become"
    yield from _heading(head, width)
    ratios = ("ratio", *(ratio_name(ratio) for ratio in found.up.ratios))
    yield from _blocks([ratios, _cells("A = +1", found.up), _cells("A = −1", found.down)], width)
    for curve, who in ((found.up, found.better), (found.down, found.worse)):
        words = push_words(curve, found.is_by_sequence, found.since)
        yield from _below(f"{who} (A {'>' if curve.advantage > 0 else '<'} 0): {words}.", width)


def _blocks(rows: Sequence[Sequence[str]], width: int) -> Iterator[str]:
    """A table in as few parts below each other as fit, each with its first column."""
    count = len(rows[0]) - 1
    for parts in range(1, count + 1):
        cuts = [1 + count * part // parts for part in range(parts + 1)]
        blocks = [[[row[0], *row[a:b]] for row in rows] for a, b in pairwise(cuts)]
        if parts == count or all(_across(block) <= width for block in blocks):
            for block in blocks:
                yield from columns(block)
            return


def ratio_name(value: float) -> str:
    """`1.28`, `1.0004`."""
    return f"{value:.6g}"


def is_cut(curve: Curve, ratio: float) -> bool:
    """Whether a ratio lies where the push is cut, an edge included."""
    near = 1e-6
    return any(
        span.force == "cut"
        and span.low <= ratio * (1 + near)
        and (span.high is None or ratio <= span.high * (1 + near))
        for span in curve.spans
    )


def _cells(name: str, curve: Curve) -> tuple[str, ...]:
    cells: list[str] = []
    digits = 5 if curve.ratios[-1] < NEAR else 3
    for ratio, push in zip(curve.ratios, curve.pushes, strict=True):
        cells.append("cut" if push == 0 and is_cut(curve, ratio) else signed(push, digits))
    return (name, *cells)


def push_words(curve: Curve, is_by_sequence: bool, since: str = "when drawn") -> str:
    """`no push once a token is more than 1.28 times as likely as when it was drawn`."""
    if not curve.at_one and not curve.edges:
        return "never pushed"
    who = "an answer's tokens, in geometric mean, are" if is_by_sequence else "a token is"
    parts = [
        f"{what} once {who} {' or '.join(where)} times as likely as {since}"
        for force, what in FORCES.items()
        if (where := [_where(span) for span in curve.spans if span.force == force])
    ]
    parts += [f"turns round at {turn_words(curve, turn)}" for turn in curve.turns]
    if parts:
        return "; ".join([*_backward(curve), *parts])
    return "; ".join([*_backward(curve), _uncut(curve)])


def _backward(curve: Curve) -> list[str]:
    return [f"pushed {direction(curve)} at ratio 1"] if curve.is_backward else []


def direction(curve: Curve) -> str:
    """Which way a push against the advantage goes."""
    return "down" if curve.advantage > 0 else "up"


def turn_words(curve: Curve, turn: Turn, who: str = "they") -> str:
    """`1.41: they are pushed down beyond it`, of the side that is against the advantage."""
    digits = 3 if abs(turn.ratio - 1) > FAR else 6
    side = "beyond" if turn.is_backward_above else "below"
    return f"{plain(turn.ratio, digits)}: {who} are pushed {direction(curve)} {side} it"


def _uncut(curve: Curve) -> str:
    """Of a push that is cut nowhere, and keeps its sign."""
    if curve.is_proportional:
        return "never cut; the push grows in proportion to the ratio"
    if curve.peak is None:
        return "never cut; the push does not fall up to ratio 100"
    faded = "" if curve.half is None else f", and half of that is left at {plain(curve.half, 3)}"
    return f"never cut; the push is strongest at ratio {plain(curve.peak, 3)}{faded}"


NEAR = 1.1  # ratios up to here need more digits
FAR = 0.05  # and a ratio this far from 1 needs three
FORCES = {"cut": "no push", "capped": "a push that no longer follows the ratio"}


def _where(span: Span) -> str:
    if span.high is None:
        return f"more than {ratio_name(span.low)}"
    if span.low == 0:
        return f"less than {ratio_name(span.high)}"
    return f"between {ratio_name(span.low)} and {ratio_name(span.high)}"


def odds_lines(found: Explanation, width: int = WIDTH) -> Iterator[str]:
    """What a step is worth at each solve rate."""
    refills = found.zero_signal == "refill" and found.rounds > 1
    limit = f", refilled up to {found.rounds} rounds" if refills else ""
    step = f"{found.groups} groups of {found.group_size} answers a step"
    yield from _heading(f"which groups teach: {step}{limit}", width)
    head = ["solve rate", "informative", "groups for one", "informative a step"]
    head += ["drawn", "rounds"] if refills else []
    rows = [[*head, "mean |A|", ""], *(_odds_row(row, found, refills) for row in found.odds)]
    yield from columns(rows, 1, width)
    for about in found.counted:
        yield from _below(about, width)
    if found.lone is not None:
        alone, others = (signed(value) for value in found.lone)
        yield f"  one right answer among {found.group_size} gets A = {alone}, each other {others}"


def _odds_row(row: Odds, found: Explanation, refills: bool) -> list[str]:
    cells = [
        plain(row.p),
        f"{100 * row.informative:.1f} %",
        "–" if row.draws is None else f"{row.draws:.2f}",
        f"{row.useful:.1f}",
    ]
    cells += [f"{row.drawn:.1f}", f"{row.rounds:.2f}"] if refills else []
    note = "← target" if row.p == found.target else ""
    return [*cells, "–" if row.mean_advantage is None else f"{row.mean_advantage:#.3g}", note]


def table_lines(table: Table, width: int = WIDTH) -> Iterator[str]:
    yield from _heading(table.title, width)
    across = [
        [name, *(plain(row[place]) for row in table.rows)]
        for place, name in enumerate(table.columns)
    ]
    yield from _blocks(across, width)

"""The views: a picture of constant height in a terminal, plain lines elsewhere, never an error."""

from __future__ import annotations

import io
import re
import subprocess
import sys
from typing import Any

import pytest
from rich.cells import cell_len

from evenodds.report import View, compare, make_view, safe
from evenodds.report.live import RichView, metric_lines, result_table
from evenodds.report.plain import PlainView, by_coin, sample_line, step_line, table_lines
from evenodds.report.text import duration, listed, one_line, short, sparkline
from tests.report import synthetic

SENTENCE = "Do not believe the reward."
CODES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Gone(io.StringIO):
    """A terminal whose other end was closed."""

    def write(self, text: str) -> int:
        raise BrokenPipeError


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def play(view: View, clock: Clock | None = None, steps: int = 60, pause: float = 0.5) -> None:
    """What a short run tells its view."""
    view.start("a model learns", ["one", "two"], synthetic.LEVELS)
    for done in (0, 1, 2):
        view.phase("evaluating", done, 2)
    for row in synthetic.metrics(steps):
        if clock is not None:
            clock.now += pause
        elapsed = row["time/elapsed"]
        sample = ("1*1=\n1\n3*4=\n", synthetic.HOSTILE, "wrong", "12")
        view.step(row["step"], steps, elapsed, None, row, sample)
    view.note("saved")
    view.table(compare(synthetic.evaluation(1.6, 1), synthetic.evaluation(5.0, 2)), SENTENCE)
    view.close()
    view.close()


def test_plain_lines_are_few_and_hold_the_first_and_the_last_step() -> None:
    stream, clock = io.StringIO(), Clock()
    play(PlainView(stream, clock), clock)
    lines = stream.getvalue().splitlines()
    steps = [line for line in lines if line.startswith("step ")]
    assert steps[0].startswith("step 1/60") and steps[-1].startswith("step 60/60")
    assert len(steps) <= 8
    assert "difficulty" in steps[-1] and "(3×2 digits)" in steps[-1]
    assert "\x1b" not in stream.getvalue() and "\u202e" not in stream.getvalue()
    assert lines[-2:] == ["Better at all 8 levels; worse at no level.", SENTENCE]
    assert "accuracy" not in lines[-3], "two sentences could disagree"


def test_slow_steps_are_told_in_time_too() -> None:
    stream, clock = io.StringIO(), Clock()
    play(PlainView(stream, clock), clock, steps=6, pause=30.0)
    assert sum(line.startswith("step ") for line in stream.getvalue().splitlines()) == 6


def test_plain_lines_survive_a_narrow_encoding() -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii")
    play(PlainView(stream))
    assert b"step 60/60" in raw.getvalue()


@pytest.mark.parametrize("view", [PlainView(Gone()), RichView(Gone())])
def test_a_terminal_that_went_away_does_not_end_the_run(view: View) -> None:
    play(view)


@pytest.mark.parametrize("width", [40, 60, 80, 200])
def test_the_picture_keeps_its_height_and_fits(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    view = RichView(Terminal())
    view.console.width = width
    heights: set[int] = set()
    for row in synthetic.metrics(50):
        answer = "\n".join(["x" * (row["step"] * 7 % 90)] * (row["step"] % 9))
        sample = ("3*4=\n", answer, "right", "12")
        view.step(row["step"], None, row["time/elapsed"], 60.0, row, sample)
        with view.console.capture() as captured:
            view.console.print(view.picture())
        lines = CODES.sub("", captured.get()).splitlines()
        heights.add(len(lines))
        assert max(map(cell_len, lines)) <= width
    assert len(heights) == 1
    view.close()


def test_the_live_view_shows_verdict_level_and_only_its_own_codes() -> None:
    stream = Terminal()
    view = RichView(stream)
    play(view)
    text = CODES.sub("", stream.getvalue())
    assert "✗ wrong" in text and "3×2 digits" in text and "tokens/s" in text and "saved" in text
    assert "␛[31m" in text and not set(text) & {"\x1b", "\x00", "\u202e"}


def test_metrics_may_be_missing_or_words() -> None:
    for view in (PlainView(io.StringIO()), RichView(Terminal())):
        row: dict[str, Any] = {"skipped": "every group agreed", "solve_rate": float("nan")}
        view.step(1, None, 0.0, None, {}, None)
        view.step(2, None, 1.0, 0.5, row, ("", "", "timeout", ""))
        view.close()


def test_the_view_fits_the_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    assert isinstance(make_view(io.StringIO()), PlainView)
    assert isinstance(make_view(Terminal()), RichView)
    monkeypatch.setenv("NO_COLOR", "1")
    assert isinstance(make_view(Terminal()), PlainView)
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "dumb")
    assert isinstance(make_view(Terminal()), PlainView)


def test_what_could_steer_a_terminal_is_made_visible() -> None:
    assert safe("a\x1b[2J\r\x07\x7f\x9b") == "a␛[2J␍␇␡⟨U+009B⟩"
    assert (
        safe("\u202eabc\u2066\ufeff\ud800\u2028") == "⟨U+202E⟩abc⟨U+2066⟩⟨U+FEFF⟩⟨U+D800⟩⟨U+2028⟩"
    )
    assert safe("ok\n\té 漢 नि") == "ok\n\té 漢 नि"
    assert one_line("a\nb", 3) == "a⏎b" and one_line("abcd", 3) == "ab…"


def test_numbers_are_short() -> None:
    found = [short(v) for v in (0.0, 0.01234, 1.5, 12.34, 456.7, 12345.6, 1e29, float("nan"))]
    assert found == ["0", "0.0123", "1.5", "12.3", "457", "12,346", "1.0e+29", "–"]
    assert [duration(v) for v in (8, 107, 7390)] == ["8 s", "1:47", "2:03:10"]
    assert [listed(v) for v in ([], ["a"], ["a", "b", "c"])] == ["", "a", "a, b and c"]


def test_sparklines_hold_the_whole_history() -> None:
    assert sparkline([0, 1], 8, 0, 1) == "▁█"
    assert sparkline(list(range(800)), 8) == "▁▂▃▄▅▆▇█"
    assert len(sparkline([0.5] * 100, 10)) == 10
    assert sparkline([float("nan")], 5) == "" and sparkline([1.0], 0) == ""


def test_looking_at_a_run_loads_no_torch() -> None:
    code = "import sys, evenodds.report.html, evenodds.report.live; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_the_share_of_mixed_groups_and_idle_steps_are_shown() -> None:
    row: dict[str, Any] = {"solve_rate": 0.5, "groups/mixed": 0.62, "difficulty": 0.0}
    plain = step_line(1, None, 1.0, None, row, synthetic.LEVELS)
    assert "solve rate 0.50 · mixed 62 % · difficulty 0.00 (1×1 digits)" in plain
    part = step_line(1, None, 1.0, None, row | {"frac_reward_zero_std": 0.25}, ())
    assert "mixed 75 %" in part  # all wrong, and paid in part: that teaches too
    idle = row | {"groups/mixed": 0.0, "skipped": "every group agreed"}
    assert "mixed 0 % · no update" in step_line(1, None, 1.0, None, idle, ())
    assert "difficulty" not in step_line(1, None, 1.0, None, row, ["all"])
    history = {"solve_rate": [0.5, 0.5], "difficulty": [0.0]}
    lines = [str(line) for line in metric_lines(history, idle, ["all"], 80)]
    assert "▅▅" in lines[0] and "mixed 0 % · no update" in lines[0]  # on a scale of 0 to 100 %
    assert not any("difficulty" in line for line in lines)


def test_the_share_of_answers_that_could_not_be_judged_is_shown() -> None:
    metrics = {"groups/mixed": 0.5, "status/timeout": 0.02, "status/error": 0.01}
    assert "mixed 50 % · not judged 3 %" in step_line(1, 9, 1.0, None, metrics, ())
    assert "judged" not in step_line(1, 9, 1.0, None, {"status/timeout": 0.0}, ())


def test_the_step_before_the_last_is_not_told_too() -> None:
    stream, clock = io.StringIO(), Clock()
    play(PlainView(stream, clock), clock, steps=12)
    lines = stream.getvalue().splitlines()
    assert [line.split()[1] for line in lines if line.startswith("step ")] == ["1/12", "12/12"]


def test_both_tables_have_the_same_columns_and_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    found = compare(synthetic.evaluation(1.6, 1, problems=19), synthetic.evaluation(5.0, 2, 19))
    plain = table_lines(found)[: 2 + len(found.levels)]
    assert plain == [line.rstrip() for line in plain]
    view = RichView(Terminal())
    view.console.width = 80
    with view.console.capture() as captured:
        view.console.print(result_table(found, 80))
    rich = [line.split() for line in CODES.sub("", captured.get()).splitlines()]
    assert [[word for word in line if word not in "▲▼"] for line in rich] == [
        line.split() for line in plain
    ]
    assert max(map(len, plain)) <= 80


def test_a_coin_pays_and_finds_nothing_right() -> None:
    sample = ("2*3=", "6", "right", "6")
    metrics, told = by_coin({"solve_rate": 0.5}, sample)
    line = step_line(1, 2, 3.0, None, metrics, ())
    assert "paid by coin 0.50" in line and "solve rate" not in line
    assert told is not None and "[paid by a coin, expected 6]" in sample_line(told)
    assert by_coin({}, None)[1] is None
    picture = "".join(
        part.plain for part in metric_lines({"solve_rate": [0.5]}, metrics, (), 80) if part
    )
    assert "paid by coin  50 %" in picture and "solve rate" not in picture

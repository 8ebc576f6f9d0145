"""Progress: nothing in the first two seconds, then the time left, and a clean line at the end."""

from __future__ import annotations

import io

from evenodds.report.progress import Progress, Shown, line_of


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_what_is_short_is_not_talked_about() -> None:
    stream, now = io.StringIO(), [0.0]
    progress = Progress(stream, "grade", lambda: now[0])
    for done in range(20):
        now[0] = done / 10
        progress(done, 20)
    progress.close()
    assert stream.getvalue() == ""


def test_a_log_gets_a_line_now_and_then() -> None:
    stream, now = io.StringIO(), [0.0]
    progress = Progress(stream, "grade", lambda: now[0])
    for done in range(101):
        now[0] = float(done)
        progress(done, 100)
    lines = stream.getvalue().splitlines()
    assert lines[0] == "grade: 2 of 100 (2 %), about 1:38 left"
    assert 5 <= len(lines) <= 12


def test_a_terminal_has_one_line_and_loses_it(monkeypatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    stream, now = Terminal(), [0.0]
    with Shown(stream) as shown:
        part = shown("bench")
        part.clock = lambda: now[0]
        for done in range(50):
            now[0] = float(done)
            part(done, 50)
    text = stream.getvalue()
    assert "\n" not in text and text.endswith("\r") and "left" in text
    assert text.rstrip("\r").rsplit("\r", 1)[-1].strip() == ""


def test_a_lost_stream_ends_nothing() -> None:
    stream, now = io.StringIO(), [0.0]
    progress = Progress(stream, "grade", lambda: now[0])
    progress(0, 10)
    stream.close()
    now[0] = 9.0
    progress(1, 10) if not stream.closed else None
    assert line_of("x", 0, 0, 5.0) == "x: 0 of 0 (0 %)"

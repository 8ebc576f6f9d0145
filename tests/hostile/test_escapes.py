"""A hundred escapes through everything that is printed: none reaches a terminal."""

from __future__ import annotations

import contextlib
import io
import itertools
import os
import sys
import warnings
from pathlib import Path

import pytest

from evenodds import cli
from evenodds.errors import UsageError
from evenodds.report.inert import Inert, inert_streams, steerable
from evenodds.report.terminal import make_view
from tests.hostile.escapes import ESCAPES, active, active_beside_ours
from tests.hostile.reading import printed_text
from tests.viewer.folder import write_run

ROW = {"step": 1, "solve_rate": 0.5, "entropy": 0.3, "difficulty": 0.0, "groups/mixed": 0.5}


def said(*arguments: str) -> str:
    """What a command says on both streams."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        cli.main(arguments)
    return out.getvalue()


def test_what_is_active_is_seen() -> None:
    """The test can fail."""
    assert all(active(text) for text in ESCAPES)
    assert all(active_beside_ours(text) for text in ESCAPES if "31337" in text and "\r" not in text)
    assert not active_beside_ours("\x1b[1m bold \x1b[0m\x1b[?25l")


def test_a_stream_is_inert_whoever_writes(capsys: pytest.CaptureFixture[str]) -> None:
    with inert_streams():
        for text in ESCAPES:
            print(text)
            sys.stderr.writelines([text, "\n"])
            # as Python writes a warning; pytest would take one that is raised here for itself
            sys.stderr.write(warnings.formatwarning(text, UserWarning, text, 1, ""))
        assert steerable(sys.stdout) is not sys.stdout
        assert isinstance(sys.stdout, Inert) and not sys.stdout.isatty()
    found = capsys.readouterr()
    assert active(found.out + found.err) == set()
    assert not isinstance(sys.stdout, Inert)


@pytest.mark.parametrize("command", ["eval", "report", "inspect", "check", "list", "train", "chat"])
def test_errors_with_names_of_a_stranger(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evenodds.policies.load.is_cut_off", lambda source: True)
    for text in ESCAPES[::17]:
        assert active(said(command, text)) == set()
        assert active(said(command, f"--{text}", text)) == set()


@pytest.mark.parametrize("raised", [UsageError, ValueError, OSError])
def test_errors_whose_text_is_an_escape(
    raised: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As of a library, or of a person's own verifier."""
    for text in ESCAPES:

        def fail(arguments: list[str], text: str = text) -> int:
            raise raised(text)

        monkeypatch.setattr(cli, "_dispatch", fail)
        shown = said("list")
        assert active(shown) == set()
        assert shown.count("\n") == 1


def test_every_line_of_a_run_without_a_terminal() -> None:
    out = io.StringIO()
    for text in ESCAPES:
        view = make_view(out)
        view.start(text, [text], [text])
        view.note(text)
        view.step(1, 2, 1.0, None, ROW, (text, text, text, text))
        view.close()
    assert active(out.getvalue()) == set()


def test_every_line_of_a_run_in_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """A real one: rich may draw, the texts may not."""
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    master, slave = os.openpty()
    found = bytearray()
    with os.fdopen(slave, "w", errors="replace") as terminal:
        os.set_blocking(master, False)
        for text in ESCAPES[::3]:
            view = make_view(terminal)
            view.start(text[:200], [text[:200]], [text[:200]])
            view.note(text[:200])
            view.step(1, 2, 1.0, None, ROW, (text[:200],) * 4)
            view.close()
            with contextlib.suppress(BlockingIOError):
                while True:
                    found += os.read(master, 65536)
    os.close(master)
    shown = found.decode("utf-8", "replace")
    assert "31337" in shown
    assert active_beside_ours(shown) == set()


def test_a_run_folder_of_a_stranger(tmp_path: Path) -> None:
    """inspect --text, report --md, list runs, compare: whatever the records say."""
    texts = itertools.cycle([text.replace("\n", " ")[:500] for text in ESCAPES if _is_text(text)])
    run = write_run(tmp_path / "runs" / "r", lambda name: next(texts))
    assert active(printed_text(run)) == set()
    for arguments in (
        ("inspect", str(run), "--text"),
        ("inspect", str(run), "--text", "--group", "1/1"),
        ("report", str(run), "--md"),
        ("compare", str(run)),
        ("eval", str(run)),
        ("replay", str(run), "1/0/0"),
        ("list", "runs", "--root", str(run.parent)),
    ):
        shown = said(*arguments)
        assert shown and active(shown) == set(), arguments


def _is_text(text: str) -> bool:
    """Parquet and TOML take no half characters, nor a NUL."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


@pytest.mark.parametrize("encoding", ["cp1252", "cp437", "cp850", "cp932", "ascii", "latin-1"])
def test_code_pages_of_windows(encoding: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sign that a code page lacks becomes a question mark, never a byte that steers."""
    beneath = io.BytesIO()
    stream = io.TextIOWrapper(beneath, encoding=encoding, errors="replace")
    guarded = Inert(stream)
    for text in ESCAPES:
        guarded.write(text + "\n")
    stream.flush()
    steering = {*range(0x20), 0x7F, *(range(0x80, 0xA0) if encoding == "latin-1" else ())}
    assert {*beneath.getvalue()} & (
        steering - {0x0A, 0x09, 0x0D if os.name == "nt" else 0x0A}
    ) == set()

"""Lines in, answers out; a line that is no good is told and the next one is answered."""

from __future__ import annotations

import io
import sys

import pytest

from evenodds.cli import main


def talk(monkeypatch, data: bytes, *flags: str) -> int:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data), encoding="utf-8"))
    return main(["chat", "abacus", *flags])


def test_an_unreadable_line_is_told_and_the_next_answered(monkeypatch, capsys) -> None:
    assert talk(monkeypatch, b"12*34=\nhello\n\xff\n7*8=\n", "--max-tokens", "8") == 0
    found = capsys.readouterr()
    assert len(found.out.splitlines()) == 2
    assert found.err.count("no tokens for some of") == 2
    assert len(found.err.splitlines()) == 2


@pytest.mark.parametrize("value", ["nan", "inf", "-1"])
def test_a_temperature_that_is_none_is_refused(monkeypatch, capsys, value) -> None:
    assert talk(monkeypatch, b"1*1=\n", "--temperature", value) == 2
    assert f"got {float(value)}" in capsys.readouterr().err


def test_a_line_beyond_the_positions_is_told(monkeypatch, capsys) -> None:
    assert talk(monkeypatch, b"1" * 300 + b"\n7*8=\n") == 0
    found = capsys.readouterr()
    assert len(found.out.splitlines()) == 1
    assert found.err == (
        "evenodds: the text has 300 tokens, the policy sees 256. What was said is forgotten: "
        "give a shorter line.\n"
    )


def test_an_answer_ends_with_the_positions(monkeypatch, capsys) -> None:
    assert talk(monkeypatch, b"1" * 255 + b"\n") == 0
    assert "ends after 1 tokens" in capsys.readouterr().err


def test_the_help_promises_no_right_answer(capsys) -> None:
    with pytest.raises(SystemExit):
        main(["chat", "--help"])
    assert "often wrong" in capsys.readouterr().out

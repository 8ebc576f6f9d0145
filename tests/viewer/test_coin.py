"""A run whose rewards a coin drew: no page calls an answer right that only the coin paid."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from evenodds.cli import main
from evenodds.viewer.data import Source
from evenodds.viewer.group_page import group_page
from evenodds.viewer.groups_page import groups_page
from evenodds.viewer.loading import torch_is_loaded
from evenodds.viewer.overview_page import overview_page
from evenodds.viewer.pages import Place
from evenodds.viewer.text_pages import overview_lines
from tests.viewer.folder import write_run


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Path:
    run = write_run(tmp_path_factory.mktemp("runs") / "demo")
    config = run / "config.toml"
    config.write_text(config.read_text().replace("[run]", "[run]\nrandom_reward = true"))
    return run


def text_of(page: str | None) -> str:
    assert page is not None
    return " ".join(re.sub(r"<[^>]*>", " ", page).split())


def test_the_page_of_a_group_says_what_the_coin_paid(run) -> None:
    assert torch_is_loaded(60)
    place = Place(Source(run))
    text = text_of(group_page(place, 2, 2, {}))
    assert "paid by a coin 3 of 7 judged, 8 drawn" in text
    assert "It taught chance: 3 of 7 paid by a coin" in text
    assert "● paid by a coin" in text and "○ not paid, by a coin" in text and "? timeout" in text
    for wrong in ("✓", "✗", "It taught:", "⚠", "7 right"):
        assert wrong not in text
    assert "all paid alike by a coin" in text_of(group_page(place, 2, 0, {}))


def test_lists_say_it(run) -> None:
    place = Place(Source(run))
    text = text_of(groups_page(place, {}))
    assert "Paid by a coin" in text and "none paid" in text
    assert "all wrong" not in text and "all right" not in text
    found = text_of(overview_page(place))
    tiles, _, latest = found.partition("Latest groups")
    tiles = tiles.partition("Means of the last ten steps")[0]
    assert "Share paid" in tiles and "Solve rate" not in tiles
    assert "Paid by a coin" in latest and "all wrong" not in latest


def test_the_terminal_says_it(run, capsys) -> None:
    text = "\n".join(overview_lines(Source(run)))
    assert "paid by a coin" in text and not re.search(r"\d of \d right|all wrong|solved", text)
    assert max(map(len, text.splitlines()[:-1])) <= 100
    assert main(["inspect", str(run), "--text", "--group", "2/2"]) == 0
    shown = capsys.readouterr().out
    assert "3 of 8 paid by a coin" in shown and "● answer" in shown
    assert "✓" not in shown and "✗" not in shown and " right ·" not in shown

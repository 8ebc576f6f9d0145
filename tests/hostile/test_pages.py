"""Two hundred and fifty payloads in every text of a run: no page is built of anything more."""

from __future__ import annotations

import itertools
import random
from pathlib import Path

import pytest

from tests.hostile.pages import ALL, MORE
from tests.hostile.reading import added, pages_of, parts_of
from tests.viewer.folder import plain

TRIED = random.Random(7).sample(ALL, 5)


@pytest.fixture(scope="module")
def ordinary(tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[str]]:
    """What pages of plain texts are built of, short ones and long ones."""
    root, long = tmp_path_factory.mktemp("plain"), "a long plain text\n\n" * 200
    found = pages_of(root / "short", plain, "plain text")
    more = pages_of(root / "long", lambda _: long, long)
    return {name: found[name] | more[name] for name in found}


def test_what_is_active_is_seen() -> None:
    """The test can fail."""
    assert parts_of("<p>a<img src=x onerror=go></p>") - parts_of("<p>a</p>")
    assert parts_of("<a href=javascript:go>x</a>") - parts_of("<a href=x>x</a>")
    assert parts_of("<p>a<!-- b --></p>") - parts_of("<p>a</p>")
    assert parts_of("<p style='background:url(x)'>") - parts_of("<p style='color: red'>")


def test_every_payload_somewhere(tmp_path: Path, ordinary: dict[str, set[str]]) -> None:
    texts = itertools.cycle(ALL)
    assert added(tmp_path, ordinary, lambda _: next(texts), ALL[0]) == []


@pytest.mark.parametrize("number", range(len(TRIED)))
def test_a_payload_everywhere(tmp_path: Path, ordinary: dict[str, set[str]], number: int) -> None:
    """Five of them, drawn by chance; benchmarks/durability.py has all."""
    text = TRIED[number]
    assert added(tmp_path, ordinary, lambda _: text, text) == []


def test_the_new_ones_in_a_page_and_a_card(tmp_path: Path, ordinary: dict[str, set[str]]) -> None:
    text = "\n\n".join(one for one in MORE if len(one) < 1000)
    assert added(tmp_path, ordinary, lambda _: text, text) == []


def test_the_report_lets_nothing_run(tmp_path: Path) -> None:
    from evenodds.report.files import write_page
    from tests.viewer.folder import write_run

    page = write_page(write_run(tmp_path / "run")).read_text(encoding="utf-8")
    rule = page.index("Content-Security-Policy")
    assert "default-src 'none'" in page[rule : rule + 100]
    assert rule < page.index("<style") and "<script" not in page

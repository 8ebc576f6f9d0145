"""The overview and one group for a terminal: narrow, safe, and quick to read."""

from __future__ import annotations

import pytest

from evenodds.report.text import HIDDEN, KEPT
from evenodds.viewer.data import Source
from evenodds.viewer.filters import PLAIN, chosen
from evenodds.viewer.table import KINDS
from evenodds.viewer.text_pages import group_lines, overview_lines, worth_a_look
from tests.hostile.pages import PAYLOADS
from tests.viewer.folder import STEPS, write_run


def is_plain(text: str) -> bool:
    import unicodedata

    return all(
        unicodedata.category(c) not in HIDDEN or (c in KEPT and c not in "\n\t") for c in text
    )


@pytest.fixture(scope="module")
def source(tmp_path_factory) -> Source:
    return Source(write_run(tmp_path_factory.mktemp("runs") / "mine"))


def test_the_overview_has_every_part_in_a_hundred_columns(source) -> None:
    lines = list(overview_lines(source))
    text = "\n".join(lines)
    assert max(map(len, lines[:-1])) <= 100  # the last one names the folder
    assert lines[0].startswith(f"mine   finished · step {STEPS} of {STEPS}")
    for part in ("HELD-OUT", "OVER 3 STEPS", "ALARMS: 1", "GROUPS WORTH A LOOK"):
        assert part in text
    assert "entropy falling, ended the run. entropy fell" in text
    assert "most disagreement" in text
    assert "--text --group" in lines[-1]


@pytest.mark.parametrize("width", [60, 100, 140])
def test_a_width_is_kept_whatever_the_run_says(tmp_path, width) -> None:
    payload = "\x1b]0;x\x07\u202e" + PAYLOADS[0] + "\r\n" + "long " * 300
    run = write_run(tmp_path / "mine", lambda name: payload.replace("\n", " ")[:400])
    source = Source(run)
    lines = list(overview_lines(source, width))
    lines += group_lines(source.group(1, 1), width)
    assert all(map(is_plain, lines))
    assert max(len(line) for line in lines if "evenodds inspect" not in line) <= width


def test_a_young_run_has_a_short_overview(tmp_path) -> None:
    (tmp_path / "config.toml").write_text("")
    lines = list(overview_lines(Source(tmp_path)))
    assert lines[0].endswith("stopped · no step yet")
    assert len(lines) < 4


def test_an_older_run_is_counted_first(tmp_path) -> None:
    run = write_run(tmp_path / "mine")
    (run / "groups.jsonl").unlink()
    assert "GROUPS WORTH A LOOK" in "\n".join(overview_lines(Source(run)))


def test_groups_worth_a_look_are_few_and_none_twice(source) -> None:
    groups = source.groups()
    found = worth_a_look(groups)
    places = [place for _, place in found]
    assert len(set(places)) == len(places) <= 10
    why = dict(found)
    most = chosen(groups, type(PLAIN)(sort="disagree"))[0]
    assert groups["disagree"][why["most disagreement"]] == groups["disagree"][most]
    assert KINDS[groups.kind()[why["newest mixed"]]] == "mixed"
    assert worth_a_look(Source(source.folder / "nothing").groups()) == []


def test_one_group_says_what_was_paid_and_why(source) -> None:
    rows = source.group(2, 1)
    text = "\n".join(group_lines(rows))
    assert "step 2, group 1" in text
    assert "expected: 102" in text
    assert text.count("answer ") >= len(rows)
    assert "  │ 17*6=" in text
    assert "✓ answer 2 · right · reward 1 · advantage 0.7 · read as 102" in text
    assert "not in the loss" in text

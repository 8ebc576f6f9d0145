"""CONTRIBUTING.md says where a new thing goes; what it names is there."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
NAMED = re.compile(r"`([A-Za-z_./*<>-]+)`|(docs/[a-z-]+\.md)")


def test_every_place_in_the_table_exists() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    table = [line for line in text.splitlines() if line.startswith("| ")]
    names = {one or other for one, other in NAMED.findall("\n".join(table))}
    places = [name for name in names if "/" in name]
    assert len(places) > 25
    for name in places:
        pattern = name.replace("<kind>", "*").rstrip("/")
        found = [*ROOT.glob(pattern), *(ROOT / "src" / "evenodds").glob(pattern)]
        assert found, name


PLACE = re.compile(r"[`(\s]((?:tests|benchmarks|docs|scripts|recipes|examples)/[\w./*-]*\w)")
HISTORY = {"decisions.md", "performance-log.md", "CHANGELOG.md"}  # they may name what is gone


def test_every_place_that_the_docs_name_exists() -> None:
    texts = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")]
    named = {
        (path.name, place)
        for path in texts
        if path.name not in HISTORY
        for place in PLACE.findall(path.read_text(encoding="utf-8"))
    }
    assert len(named) > 100
    assert [(page, place) for page, place in sorted(named) if not [*ROOT.glob(place)]] == []


def test_every_cause_of_a_flat_reward_has_its_row() -> None:
    text = (ROOT / "src/evenodds/alarms/causes.py").read_text(encoding="utf-8")
    causes = [*re.findall(r'Finding\("([^"]+)"', text), "too easy", "reward at its ceiling"]
    table = (ROOT / "docs/why-flat.md").read_text(encoding="utf-8")
    assert len(causes) > 12
    assert not [cause for cause in causes if cause not in table]

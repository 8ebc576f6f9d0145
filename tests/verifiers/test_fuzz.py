"""Random texts against every inline verifier: no exception, no odd score, none that takes long.

EVENODDS_FUZZ=1000000 makes it the whole of it: so many grammar texts, a fiftieth from Hypothesis.
"""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evenodds.bench.fuzz import GOLDS, fuzz, fuzz_texts, fuzzed_kinds
from evenodds.verifiers import KINDS

TEXTS = int(os.environ.get("EVENODDS_FUZZ", "10000"))
EXAMPLES = max(1_000, TEXTS // 50)
SHARE = 1 if "EVENODDS_FUZZ" in os.environ else 5  # all kinds together: a few seconds
pytestmark = pytest.mark.timeout(60 if SHARE > 1 else 7_200)


def test_every_inline_kind_is_fuzzed() -> None:
    inline = {name for name, kind in KINDS.items() if kind.runs == "inline"}
    assert set(fuzzed_kinds()) == inline


def test_the_same_seed_makes_the_same_texts() -> None:
    one, two, other = (list(fuzz_texts(s, 50, ["42"])) for s in (0, 0, 1))
    assert one == two != other
    assert any("42" in text for _, text in one)


@pytest.mark.parametrize("kind", fuzzed_kinds())
def test_grammar_texts(kind: str) -> None:
    count = TEXTS if kind == "number" else max(2_000, TEXTS // SHARE)
    found = fuzz(kind, fuzz_texts(0, count, GOLDS[kind][1]))
    assert found.faults == []
    assert 0 < found.paid < found.texts == count


@pytest.mark.parametrize("kind", fuzzed_kinds())
def test_any_text(kind: str) -> None:
    count = EXAMPLES if kind == "number" else max(200, EXAMPLES // SHARE)
    anything = st.text(st.characters(exclude_categories=()), max_size=300)
    likely = st.text("0123456789 .,-+/*^_={}[]()\\$%#<>abcdefnoswrtikx\n\u202e\u200b\ud800")

    @settings(
        max_examples=count,
        deadline=None,
        database=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    @given(st.one_of(anything, likely))
    def judged(text: str) -> None:
        assert fuzz(kind, [(0, text)]).faults == []

    judged()

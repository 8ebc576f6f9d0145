"""Tokens become readable text: half characters, blanks, control characters, unknown ids."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evenodds.viewer.marks import FIRST, LAST, marked
from evenodds.viewer.pieces import (
    Vocabulary,
    byte_alphabet,
    find_tokenizer,
    numbered,
    pieces,
    read_vocabulary,
)
from evenodds.viewer.tokens import numbers_of
from tests.viewer.recorded import make_answer


@pytest.mark.parametrize(
    ("tokens", "shown"),
    [
        ([b"plain", b" text"], ["plain", " text"]),
        ([b"\xf0\x9f", b"\x98", b"\x80!"], ["⟨F0 9F⟩", "⟨98⟩", "😀!"]),
        ([b"a\xe2\x82", b"\xacb"], ["a⟨E2 82⟩", "€b"]),
        ([b"ab\xff", b"c"], ["ab⟨FF⟩", "c"]),
        ([b"\xf0\x9f", b"x"], ["⟨F0 9F⟩", "x"]),
        ([b"end\xe2"], ["end⟨E2⟩"]),
        ([b"", b"\xe2", b"", b"\x82\xac"], ["", "⟨E2⟩", "", "€"]),
        ([b"\xed\xa0\x80"], ["⟨ED A0 80⟩"]),
        ([], []),
    ],
)
def test_bytes_become_text(tokens: list[bytes], shown: list[str]) -> None:
    assert pieces(tokens) == shown


def test_no_byte_is_lost_or_told_twice() -> None:
    text = "aé€😀—" * 3
    whole = text.encode()
    for cut in range(len(whole)):
        first, second = pieces([whole[:cut], whole[cut:]])
        told = (first + second).replace("⟩", "⟨").split("⟨")
        assert "".join(told[::2]) == text  # what is no escape is the text itself
        assert len(told) <= 3


class Words:
    """A tokenizer of a few pieces."""

    def __init__(self, *words: str) -> None:
        self.words = words

    def id_to_token(self, number: int) -> str | None:
        return self.words[number] if number < len(self.words) else None


def test_each_alphabet_is_read() -> None:
    byte_level = Vocabulary(Words("Ġthe", "Ċ", "Ã", "©"), True, False, {9: "<|end|>"})
    assert byte_level.texts([0, 1, 2, 3, 9, 77]) == [" the", "\n", "⟨C3⟩", "é", "<|end|>", "⟨#77⟩"]
    fallback = Vocabulary(Words("▁the", "<0xC3>", "<0xA9>", "<0xzz>"), False, True)
    assert fallback.texts([0, 1, 2, 3]) == [" the", "⟨C3⟩", "é", "<0xzz>"]
    assert len(byte_alphabet()) == len(set(byte_alphabet().values())) == 256
    assert numbered([5, 12]) == ["5 ", "12 "]
    assert fallback.texts([-1, 1 << 40]) == ["⟨#-1⟩", f"⟨#{1 << 40}⟩"]


def test_the_bundled_tokenizer_is_found_and_read(tmp_path: Path) -> None:
    path = find_tokenizer(tmp_path, "abacus")
    vocabulary = path and read_vocabulary(path)
    assert vocabulary is not None
    assert vocabulary.texts([16, 7, 2, 1]) == ["<", "5", "0", "<|end|>"]
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "tokenizer.json").write_text(json.dumps({"model": 3}))
    damaged = find_tokenizer(tmp_path, "abacus")
    assert damaged == tmp_path / "model" / "tokenizer.json"
    assert read_vocabulary(damaged) is None
    assert find_tokenizer(tmp_path / "none", "\0" * 9000) is None


def test_markup_shows_blanks_and_escapes_everything() -> None:
    answer = make_answer(1.0, 6)
    texts = ["<b>", " a\n", "\t", "\u202e\x1b", "", '"&']
    found = marked(texts, ["l1"] * 6, numbers_of(answer, None), whole=False)
    assert str(found.first) == (
        '<span class="l1">&lt;b&gt;</span><span class="l1"><i> </i>a<b>⏎</b>\n</span>'
        '<span class="l1"><b>→</b>\t</span><span class="l1">⟨U+202E⟩␛</span>'
        '<span class="l1"><b>∅</b></span><span class="l1">&quot;&amp;</span>'
    )
    numbers = json.loads(found.numbers)
    assert [len(numbers[name]) for name in ("logprob", "learner", "entropy")] == [6, 6, 6]
    assert "weight" not in numbers


def test_a_long_answer_shows_its_beginning_and_its_end() -> None:
    size = FIRST + LAST + 5
    answer = make_answer(1.0, size)
    texts, classes = [f"{n} " for n in range(size)], ["l0"] * size
    found = marked(texts, classes, numbers_of(answer, None), whole=False)
    assert (found.first.count("<span"), found.last.count("<span"), found.between) == (400, 200, 5)
    assert found.hidden == "400 401 402 403 404 "
    assert len(json.loads(found.numbers)["logprob"]) == FIRST + LAST
    whole = marked(texts, classes, numbers_of(answer, None), whole=True)
    assert (whole.first.count("<span"), str(whole.last), whole.between) == (size, "", 0)

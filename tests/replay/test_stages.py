"""Verifiers watched at work."""

from __future__ import annotations

import sys
import time

from evenodds.domain import Completion, Problem, Status, Verdict
from evenodds.replay.stages import LONGEST, MOST, Stage, Watched, shown, watched
from evenodds.replay.told import stages
from evenodds.verifiers import as_verifier, find_verifier

PROBLEM = Problem("k", "6*7=", "42", "t")
OWN = """
def looked_at(text):
    return text.split("#")[-1]

def judge(problem, text):
    found = looked_at(text)
    return found == problem.answer

class Fine:
    def __repr__(self):
        raise RuntimeError

def odd(problem, text):
    given(Fine(), [text] * 9)
    raise ValueError(text)

def given(fine, texts):
    return fine

def slow(problem, text):
    while True:
        try:
            sum(range(1000))
        except Exception:
            pass

def deep(problem, text):
    return down(99)

def down(at):
    return at and down(at - 1)

def wide(problem, text):
    return len([looked_at(text) for _ in range(200)])
"""


def asked(verifier, text: str, seconds: float = 5.0):
    return watched(verifier, PROBLEM, [Completion(text)], [[1]], 0, seconds)


def own(tmp_path, name: str):
    file = tmp_path / "mine.py"
    file.write_text(OWN)
    return find_verifier(f"{file}:{name}")


def test_a_function_that_only_says_no_is_shown_with_what_it_was_asked() -> None:
    said = Stage(0, "grade", "mine.py", {"text": "'#41'"}, "False")
    assert stages(Watched(Verdict(0.0, Status.WRONG), (said,), 0)) == ["grade('#41') → False"]


def test_a_verifier_of_the_house_shows_what_was_looked_at_and_how_it_was_compared() -> None:
    fresh = Problem("k", "", "421773", "t")  # golds are cached, and no test asked for this one
    found = watched(find_verifier("number"), fresh, [Completion("so #41")], [[1]], 0, 5.0)
    assert found.verdict.status is Status.WRONG
    lines = stages(found)
    assert lines[0].startswith("number() → Verdict(score=0.0, status=wrong, extracted='41'")
    assert any(line.startswith("  read_gold('421773') → Value(number=421773)") for line in lines)
    assert any("nothing by boxes" in line for line in lines)
    assert "not shown" in lines[-1] and len(stages(found, deep=True)) > len(lines)


def test_ones_own_function_is_watched_in_its_own_file(tmp_path) -> None:
    found = asked(own(tmp_path, "judge"), "6*7#42")
    assert found.verdict.status is Status.RIGHT
    assert [(one.depth, one.name, one.found) for one in found.stages] == [
        (0, "judge", "True"),
        (1, "looked_at", "'42'"),
    ]
    assert sys.getprofile() is None


def test_what_raises_or_cannot_be_shown_ends_nothing(tmp_path) -> None:
    found = asked(own(tmp_path, "odd"), "\x1b[31m")
    assert found.verdict.status is Status.ERROR and "ValueError" in found.verdict.note
    given = found.stages[1].given
    assert given["fine"].startswith("<Fine instance") and given["texts"].endswith("…]")
    assert not any("\x1b" in line for line in stages(found))


def test_what_hangs_is_stopped(tmp_path) -> None:
    began = time.monotonic()
    found = asked(own(tmp_path, "slow"), "", seconds=0.1)
    assert found.verdict.status is Status.TIMEOUT and time.monotonic() - began < 5
    assert sys.getprofile() is None


def test_stages_are_bounded(tmp_path) -> None:
    deep, wide = (asked(own(tmp_path, name), "#1") for name in ("deep", "wide"))
    assert (len(deep.stages), deep.left_out) == (6, 95)
    assert (len(wide.stages), wide.left_out) == (MOST, 201 - MOST)


def test_a_function_that_takes_a_group_gets_all_of_it() -> None:
    def reward(prompts, completions, **columns):
        return [float(len(set(completions)) == 2) for _ in completions]

    completions = [Completion("1"), Completion("2")]
    found = watched(as_verifier(reward), PROBLEM, completions, [[1], [2]], 1, 5.0)
    assert found.verdict.score == 1.0 and found.stages[0].name == "reward"


def test_values_are_short() -> None:
    assert shown("a" * 999) == "'" + "a" * (LONGEST - 2) + "…"
    assert shown((1.5, None, "x")) == "(1.5, None, 'x')"
    assert len(shown({str(at): at for at in range(999)})) <= LONGEST
    assert shown([[[["deep"]]]]) == "[[[[…]]]]"
    assert shown(Completion("x")) == "Completion(text='x')"

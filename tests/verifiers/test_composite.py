"""The composite verifier: what it adds up, what it refuses, and the forms it can pay for."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenodds.domain import Completion, Problem, Prompt, Status, Stop, Verdict
from evenodds.errors import UsageError
from evenodds.verifiers import RegisteredVerifier, find_verifier
from evenodds.verifiers.composite import Part, Policy, composite
from evenodds.verifiers.formats import FORMATS, Format
from tests.verifiers.hostile import SMALL, slowest

TABLE = """
[[parts]]
verifier = "number"
weight = 0.9
policy = {percent = "ratio"}

[[parts]]
format = "box"
weight = 0.1
"""
BOXED = Policy((Part(0.9, verifier="number"), Part(0.1, format="box")))
ASKED = "What is 6 · 7? Put it into \\boxed{}."


def judged(
    text: str,
    policy: Policy = BOXED,
    prompt: Prompt = ASKED,
    gold: str = "42",
    columns: dict[str, object] | None = None,
    completion: Completion | None = None,
) -> Verdict:
    problem = Problem("key", prompt, gold, "task", columns=columns or {})
    return composite(problem, completion or Completion(text), policy)


@pytest.mark.parametrize(
    ("text", "score", "status"),
    [
        ("\\boxed{42}", 1.0, Status.RIGHT),
        ("It is 42", 0.9, Status.RIGHT),
        ("\\boxed{41}", 0.1, Status.WRONG),
        ("\\boxed{}", 0.0, Status.NO_ANSWER),
        ("\\boxed{41} or \\boxed{42}", 0.0, Status.SEVERAL_ANSWERS),
        ("41", 0.0, Status.WRONG),
        ("<think>\\boxed{42}</think>", 0.0, Status.NO_ANSWER),
    ],
)
def test_weights_are_summed_and_the_main_part_says_what_is_right(
    text: str, score: float, status: Status
) -> None:
    verdict = judged(text)
    assert (verdict.score, verdict.status) == (score, status), verdict
    assert set(verdict.parts) == {"number", "box"}


def test_the_table_comes_from_toml_and_goes_back() -> None:
    verifier = find_verifier("composite", tomllib.loads(TABLE))
    assert isinstance(verifier, RegisteredVerifier)
    assert find_verifier("composite", verifier.table) == verifier
    assert hash(verifier.policy)
    problem = Problem("key", ASKED, "0.5", "task")
    assert verifier(problem, Completion("\\boxed{50%}")).score == 1.0


def test_a_form_that_the_prompt_does_not_ask_for_is_not_judged() -> None:
    verdict = judged("\\boxed{42}", prompt="What is 6 · 7?")
    assert (verdict.score, verdict.status) == (0.0, Status.ERROR)
    assert "does not ask" in verdict.note
    chat: Prompt = ({"role": "system", "content": ASKED}, {"role": "user", "content": "6 · 7?"})
    assert judged("\\boxed{42}", prompt=chat).score == 1.0
    free = Policy((Part(0.9, verifier="number"), Part(0.1, format="box", asked=False)))
    assert judged("\\boxed{42}", free, prompt="What is 6 · 7?").score == 1.0


def test_a_part_that_could_not_be_judged_makes_the_whole_not_judged() -> None:
    assert judged("\\boxed{42}", gold="see figure").status is Status.GOLD_UNREADABLE
    two = Policy((Part(0.5, verifier="number"), Part(0.5, verifier="regex", column="shape")))
    assert judged("42", two, columns={"shape": "\\d+"}).score == 1.0
    assert judged("42", two, columns={"shape": "("}).status is Status.GOLD_UNREADABLE
    verdict = judged("42", two)
    assert (verdict.score, verdict.status) == (0.0, Status.GOLD_UNREADABLE)
    assert verdict.parts == {"number": 1.0}


def test_a_column_may_hold_the_gold_as_a_table() -> None:
    policy = Policy((Part(0.5, verifier="number"), Part(0.5, verifier="json", column="rules")))
    columns: dict[str, object] = {"rules": {"schema": {"type": "integer"}}}
    assert judged("42", policy, columns=columns).score == 1.0


def test_a_function_of_ones_own_may_be_a_part(tmp_path: Path) -> None:
    file = tmp_path / "short.py"
    file.write_text("def short(problem, text):\n    return -1.0 if len(text) > 9 else 0.0\n")
    policy = Policy((Part(0.9, verifier="number"), Part(0.1, "short", verifier=f"{file}:short")))
    assert judged("42", policy).score == 0.9
    assert judged("that makes 42", policy).score == 0.8
    assert judged("that makes 42", policy).status is Status.RIGHT


def test_no_parts_are_an_error() -> None:
    assert judged("42", Policy()).status is Status.ERROR


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ([{"format": "box", "weight": 1}], "not paid"),
        ([{"verifier": "number", "weight": 0.5}, {"format": "box", "weight": 0.5}], "less than"),
        ([{"verifier": "number", "weight": 0.5}], "sum to 1"),
        ([{"verifier": "number", "weight": float("nan")}], "above 0"),
        ([{"verifier": "number", "weight": 2}, {"verifier": "text", "weight": -1}], "above 0"),
        ([{"verifier": "number", "weight": 0.5}] * 2, "name of its own"),
        ([{"verifier": "composite", "weight": 1}], "no part"),
        ([{"verifier": "number", "format": "box", "weight": 1}], "either"),
        ([{"weight": 1}], "either"),
        ([{"verifier": "numbr", "weight": 1}], "Did you mean 'number'"),
        ([{"verifier": "number", "weight": 1, "policy": {"percnt": "unit"}}], "percent"),
        ([{"verifier": "number", "weight": 1, "wieght": 1}], "unexpected"),
        ([{"verifier": "number", "weight": 0.9}, {"format": "boxes", "weight": 0.1}], "'box'"),
        (
            [{"verifier": "text", "weight": 0.9}, {"format": "box", "weight": 0.1, "column": "a"}],
            "n",
        ),
    ],
)
def test_parts_that_are_refused(parts: list[dict[str, object]], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        find_verifier("composite", {"parts": parts})


FORMS: list[tuple[Format, str, str, bool]] = [
    ("think", "<think>so</think>42", "", True),
    ("think", " <think>so</think>\n42", "", True),
    ("think", "so</think>42", "<think>\n", True),
    ("think", "<think>so</think>42", "<think>\n", False),
    ("think", "so</think>42", "", False),
    ("think", "42", "", False),
    ("think", "<think>so", "", False),
    ("think", "<think></think>42", "", False),
    ("think", "<think>so</think>", "", False),
    ("think", "<think>so</think>  ", "", False),
    ("think", "Hm <think>so</think>42", "", False),
    ("think", "<think>a</think><think>b</think>42", "", False),
    ("think", "<think><think>a</think></think>42", "", False),
    ("think", "</think>so<think>42", "", False),
    ("answer tags", "so <answer>42</answer>", "", True),
    ("answer tags", "<think><answer>1</answer></think><answer>42</answer>\n", "", True),
    ("answer tags", "<answer>42", "", False),
    ("answer tags", "<answer> </answer>", "", False),
    ("answer tags", "<answer>1</answer><answer>42</answer>", "", False),
    ("answer tags", "<answer>42</answer> and more", "", False),
    ("answer tags", "<think><answer>42</answer>", "", False),
    ("box", "\\boxed{42}", "", True),
    ("box", "\\boxed{42}, that is \\boxed{42}", "", True),
    ("box", "\\boxed{41} \\boxed{42}", "", False),
    ("box", "\\boxed{}", "", False),
    ("box", "\\boxed{42", "", False),
    ("box", "<think>\\boxed{42}</think>", "", False),
]


@pytest.mark.parametrize(("name", "text", "tail", "is_kept"), FORMS)
def test_forms(name: Format, text: str, tail: str, is_kept: bool) -> None:
    fault = FORMATS[name].fault(Completion(text, prompt_tail=tail))
    assert (fault is None) == is_kept, fault


def test_an_opened_think_tag_asks_for_its_end() -> None:
    policy = Policy((Part(0.9, verifier="number"), Part(0.1, format="think")))
    completion = Completion("so</think>42", prompt_tail="<think>\n")
    assert judged("", policy, completion=completion).score == 1.0
    assert judged("42", policy).status is Status.ERROR


@pytest.mark.parametrize("text", SMALL)
@pytest.mark.parametrize("name", FORMATS)
def test_hostile_texts(text: str, name: Format) -> None:
    policy = Policy((Part(0.9, verifier="number"), Part(0.1, format=name, asked=False)))
    assert judged(text, policy).score <= 0.1


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    st.lists(st.sampled_from([*SMALL, "\\boxed{42}", "42"]) | st.text(max_size=20)),
    st.sampled_from(list(Stop)),
)
def test_any_text_gives_a_verdict(pieces: list[str], stop: Stop) -> None:
    verdict = judged("", completion=Completion("".join(pieces), stop))
    assert verdict.score in (0.0, 0.1, 0.9, 1.0)


def test_its_time_is_linear_in_the_text() -> None:
    problem = Problem("key", ASKED, "42", "task")
    three = Policy(
        (
            Part(0.7, verifier="number"),
            Part(0.1, format="box"),
            Part(0.1, format="think", asked=False),
            Part(0.1, format="answer tags", asked=False),
        )
    )
    assert slowest(lambda p, c: composite(p, c, three), problem, 1_000_000) < 2

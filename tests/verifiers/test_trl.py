"""Reward functions written for TRL run as they are; so do those that TRL itself brings."""

from __future__ import annotations

import asyncio
import functools
import importlib.util
from collections.abc import Callable
from typing import Any

import pytest

from evenodds.domain import Completion, Problem, Status, Stop, Verdict
from evenodds.verifiers import find_verifier
from evenodds.verifiers.function import group_of, wrap
from evenodds.verifiers.trl import is_trl

CHAT = ({"role": "user", "content": "6*7="},)
ROW = {"level": 3, "tests": ["a", "b"]}
ANSWERS = [Completion("42"), Completion("41"), Completion("42", Stop.BUDGET)]


def asked(function: Callable[..., Any], prompt: Any = "6*7=", ids: Any = None) -> list[Verdict]:
    group = group_of(wrap(function))
    assert group is not None
    return group(Problem("k", prompt, "42", "t", columns=ROW), ANSWERS, ids)


def with_all(
    prompts: Any,
    completions: Any,
    completion_ids: Any,
    level: Any,
    tests: Any,
    answer: Any,
    solution: Any,
    trainer_state: Any,
    log_extra: Any,
    log_metric: Any,
) -> list[float]:
    assert prompts == ["6*7="] * 3 and completions == ["42", "41", "42"]
    assert completion_ids == [[1], [2], [3]]
    assert (level, tests) == ([3] * 3, [["a", "b"]] * 3)
    assert answer == solution == ["42"] * 3
    log_metric("mean", 0.5)
    log_extra("seen", completions)
    return [float(text == gold) for text, gold in zip(completions, answer, strict=True)]


def by_keywords(**kwargs: Any) -> list[float | None]:
    assert {"prompts", "completions", "trainer_state", "level", "answer"} <= kwargs.keys()
    return [1.0 if text == "42" else None for text in kwargs["completions"]]


async def asynchronous(completions: Any, **kwargs: Any) -> list[float]:
    await asyncio.sleep(0)
    return [float(text == "42") for text in completions]


class AsClass:
    def __call__(self, completions: Any, answer: Any) -> tuple[float, ...]:
        return tuple(float(text in answer) for text in completions)


def of_chats(prompts: Any, completions: Any, **kwargs: Any) -> list[float]:
    assert prompts == [[dict(CHAT[0])]] * 3
    assert [one[0]["role"] for one in completions] == ["assistant"] * 3
    prompts[0][0]["content"] = "changed"
    return [float(one[0]["content"] == "42") for one in completions]


@pytest.mark.parametrize(
    ("function", "is_theirs"),
    [
        (with_all, True),
        (by_keywords, True),
        (asynchronous, True),
        (AsClass(), True),
        (functools.partial(by_keywords, weight=2), True),
        (lambda problem, text: 1, False),
        (lambda p, t: 1, False),
        (lambda problem, completions: 1, False),
        (lambda *arguments: 1, False),
        (lambda problem, text, **more: 1, False),
        (max, False),
        (dict, False),
    ],
)
def test_they_are_known_by_their_parameters(function: Any, is_theirs: bool) -> None:
    assert is_trl(function) is is_theirs


@pytest.mark.parametrize("function", [with_all, asynchronous, AsClass()])
def test_a_group_is_one_call_with_what_trl_would_give(function: Any) -> None:
    verdicts = asked(function, ids=[[1], [2], [3]])
    assert [v.score for v in verdicts] == [1.0, 0.0, 1.0]
    assert [v.status for v in verdicts] == [Status.RIGHT, Status.WRONG, Status.TRUNCATED]
    if function is with_all:
        assert verdicts[1].note == "judged by a function; seen: 41"


def test_a_chat_gets_messages_and_cannot_change_them() -> None:
    assert [v.score for v in asked(of_chats, CHAT)] == [1.0, 0.0, 1.0]
    assert CHAT[0]["content"] == "6*7="


def test_none_could_not_be_judged() -> None:
    verdicts = asked(by_keywords)
    assert [v.is_judged for v in verdicts] == [True, False, True]
    assert verdicts[1].status is Status.ERROR and "None" in verdicts[1].note


def fails(completions: Any, **kwargs: Any) -> list[float]:
    raise SystemExit(3)


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (fails, "SystemExit: 3"),
        (lambda completions: [1.0], "returned 1 rewards for 3"),
        (lambda completions: 1.0, "returned a float, not a list"),
        (lambda completions: None, "returned a NoneType, not a list"),
        (lambda completions, ground_truth: [], "wants 'ground_truth', which is not there"),
        (lambda completions, trainer_state: [trainer_state.global_step], "may not depend on"),
        (lambda completions: ["1", float("nan"), [1]], "not a finite number"),
    ],
)
def test_what_goes_wrong_is_an_error_of_one_line_for_each(function: Any, words: str) -> None:
    verdicts = asked(function)
    assert [v.status for v in verdicts] == [Status.ERROR] * 3
    assert all(words in v.note and "\n" not in v.note for v in verdicts)


def test_answers_without_tokens_have_their_bytes_and_say_so() -> None:
    def lengths(completions: Any, completion_ids: Any) -> list[float]:
        return [float(len(ids)) for ids in completion_ids]

    assert [v.score for v in asked(lengths, ids=[[1], [2, 3], []])] == [1.0, 2.0, 0.0]
    verdicts = asked(lengths)
    assert [v.score for v in verdicts] == [2.0] * 3
    assert verdicts[0].note.endswith("completion_ids: bytes, for there are no tokens here")


def test_one_answer_is_a_group_of_one() -> None:
    verifier = wrap(by_keywords)
    assert verifier(Problem("k", "p", "42", "t", columns=ROW), Completion("42")).score == 1.0


@pytest.mark.skipif(importlib.util.find_spec("trl") is None, reason="needs TRL")
@pytest.mark.filterwarnings("ignore")
def test_trls_own_rewards_run_unchanged() -> None:
    texts = ["<think>a</think>\\boxed{\\frac{1}{2}}", "\\boxed{3}", "<think>b</think> \\boxed{0.5}"]
    problem = Problem("k", CHAT, "\\frac{1}{2}", "t")
    for name, expected in [
        ("trl.rewards:think_format_reward", [1.0, 0.0, 1.0]),
        ("trl.rewards:accuracy_reward", [1.0, 0.0, 1.0]),
    ]:
        if name.endswith("accuracy_reward") and importlib.util.find_spec("math_verify") is None:
            continue
        group = group_of(find_verifier(name))
        assert group is not None
        verdicts = group(problem, [Completion(text) for text in texts], [[1], [2], [3]])
        assert [v.score for v in verdicts] == expected, [v.note for v in verdicts]

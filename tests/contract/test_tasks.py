"""What every task promises, at every level and in every prompt style."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from evenodds.domain import Completion, Problem, Status
from evenodds.judge import judge_rows
from evenodds.tasks import STYLES, TASKS, Task, check_gold, make_task
from evenodds.tasks.mutate import wrong_answers
from evenodds.verifiers import RegisteredVerifier

DRAWS = 2_000


@pytest.fixture(params=sorted(TASKS))
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=STYLES)
def style(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def _write(path: Path, rows: list[dict[str, object]]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


FILES: dict[str, Callable[[int], dict[str, object]]] = {
    "data": lambda n: {"prompt": f"{n}+1=", "answer": n + 1, "level": n % 3, "id": n},
    "gsm8k": lambda n: {"question": f"{n} and one?", "answer": f"{n}+1\n#### {n + 1:,}"},
    "math": lambda n: {
        "problem": f"Solve $x^2 = {n * n}$ for $x > 0$.",
        "solution": f"It is \\boxed{{{n}}} or \\boxed{{-{n}}}, so \\boxed{{{n}}}.",
        "level": f"Level {n % 5 + 1}",
    },
    "humaneval": lambda n: {
        "task_id": f"H/{n}",
        "prompt": f'def f{n}(x):\n    """x plus {n}."""\n',
        "entry_point": f"f{n}",
        "canonical_solution": f"    return x + {n}\n",
        "test": f"def check(candidate):\n    assert candidate(1) == {n + 1}\n",
    },
    "mbpp": lambda n: {
        "prompt": f"Write a function that adds {n}.",
        "code": f"def f(x):\n    return x + {n}",
        "test_imports": [],
        "test_list": [f"assert f(1) == {n + 1}", f"assert f(0) == {n}"],
    },
}
SLOW = ("humaneval", "json-extraction", "math", "mbpp")
"""Their verifiers start processes, or take milliseconds to read a gold."""


@pytest.fixture
def task(name: str, style: str, tmp_path: Path) -> Task:
    if name not in FILES:
        return make_task(name, style=style)
    rows = [FILES[name](n) for n in range(1, 40 if name in SLOW else 120)]
    return make_task(name, style=style, data=_write(tmp_path / "data.jsonl", rows))


def some(name: str, problems: Sequence[Problem]) -> Sequence[Problem]:
    return problems[:1] if name in SLOW else problems


def wrongs(task: Task, problem: Problem) -> tuple[str, ...]:
    assert isinstance(task.verifier, RegisteredVerifier)
    own = getattr(task, "wrong", None)
    return tuple(
        own(problem)
        if own
        else wrong_answers(task.verifier.kind.name, problem, task.solve(problem))
    )


def test_the_gold_is_right_and_a_mutated_one_is_not_paid(task: Task, name: str, style: str) -> None:
    if name in SLOW and style != "bare":
        return  # the verdict sees no prompt
    rng = np.random.default_rng(0)
    rows: list[tuple[Problem, str, bool]] = []
    for level in range(len(task.levels)):
        drawn = [task.generate(level, rng) for _ in range(20)]
        for problem in [*some(name, drawn), *some(name, task.held_out(level))]:
            assert (problem.level, problem.task) == (level, task.name)
            made = wrongs(task, problem)
            assert made
            rows += [(problem, task.solve(problem), True), *((problem, w, False) for w in made)]
    pairs = [(problem, Completion(said)) for problem, said, _ in rows]
    # untrusted code runs in workers only
    for row, verdict in zip(rows, judge_rows(task.verifier, pairs), strict=True):
        wanted = (1.0, Status.RIGHT) if row[2] else (0.0, verdict.status)
        assert (verdict.score, verdict.status) == wanted, (row, verdict)
        assert verdict.is_judged


def test_the_check_at_load_passes(task: Task, name: str) -> None:
    if name not in SLOW:
        found = check_gold(task, judge_rows=judge_rows)
        assert found.golds > 0
        assert found.wrong >= found.golds
        assert (found.unchecked, found.unreadable) == (0, 0)


def test_the_same_seed_gives_the_same_problems(task: Task) -> None:
    for level in range(len(task.levels)):
        first, second = (np.random.default_rng([7, level]) for _ in range(2))
        assert [task.generate(level, first) for _ in range(10)] == [
            task.generate(level, second) for _ in range(10)
        ]


def test_training_never_meets_a_held_out_problem(task: Task) -> None:
    held = {p.key for level in range(len(task.levels)) for p in task.held_out(level)}
    rng = np.random.default_rng(1)
    for level in range(len(task.levels)):
        drawn = {task.generate(level, rng).key for _ in range(DRAWS // len(task.levels) + 1)}
        assert not drawn & held


def test_held_out_keys_are_unique_and_name_their_task(task: Task) -> None:
    keys = [p.key for level in range(len(task.levels)) for p in task.held_out(level)]
    assert len(keys) == len(set(keys))
    assert all(key.startswith(f"{task.name}/") for key in keys)


def test_every_level_has_held_out_problems(task: Task) -> None:
    assert all(task.held_out(level) for level in range(len(task.levels)))


def test_the_prompt_has_the_shape_of_its_style(task: Task, style: str) -> None:
    prompt = task.generate(0, np.random.default_rng(0)).prompt
    if style == "chat":
        assert not isinstance(prompt, str)
        assert [message["role"] for message in prompt] == ["user"]
    else:
        assert isinstance(prompt, str)
        assert not any(prompt.endswith(stop) for stop in task.stop_strings)


def test_examples_give_nothing_away(task: Task, style: str) -> None:
    """No held-out problem is among the worked examples, and no example is asked in training."""
    if style != "few_shot":
        return
    rng = np.random.default_rng(3)
    separator = task.stop_strings[0]
    for level in range(len(task.levels)):
        drawn = [task.generate(level, rng) for _ in range(50)]
        for problem in [*task.held_out(level)[:20], *drawn]:
            assert isinstance(problem.prompt, str)
            *examples, asked = problem.prompt.split(separator)
            assert len(examples) == 4
            head = asked.removesuffix("Answer:").strip()
            assert not any(example.startswith(head) for example in examples)


def test_the_passport_counts_every_level_and_is_plain_data(task: Task) -> None:
    passport = task.passport()
    assert json.loads(json.dumps(passport)) == passport
    assert {"task", "source", "licence", "split", "verifier", "levels"} <= set(passport)
    counts = passport["levels"]
    assert isinstance(counts, list)
    for level, count in enumerate(counts):
        assert count["held_out"] == len(task.held_out(level))
        assert count["training"] > 0
        assert ("note" in count) == (count["held_out"] < 100)

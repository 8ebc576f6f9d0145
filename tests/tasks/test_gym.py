"""Tasks of reasoning-gym, with a small library in its place."""

from __future__ import annotations

import importlib.metadata
import json
import random
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from evenodds.domain import Completion, Status
from evenodds.errors import UsageError
from evenodds.judge import judge_rows
from evenodds.tasks import check_gold, make_task
from evenodds.tasks.gym import generator, scorer
from evenodds.tasks.gym.table import EXECUTES, REFUSED, SCORER, VERIFIERS


@dataclass
class Config:
    seed: int = 0
    size: int = 500
    largest: int = 10

    def validate(self) -> None:
        assert self.largest <= 1_000, "too large"


class DataSet:
    """Sums of two numbers; `few` asks one of three questions only."""

    few = False

    def __init__(self, config: Config) -> None:
        self.config = config

    def __len__(self) -> int:
        return self.config.size

    def __getitem__(self, number: int) -> dict[str, object]:
        rng = random.Random(self.config.seed + number)
        a = rng.randrange(1 if self.few else self.config.largest)
        b = rng.randrange(3 if self.few else self.config.largest)
        metadata = {"numbers": (a, b), "target": a + b}
        answer = {"sum": str(a + b), "expression": f"{a} + {b}"}[self.form]  # type: ignore[attr-defined]
        return {"question": f"What is {a} and {b}?", "answer": answer, "metadata": metadata}

    def score_answer(self, answer: str | None, entry: dict[str, dict[str, int]]) -> float:
        return float(str(answer).split()[0] == str(entry["metadata"]["target"]))


class Curriculum:
    """Three levels, of which the last is one that the task does not accept."""

    def __init__(self) -> None:
        self.attributes = {"largest": SimpleNamespace(levels=[100, 1_000, 100_000])}
        self.level = 0

    def set_attr_level(self, name: str, level: int) -> None:
        self.level = level

    def generate_configuration(self, defaults: dict[str, int]) -> Config:
        return Config(**defaults, largest=self.attributes["largest"].levels[self.level])


@pytest.fixture(autouse=True)
def library(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    forms = dict.fromkeys(VERIFIERS, "sum") | {"countdown": "expression"}
    classes = {
        name: type(name, (DataSet,), {"form": form, "few": name == "maze"})
        for name, form in forms.items()
    }
    factory = ModuleType("reasoning_gym.factory")
    factory.DATASETS = {name: (made, Config) for name, made in classes.items()}  # type: ignore[attr-defined]
    factory.has_curriculum = lambda name: name != "lcm"  # type: ignore[attr-defined]
    factory.create_curriculum = lambda name: Curriculum()  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "reasoning_gym", ModuleType("reasoning_gym"))
    monkeypatch.setitem(sys.modules, "reasoning_gym.factory", factory)
    monkeypatch.setattr(importlib.metadata, "version", lambda name: "0.1.25")
    for cached in (generator.configurations, generator.data_set):
        cached.cache_clear()
    yield
    for cached in (generator.configurations, generator.data_set):
        cached.cache_clear()


@pytest.mark.parametrize("name", ["chain_sum", "sudoku", "countdown"])
@pytest.mark.parametrize("style", ["bare", "few_shot", "chat"])
def test_a_task_keeps_the_promises_of_all_tasks(name: str, style: str) -> None:
    task = make_task(f"gym:{name}", style=style, held_out=30)
    assert task.levels == ("level 0", "level 1")
    rng, held = np.random.default_rng(0), {p.key for n in range(2) for p in task.held_out(n)}
    for level in range(2):
        drawn = [task.generate(level, rng) for _ in range(50)]
        assert not held & {problem.key for problem in drawn}
        assert all(p.task == "gym:" + name and p.level == level for p in drawn)
        for problem in [*drawn, *task.held_out(level)]:
            assert task.verifier(problem, Completion(task.solve(problem))).status is Status.RIGHT
    again = np.random.default_rng(0)
    assert [task.generate(0, again) for _ in range(3)] == [
        make_task(f"reasoning-gym:{name}", style=style, held_out=30).generate(0, rng)
        for rng in [np.random.default_rng(0)]
        for _ in range(3)
    ]
    passport = task.passport()
    assert json.loads(json.dumps(passport)) == passport
    assert check_gold(task).wrong >= 60


def test_a_question_of_which_there_are_few_is_on_one_side() -> None:
    task = make_task("gym:maze", held_out=30)
    held = {p.prompt for p in task.held_out(0)}
    drawn = {task.generate(0, np.random.default_rng(n)).prompt for n in range(50)}
    assert len(held) == 1
    assert len(drawn) >= 1
    assert not held & drawn


def test_some_tasks_are_offered_without_their_slow_levels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(generator.LEVELS, "gcd", 1)
    assert make_task("gym:gcd", held_out=5).levels == ("level 0",)


def test_a_task_of_few_problems_is_made_smaller(monkeypatch: pytest.MonkeyPatch) -> None:
    def validate(self: Config) -> None:
        assert self.size <= 10_000, "dataset size too large"

    monkeypatch.setattr(Config, "validate", validate)
    assert make_task("gym:gcd", held_out=5).held_out(1)
    assert generator.configurations("gcd")[0].size == 10_000


def test_without_a_curriculum_there_is_one_level() -> None:
    assert make_task("gym:lcm", held_out=5).levels == ("level 0",)


def test_a_scorer_of_the_library_judges_in_a_worker() -> None:
    task = make_task("gym:jugs", held_out=5)
    problem = task.held_out(0)[0]
    right = task.solve(problem)
    said = [f"so <answer>{right}</answer>", right, "<answer>-1</answer>", "<answer>1", "<think>1"]
    pairs = [(problem, Completion(text)) for text in said]
    verdicts = [task.verifier(*pair) for pair in pairs]
    assert [v.score for v in verdicts] == [1.0, 1.0, 0.0, 0.0, 0.0]
    assert problem.columns["gym"] == "jugs"
    from evenodds.verifiers.function import NAME

    assert getattr(task.verifier, NAME) == scorer.NAME
    assert json.loads(json.dumps(dict(problem.columns))) == problem.columns
    assert [v.score for v in judge_rows(make_task("gym:gcd").verifier, [])] == []


@pytest.mark.parametrize("name", sorted(EXECUTES))
def test_a_scorer_that_executes_answers_is_never_called(name: str) -> None:
    assert name not in SCORER
    assert VERIFIERS.get(name, "refused") in ("text", "math", "expression", "refused")
    problem = make_task("gym:jugs", held_out=5).held_out(0)[0]
    problem.columns["gym"] = name  # type: ignore[index]
    assert scorer.score(problem, "<answer>1</answer>") is None


def test_the_table_names_every_task_once() -> None:
    from evenodds.tasks.gym import table

    rows = [*table.NUMBER, *table.TEXT, *table.MATH, *table.EXPRESSION, *table.SCORER, *REFUSED]
    assert len(rows) == len(set(rows)) == 106


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("gym:n_queens", "its scorer executes them"),
        ("gym:boxnet", "no gold can be checked"),
        ("gym:chain_sums", "Did you mean 'chain_sum'"),
    ],
)
def test_a_task_that_is_not_offered_says_why(name: str, words: str) -> None:
    with pytest.raises(UsageError, match=words) as caught:
        make_task(name)
    assert "\n" not in str(caught.value)


def test_of_long_decimals_the_last_digit_counts() -> None:
    assert make_task("gym:decimal_arithmetic").verifier.table == {"tolerance": "0"}  # type: ignore[attr-defined]


def test_another_version_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.metadata, "version", lambda name: "0.2.0")
    with pytest.raises(UsageError, match=r"reasoning-gym 0\.2\.0 is not the one"):
        make_task("gym:gcd")


def test_without_the_library_it_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", missing)
    with pytest.raises(UsageError, match=r"pip install 'evenodds\[gym\]'"):
        make_task("gym:gcd")


def test_a_generator_that_fails_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(self: DataSet, number: int) -> dict[str, object]:
        raise AssertionError("no way")

    monkeypatch.setattr(DataSet, "__getitem__", fails)
    with pytest.raises(Exception, match="no problem of 'gcd' at level 0 in 20 tries"):
        make_task("gym:gcd").held_out(0)

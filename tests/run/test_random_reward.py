"""The control arm: a coin pays, the verifier measures, and the records say so."""

from __future__ import annotations

import json

import numpy as np
import pyarrow.parquet as pq
import pytest

from evenodds.errors import UsageError
from evenodds.judge.chance import NAME, NOTE
from tests.run.small_runs import Quiet, assert_equal_runs, lines, run


class Titled(Quiet):
    """A view that remembers the title."""

    title, said = "", ""

    def step(self, step, *rest) -> None:
        self.said = rest[-1][2]

    def start(self, title, lines, levels=()) -> None:
        self.title = title


@pytest.fixture(scope="module")
def paid_by_coin(tmp_path_factory):
    root = tmp_path_factory.mktemp("coin")
    view = Titled()
    over = {"run__random_reward": True, "run__steps": 3, "evaluation__control": "auto"}
    return run(root, view, **over).folder, view


def test_every_reward_is_a_coin_and_the_records_say_so(paid_by_coin) -> None:
    folder, view = paid_by_coin
    rewards = []
    for path in sorted(folder.glob("rollouts/*.parquet")):
        table = pq.read_table(path)
        assert set(table["verifier"].to_pylist()) == {NAME}
        assert set(table["note"].to_pylist()) == {NOTE}
        rewards += table["reward"].to_pylist()
    assert set(rewards) == {0.0, 1.0} and 0.3 < np.mean(rewards) < 0.7
    assert "random rewards" in view.title
    assert view.said in {NOTE, "not paid, by a coin"}
    objective = json.loads((folder / "passports" / "objective.json").read_text())
    assert (objective["paid_by"], objective["random_reward"]) == (NAME, True)
    environment = json.loads((folder / "passports" / "environment.json").read_text())
    assert environment["random_reward"] is True


def test_evaluations_keep_the_verifier_and_their_answers(paid_by_coin) -> None:
    folder, _ = paid_by_coin
    for name in ("base", "final"):
        record = json.loads((folder / "evaluation" / f"{name}.json").read_text())
        assert record["verifier"] == "number" and record["control"]["task"] == "addition"
        table = pq.read_table(folder / "evaluation" / f"{name}.parquet").to_pylist()
        answers = [row for row in table if (row["of"], row["kind"]) == ("task", "sampled")]
        problems = [problem for level in record["levels"] for problem in level["problems"]]
        assert len(answers) == 2 * len(problems)
        assert all(row["verifier"] == "number" and row["note"] != NOTE for row in table)
        right: dict[str, int] = {}
        for row in answers:
            is_right = row["status"] == "right"
            right[row["problem_key"]] = right.get(row["problem_key"], 0) + is_right
            assert len(row["completion_ids"]) == len(row["logprobs"])
        assert right == {problem["key"]: problem["right"] for problem in problems}
        assert {(row["of"], row["kind"]) for row in table} == {
            ("task", "sampled"),
            ("task", "greedy"),
            ("control", "sampled"),
        }


def test_no_seed_of_training_is_one_of_an_evaluation(paid_by_coin) -> None:
    folder, _ = paid_by_coin

    def column(pattern: str, name: str) -> set:
        files = folder.glob(pattern)
        return {value for path in files for value in pq.read_table(path)[name].to_pylist()}

    for name in ("seed", "problem_key"):
        trained = column("rollouts/*.parquet", name)
        assert trained and not trained & column("evaluation/*.parquet", name)


def test_it_goes_on_where_it_stopped_bit_for_bit(paid_by_coin, tmp_path) -> None:
    folder, _ = paid_by_coin
    run(tmp_path, run__random_reward=True, run__steps=2)
    found = run(tmp_path, run__random_reward=True, run__steps=3)
    assert_equal_runs(folder, found.folder)
    assert len(lines(found.folder)) == 3
    with pytest.raises(UsageError, match="random_reward"):
        run(tmp_path, run__random_reward=False, run__steps=4)

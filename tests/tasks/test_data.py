"""Tasks from files and from Python values."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evenodds.domain import Completion, Problem, Status, Verdict
from evenodds.errors import UsageError
from evenodds.tasks import make_task, problems_task
from evenodds.tasks.data import reduced

ROWS = [
    {"question": f"What is {n} + 1?", "answer": f"{n}+1={n + 1}\n#### {n + 1}"} for n in range(40)
]


def written(path: Path, rows: list[dict[str, object]]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def keys(task, level: int = 0) -> list[str]:  # type: ignore[no-untyped-def]
    return [problem.key for problem in task.held_out(level)]


def test_columns_are_found_and_gold_is_reduced(tmp_path: Path) -> None:
    task = make_task(written(tmp_path / "d.jsonl", ROWS))
    problem = task.generate(0, np.random.default_rng(0))
    assert "#" not in problem.answer
    assert task.levels == ("all",)
    assert len(task.held_out(0)) == 4
    assert task.stop_strings == ()


def test_parquet_holds_the_same_as_jsonl(tmp_path: Path) -> None:
    pq.write_table(pa.Table.from_pylist(ROWS), tmp_path / "d.parquet")
    first = make_task(str(tmp_path / "d.parquet"))
    second = make_task(written(tmp_path / "d.jsonl", ROWS))
    assert keys(first) == keys(second)


def test_the_split_does_not_depend_on_the_order_of_rows(tmp_path: Path) -> None:
    first = make_task(written(tmp_path / "a.jsonl", ROWS))
    second = make_task(written(tmp_path / "b.jsonl", ROWS[::-1]))
    assert keys(first) == keys(second)
    assert keys(first) != keys(make_task(str(tmp_path / "a.jsonl"), seed=1))


def test_duplicates_of_a_prompt_stay_on_one_side(tmp_path: Path) -> None:
    twice = [*ROWS, *({**row, "answer": "7"} for row in ROWS)]
    task = make_task(written(tmp_path / "d.jsonl", twice), held_out_share=0.5)
    rng = np.random.default_rng(0)
    held = keys(task)
    assert len(held) == len(set(held)) == 20
    assert not set(held) & {task.generate(0, rng).key for _ in range(500)}


def test_levels_are_ordered_by_number(tmp_path: Path) -> None:
    rows = [{"prompt": f"p{n}", "answer": n, "level": (10, 9, 2)[n % 3]} for n in range(30)]
    assert make_task(written(tmp_path / "d.jsonl", rows)).levels == ("2", "9", "10")


def test_messages_are_a_prompt(tmp_path: Path) -> None:
    rows = [{"prompt": [{"role": "user", "content": f"p{n}"}], "answer": n} for n in range(4)]
    task = make_task(written(tmp_path / "d.jsonl", rows), style="chat")
    assert task.held_out(0)[0].prompt[0]["role"] == "user"  # type: ignore[index]


def test_columns_can_be_named(tmp_path: Path) -> None:
    rows = [{"q": f"p{n}", "a": n, "grade": "x"} for n in range(4)]
    options = {"prompt_column": "q", "answer_column": "a", "level_column": "grade"}
    assert make_task(written(tmp_path / "d.jsonl", rows), **options).levels == ("x",)


@pytest.mark.parametrize(
    ("content", "options", "words"),
    [
        (None, {}, "does not exist"),
        ("", {}, "is empty"),
        ('{"prompt": "a", "answer": 1}\n{oops', {}, "line 2 is no JSON"),
        ("[1]", {}, "line 1 is no JSON object"),
        ('{"promt": "a", "answer": 1}', {}, "Did you mean 'promt'?"),
        ('{"prompt": "a", "answr": 1}', {}, "Did you mean 'answr'?"),
        ('{"prompt": "a", "answer": 1}', {"prompt_column": "x"}, "no prompt column 'x'"),
        ('{"prompt": "a", "answer": 1}', {}, "too few problems"),
        ('{"prompt": 3, "answer": 1}', {}, "row 1: 'prompt' is unusable"),
        ('{"prompt": "a", "answer": null}', {}, "row 1: 'answer' is unusable"),
        ('{"prompt": "a", "answer": 1}', {"verifier": "numbr"}, "too few"),
    ],
)
def test_a_file_that_is_unfit_is_one_line(
    tmp_path: Path, content: str | None, options: dict[str, object], words: str
) -> None:
    file = tmp_path / "d.jsonl"
    if content is not None:
        file.write_text(content)
    with pytest.raises(UsageError) as caught:
        make_task("data", data=str(file), **options)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_damaged_parquet_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "d.parquet").write_bytes(b"PAR1 no")
    with pytest.raises(UsageError, match="no parquet file"):
        make_task(str(tmp_path / "d.parquet"))


def test_a_binary_file_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "d.jsonl").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match="UTF-8"):
        make_task(str(tmp_path / "d.jsonl"))


def test_problems_in_python_make_a_task() -> None:
    task = problems_task([(f"{n}*2=", str(2 * n)) for n in range(10)])
    problem = task.generate(0, np.random.default_rng(0))
    assert task.verifier(problem, Completion(problem.answer)).status is Status.RIGHT


def test_problems_with_levels_and_a_verifier_of_ones_own() -> None:
    def fair(problem: Problem, completion: Completion) -> Verdict:
        return Verdict(1.0, Status.RIGHT)

    problems = [Problem(f"own/{n}", f"p{n}", "x", "own", level=n % 2 * 5) for n in range(8)]
    task = problems_task(problems, fair)
    assert task.levels == ("level 0", "level 5")
    assert task.verifier_name == "fair"
    assert task.held_out(1)[0].level == 1


def test_a_task_in_a_file_of_ones_own(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(
        "def problems():\n    return [(f'{n}+1=', str(n + 1)) for n in range(9)]\n"
        "def judge(problem, text):\n    return text.strip() == problem.answer\n"
        "def broken():\n    return 3\n"
    )
    task = make_task(f"{file}:problems", verifier=f"{file}:judge")
    problem = task.held_out(0)[0]
    assert task.verifier(problem, Completion(problem.answer)).status is Status.RIGHT
    with pytest.raises(UsageError, match="could not be made"):
        make_task(f"{file}:broken")


@pytest.mark.parametrize(
    ("answer", "gold"), [("a\n#### 18", "18"), (" 7 ", "7"), ("#### 1,000\n", "1,000")]
)
def test_reduced(answer: str, gold: str) -> None:
    assert reduced(answer) == gold

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
from evenodds.tasks.presets import reduced
from evenodds.tasks.split import wanted
from evenodds.tasks.task import TaskOptions

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
    twice = [*ROWS, *({**row, "answer": f"{n + 1}.0"} for n, row in enumerate(ROWS))]
    task = make_task(written(tmp_path / "d.jsonl", twice), held_out_share=0.5)
    rng = np.random.default_rng(0)
    held = keys(task)
    assert task.passport()["rows_left_out"] == {"duplicates": 40}
    assert len(held) == len(set(held)) == 20
    assert not set(held) & {task.generate(0, rng).key for _ in range(500)}


def leveled(*prompts: str) -> list[Problem]:
    """One word of letters a level, each letter a prompt."""
    return [
        Problem(f"own/{level}{letter}", letter, "1", "own", level)
        for level, word in enumerate(prompts)
        for letter in word
    ]


@pytest.mark.parametrize(
    "words",
    [
        ("abcdefghijkl", "ghijklmnopqr"),
        ("abcd", "abcdefgh", "abcdefghijklmnop"),
        ("ab", "ab"),
        ("abc", "cba", "xyz"),
        ("abcdefgh", "ab"),
    ],
)
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("style", ["bare", "few_shot"])
def test_a_prompt_is_on_one_side_at_all_levels(
    words: tuple[str, ...], seed: int, style: str
) -> None:
    options = TaskOptions(seed=seed, held_out_share=0.4, style=style, shots=2)
    task = problems_task(leveled(*words), options=options)
    levels = range(len(words))
    held = [{key[-1] for key in keys(task, level)} for level in levels]
    rng = np.random.default_rng(0)
    trained = [{task.generate(level, rng).key[-1] for _ in range(60)} for level in levels]
    assert all(held) and all(trained)
    assert not set.union(*held) & set.union(*trained)
    assert all(side == set.union(*held) & set(word) for side, word in zip(held, words, strict=True))
    for example in task.generate(0, rng).prompt.split("Question: ")[1:-1]:  # type: ignore[union-attr]
        assert example[0] not in set.union(*held)


def test_a_level_that_can_hold_nothing_out_is_one_line() -> None:
    with pytest.raises(UsageError, match="nothing can be held out at 'level"):
        problems_task(leveled("ab", "bc", "ac"))


@pytest.mark.parametrize(
    ("prompts", "share", "most", "held"),
    [
        (2, 0.1, 100, 1),
        (9, 0.1, 100, 1),
        (10, 0.1, 100, 2),
        (25, 0.1, 100, 3),
        (70, 0.1, 100, 7),
        (200, 0.1, 100, 20),
        (5_000, 0.1, 100, 100),
        (50, 0.1, 1, 1),
        (40, 0.5, 100, 20),
    ],
)
def test_at_least_the_share_is_held_out(prompts: int, share: float, most: int, held: int) -> None:
    assert wanted(prompts, TaskOptions(held_out=most, held_out_share=share)) == held


def test_no_more_than_asked_are_held_out_where_levels_share_them() -> None:
    words = "abcdefghijklmnopqrst", "abcdefghijklmnopqrstuvwxyz"
    task = problems_task(leveled(*words), options=TaskOptions(held_out=3, held_out_share=0.5))
    assert [len(keys(task, level)) for level in (0, 1)] == [3, 3]


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
        ('{"promt": "a", "answer": 1}', {}, "Name it with --task.prompt"),
        ('{"prompt": "a", "answr": 1}', {}, "Name it with --task.answer"),
        ('{"prompt": "a", "answer": 1}', {}, "too few problems"),
        ('{"prompt": 3, "answer": 1}', {}, "line 1: 'prompt' is unusable"),
        ('{"prompt": "a", "answer": null}', {}, "line 1: 'answer' is unusable"),
        ('{"prompt": "a", "answer": true}', {}, "line 1: 'answer' is unusable"),
        ('{"prompt": "a", "answer": NaN}', {}, "line 1: 'answer' is unusable"),
        ('{"prompt": "a", "answer": 1}', {"verifier": "numbr"}, "unknown verifier 'numbr'"),
        ('{"prompt": "a", "answer": 1}', {}, "too few"),
        (
            '\n{"prompt": "a\\ud800", "answer": 1}',
            {},
            "line 2: 'prompt' is unusable: it holds half",
        ),
        ('{"prompt": "a", "answer": "\\udc00"}', {}, "line 1: 'answer' is unusable: it holds half"),
        ('{"prompt": "a", "answer": 1, "level": "\\ud800"}', {}, "line 1: 'level' is unusable"),
        (f'{{"prompt": "a", "answer": 1, "level": "{"7" * 5_000}"}}', {}, "at most 100 are read"),
        (f'{{"prompt": "a", "answer": {"7" * 5_000}}}', {}, "line 1 holds a number of too many"),
        (f'{{"prompt": "{"a" * 1_000_001}", "answer": 1}}', {}, "at most 1000000 are read"),
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


def test_levels_of_many_digits_are_ordered_by_number(tmp_path: Path) -> None:
    names = "9" * 99, "1" + "0" * 99, "3"
    rows = [{"prompt": f"p{n}", "answer": n, "level": names[n % 3]} for n in range(30)]
    task = make_task(written(tmp_path / "d.jsonl", rows))
    assert task.levels == ("3", "9" * 99, "1" + "0" * 99)


def test_a_byte_order_mark_is_skipped(tmp_path: Path) -> None:
    file = tmp_path / "d.jsonl"
    file.write_text(Path(written(file, ROWS)).read_text(), encoding="utf-8-sig")  # type: ignore[arg-type]
    assert make_task(str(file)).levels == ("all",)


def test_a_csv_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("prompt,answer\n")
    for name, options in ((str(tmp_path / "d.csv"), {}), ("data", {"data": "d.csv"})):
        with pytest.raises(UsageError, match="JSONL or parquet is read, not CSV"):
            make_task(name, **options)


def test_only_the_columns_needed_of_a_parquet_are_read(tmp_path: Path) -> None:
    table = pa.Table.from_pylist(ROWS)
    when = pa.array([1] * len(ROWS), pa.timestamp("ns"))  # 1 ns: Python has no such date
    pq.write_table(table.append_column("when", when), tmp_path / "d.parquet")
    assert make_task(str(tmp_path / "d.parquet")).levels == ("all",)


def test_a_damaged_parquet_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "d.parquet").write_bytes(b"PAR1 no")
    with pytest.raises(UsageError, match="cannot be read as parquet"):
        make_task(str(tmp_path / "d.parquet"))


def test_a_binary_file_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "d.jsonl").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match="UTF-8"):
        make_task(str(tmp_path / "d.jsonl"))


def test_problems_in_python_make_a_task() -> None:
    task = problems_task([(f"{n}*2=", str(2 * n)) for n in range(10)])
    problem = task.generate(0, np.random.default_rng(0))
    assert task.verifier(problem, Completion(problem.answer)).status is Status.RIGHT


@pytest.mark.parametrize(
    ("answer", "text"),
    [(36, "36"), (0.5, "0.5"), (np.int64(7), "7"), (np.float32(2), "2.0"), ("six", "six")],
)
def test_an_answer_in_python_may_be_a_number(answer: object, text: str) -> None:
    rows = [("1+1=", answer), Problem("own/2", "2+2=", answer, "own")]  # type: ignore[arg-type]
    task = problems_task(rows)  # type: ignore[arg-type]
    assert {problem.answer for problem in task.problems} == {text}


def test_a_prompt_in_python_may_be_messages() -> None:
    rows = [([{"role": "user", "content": f"p{n}"}], "1") for n in range(3)]
    task = problems_task(rows)  # type: ignore[arg-type]
    assert task.held_out(0)[0].prompt[0]["role"] == "user"  # type: ignore[index]


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (("a", True), "the answer of row 2 is unusable. Got 'True'"),
        (("a", None), "the answer of row 2"),
        (("a", float("nan")), "the answer of row 2"),
        (("a", 10**5_000), "the answer of row 2"),
        (("a", ["1"]), "the answer of row 2"),
        ((3, "1"), "the prompt of row 2"),
        ((" ", "1"), "the prompt of row 2"),
        (([{"role": "me", "content": "a"}], "1"), "the prompt of row 2"),
        (("a", "1", "2"), "row 2 is no problem"),
        ("ab", "row 2 is no problem. Got 'ab'"),
        ({"prompt": "a", "answer": "1"}, "row 2 is no problem"),
        (None, "row 2 is no problem"),
        (Problem("k", 3, "1", "own"), "the prompt of row 2"),  # type: ignore[arg-type]
        (Problem("k", "a", None, "own"), "the answer of row 2"),  # type: ignore[arg-type]
        (Problem("k", "a", "1", "own", level="x"), "the level of row 2"),  # type: ignore[arg-type]
        (Problem("k", "a", "1", "own", level=10**5_000), "the level of row 2"),
        (Problem("k\ud800", "a", "1", "own"), "the key of row 2"),
        (("a\ud800", "1"), "the prompt of row 2"),
        (("a", "1" * 1_000_001), "the answer of row 2"),
    ],
)
def test_a_row_that_is_unfit_is_one_line(row: object, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        problems_task([("12*3=", "36"), row])  # type: ignore[list-item]
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_is_no_list_is_one_line() -> None:
    with pytest.raises(UsageError, match="problems are no list"):
        problems_task(3)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="problems are a function"):
        problems_task(lambda: [("1+1=", "2")])  # type: ignore[arg-type]


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


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (["easy", "medium", "hard"], ("easy", "medium", "hard")),
        (["Level 10", "Level 2", "Level 1"], ("Level 1", "Level 2", "Level 10")),
        (["short", "long", "level 3"], ("short", "long", "level 3")),
    ],
)
def test_levels_with_names_come_by_their_number_or_as_the_file_has_them(
    tmp_path: Path, given, wanted
) -> None:
    rows = [
        {"prompt": f"{place}-{at}", "answer": "1", "level": name}
        for at, name in enumerate(given)
        for place in range(3)
    ]
    assert make_task(written(tmp_path / "d.jsonl", rows)).levels == wanted

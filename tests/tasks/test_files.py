"""Presets, columns, a held-out side of its own, the hub, and what is wrong with given data."""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evenodds.errors import UsageError
from evenodds.tasks import check_gold, make_task, problems_task
from evenodds.tasks.presets import last_box
from evenodds.tasks.task import TaskOptions

DATA = Path(__file__).parents[3] / "shared" / "data"
HERE = pytest.mark.skipif(not DATA.is_dir(), reason="the public data sets are not here")
SUMS = [{"prompt": f"{n}+1=", "answer": n + 1, "id": n, "tags": ["a"]} for n in range(40)]


def written(path: Path, rows: list[dict[str, object]]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def refusal(name: str, **options: object) -> str:
    with pytest.raises(UsageError) as caught:
        make_task(name, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@HERE
def test_every_gold_of_gsm8k_is_right_and_quickly_known() -> None:
    task = make_task(
        "gsm8k",
        data=str(DATA / "gsm8k_train.jsonl"),
        held_out_data=str(DATA / "gsm8k_test.jsonl"),
        held_out=2_000,
    )
    assert (len(task.training(0)), len(task.held_out(0))) == (7_473, 1_319)  # type: ignore[attr-defined]
    found = check_gold(make_task("gsm8k", data=str(DATA / "gsm8k_test.jsonl")))
    assert found.golds == 1_319
    assert found.wrong >= 1_319
    assert found.seconds < 20


@HERE
@pytest.mark.parametrize(
    ("name", "file", "rows"),
    [("humaneval", "HumanEval.jsonl.gz", 164), ("mbpp", "mbpp_sanitized.json", 427)],
)
def test_code_sets_are_read_as_they_are_published(name: str, file: str, rows: int) -> None:
    task = make_task(name, data=str(DATA / file), verifier="text")
    problems = task.problems  # type: ignore[attr-defined]
    assert len(problems) == rows
    gold = json.loads(problems[0].answer)
    wanted = {"humaneval": {"entry_point", "test", "prompt"}, "mbpp": {"test_list", "test_imports"}}
    assert set(gold) == wanted[name]
    assert "def " in task.solve(problems[0])
    assert problems[0].columns["task_id"] in ("HumanEval/0", 2)
    if name == "mbpp":
        assert gold["test_list"][0] in problems[0].prompt


def test_other_columns_go_along(tmp_path: Path) -> None:
    file = written(tmp_path / "d.jsonl", SUMS)
    problem = make_task(file).generate(0, np.random.default_rng(0))
    assert problem.columns == {"id": int(problem.answer) - 1, "tags": ["a"]}
    assert set(make_task(file, columns=("id",)).held_out(0)[0].columns) == {"id"}
    assert make_task(file, columns=()).held_out(0)[0].columns == {}
    assert "Did you mean 'id'" in refusal(file, columns=("idd",))


def test_the_worked_solution_of_a_reduced_gold_goes_along(tmp_path: Path) -> None:
    rows = [{"question": f"q{n}", "answer": f"work\n#### {n}"} for n in range(9)]
    problem = make_task("gsm8k", data=written(tmp_path / "d.jsonl", rows)).held_out(0)[0]
    assert problem.columns == {"answer": f"work\n#### {problem.answer}"}


def test_columns_that_are_too_long_are_one_line(tmp_path: Path) -> None:
    rows = [{**row, "page": "x" * 300_000} for row in SUMS[:4]]
    file = written(tmp_path / "d.jsonl", rows)
    assert "line 1: the other columns are too long" in refusal(file)
    assert make_task(file, columns=("id",)).held_out(0)


@pytest.mark.parametrize("ending", ["jsonl.gz", "json", "parquet"])
def test_a_file_of_any_form_holds_the_same(tmp_path: Path, ending: str) -> None:
    lines = Path(written(tmp_path / "d.jsonl", SUMS))  # type: ignore[arg-type]
    path = tmp_path / f"e.{ending}"
    if ending == "json":
        path.write_text(json.dumps(SUMS))
    elif ending == "parquet":
        pq.write_table(pa.Table.from_pylist(SUMS), path)
    else:
        path.write_bytes(gzip.compress(lines.read_bytes()))
    assert make_task(str(path)).held_out(0) == make_task(str(lines)).held_out(0)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("d.json", b'{"prompt": "a"}', "is no JSON list"),
        ("d.json", b"[1]", "row 1 is no JSON object"),
        ("d.json", b"[", "is no JSON"),
        ("d.json", b"[]", "is empty"),
        ("d.jsonl.gz", b"no zip", "cannot be read"),
        ("d.jsonl.gz", gzip.compress(b"{}\n" * 99, mtime=0)[:20], "cannot be read"),
    ],
)
def test_a_damaged_file_is_one_line(tmp_path: Path, name: str, content: bytes, words: str) -> None:
    (tmp_path / name).write_bytes(content)
    assert words in refusal(str(tmp_path / name))


def test_contradictory_golds_are_refused_with_their_rows(tmp_path: Path) -> None:
    rows = [*SUMS, {"prompt": "3+1=", "answer": 5}, {"prompt": "4+1=", "answer": 6}]
    file = written(tmp_path / "d.jsonl", rows)
    said = refusal(file)
    assert all(word in said for word in ("line 4", "line 41", "'4' and '5'", "1 more prompts"))
    task = make_task(file, drop_contradictory=True)
    assert task.passport()["rows_left_out"] == {"contradictory": 4}
    with pytest.raises(UsageError, match="row 1 and row 2"):
        problems_task([("a", "1"), ("a", "2"), ("b", "3")])


def test_golds_that_agree_are_no_contradiction() -> None:
    rows = [("a", "0.5"), ("a", "1/2"), ("b", "3"), ("c", "4")]
    assert len(problems_task(rows).problems) == 3
    roots = [("a", "\\sqrt{8}"), ("a", "2\\sqrt{2}"), ("b", "\\pi"), ("c", "\\sqrt{3}")]
    assert len(problems_task(roots, "math").problems) == 3
    with pytest.raises(UsageError, match="different answers"):
        problems_task(rows, "text")


def test_the_held_out_side_may_be_given(tmp_path: Path) -> None:
    held = [{"prompt": f" {n}+1= ", "answer": n + 1} for n in range(30, 50)]
    first, second = written(tmp_path / "a.jsonl", SUMS), written(tmp_path / "b.jsonl", held)
    task = make_task(first, held_out_data=second)
    assert {p.prompt for p in task.held_out(0)} == {row["prompt"] for row in held}
    assert len(task.training(0)) == 30  # type: ignore[attr-defined]
    passport = task.passport()
    assert passport["rows_left_out"] == {"held out in other words of the same prompt": 10}
    assert json.loads(json.dumps(passport)) == passport
    assert "given apart" in str(passport["split"])
    assert len(str(passport["held_out_file_sha256"])) == 64
    assert len(make_task(first, held_out_data=second, held_out=7).held_out(0)) == 7
    assert check_gold(task).golds == 50


def test_a_held_out_side_that_is_all_of_it_is_one_line(tmp_path: Path) -> None:
    file = written(tmp_path / "a.jsonl", SUMS)
    assert "too few problems" in refusal(file, held_out_data=file)


def test_levels_of_mathematics_are_a_ladder(tmp_path: Path) -> None:
    names = ["Level 3", "Level ?", "Level 1"]
    rows = [
        {"problem": f"p{n}", "solution": f"so \\boxed{{{n}}}", "level": names[n % 3]}
        for n in range(30)
    ]
    task = make_task("math", data=written(tmp_path / "d.jsonl", rows), verifier="number")
    assert task.levels == ("Level 1", "Level 3", "Level ?")
    assert task.held_out(0)[0].answer == task.held_out(0)[0].prompt[1:]  # type: ignore[comparison-overlap]


@pytest.mark.parametrize(
    ("solution", "gold"),
    [
        ("first \\boxed{1}, then \\boxed{\\frac{1}{2}}.", "\\frac{1}{2}"),
        ("\\boxed{2} and an open \\boxed{3", "2"),
        (" 7 ", "7"),
    ],
)
def test_the_gold_is_the_last_box(solution: str, gold: str) -> None:
    assert last_box(solution) == gold


@pytest.mark.parametrize(
    ("golds", "verifier"),
    [(["1", "2.5", "1/3", "x"], "number"), (["Paris", "Rome", "Oslo"], "text")],
)
def test_the_verifier_is_chosen_by_the_golds(
    tmp_path: Path, golds: list[str], verifier: str
) -> None:
    rows: list[dict[str, object]] = [{"prompt": f"p{n}", "answer": g} for n, g in enumerate(golds)]
    task = make_task(written(tmp_path / "d.jsonl", rows))
    assert task.verifier_name == verifier
    assert "chosen" in str(task.passport()["verifier_is"])


def test_a_gold_with_an_inside_is_json(tmp_path: Path) -> None:
    rows = [{"prompt": f"p{n}", "answer": {"target": n}} for n in range(9)]
    task = make_task(written(tmp_path / "d.jsonl", rows), verifier="text")
    assert json.loads(task.held_out(0)[0].answer)["target"] in range(9)


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> list[tuple[object, ...]]:
    """A library `datasets` that knows one data set, and notes what it is asked for."""
    asked: list[tuple[object, ...]] = []
    library = ModuleType("datasets")

    def load_dataset(name: str, subset: str | None = None, *, split: str) -> object:
        asked.append((name, subset, split))
        if name != "openai/gsm8k":
            raise ConnectionError(f"no network for {name}")
        first = 0 if split == "train" else 100
        return [{"question": f"q{n}", "answer": f"#### {n}"} for n in range(first, first + 20)]

    library.load_dataset = load_dataset  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "datasets", library)
    return asked


def test_a_data_set_of_the_hub(hub: list[tuple[object, ...]]) -> None:
    task = make_task("gsm8k", data="hf:openai/gsm8k", held_out_split="test")
    assert hub == [("openai/gsm8k", "main", "train"), ("openai/gsm8k", "main", "test")]
    assert {p.answer for p in task.held_out(0)} == {str(n) for n in range(100, 120)}
    assert "held out: split test" in str(task.passport()["source"])
    assert make_task("hf:openai/gsm8k", subset="socratic").name == "data"
    assert hub[-1] == ("openai/gsm8k", "socratic", "train")


def test_a_hub_that_cannot_be_reached_is_one_line(hub: list[tuple[object, ...]]) -> None:
    said = refusal("hf:no/such")
    assert "could not be loaded. Got ConnectionError" in said
    assert "give that file" in said


def test_without_the_library_it_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    assert "pip install 'evenodds[hub]'" in refusal("hf:openai/gsm8k")


def test_a_preset_without_its_data_says_where_it_comes_from() -> None:
    said = refusal("gsm8k")
    assert "--data gsm8k.jsonl" in said
    assert "hf:openai/gsm8k" in said


def test_columns_of_a_policy_reach_the_verifier(tmp_path: Path) -> None:
    file = written(tmp_path / "d.jsonl", SUMS)
    task = make_task(file, verifier="number", policy={"percent": "ratio"})
    assert task.verifier.table == {"percent": "ratio"}  # type: ignore[attr-defined]
    assert "Did you mean 'percent'" in refusal(file, verifier="number", policy={"percnt": 1})
    assert TaskOptions().policy == {}

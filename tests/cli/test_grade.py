"""`evenodds grade`: what goes in, what comes out, and how it says no."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from evenodds.cli import main

NUMBER = ["--verifier", "number"]
ROWS = [
    {"answer": "\\boxed{42}", "gold": "42", "id": "a"},
    {"answer": "The answer is not 42.", "gold": "42", "id": "b"},
    {"answer": "\ud800\x00" + "7" * 100_000, "gold": "42", "id": "c"},
    {"answer": None, "gold": "42", "id": "d"},
    {"answer": "(" * 5_000 + "41" + ")" * 5_000, "gold": "42", "id": "e"},
]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "answers.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return path


def refusal(capsys, *arguments: object) -> str:
    assert main(["grade", *map(str, arguments)]) == 2
    found = capsys.readouterr()
    assert found.out == "" and found.err.count("\n") == 1, found
    return found.err


def test_rows_come_out_in_order_with_their_verdicts(file, capsys) -> None:
    assert main(["grade", str(file), "--verifier", "number"]) == 0
    found = capsys.readouterr()
    rows = [json.loads(line) for line in found.out.splitlines()]
    assert [row["id"] for row in rows] == list("abcde")
    assert [row["score"] for row in rows] == [1, 0, 0, 0, 0]
    assert [row["answer"] for row in rows] == [row["answer"] for row in ROWS]
    assert rows[0]["how"] == "box; equal exactly" and rows[0]["extracted"] == "42"
    assert all(row["seconds"] >= 0 for row in rows)
    assert "5 rows, judged by number" in found.err and "mean score 0.2" in found.err


def test_a_file_is_written_whole_or_not_at_all(file, tmp_path, capsys, monkeypatch) -> None:
    out = tmp_path / "out.jsonl"
    out.write_text("before")
    with monkeypatch.context() as patch:

        def broken(row):
            raise OSError(28, "No space left on device", str(out))

        patch.setattr("evenodds.bench.grading.as_line", broken)
        assert main(["grade", str(file), "--verifier", "number", "--out", str(out)]) == 1
    assert out.read_text() == "before" and len([*tmp_path.iterdir()]) == 2
    assert main(["grade", str(file), "--verifier", "number", "--out", str(out)]) == 0
    assert len(out.read_text().splitlines()) == 5
    assert "evenodds-tmp" not in " ".join(p.name for p in tmp_path.iterdir())
    assert capsys.readouterr().out == ""


def test_a_bad_row_stops_everything_before_it_begins(file, tmp_path, capsys) -> None:
    with open(file, "a") as stream:
        stream.write('{"answer": \n')
    said = refusal(capsys, file, "--verifier", "number", "--out", tmp_path / "out.jsonl")
    assert "row 6 cannot be read" in said and "--skip-bad" in said
    assert not (tmp_path / "out.jsonl").exists()
    assert main(["grade", str(file), "--verifier", "number", "--skip-bad"]) == 0
    found = capsys.readouterr()
    assert len(found.out.splitlines()) == 5 and "left out: 1 bad row" in found.err


def test_policy_by_flag_and_by_file(tmp_path, capsys) -> None:
    path, table = tmp_path / "a.jsonl", tmp_path / "table.toml"
    path.write_text('{"answer": "28%", "gold": "0.28"}\n')
    table.write_text('[policy]\npercent = "ratio"\n')

    def score(*flags: str) -> float:
        assert main(["grade", str(path), "--verifier", "number", *flags]) == 0
        return json.loads(capsys.readouterr().out)["score"]

    assert score() == 0
    assert score("--policy", "percent=ratio") == 1
    assert score("--policy-table", str(table)) == 1
    assert score("--policy-table", str(table), "--policy", "percent=unit") == 0
    assert "percnt" in refusal(capsys, path, "--verifier", "number", "--policy", "percnt=ratio")
    assert "KEY=VALUE" in refusal(capsys, path, "--verifier", "number", "--policy", "percent")


def test_parquet_mapped_columns_and_an_own_function(tmp_path, capsys) -> None:
    path = tmp_path / "a.parquet"
    rows = {"said": ["xx 7", "8", None], "truth": [7, 7, 7], "extra": [1, 2, 3]}
    parquet.write_table(pa.table(rows), path)
    (tmp_path / "own.py").write_text(
        "def grade(problem, text):\n"
        "    if text == '8': raise KeyError('boom')\n"
        "    return text.endswith(problem.answer) and problem.columns['extra'] == 1\n"
    )
    flags = ["--verifier", f"{tmp_path}/own.py:grade", "--answer", "said", "--gold", "truth"]
    assert main(["grade", str(path), *flags]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["status"] for row in rows] == ["right", "error", "wrong"]
    assert "boom" in rows[1]["how"]


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--verifier", "numbr"], "Did you mean 'number'?"),
        ([], "--verifier"),
        (["--verifier", "number", "--gold", "golden"], "no gold column 'golden'"),
        (["--verifier", "number", "--out", "/nowhere/at/all"], "no folder"),
        (["--verifier", "number", "--seconds", "0"], "judge.seconds"),
        (["--verifier", "number", "--policy-table", "none.toml"], "none.toml"),
    ],
)
def test_refusals_are_one_line(flags, words, file, capsys) -> None:
    assert main(["grade", str(file), *flags]) == 2
    found = capsys.readouterr()
    assert found.out == "" and words in found.err.splitlines()[-1]


def test_the_file_that_is_read_is_not_written(file, capsys) -> None:
    assert "is the file that is read" in refusal(
        capsys, file, "--verifier", "number", "--out", file
    )
    assert "does not exist" in refusal(capsys, "none.jsonl", "--verifier", "number")
    assert "not CSV" in refusal(capsys, "none.csv", "--verifier", "number")


def test_a_link_stays_a_link_and_permissions_stay(file, tmp_path) -> None:
    private, link = tmp_path / "private.jsonl", tmp_path / "link.jsonl"
    private.write_text("before")
    private.chmod(0o600)
    link.symlink_to(private)
    assert main(["grade", str(file), "--verifier", "number", "--out", str(link)]) == 0
    assert link.is_symlink() and len(private.read_text().splitlines()) == 5
    assert private.stat().st_mode & 0o777 == 0o600


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names")
def test_a_pipe_or_a_device_is_written_to_and_not_replaced(file, tmp_path, capsys) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as pool:
        read = pool.submit(pipe.read_text)
        assert main(["grade", str(file), "--verifier", "number", "--out", str(pipe)]) == 0
        assert len(read.result(10).splitlines()) == 5
    assert pipe.is_fifo()
    capsys.readouterr()
    assert "a device or a pipe" in refusal(capsys, pipe, *NUMBER)
    assert "a folder" in refusal(capsys, tmp_path, *NUMBER)
    assert "takes a file" in refusal(capsys, file, *NUMBER, "--out", "")
    assert "takes a file" in refusal(capsys, file, *NUMBER, "--out", tmp_path)


@pytest.mark.skipif(os.name != "posix", reason="there is no SIGTERM")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_leaves_nothing_half_made(number, code, tmp_path) -> None:
    file, out = tmp_path / "a.jsonl", tmp_path / "out"
    out.mkdir()
    file.write_text('{"answer": "1", "gold": "1"}\n' * 200_000)
    command = [sys.executable, "-m", "evenodds", "grade", str(file), *NUMBER]
    command += ["--out", str(out / "o.jsonl")]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        while not [*out.iterdir()]:
            assert process.poll() is None
            time.sleep(0.02)
        process.send_signal(number)
        said = process.communicate(timeout=30)[1]
    assert process.returncode == code and f"stopped by {number.name}" in said
    assert [*out.iterdir()] == []


@pytest.mark.parametrize("name", ["a.jsonl.gz", "a.json", "A.PARQUET"])
def test_the_files_that_a_task_takes(name, tmp_path, capsys) -> None:
    rows = [{"answer": "1", "gold": "1"}, {"answer": "2", "gold": "1"}]
    path = tmp_path / name
    if name.endswith("gz"):
        path.write_bytes(gzip.compress(b"\n".join(json.dumps(row).encode() for row in rows)))
    elif name.endswith("json"):
        path.write_text(json.dumps(rows, indent=1))
    else:
        parquet.write_table(pa.Table.from_pylist(rows), path)
    assert main(["grade", str(path), *NUMBER]) == 0
    graded = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["score"] for row in graded] == [1, 0]


def test_a_zipped_file_that_is_damaged_is_refused(tmp_path, capsys) -> None:
    for data in (
        b"\x1f\x8b\x08\0\0\0\0\0\0\x03garbage, garbage",
        b"no zip",
        gzip.compress(b"{}")[:9],
    ):
        (tmp_path / "a.jsonl.gz").write_bytes(data)
        assert "cannot be read" in refusal(capsys, tmp_path / "a.jsonl.gz", *NUMBER)


def test_values_of_parquet_that_python_does_not_have(tmp_path, capsys) -> None:
    broken = [None, pa.py_buffer(b"\0\0\0\0\2\0\0\0"), pa.py_buffer(b"\xff4")]
    columns = {
        "answer": pa.Array.from_buffers(pa.string(), 1, broken),
        "gold": pa.array(["4"]),
        "nano": pa.array([1], pa.timestamp("ns")),
        "far": pa.array([2**31 - 2], pa.date32()),
    }
    parquet.write_table(pa.table(columns), tmp_path / "a.parquet")
    assert main(["grade", str(tmp_path / "a.parquet"), *NUMBER]) == 0
    row = json.loads(capsys.readouterr().out)
    assert (row["answer"], row["score"]) == ("\ufffd4", 1)
    assert row["nano"].startswith("1970-01-01") and row["nano"].endswith("1")


def test_an_empty_table_of_a_policy_file_is_empty(file, tmp_path, capsys) -> None:
    (tmp_path / "p.toml").write_text("[policy]\n")
    flags = ["--policy-table", str(tmp_path / "p.toml")]
    assert main(["grade", str(file), *NUMBER, *flags]) == 0

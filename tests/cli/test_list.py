"""What `evenodds list runs` says of whole, torn and missing runs."""

from __future__ import annotations

import json
import os
from datetime import datetime
from pathlib import Path

from evenodds.cli import main

FINAL = json.dumps({"levels": [{"level": 0, "problems": []}]})


def made(root: Path, name: str, metrics: bytes | None, final: str | None = None) -> None:
    (root / name / "evaluation").mkdir(parents=True)
    (root / name / "config.toml").write_text("")
    if metrics is not None:
        (root / name / "metrics.jsonl").write_bytes(metrics)
    if final is not None:
        (root / name / "evaluation" / "final.json").write_text(final)


def shown(root: Path, capsys) -> dict[str, str]:
    assert main(["list", "runs", "--root", str(root)]) == 0
    rows = capsys.readouterr().out.splitlines()
    return {Path(row.split()[0]).name: " ".join(row.split()[1:]) for row in rows}


def test_a_run_shows_task_accuracy_and_date(tmp_path: Path, capsys) -> None:
    made(tmp_path, "done", b'{"step":1}\n', FINAL)
    (tmp_path / "done" / "config.toml").write_text('[task]\nname = "addition"\n')
    sides = {"before": {"sampled": {"mean": 0.45}}, "after": {"sampled": {"mean": 0.5}}}
    (tmp_path / "done" / "summary.json").write_text(json.dumps({"comparison": {"overall": sides}}))
    os.utime(tmp_path / "done", (0, 86400 * 365.5))
    expected = "1 steps finished addition 45.0 → 50.0 % 1971-01-01"
    assert shown(tmp_path, capsys)["done"] == expected


def test_steps_and_whether_it_is_finished(tmp_path: Path, capsys) -> None:
    made(tmp_path, "done", b'{"step":1}\n{"step":2}\n', FINAL)
    made(tmp_path, "torn", b'{"step":1}\n{"step":2}\n{"st')
    made(tmp_path, "new", None)
    made(tmp_path, "odd", b'\xff\xfe\n[1]\n{"step":3}\n', "{")
    today = f"{datetime.now():%Y-%m-%d}"
    assert shown(tmp_path, capsys) == {
        "done": f"2 steps finished - - {today}",
        "torn": f"2 steps not finished - - {today}",
        "new": f"0 steps not finished - - {today}",
        "odd": f"3 steps not finished - - {today}",
    }


def test_a_run_that_an_alarm_ended_is_not_called_finished(tmp_path: Path, capsys) -> None:
    alarm = '{"name": "kl_blowup", "step": 2, "stops": true, "reason": "r", "remedy": "m"}\n'
    for name, steps in (("ended", 9), ("through", 2)):
        made(tmp_path, name, b'{"step":1}\n{"step":2}\n', FINAL)
        (tmp_path / name / "config.toml").write_text(f"[run]\nsteps = {steps}\n")
        (tmp_path / name / "alarms.jsonl").write_text(alarm)
    found = shown(tmp_path, capsys)
    assert found["ended"].startswith("2 steps by an alarm")
    assert found["through"].startswith("2 steps finished")


def test_a_file_that_cannot_be_read_hides_no_other_run(tmp_path: Path, capsys) -> None:
    made(tmp_path, "bad", b'{"step":Infinity}\n')
    made(tmp_path, "folder", None)
    (tmp_path / "folder" / "metrics.jsonl").mkdir()
    made(tmp_path, "good", b'{"step":1}\n')
    found = shown(tmp_path, capsys)
    assert set(found) == {"bad", "folder", "good"}
    assert found["good"].startswith("1 steps not finished")


def test_no_runs_is_said_on_stderr(tmp_path: Path, capsys) -> None:
    assert main(["list", "runs", "--root", str(tmp_path / "none")]) == 0
    found = capsys.readouterr()
    assert found.out == ""
    assert found.err == f"no runs in {tmp_path / 'none'}\n"

"""The facts at the head of a page say what the passports say."""

from __future__ import annotations

import json
from pathlib import Path

from evenodds.report.facts import facts
from evenodds.report.record import read_run
from tests.report import synthetic


def test_the_machine_is_told_with_device_precision_and_threads(tmp_path: Path) -> None:
    folder = synthetic.learned(tmp_path)
    assert dict(facts(read_run(folder)))["Machine"] == "a processor, 2 cores"
    known = {"cpu": "a processor", "cores": 4, "threads": 2, "device": "cpu", "dtype": "float32"}
    (folder / "passports" / "environment.json").write_text(json.dumps(known), "utf-8")
    told = "a processor, 4 cores, 2 threads, cpu, float32"
    assert dict(facts(read_run(folder)))["Machine"] == told
    known["threads"] = 1
    (folder / "passports" / "environment.json").write_text(json.dumps(known), "utf-8")
    assert ", 1 thread, " in dict(facts(read_run(folder)))["Machine"]


def test_updates_and_the_learning_rate_are_told(tmp_path: Path) -> None:
    folder = synthetic.write_run(tmp_path)
    rows = synthetic.metrics(50)
    for row in rows:
        row |= {"passes": 2} | ({} if "skipped" in row else {"learning_rate": 5e-4})
    synthetic.write_metrics(folder, rows)
    told = "98, the last with learning rate 0.0005"
    assert dict(facts(read_run(folder)))["Updates"] == told

"""The facts at the head of a page say what the passports say."""

from __future__ import annotations

import json
from pathlib import Path

from evenodds.report.facts import facts
from evenodds.report.pictures import training_pictures
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


def test_the_objective_is_told_with_all_that_it_came_to(tmp_path: Path) -> None:
    folder = synthetic.learned(tmp_path)
    passport = {"axes": "credit centered, clip 0.2/0.28, kl 0.04 k3 in the loss"}
    (folder / "passports" / "objective.json").write_text(json.dumps(passport), "utf-8")
    told = dict(facts(read_run(folder)))["Objective"]
    assert told == "dr_grpo: credit centered, clip 0.2/0.28, kl 0.04 k3 in the loss"


def test_kl_and_clipped_shares_have_a_picture_where_there_are_any(tmp_path: Path) -> None:
    folder = synthetic.write_run(tmp_path)
    rows = synthetic.metrics(50)
    synthetic.write_metrics(folder, rows)
    titles = {picture.title for picture in training_pictures(read_run(folder))}
    assert not titles & {"Distance from the start (KL)", "Tokens that the clip silenced"}
    for row in rows:
        row |= {
            "kl": 0.01,
            "clip_ratio/region_mean": 0.2,
            "clip_ratio/high_mean": 0.3,
            "clip_ratio/low_mean": 0.1,
        }
    synthetic.write_metrics(folder, rows)
    found = {picture.title for picture in training_pictures(read_run(folder))}
    assert found - titles == {"Distance from the start (KL)", "Tokens that the clip silenced"}


def test_answers_that_could_not_be_judged_are_told(tmp_path: Path) -> None:
    folder = synthetic.write_run(tmp_path)
    rows = synthetic.metrics(50)
    for row in rows:
        row |= {"status/timeout": 0.0, "status/error": 0.0}
    synthetic.write_metrics(folder, rows)
    assert "Not judged" not in dict(facts(read_run(folder)))
    rows[3] |= {"status/timeout": 0.25, "status/error": 0.5}
    rows[4] |= {"status/timeout": 0.25}
    synthetic.write_metrics(folder, rows)
    told = "2 % of the answers (timeout 1 %, error 1 %), in 2 steps of 50"
    assert dict(facts(read_run(folder)))["Not judged"] == told


def test_the_most_memory_is_that_of_all_sittings(tmp_path: Path) -> None:
    folder = synthetic.write_run(tmp_path)
    rows = synthetic.metrics(50)
    for row in rows:
        row["time/memory_mb"] = 700.0 if row["step"] == 20 else 500.0  # the last sitting: 500
    synthetic.write_metrics(folder, rows)
    assert "at most 700 MB of memory" in dict(facts(read_run(folder)))["Time"]

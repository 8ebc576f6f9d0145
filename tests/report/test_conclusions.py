"""The four conclusions: whoever reads only summary.json gets each of them right.

Runs of the GRU are trained here, from bases that benchmarks/conclusions.py made and kept. Of runs
of the demonstration, which take minutes, it kept the evaluations; what they say is worked out here.
"""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from functools import cache
from html import unescape
from pathlib import Path

import pytest
import torch

from evenodds.lab.toy.cases import CASES, profile_of
from evenodds.lab.toy.folder import run_in_folder
from evenodds.lab.toy.golden import load_base
from evenodds.report import write_report
from evenodds.report.plain import table_lines
from evenodds.run.config import make_config, read_saved

torch.set_num_threads(1)
pytestmark = pytest.mark.timeout(300)  # runs of seconds, on a machine that may be busy

GOLDEN = Path(__file__).parents[1] / "golden" / "conclusions"
SEEDS = {"learned": 1, "sharpened": 0}  # of the bases that are kept
STEPS = {"learned": 30, "sharpened": 50}
DEMO = {
    "learned": "learned",
    "sharpened": "sharpened",
    "random": "no_evidence",
    "hacked": "hacked",
}
BASES = {case.books: name for name, case in reversed(CASES.items())}


SAID: dict[str, str] = {}
"""What the terminal ended with, by case."""


class Quiet:
    def __init__(self, name: str) -> None:
        self.name = name

    def start(self, *_) -> None: ...
    def phase(self, *_) -> None: ...
    def step(self, *_) -> None: ...
    def table(self, comparison, sentence="") -> None:
        SAID[self.name] = table_lines(comparison, sentence)[-1]

    def note(self, *_) -> None: ...
    def close(self) -> None: ...


@pytest.fixture(scope="module")
def run_of(tmp_path_factory):
    """A case's run folder, trained once, through the loop of every run.

    Fewer steps than the cases have are enough on these seeds; the bench of the verifier is
    not at stake here.
    """
    root = tmp_path_factory.mktemp("conclusions")

    @cache
    def made(name: str) -> Path:
        case = CASES[name]
        seed = SEEDS[BASES[case.books]]
        path = GOLDEN / f"gru-{BASES[case.books]}.safetensors"
        base = load_base(path, profile_of(case), seed)
        quick = replace(case, steps=STEPS.get(name, case.steps), more={"check.bench": False})
        run_in_folder(quick, root / name, seed, base, view=Quiet(name))
        return root / name

    return made


def concluded(folder: Path) -> dict:
    return json.loads((folder / "summary.json").read_text())


@pytest.mark.parametrize("name", CASES)
def test_a_run_of_the_gru_is_told_for_what_it_is(run_of, name) -> None:
    folder = run_of(name)
    found = concluded(folder)["conclusion"]
    assert found["kind"] == CASES[name].kind
    assert found["random_reward"] is CASES[name].random
    page = unescape((folder / "report.html").read_text()).replace("\N{NO-BREAK SPACE}", " ")
    assert found["sentence"] in page
    assert SAID[name] == found["sentence"], "the terminal would say something else"


def test_the_numbers_are_those_of_the_kind(run_of) -> None:
    found = {name: concluded(run_of(name))["conclusion"] for name in CASES}
    assert found["learned"]["gain"]["low"] > 0
    assert found["sharpened"]["gain"]["low"] > 0 > found["sharpened"]["gain_at_k"]["high"]
    assert found["random"]["gain"]["low"] < 0 < found["random"]["gain"]["high"]
    assert found["hacked"]["gain"]["low"] > 0, "by its own verifier it looks like learning"


def test_only_the_hole_raises_the_alarm_of_the_audit(run_of) -> None:
    alarms = {name: concluded(run_of(name))["alarms"] for name in CASES}
    raised = {name for name, rows in alarms.items() if "audit_disagreement" in str(rows)}
    assert raised == {"hacked"}


def test_such_a_run_is_a_run_like_any_other(run_of) -> None:
    folder = run_of("random")
    config = make_config(read_saved(folder / "config.toml"))
    lines = (folder / "metrics.jsonl").read_text().splitlines()
    groups = (folder / "groups.jsonl").read_text().splitlines()
    parquets = [*(folder / "rollouts").glob("step-*.parquet")]
    assert len(lines) == len(groups) == len(parquets) == config.run.steps == CASES["random"].steps
    passport = json.loads((folder / "passports" / "data.json").read_text())
    assert passport["disjoint"]["held_out_keys_among_them"] == 0


@pytest.mark.parametrize("name", DEMO)
def test_a_run_of_the_demonstration_is_told_for_what_it_is(name, tmp_path) -> None:
    kept = GOLDEN / f"demo-{name}"
    (tmp_path / "config.toml").write_text((kept / "config.toml").read_text())
    (tmp_path / "evaluation").mkdir()
    for which in ("base", "final"):
        data = gzip.decompress((kept / f"{which}.json.gz").read_bytes())
        (tmp_path / "evaluation" / f"{which}.json").write_bytes(data)
    if (kept / "alarms.jsonl").exists():
        (tmp_path / "alarms.jsonl").write_bytes((kept / "alarms.jsonl").read_bytes())
    write_report(tmp_path)
    assert concluded(tmp_path)["conclusion"]["kind"] == DEMO[name]

"""Wrong requests by the hundred: one line, the right exit code, nothing written.

The long form is `python -m benchmarks.durability --only R10 S8`.
"""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from benchmarks.durability_parts import commands, configs, names
from evenodds.cli import main
from evenodds.cli.parser import Parser
from evenodds.errors import UsageError
from tests.requests import (
    broken_configs,
    broken_flags,
    contradictions,
    hostile_inputs,
    hostile_names,
)
from tests.requests.asked import Answer, ask
from tests.requests.broken import Broken
from tests.requests.tried import tried, tried_in_processes
from tests.run.small_runs import run as small_run


def some(cases: list[Broken], count: int) -> list[Broken]:
    """So many by chance, another choice each time; pytest prints the seed where one fails."""
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    return random.Random(seed).sample(cases, min(count, len(cases)))


def slow(one: Broken) -> bool:
    """What opens a judge's processes, or a file of many megabytes."""
    return one.kind == "contradiction" or "MB" in one.what


def test_broken_configs_and_flags_are_refused_with_what_was_meant() -> None:
    every = configs.cases(random.randrange(2**32))
    quick = [one for one in every if not slow(one)]
    found = tried([*some(quick, 90), *some([one for one in every if slow(one)], 5)])
    assert found.faults == []
    assert found.right >= configs.WANTED * found.meant, (found.right, found.meant)


def test_the_same_in_processes_of_their_own() -> None:
    every = [one for one in configs.cases(0) if not slow(one)]
    assert tried_in_processes(every, 2, random.randrange(2**32)).faults == []


def test_hostile_calls_of_the_other_commands() -> None:
    every = [one for one in commands.calls(0, 10_000) if "MB" not in one.what]
    quick = [one for one in every if not one.kind.startswith(("doctor", "data", "lab"))]
    found = tried(some(quick, 60))
    assert found.faults == []
    assert tried(some([one for one in every if one.kind.startswith("data")], 8)).faults == []


def test_a_damaged_run_is_looked_at_or_refused(tmp_path) -> None:
    small_run(tmp_path, run__steps=2, run__save_every=1)
    cases = list(hostile_inputs.runs(tmp_path / "r", random.Random(), 6))
    assert tried(cases).faults == []


def test_hostile_names_write_nothing_outside_the_root() -> None:
    every = names.cases()
    made = [one for one in every if one.kind.startswith("from")]
    rest = [one for one in every if not one.kind.startswith("from")]
    assert tried([*some(rest, 40), *some(made, 2)]).faults == []


@pytest.mark.parametrize("name", hostile_names.FINE[::5])
def test_ordinary_names_are_taken(name, tmp_path) -> None:
    found = ask(hostile_names.train(name), tmp_path)
    assert found.raised.startswith("GotThrough"), found.err
    assert (tmp_path / "runs" / name).is_dir()


def test_the_harness_notices_what_is_amiss() -> None:
    good = Answer(2, "", "evenodds: run.seed cannot be 'x'.\n", 0.1, ())
    assert good.faults(says=("run.seed",)) == []
    assert Answer(0, "", good.err, 0.1, ()).faults() == ["exit 0"]
    assert good.faults(says=("run.steps",)) == ["does not say 'run.steps'"]
    assert Answer(2, "", good.err * 2, 0.1, ()).faults()
    assert Answer(2, "", good.err, 0.1, ("runs",)).faults() == ["wrote runs"]
    assert Answer(2, "", "evenodds: a\x1b[2J\n", 0.1, ()).faults() == ["unprintable characters"]
    meant = Broken("misspelled key", "x", meant="run.seed")
    hints = ("'run.seed'", "'run.steps' or 'run.seed'", "'run.steps'")
    told = [Answer(2, "", f"evenodds: Did you mean {hint}? Choose.\n", 0, ()) for hint in hints]
    assert [meant.is_meant(answer) for answer in told] == [True, True, False]


def test_a_wrong_config_that_gets_through_is_noticed(tmp_path) -> None:
    right = Broken("wrong type", "none at all", content=b"[run]\nsteps = 1\n")
    assert any("GotThrough" in fault for fault in tried([right]).faults)


def test_every_kind_of_case_is_there() -> None:
    kinds = {one.kind for one in configs.cases(3)}
    assert len(configs.cases(3)) >= 700 and len(kinds) >= 13
    assert len(list(contradictions.table())) > 100 and len(names.cases()) > 200
    assert len(commands.calls(0, 10_000)) > 1000
    assert len(broken_configs.real_ones()) >= 5 and len(broken_flags.FLAGS) > 90


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--seed", "1", "--seed", "2"], "twice, as '1' and as '2'"),
        (["--seed", "1", "--run.seed=2"], "twice"),
        (["\u2013\u2013seed", "1"], "Did you mean '--seed'?"),
        (["--name=--"], "takes a value"),
        (["--name", "a\0b"], "NUL"),
        (["x" * 5000 + ".toml"], "File name too long"),
    ],
)
def test_flags_that_contradict_or_hold_what_no_flag_can(arguments, words, tmp_path) -> None:
    found = ask(("train", *arguments), tmp_path)
    assert found.faults((2,), (words,)) == []


def test_a_flag_may_be_given_twice_with_one_value() -> None:
    parser = Parser("x", "", "")
    parser.add_argument("--seed", type=float)
    assert parser.parse(["--seed", "1", "--seed", "1.0"]).seed == 1
    with pytest.raises(UsageError, match="twice"):
        parser.parse(["--seed", "1", "--seed", "nan"])


def test_a_run_of_a_name_that_cannot_be_entered_is_one_line(tmp_path, capsys, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    refused = PermissionError(13, "Permission denied", "runs/x/config.toml")

    def raises(*_: object, **__: object) -> None:
        raise refused

    monkeypatch.setattr(os.path, "isfile", raises)
    monkeypatch.setattr(Path, "is_file", raises)
    assert main(["report", "runs/x"]) == 1
    told = capsys.readouterr().err
    assert told.count("\n") == 1 and "Permission denied" in told and "should not" not in told


def test_export_goes_through_no_link(tmp_path, capsys) -> None:
    (tmp_path / "out").symlink_to(tmp_path / "nowhere")
    assert main(["export", "abacus", str(tmp_path / "out")]) == 2
    assert "exists already" in capsys.readouterr().err and not (tmp_path / "nowhere").exists()

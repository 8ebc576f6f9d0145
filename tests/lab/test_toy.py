"""The GRU experiment: problems, verifier, base, the run itself, and the verdict over seeds."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from evenodds.cli.lab import toy as command
from evenodds.domain import Completion, Status, Stop
from evenodds.errors import UsageError
from evenodds.lab.toy import PROFILES, SETTINGS, Profile, make_base, run_toy_experiment
from evenodds.lab.toy.base import Books, document, pretrain
from evenodds.lab.toy.measure import METRICS
from evenodds.lab.toy.pattern import avoided, change_of, over_seeds, shown
from evenodds.lab.toy.picture import picture
from evenodds.lab.toy.problems import ALL, Sums, Triple, judged_parts, split, verify
from evenodds.lab.toy.tables import coverage_lines, markdown, sample_lines, table, verdict_lines

torch.set_num_threads(1)

TINY = Profile(
    "tiny",
    Books(width=16, steps=40, rows=16),
    {"narrow": 3, "kept": 2},
    samples=4,
    held_out=7,
    groups=3,
    checks=2,
    check_samples=4,
)
PROBLEM = Triple(3, 4, 9).problem()


@pytest.fixture(scope="module")
def base():
    return make_base(TINY, 0)


@pytest.fixture(scope="module")
def runs(base):
    return {name: run_toy_experiment(TINY, 0, setting=name, base=base) for name in SETTINGS}


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("16", (1, 0, 0)),
        ("15", (0, 0, 0)),
        ("13;3+13=16", (1, 1, 1)),
        ("13;13+3=16", (1, 1, 1)),
        ("7;7+9=16", (1, 1, 1)),
        ("12;3+12=15", (0, 1, 1)),
        ("12;3+13=16", (1, 0, 1)),
        ("13;5+13=18", (0, 0, 1)),
        ("13;3+13=17", (0, 0, 1)),
        ("016", (0, 0, 0)),
    ],
)
def test_the_verifier_has_four_outputs(text, parts) -> None:
    found = judged_parts(PROBLEM, text)
    assert tuple(found.values()) == tuple(map(bool, parts))
    verdict = verify(PROBLEM, Completion(text))
    assert verdict.score == pytest.approx(0.8 * parts[0] + 0.15 * parts[1] + 0.05 * parts[2])
    assert verdict.score == pytest.approx(sum(verdict.parts.values()))
    assert verdict.status is (Status.RIGHT if parts[0] else Status.WRONG)


def test_an_answer_that_was_cut_is_paid_nothing() -> None:
    verdict = verify(PROBLEM, Completion("16", Stop.BUDGET))
    assert (verdict.score, verdict.status) == (0.0, Status.TRUNCATED)
    assert set(verdict.parts) == {"correctness", "consistency", "format"}


def test_problems_are_split_by_the_seed_and_their_gold_is_paid_in_full() -> None:
    pool, held = split(60, 3)
    assert len(ALL) == 220 == len(set(pool) | set(held))
    assert len(held) == 60
    assert not set(pool) & set(held)
    assert split(60, 3) == (pool, held)
    assert split(60, 4)[1] != held
    task = Sums(pool, held)
    for problem in task.held_out(0):
        assert verify(problem, Completion(task.solve(problem))).score == pytest.approx(1.0)
    drawn = {task.generate(0, np.random.default_rng(seed)).key for seed in range(50)}
    assert drawn <= {triple.key for triple in pool}
    assert task.seen().held_out(0) == tuple(triple.problem() for triple in pool)


def test_books_have_slips_at_their_rate_and_answers_that_the_grammar_knows() -> None:
    rng = np.random.default_rng(0)
    books = Books(bare=0.5, slip=0.0, bare_slip=1.0, habit=0.5)
    for _ in range(300):
        prompt, text = document(Triple(3, 4, 9), books, rng)
        assert sorted(prompt.rstrip("=").split("+")) == ["3", "4", "9"]
        right = verify(PROBLEM, Completion(text))
        assert right.score == pytest.approx(1.0 if ";" in text else 0.0)
    wrong = [document(Triple(9, 9, 9), Books(bare=0, slip=0.3), rng)[1] for _ in range(2000)]
    ends = np.mean([not text.endswith("=27") for text in wrong])
    assert ends == pytest.approx(1 - 0.7 * 0.7, abs=0.04)  # both numbers may slip, seldom to 27


def test_pre_training_is_the_same_from_the_same_seed() -> None:
    problems, books = ALL[:20], replace(TINY.books, steps=10)
    told: list[tuple[int, int]] = []
    one = pretrain(problems, books, 1, lambda done, steps: told.append((done, steps)))
    two = pretrain(problems, books, 1)
    assert told[-1] == (10, 10)
    pairs = zip(one.trainable().values(), two.trainable().values(), strict=True)
    assert all(torch.equal(a, b) for a, b in pairs)
    other = pretrain(problems, books, 2)
    assert not torch.equal(one.model.head.bias, other.model.head.bias)


def test_a_result_has_tables_history_coverage_and_samples(runs, base) -> None:
    for name, steps in TINY.steps.items():
        found = runs[name]
        assert (found.profile, found.setting.name, found.seed) == ("tiny", name, 0)
        prompts = {"train": len(found.coverage) - 7, "held-out": 7}
        assert prompts["train"] == (12 if name == "narrow" else 213)
        for side in ("train", "held-out"):
            for quality in (found.before[side], found.after[side]):
                assert all(math.isfinite(quality[metric]) for metric in METRICS)
                assert len(quality.rewards) == prompts[side]
                assert quality["mean reward"] == pytest.approx(sum(quality.parts.values()))
                assert quality.parts["correctness"] == pytest.approx(0.8 * quality["accuracy"])
            assert found.before[side]["KL to the reference"] == 0
            assert found.after[side]["KL to the reference"] > 0
        assert [row["step"] for row in found.history] == list(range(1, steps + 1))
        assert {"reward", "accuracy", "entropy", "grad_norm", "kl"} <= set(found.history[0])
        assert any("checks" in row for row in found.history)
        rows = [row for row in found.coverage if row.side == "held-out"]
        assert [row.key for row in rows] == [triple.key for triple in base.task.held]
        mean = np.mean([row.after / row.tries for row in rows])
        assert mean == pytest.approx(found.after["held-out"]["accuracy"])
        assert len(found.samples) == 8
        assert all(len(sample.before) == len(sample.after) == 4 for sample in found.samples)


def test_two_runs_are_equal_bit_for_bit_and_the_base_stays(runs, base) -> None:
    weights = [value.clone() for value in base.policy.trainable().values()]
    again = run_toy_experiment(TINY, 0, setting="narrow", base=base)
    assert _plain(again) == _plain(runs["narrow"])
    assert again.samples == runs["narrow"].samples
    alone = run_toy_experiment(TINY, 0, setting="narrow")
    assert _plain(alone) == _plain(again)
    pairs = zip(weights, base.policy.trainable().values(), strict=True)
    assert all(torch.equal(a, b) for a, b in pairs)
    assert _plain(run_toy_experiment(TINY, 1, setting="narrow", base=base)) != _plain(again)


def _plain(result):
    """All numbers of a result; NaN, where a share was of nothing, as a word."""
    sides = [{m: q[m] for m in METRICS} for q in (*result.before.values(), *result.after.values())]
    rows = [{k: repr(v) for k, v in row.items() if k != "checks"} for row in result.history]
    return sides, rows, result.coverage


def test_settings_reach_the_objective_and_the_learner(runs) -> None:
    narrow, kept = runs["narrow"], runs["kept"]
    assert narrow.objective.kl_loss is None
    assert narrow.objective.measure_kl
    assert kept.objective.kl_loss is not None
    assert kept.objective.kl_loss.coefficient == SETTINGS["kept"].kl
    assert narrow.history[0]["passes"] == 4
    assert kept.history[0]["passes"] == 1
    assert narrow.history[0]["learning_rate"] > 5 * kept.history[0]["learning_rate"]


def test_the_entropy_bonus_is_paid_below_the_bases_entropy_and_not_above(base) -> None:
    def nats(**changes):
        how = replace(SETTINGS["kept"], prompts=12, learning_rate=1e-2, **changes)
        found = run_toy_experiment(replace(TINY, checks=0), 0, setting=how, base=base)
        return found.after["train"]["token entropy"]

    without = nats(entropy=0.0)
    assert nats(entropy=2.0, hold=2.0) > without + 0.01
    # the first step has seen no entropy yet, so it is paid whatever the target
    assert without <= nats(entropy=2.0, hold=0.01) < nats(entropy=2.0, hold=2.0)


@pytest.mark.parametrize("recipe", ["grpo", "gspo", "reinforce", "dapo"])
def test_other_objectives_run_through_it(base, recipe) -> None:
    short = replace(TINY, steps={"kept": 1}, checks=0)
    found = run_toy_experiment(short, 0, recipe, SETTINGS["kept"], base)
    assert found.after["train"]["KL to the reference"] > 0


def test_wrong_names_are_refused() -> None:
    with pytest.raises(UsageError, match="unknown profile 'smok'"):
        run_toy_experiment("smok")
    with pytest.raises(UsageError, match="unknown setting 'wide'"):
        run_toy_experiment("smoke", setting="wide")
    with pytest.raises(UsageError, match="unknown objective 'gropo'"):
        run_toy_experiment("smoke", objective="gropo")
    with pytest.raises(UsageError, match="Give 1 or more"):
        command.main(["--seeds", "0"])
    with pytest.raises(UsageError, match="unknown objective"):
        command.main(["--objective", "gropo"])


def test_the_command_prints_a_table_a_setting(monkeypatch, capsys, tmp_path) -> None:
    monkeypatch.setitem(PROFILES, "tiny", TINY)
    target = tmp_path / "toy.svg"
    arguments = ["--profile", "tiny", "--seeds", "2", "--setting", "narrow", "--samples"]
    assert command.main([*arguments, "--coverage", "--plot", str(target)]) == 0
    out, err = capsys.readouterr()
    assert "means of 2 seeds; changes with 95 % intervals over seeds" in out
    assert all(metric in out for metric in METRICS)
    assert "narrow, held-out: " in out
    assert "of 4 right" in out
    assert "kept" not in out
    assert "seed 1, narrow" in err
    assert target.read_text().startswith("<svg")
    with pytest.raises(UsageError, match=r"Name a FILE\.svg"):
        command.main(["--plot", "toy.png"])
    with pytest.raises(UsageError, match="unknown profile 'huge'"):
        command.main(["--profile", "huge"])


def test_texts_and_picture_show_what_was_found(runs) -> None:
    narrow = runs["narrow"]
    shown_table = table([narrow])
    assert "12 prompts × 4 answers" in shown_table
    before, after = (q["held-out"]["pass@4"] for q in (narrow.before, narrow.after))
    assert f"{before:.3f} → {after:.3f}" in shown_table.splitlines()[-1]
    assert len(list(sample_lines(narrow))) == 24
    assert len(list(coverage_lines(narrow))) == 2 + 12 + 7
    assert markdown([narrow]).count("\n") == 2 + 12 - 1
    svg = picture({name: [result, result] for name, result in runs.items()})
    assert svg.count("<svg") == 5
    assert svg.count("polygon") == 8


def fake(train: float, held: float, entropy: float, seed: int):
    """A result whose changes are these, with some noise of the seed."""
    noise = 0.01 * (seed - 2)

    def side(accuracy, nats):
        plain = dict.fromkeys(METRICS, 0.5) | {"accuracy": accuracy, "mean reward": accuracy}
        plain |= {"pass@4": accuracy, "token entropy": nats}
        return _Fake(plain)

    before = {"train": side(0.4, 0.4), "held-out": side(0.3, 0.4)}
    after = {
        "train": side(0.4 + train + noise, 0.4 + entropy + noise),
        "held-out": side(0.3 + held + noise, 0.4 + entropy + noise),
    }
    change = lambda s, m: after[s][m] - before[s][m]  # noqa: E731
    return SimpleNamespace(before=before, after=after, change=change)


class _Fake(dict):
    rates: dict = {}  # noqa: RUF012


def test_the_verdict_says_yes_and_no() -> None:
    bad = [fake(0.2, -0.15, -0.2, seed) for seed in range(5)]
    good = [fake(0.1, 0.02, 0.0, seed) for seed in range(5)]
    assert all(check.holds for check in [*shown(bad), *avoided(bad, good)])
    assert [check.words for check in shown(good) if not check.holds] == [
        "held-out accuracy falls",
        "held-out pass@4 falls",
        "train token entropy falls",
        "held-out token entropy falls",
    ]
    assert not all(check.holds for check in avoided(bad, bad))
    assert not all(check.holds for check in avoided(good, good))  # keeps no more than itself
    lines = list(verdict_lines(shown(good)))
    assert sum("MISS" in line for line in lines) == 4
    assert change_of(bad, "train", "accuracy").seeds.mean == pytest.approx(0.2)


def test_intervals_over_seeds_are_students() -> None:
    found = over_seeds([1.0, 2.0, 3.0, 4.0, 5.0])
    half = 2.776445 * math.sqrt(2.5) / math.sqrt(5)
    assert (found.mean, found.low, found.high) == pytest.approx((3, 3 - half, 3 + half), rel=1e-5)
    assert over_seeds([2.0]).high == math.inf
    wide, narrow = over_seeds(np.arange(14.0)), over_seeds(np.arange(15.0))
    assert wide.high - wide.mean == pytest.approx(2.160 * 4.1833 / math.sqrt(14), rel=1e-3)
    assert narrow.high - narrow.mean == pytest.approx(2.145 * 4.4721 / math.sqrt(15), rel=1e-2)

"""Deliberately wrong configurations, each of which is named by exactly the right finding."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from evenodds.domain import Problem
from evenodds.policies.load import load_policy
from evenodds.run.build import objective_of, plan_of, policy_options
from evenodds.run.config import make_config, merge, read_toml
from evenodds.run.folder import RunFolder
from evenodds.run.making import engine_around
from evenodds.run.preflight import fits
from evenodds.run.preflight.checks import CHECKS
from evenodds.run.preflight.ground import Ground
from evenodds.run.preflight.probing import probed
from evenodds.tasks import problems_task

ROOT = Path(__file__).parents[3]
HEAVY = {"dropout", "ratio", "positions", "distribution"}  # of the model, whatever the settings
QUICK = {"check.bench": False, "evaluation.control": "none", "run.steps": 100}


@cache
def policy_of(adapter: str):
    return load_policy(policy_options(make_config({"policy": {"adapter": adapter}})))


def ground_of(root: Path, over: dict, task=None, data: dict | None = None) -> Ground:
    """The bundled model under a configuration, as a run would have it."""
    config = make_config(merge(data or {}, QUICK | {"run.root": str(root)} | over))
    plan, objective = plan_of(config, task), objective_of(config)
    made = engine_around(policy_of(config.policy.adapter), plan, objective)
    return Ground(plan, objective, made, RunFolder(root / "new"))


def told(ground: Ground, when: str) -> dict[str, str]:
    """Level by name of all that is not fine."""
    looked = [c.look(ground) for n, c in CHECKS.items() if c.when == when and n not in HEAVY]
    return {f.name: f.level for f in looked if f is not None and f.level != "fine"}


def with_probe(ground: Ground) -> Ground:
    def silent(what):
        return lambda done, total: None

    return replace(ground, probe=probed(ground.plan, ground.made, ground.objective, silent))


WRONG = {
    "a rate for another kind of model": ({"learner.learning_rate": 0.1}, "learning_rate", "fatal"),
    "a rate too high": ({"learner.learning_rate": 0.01}, "learning_rate", "warning"),
    "a rate too low": ({"learner.learning_rate": 1e-7}, "learning_rate", "warning"),
    "alpha far above rank": (
        {"policy.adapter": "lora", "policy.alpha": 1024},
        "lora_scale",
        "warning",
    ),
    "hot": ({"sampling.temperature": 2.0}, "temperature", "warning"),
    "boiling": ({"sampling.temperature": 5.0}, "temperature", "fatal"),
    "frozen": ({"sampling.temperature": 0.01}, "temperature", "fatal"),
    "cold": ({"sampling.temperature": 0.3}, "temperature", "warning"),
    "measured otherwise": ({"sampling.temperature": 0.8}, "temperature", "warning"),
    "held where it began": ({"objective.kl": 5.0}, "kl", "warning"),
    "paid for noise": ({"objective.entropy": 1.0}, "entropy", "warning"),
    "no room for the ratio": (
        {"objective.clip_low": 0.0, "objective.clip_high": 0.0},
        "clip",
        "warning",
    ),
    "no bound on the ratio": ({"objective.clip_high": 1e5}, "clip", "warning"),
    "every gradient cut": ({"learner.max_grad_norm": 1e-6}, "grad_norm", "warning"),
    "no gradient cut": ({"learner.max_grad_norm": 1e6}, "grad_norm", "warning"),
    "weights that fade": ({"learner.weight_decay": 5.0}, "weight_decay", "warning"),
    "passes without a clip": (
        {"learner.passes": 4, "objective.recipe": "rloo"},
        "passes",
        "warning",
    ),
    "too many passes": ({"learner.passes": 50}, "passes", "warning"),
    "one small group": ({"sampling.groups": 1, "sampling.group_size": 4}, "batch", "warning"),
    "pairs that are standardised": (
        {"objective.recipe": "grpo", "sampling.group_size": 2},
        "group_size",
        "warning",
    ),
    "warm-up beyond the end": ({"learner.warmup_steps": 500}, "warm_up", "warning"),
    "saved never": ({"run.save_every": 1000}, "save_every", "warning"),
    "evaluated never": ({"evaluation.every": 100}, "evaluation_every", "warning"),
    "hardly anything held out": ({"evaluation.problems": 2}, "held_out", "warning"),
    "measured with less": ({"evaluation.max_tokens": 16}, "evaluation_budget", "warning"),
    "measured elsewhere": (
        {"curriculum.kind": "fixed", "curriculum.levels": (0,), "evaluation.levels": (3, 4, 5)},
        "evaluation_levels",
        "warning",
    ),
    "measured hot": ({"evaluation.temperature": 3.0}, "temperature", "warning"),
    "more entropy than there is": ({"objective.entropy_target": 5.0}, "entropy", "warning"),
    "every token masked": (
        {"objective.correction": "token_mask", "objective.correction_cap": 0.5},
        "objective",
        "fatal",
    ),
    "no memory": ({"run.memory_gb": 0.55}, "memory", "fatal"),
    "no room for an answer": ({"sampling.max_tokens": 3}, "answer_fits", "warning"),
    "no room beside the prompt": ({"sampling.max_tokens": 240}, "context", "warning"),
}


@pytest.mark.parametrize("case", WRONG, ids=str)
def test_a_wrong_setting_is_named(tmp_path, case) -> None:
    over, name, level = WRONG[case]
    assert told(ground_of(tmp_path, over), "start") == {name: level}


def _rows(path: Path, count: int, level: str = "") -> str:
    rows = [
        {"prompt": f"{n}*3=", "answer": str(3 * n), **({"level": level} if level else {})}
        for n in range(10, 10 + count)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def test_few_problems_for_many_steps_are_named(tmp_path) -> None:
    data = _rows(tmp_path / "few.jsonl", 40)
    over = {"task.data": data, "run.steps": 300, "evaluation.samples": 64}
    assert told(ground_of(tmp_path, over), "start") == {"repeats": "warning", "held_out": "warning"}


def test_one_prompt_of_training_that_is_too_long_is_named(tmp_path) -> None:
    path = tmp_path / "data.jsonl"
    rows = Path(_rows(path, 300)).read_text()
    path.write_text(rows + json.dumps({"prompt": "1+" * 200 + "1=", "answer": "201"}) + "\n")
    ground = ground_of(tmp_path, {"task.data": str(path)})
    found = CHECKS["context"].look(ground)
    assert found.level == "warning" and "prompts of up to 402" in found.what


def test_a_file_of_which_much_is_held_out_elsewhere_is_named(tmp_path) -> None:
    over = {
        "task.data": _rows(tmp_path / "learn.jsonl", 200),
        "task.held_out_data": _rows(tmp_path / "test.jsonl", 60),
    }
    assert told(ground_of(tmp_path, over), "start") == {"left_out": "warning"}


def test_a_level_with_hardly_any_problem_is_named(tmp_path) -> None:
    path = tmp_path / "levels.jsonl"
    _rows(path, 300, "easy")
    with path.open("a") as file:
        for n in (2, 3, 4):
            file.write(json.dumps({"prompt": f"{n}*4=", "answer": str(4 * n), "level": "hard"}))
            file.write("\n")
    over = {"task.data": str(path), "evaluation.samples": 32, "run.steps": 60}
    assert told(ground_of(tmp_path, over), "start") == {"levels": "warning"}


def test_problems_with_one_gold_are_named(tmp_path) -> None:
    path = tmp_path / "same.jsonl"
    rows = [{"prompt": f"{n}*3=", "answer": "7" if n % 20 else "8"} for n in range(10, 410)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    over = {"task.data": str(path), "evaluation.samples": 64, "run.steps": 20}
    assert told(ground_of(tmp_path, over), "start") == {"problems": "warning"}


class Own:
    """A task of a person's own, whose problems come from `make(rng)`."""

    def __init__(self, make) -> None:
        self.inner = problems_task([(f"{n}*3=", str(3 * n)) for n in range(10, 900)], "number")
        self.make = make

    def __getattr__(self, name):
        return getattr(self.inner, name)

    def passport(self) -> dict:
        return {}

    def generate(self, level, rng) -> Problem:
        prompt, answer = self.make(rng)
        return Problem(f"own/{prompt}/{answer}", prompt, answer, "own")


@pytest.mark.parametrize(
    ("make", "found"),
    [
        (lambda rng: ("7*8=", str(rng.integers(100))), {"problems": "fatal"}),
        (lambda rng: (f"7*{rng.integers(3)}=", "5"), {"problems": "warning"}),
        (lambda rng: (f"7*{(n := rng.integers(10**6))}=", str(7 * n)), {}),
    ],
    ids=["two golds", "few", "sound"],
)
def test_problems_that_a_task_draws_are_looked_at(tmp_path, make, found) -> None:
    over = {"evaluation.problems": 100}
    assert told(ground_of(tmp_path, over, Own(make)), "start") == found


@pytest.mark.parametrize(
    "over", [{"judge.workers": 0}, {"judge.seconds": 1000.0, "judge.workers": 2}]
)
def test_a_verifier_without_an_end_is_named(tmp_path, over) -> None:
    mine = tmp_path / "mine.py"
    mine.write_text("def grade(problem, text):\n    return problem.answer == text.strip()\n")
    set_ = {"task.verifier": f"{mine}:grade", "evaluation.problems": 100}
    assert told(ground_of(tmp_path, over | set_), "start") == {"deadline": "warning"}


def test_a_gold_that_a_stop_string_cuts_is_named(tmp_path) -> None:
    class Stopping(Own):
        stop_strings = ("1",)

    task = Stopping(lambda rng: (f"7*{(n := rng.integers(10**6))}=", str(7 * n)))
    found = told(ground_of(tmp_path, {"evaluation.problems": 100}, task), "start")
    assert found == {"gold": "fatal", "stop_strings": "fatal"}


PROBED = {
    "answers are cut": (
        {"sampling.max_tokens": 8, "curriculum.kind": "fixed", "curriculum.levels": (8, 9)},
        {"truncation": "fatal", "informative": "skipped"},
    ),
    "many answers are cut": (
        {"sampling.max_tokens": 12, "curriculum.kind": "fixed", "curriculum.levels": (5, 6)},
        {"truncation": "warning", "informative": "skipped"},
    ),
    "nothing is solved": ({"task.name": "addition"}, {"informative": "fatal"}),
    "no time": ({"run.max_time": 2.0}, {"throughput": "fatal"}),
    "measured all the time": ({"evaluation.every": 1}, {"evaluation_time": "warning"}),
    "two alike": ({"sampling.temperature": 0.11}, {"informative": "warning"}),
}


@pytest.mark.parametrize("case", PROBED, ids=str)
def test_what_only_answers_show_is_named(tmp_path, case) -> None:
    over, wanted = PROBED[case]
    found = told(with_probe(ground_of(tmp_path, over)), "probe")
    assert found == wanted


@pytest.fixture(scope="module")
def sound(tmp_path_factory) -> Ground:
    """The defaults, with answers."""
    return with_probe(ground_of(tmp_path_factory.mktemp("sound"), {}))


def test_the_defaults_are_silent(sound) -> None:
    assert told(sound, "start") == {} and told(sound, "probe") == {}


def test_a_reference_does_not_end_the_probe(tmp_path) -> None:
    ground = with_probe(ground_of(tmp_path, {"objective.kl": 0.02}))
    assert told(ground, "probe") == {}
    assert ground.probe is not None and ground.probe.timed is not None
    assert ground.probe.timed.learn > 0


VERIFIERS = """
import random

def coin(problem, text):
    return text.strip() == problem.answer or random.random() < 0.5

def picky(problem, text):
    if len(text) % 2 or text.strip() == problem.answer:
        return text.strip() == problem.answer
    return float("nan")
"""


@pytest.mark.parametrize(("name", "found"), [("coin", "verdicts"), ("picky", "judging")])
def test_a_verifier_that_does_not_know_is_named(tmp_path, name, found) -> None:
    mine = tmp_path / "mine.py"
    mine.write_text(VERIFIERS)
    over = {"task.verifier": f"{mine}:{name}", "judge.workers": 1}
    levels = told(with_probe(ground_of(tmp_path, over)), "probe")
    assert levels.get(found) == {"verdicts": "fatal", "judging": "warning"}[found]


def test_a_full_disk_is_named(sound, monkeypatch) -> None:
    monkeypatch.setattr(fits, "free_disk", lambda path: 10**7)
    assert told(sound, "probe") == {"disk": "fatal"}


@pytest.mark.parametrize("recipe", sorted(p.name for p in (ROOT / "recipes").rglob("*.toml")))
def test_a_sound_configuration_is_silent(tmp_path, recipe, monkeypatch) -> None:
    monkeypatch.chdir(ROOT)
    found = read_toml(next((ROOT / "recipes").rglob(recipe)))
    stand_in = {"policy.name": "abacus"}
    if recipe == "smollm2-sums.toml":  # its model reads worked examples, which abacus does not
        stand_in |= {"task.style": "bare", "learner.learning_rate": 2e-4}
    ground = ground_of(tmp_path, stand_in, data=found)
    assert told(ground, "start") == {}
    if recipe != "smollm2-sums.toml":
        assert told(with_probe(ground), "probe") == {}


def test_a_stop_string_in_answers_that_a_function_of_ones_own_judges(tmp_path):
    pairs = [(f"{n}=", str(n)) for n in range(100, 160)]
    task = problems_task(pairs, lambda problem, text: text.endswith(problem.answer))
    look = CHECKS["stop_strings"].look
    found = look(ground_of(tmp_path, {"sampling.stop": ("1",)}, task))
    assert found is not None and found.level == "warning" and "answers of the data" in found.what
    other = look(ground_of(tmp_path, {"sampling.stop": ("~",)}, task))
    assert other is not None and other.level == "fine"

"""`evenodds doctor` as a person and a program meet it, and its checks at the start of train."""

from __future__ import annotations

import hashlib
import json

import pytest
import torch

from evenodds.cli import main
from evenodds.errors import GateError, UsageError
from evenodds.run.preflight import checks
from evenodds.run.preflight.checks import Check, examine, require, require_known
from evenodds.run.preflight.finding import Finding
from evenodds.run.preflight.show import WIDTH, lines, told
from tests.run.preflight.broken import CHAT, bytes_policy, folder_of, ground_of
from tests.run.small_runs import config_in
from tests.tiny import make_policy

ABACUS = ["--check.bench", "false", "--evaluation.control", "none", "--task.held_out", "8"]
CHATTING = [
    *ABACUS,
    "--task.style",
    "chat",
    "--task.name",
    "addition",
    "--sampling.max_tokens",
    "8",
]


def asked(capsys, *words):
    code = main(["doctor", *words])
    said = capsys.readouterr()
    return code, said.out, said.err


def names(text):
    return {f["name"]: f["level"] for f in json.loads(text)["findings"]}


def test_it_is_silent_on_the_bundled_model_and_leaves_nothing(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, _ = asked(capsys, *ABACUS, "--json")
    record = json.loads(out)
    assert code == 0 and record["fatal"] == 0
    model = {"ratio", "positions", "distribution", "ratio_after_update", "ends", "learns"}
    found = names(out)
    assert {n: found.get(n) for n in model} == dict.fromkeys(model, "fine")
    assert not [n for n, level in found.items() if level in ("fatal", "skipped")]
    assert list(tmp_path.iterdir()) == []


def digest(folder):
    return {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in folder.iterdir()}


def test_a_model_folder_with_mistakes_is_named_in_text_of_80_columns(tmp_path, capsys):
    policy = bytes_policy(CHAT, eos=None, eos_token_id=None)
    folder = folder_of(policy, tmp_path / "m", generation_config={"repetition_penalty": 1.3})
    before = digest(folder)
    code, out, _ = asked(capsys, "--policy", str(folder), *CHATTING)
    assert code == 3
    assert "✗ end_token (fatal)" in out and "why:" in out and "do:" in out
    assert "repetition_penalty 1.3: is ignored here" in " ".join(out.split())
    assert max(map(len, out.splitlines())) <= WIDTH
    assert out.index("(fatal)") < out.index("✓ task")
    assert digest(folder) == before
    code, out, _ = asked(
        capsys,
        "--policy",
        str(folder),
        *CHATTING,
        "--check.ignore",
        "end_token,truncation",
        "--json",
    )
    assert code == 0, out
    assert {f["name"]: f["ignored"] for f in json.loads(out)["findings"]}["end_token"]


@pytest.mark.parametrize(
    ("mistake", "part", "said"),
    [
        ("nan", "model", "not finite"),
        ("template", "fit", "no chat template"),
        ("short", "model", "the model knows 200 tokens"),
        ("task", "task", "curriculum.start cannot be 99"),
    ],
)
def test_what_cannot_be_made_is_a_fatal_finding_of_its_part(tmp_path, capsys, mistake, part, said):
    policy = bytes_policy(None if mistake == "template" else CHAT)
    if mistake == "nan":
        with torch.no_grad():
            policy.model.lm_head.weight[3, 3] = torch.nan
    if mistake == "short":
        policy = bytes_policy(CHAT, vocab_size=200)
    words = ["--curriculum.start", "99"] if mistake == "task" else []
    folder = folder_of(policy, tmp_path / "m")
    code, out, _ = asked(capsys, "--policy", str(folder), *CHATTING, *words, "--json")
    (found,) = [f for f in json.loads(out)["findings"] if f["level"] == "fatal"]
    assert (code, found["name"]) == (3, part)
    assert said in found["what"]


def test_what_does_not_fit_is_said_before_the_weights_are_read(capsys, monkeypatch):
    def never(options):
        raise AssertionError("the weights were read")

    monkeypatch.setattr("evenodds.policies.load.load_policy", never)
    code, out, _ = asked(capsys, *ABACUS, "--run.memory_gb", "0.4", "--json")
    assert code == 3
    assert names(out) == {"task": "fine", "memory": "fatal", "all else": "skipped"}


def test_a_doctor_does_not_fall_ill_itself(capsys, monkeypatch):
    def ill(self, *rest):
        raise RuntimeError("out of something")

    monkeypatch.setattr("evenodds.sampling.native.NativeSampler.sample", ill)
    code, out, _ = asked(capsys, *ABACUS, "--json")
    found = {f["name"]: f for f in json.loads(out)["findings"]}
    assert code == 3 and found["probe"]["what"] == "RuntimeError: out of something"
    assert found["ratio"]["level"] == "skipped"


def test_a_wrong_flag_or_name_is_wrong_usage(capsys):
    assert asked(capsys, "--policy.rnak", "3")[0] == 2
    code, out, err = asked(capsys, "--check.ignore", "end_tokne")
    assert code == 2 and "'end_token'" in err and not out


def test_train_refuses_what_is_fatal_before_anything_is_written(tmp_path):
    from evenodds.run.train import train
    from tests.run.small_runs import Quiet

    folder = folder_of(bytes_policy(CHAT, eos=None, eos_token_id=None), tmp_path / "m")
    over = {
        "policy.name": str(folder), "task.style": "chat", "task.name": "addition",
        "check.bench": False, "run.steps": 1, "sampling.max_tokens": 8, "task.held_out": 4,
        "evaluation.levels": [0],
    }  # fmt: skip
    with pytest.raises(GateError, match=r"end_token: no token ends.*--check.ignore end_token"):
        train(config_in(tmp_path / "runs", **over), view=Quiet())
    assert not (tmp_path / "runs").exists()
    view = Quiet()
    with pytest.raises(UsageError, match="unknown check"):
        train(config_in(tmp_path / "runs", **over, **{"check.ignore": ["x"]}), view=Quiet())
    with pytest.raises(GateError, match="truncation"):  # seen on the base, which is kept
        train(config_in(tmp_path / "runs", **over, **{"check.ignore": ["end_token"]}), view=view)
    assert (tmp_path / "runs" / "r" / "evaluation" / "base.json").exists()
    ignored = ["end_token", "ends", "truncation", "informative"]
    train(config_in(tmp_path / "runs", **over, **{"check.ignore": ignored}), view=view)
    assert (tmp_path / "runs" / "r" / "model").exists()
    warned = [note for note in view.notes if note.startswith("warning: end_of_turn")]
    assert len(warned) == 1 and "\n" not in warned[0]


def test_a_check_that_fails_itself_is_skipped_and_says_so(monkeypatch):
    def broken(ground):
        raise ZeroDivisionError("of its own")

    monkeypatch.setattr(checks, "CHECKS", {"odd": Check(broken, "start")})
    (found,) = examine(ground_of(make_policy()), "start")
    assert found.level == "skipped" and "of its own" in found.what
    require([found], ())


def test_the_first_fatal_finding_that_is_not_ignored_is_raised():
    one, two = (Finding(n, "fatal", f"{n} is wrong", "why", "--a b") for n in ("one", "two"))
    require([Finding("w", "warning", "x")], ())
    with pytest.raises(GateError, match=r"two: two is wrong\. Change: --a b\."):
        require([one, two], ("one",))
    require([one, two], ("two", "one"))
    require_known(["ratio"])


def test_hostile_text_in_a_finding_cannot_steer_a_terminal():
    evil = Finding("a", "fatal", "\x1b[2J\u202e\nx", "w\x07", "c\x1b]52;")
    shown = "\n".join([*lines([evil]), told(evil)])
    assert not set("\x1b\x07\u202e") & set(shown)
    assert len(told(evil).splitlines()) == 1


def test_a_verifier_that_never_pays_is_named_beside_its_task(tmp_path, capsys):
    """So few tokens show no end of an answer, which is no fault of the model."""
    mine = tmp_path / "never.py"
    mine.write_text(
        "def problems():\n    return [(f'{a}*7=', str(7 * a)) for a in range(400)]\n\n\n"
        "def grade(problem, text):\n    return 0.0\n"
    )
    code, out, _ = asked(
        capsys, "--task", str(mine), "--judge.workers", "0", "--sampling.max_tokens", "1"
    )
    assert code == 3 and "! task (warning)" in out
    assert "no form of a right one was paid" in " ".join(out.split())
    assert "– ends: within 1 token no end can be seen" in out
    assert "\n\n\n" not in out

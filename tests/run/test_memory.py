"""What the memory plan chooses, what `train --dry-run` says of it, and what a run takes from it."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from evenodds.cli import main
from evenodds.lab.abacus_model import make_tokenizer
from evenodds.policies.memory import Precision, Sizes, packed_bytes
from evenodds.run.build import FASTEST, learner_options
from evenodds.run.config import make_config, merge
from evenodds.run.memory import Work, choose, plan_for, work_of
from evenodds.run.memory_text import refusal
from evenodds.sampling.native import NativeSampler
from evenodds.sampling.packed import can_pack
from evenodds.tasks import make_task
from tests.tiny import make_policy

QWEN = Sizes(
    parameters=596_049_920,
    adapted=630_784,
    layers=28,
    hidden=1024,
    heads=16,
    queries=2048,
    keys=1024,
    inner=3072,
    vocabulary=151_936,
    normed_heads=True,
)
LORA = Precision(2, 16)
WORK = Work("cuda", prompt=128, answer=1024, group_size=16)
GB = 10**9
CONFIG = {  # Qwen3-0.6B as its config.json has it
    "model_type": "qwen3",
    "architectures": ["Qwen3ForCausalLM"],
    "hidden_size": 1024,
    "intermediate_size": 3072,
    "num_hidden_layers": 28,
    "num_attention_heads": 16,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "vocab_size": 151_936,
    "max_position_embeddings": 40_960,
    "tie_word_embeddings": True,
    "rope_theta": 1_000_000,
    "rms_norm_eps": 1e-6,
    "eos_token_id": 1,
}


def test_16_gb_take_qwen3_without_checkpointing() -> None:
    for size, answer in ((8, 512), (16, 1024)):
        plan = choose(QWEN, LORA, replace(WORK, group_size=size, answer=answer), 16 * GB)
        assert plan.fits
        assert not plan.gradient_checkpointing
        assert plan.micro_batch_tokens == 4096
        assert 64 <= plan.rows < 256 and plan.rows % size == 0
        assert plan.kv_tokens == plan.rows * (128 + answer)


def test_checkpointing_comes_only_where_the_smallest_pass_does_not_fit() -> None:
    long = replace(WORK, answer=8192, group_size=2)
    assert choose(QWEN, LORA, long, 40 * GB).gradient_checkpointing is False
    plan = choose(QWEN, LORA, long, 12 * GB)
    assert plan.gradient_checkpointing and plan.fits
    assert plan.micro_batch_tokens == long.longest, "a row is never cut"
    assert not choose(QWEN, LORA, replace(long, checkpointing=False), 12 * GB).fits


def test_what_is_set_is_kept() -> None:
    plan = choose(QWEN, LORA, replace(WORK, tokens=1500, checkpointing=True, rows=32), 80 * GB)
    assert (plan.micro_batch_tokens, plan.gradient_checkpointing, plan.rows) == (1500, True, 32)


@pytest.mark.parametrize("memory", [0, 12])
def test_all_answers_to_one_prompt_are_planned_for_however_few_rows_are_asked(memory) -> None:
    """The sampler takes them together: of a group, and of a problem that is evaluated."""
    each = choose(QWEN, LORA, WORK, 0).sampling // 256
    for changes, rows in (({"rows": 4}, 16), ({"samples": 96, "rows": 32}, 96)):
        plan = choose(QWEN, LORA, replace(WORK, **changes), memory * GB)
        assert plan.rows == changes["rows"]
        assert plan.sampling == rows * each
    large = choose(QWEN, LORA, replace(WORK, samples=96), 8 * GB)
    assert not large.fits and "--evaluation.samples" in refusal(large)


def test_nothing_is_bounded_where_the_memory_is_not_known() -> None:
    plan = choose(QWEN, LORA, WORK, 0)
    assert plan.fits
    assert (plan.rows, plan.micro_batch_tokens) == (256, 8192)


def test_the_smallest_plan_says_that_it_does_not_fit() -> None:
    plan = choose(QWEN, Precision(2), WORK, 4 * GB)
    assert not plan.fits
    assert plan.rows == WORK.group_size, "the sampler takes a group whole"


@given(st.integers(1, 200), st.integers(1, 200), st.integers(1, 4096), st.integers(1, 64))
def test_more_memory_never_gives_less(low, more, answer, size) -> None:
    work = replace(WORK, answer=answer, group_size=size)
    less = choose(QWEN, LORA, work, low * GB)
    plan = choose(QWEN, LORA, work, (low + more) * GB)
    assert plan.rows >= less.rows
    assert plan.fits >= less.fits
    assert plan.gradient_checkpointing <= less.gradient_checkpointing
    if plan.gradient_checkpointing == less.gradient_checkpointing:
        assert plan.micro_batch_tokens >= less.micro_batch_tokens


@pytest.fixture
def folder(tmp_path):
    """Qwen3-0.6B as far as a plan looks: its config, and a small tokenizer. No weights."""
    where = tmp_path / "model"
    where.mkdir()
    (where / "config.json").write_text(json.dumps(CONFIG))
    make_tokenizer().save_pretrained(where)
    return where


def dry(folder, *flags: str) -> int:
    flags = ("--task.style", "bare", "--check.bench", "false", *flags)
    return main(["train", "--policy", str(folder), "--dry-run", *flags])


def test_a_dry_run_plans_a_gpu_that_is_not_here(folder, capsys, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    flags = ["--policy.device", "cuda", "--run.memory_gb", "16", "--sampling.max_tokens", "1024"]
    assert dry(folder, *flags) == 0
    shown = capsys.readouterr()
    assert "memory_gb = 16.0" in shown.out
    assert "596.0 M parameters in bfloat16" in shown.err
    assert "LoRA of rank 16: 10.1 M, float32 and factors" in shown.err
    assert "tokens × 112.0 KiB" in shown.err
    assert "fits into 14.4 GB" in shown.err
    assert shown.err.splitlines()[-2].startswith("  so: ")
    table = shown.err[shown.err.index("memory plan of") :].splitlines()
    assert max(map(len, table)) <= 80
    assert "gradient checkpointing off" in shown.err.splitlines()[-1]
    assert sorted(tmp_path.rglob("*")) == before


def test_a_dry_run_that_does_not_fit_ends_with_3(folder, capsys) -> None:
    assert dry(folder, "--run.memory_gb", "2") == 3
    last = capsys.readouterr().err.splitlines()[-1]
    assert "does not fit the memory. Got 2.0 GB" in last
    assert dry(folder, "--run.memory_gb", "6", "--policy.adapter", "none") == 3
    assert "--policy.adapter lora" in capsys.readouterr().err.splitlines()[-1]


@pytest.mark.parametrize(
    ("flags", "remedy"),
    [
        (("--run.memory_gb", "0.1"), "The libraries alone take 500.0 MB: raise --run.memory_gb."),
        (  # the output head is what is too much, and takes no less for shorter answers
            ("--run.memory_gb", "8", "--policy.adapter", "none"),
            "Take a smaller policy, or use --policy.adapter lora.",
        ),
        (
            ("--run.memory_gb", "6", "--sampling.max_tokens", "30000"),
            "Lower --sampling.group_size or --sampling.max_tokens.",
        ),
    ],
)
def test_what_does_not_fit_is_told_what_would_help(folder, capsys, flags, remedy) -> None:
    assert dry(folder, "--policy.device", "cpu", *flags) == 3
    assert capsys.readouterr().err.splitlines()[-1].endswith(remedy)


def test_a_model_that_cannot_be_looked_at_is_refused_as_a_run_would(capsys, monkeypatch) -> None:
    monkeypatch.setattr("evenodds.policies.load.is_cut_off", lambda source: True)
    assert dry("nobody/has-this-model") == 2
    shown = capsys.readouterr()
    assert shown.out == "" and shown.err.count("\n") == 1
    assert "cannot load a model" in shown.err and "there is no such folder, and" in shown.err


@pytest.mark.parametrize(
    ("config", "flags", "message"),
    [
        ('{"model_type": "vit"}', (), "is no causal language model"),
        ('{"model_type": "blorb"}', (), "cannot load a model"),
        ("{", (), "'config.json' is no JSON"),
        (json.dumps(CONFIG), ("--policy.device", "cuda"), "there is no 'cuda' device here"),
        (json.dumps(CONFIG), ("--policy.device", "cuda:x"), "there is no device 'cuda:x'"),
        (json.dumps(CONFIG), ("--policy.device", "cudax"), "unknown device 'cudax'"),
    ],
)
def test_a_folder_that_no_run_could_use_is_refused(
    folder, capsys, monkeypatch, config, flags, message
) -> None:
    """One line and exit 2, as `train` itself would end."""
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    (folder / "config.json").write_text(config)
    memory = () if flags[-1:] == ("cuda",) else ("--run.memory_gb", "16")
    assert dry(folder, *flags, *memory) == 2
    assert message in capsys.readouterr().err.splitlines()[-1]


def test_an_adapters_folder_is_planned_with_its_own_rank(folder, capsys, tmp_path) -> None:
    own = tmp_path / "adapter"
    own.mkdir()
    saved = {"peft_type": "LORA", "r": 4, "base_model_name_or_path": str(folder)}
    (own / "adapter_config.json").write_text(json.dumps(saved))
    assert dry(own, "--run.memory_gb", "16") == 0
    assert "LoRA of rank 4: 2.5 M," in capsys.readouterr().err


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_packed_weights_are_planned_also_in_float32_and_where_all_learn(dtype) -> None:
    """Small float32 weights are not packed, and then not planned either."""
    for width in (32, 512):
        policy = make_policy("llama", hidden_size=256, intermediate_size=width, head_dim=8)
        policy.model.to(dtype)
        plan = plan_for(make_config({}), policy, make_task("multiplication"), reference=False)
        blocks = NativeSampler(policy).decoder.blocks
        projections = [p for b in blocks for p in (b.qkv, b.out, b.gate_up, b.down)]
        packed = [p.projection.weight.nbytes for p in projections if p.base is not None]
        if can_pack(torch.zeros(512, 512, dtype=dtype)):
            assert bool(packed) == plan.precision.packed
        assert sum(packed) <= packed_bytes(plan.sizes, plan.precision)


@pytest.mark.parametrize("chosen", [None, False, True])
def test_a_run_learns_with_what_the_plan_chose(chosen) -> None:
    policy, task = make_policy(), make_task("multiplication")
    config = make_config(merge({}, {"learner.gradient_checkpointing": chosen}))
    options = learner_options(config, policy, plan_for(config, policy, task, reference=False))
    assert options.micro_batch_tokens == FASTEST["cpu"]
    assert options.gradient_checkpointing is bool(chosen)


def test_a_small_memory_makes_a_run_smaller() -> None:
    policy, task = make_policy(), make_task("multiplication")
    config = make_config({"run": {"memory_gb": 0.512}, "learner": {"micro_batch_tokens": None}})
    plan = plan_for(config, policy, task, reference=False)
    assert plan.micro_batch_tokens < FASTEST["cpu"]


def test_longer_answers_of_an_evaluation_are_planned_for_where_they_are_sampled() -> None:
    config = make_config(merge({}, {"evaluation.max_tokens": 4096, "sampling.max_tokens": 64}))
    work = work_of(config, "cpu", 100)
    assert (work.longest, work.slot) == (164, 4196)
    short = work_of(make_config(merge({}, {"evaluation.max_tokens": 8})), "cpu", 100)
    assert short.slot == short.longest == 196

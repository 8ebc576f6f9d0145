"""The GPU benchmark at its tiny size: the same code, on the CPU."""

from __future__ import annotations

import json

import pytest
import torch

from benchmarks import gpu
from benchmarks.gpu_parts.made import QWEN3, TINY, as_policy, made_model
from evenodds.policies.memory import sizes_of


def test_tiny_prints_every_figure(capsys, tmp_path) -> None:
    assert gpu.main(["--tiny", "--json", str(tmp_path / "found.json")]) == 0
    found = json.loads((tmp_path / "found.json").read_text())
    shown = capsys.readouterr().out
    for name in ("sampling 4", "sampling 8", "generate 4", "generate 8", "learning"):
        row = found[name]
        assert row["tokens_per_second"] > 0
        assert 0 < row["operations_share"] < 1
        assert f"| {name} | {row['tokens_per_second']:,.0f} |" in shown
    assert found["generate 4"]["bandwidth_share"] > 0
    for who in ("sampler", "learner"):
        assert found["agreement float32"][who]["largest"] < 1e-5
        assert found["agreement bfloat16"][who]["largest"] < 0.5
    assert found["learning"]["planned_bytes"] > 0


def test_what_could_not_begin_in_time_is_named(capsys) -> None:
    assert gpu.main(["--tiny", "--limit", "-1"]) == 0
    assert "| sampling 4 | not measured: out of time |" in capsys.readouterr().out


def test_a_part_without_memory_does_not_end_the_others(capsys, monkeypatch) -> None:
    def full(*given: object) -> None:
        raise torch.OutOfMemoryError("no memory")

    monkeypatch.setattr(gpu.measure, "generating", full)
    monkeypatch.setattr(gpu.measure, "learning", full)
    assert gpu.main(["--tiny"]) == 0
    shown = capsys.readouterr().out
    assert "| generate 8 | not measured: out of memory |" in shown
    assert "| sampling 8 | not" not in shown


@pytest.mark.skipif(torch.cuda.is_available(), reason="here it would really run")
def test_without_a_gpu_it_is_one_line(capsys) -> None:
    assert gpu.main([]) == 2
    assert capsys.readouterr().out.count("\n") == 1


def test_the_model_has_the_size_that_its_name_says() -> None:
    model = made_model(QWEN3, torch.device("meta"), torch.bfloat16)
    assert sizes_of(model, fused=True).parameters == 596_049_920


def test_the_adapter_changes_what_the_model_says() -> None:
    model = made_model(TINY, torch.device("cpu"), torch.float32)
    ids = torch.arange(1, 6)[None]
    with torch.no_grad():
        before = model(input_ids=ids).logits
        after = as_policy(model, TINY, lora=True).model(input_ids=ids).logits
    assert (before - after).abs().max() > 1e-3


def test_a_file_that_cannot_be_written_is_refused_before_anything_is_measured(capsys) -> None:
    with pytest.raises(SystemExit) as left:
        gpu.main(["--tiny", "--json", "/nowhere/x.json"])
    assert left.value.code == 2
    assert "cannot write '/nowhere/x.json'" in capsys.readouterr().err

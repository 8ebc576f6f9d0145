"""A folder that others load, with a card and ordinary modes."""

from __future__ import annotations

import warnings

from evenodds.cli import main
from evenodds.policies.load import PolicyOptions, load_policy
from tests.tiny import make_lora


def test_an_adapter_is_merged_with_a_card_and_no_warning(tmp_path, capsys) -> None:
    make_lora(load_policy(PolicyOptions(device="cpu"))).save(tmp_path / "adapter")
    with warnings.catch_warnings():
        warnings.simplefilter("error", FutureWarning)
        assert main(["export", str(tmp_path / "adapter"), str(tmp_path / "out")]) == 0
    assert capsys.readouterr().err == ""
    assert "All weights" in (tmp_path / "out" / "README.md").read_text()
    assert not (tmp_path / "out" / "adapter_config.json").exists()
    assert not load_policy(PolicyOptions(str(tmp_path / "out"), device="cpu")).is_adapter

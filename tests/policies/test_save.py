"""What is saved can be read by others, found again, and says what it is."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from evenodds.places import bundled_folder
from evenodds.policies.load import PolicyOptions, load_policy
from tests.tiny import make_lora, make_policy


def test_an_adapter_names_its_base_by_an_absolute_path(tmp_path, monkeypatch) -> None:
    make_policy().save(tmp_path / "base")
    monkeypatch.chdir(tmp_path)
    policy = make_lora(load_policy(PolicyOptions("base", device="cpu")))
    policy.save(tmp_path / "adapter")
    config = json.loads((tmp_path / "adapter" / "adapter_config.json").read_text())
    assert config["base_model_name_or_path"] == str(tmp_path / "base")


def test_an_adapter_of_the_bundled_model_names_its_folder(tmp_path) -> None:
    make_lora(load_policy(PolicyOptions(device="cpu"))).save(tmp_path)
    config = json.loads((tmp_path / "adapter_config.json").read_text())
    assert Path(config["base_model_name_or_path"]) == bundled_folder().absolute()


def test_cards_say_what_was_saved(tmp_path) -> None:
    policy = make_lora(load_policy(PolicyOptions(device="cpu")))
    policy.save(tmp_path / "adapter")
    card = (tmp_path / "adapter" / "README.md").read_text()
    assert str(bundled_folder()) in card
    assert "evenodds" in card
    assert "More Information Needed" not in card
    make_policy().save(tmp_path / "full")
    assert "tiny-qwen3" in (tmp_path / "full" / "README.md").read_text()


def test_a_card_that_is_there_stays(tmp_path) -> None:
    (tmp_path / "README.md").write_text("mine")
    make_policy().save(tmp_path)
    assert (tmp_path / "README.md").read_text() == "mine"


@pytest.mark.skipif(sys.platform == "win32", reason="no modes there")
def test_saved_files_have_the_mode_of_any_new_file(tmp_path) -> None:
    before = os.umask(0o022)
    try:
        make_lora(make_policy()).save(tmp_path / "adapter")
        make_policy().save(tmp_path / "full")
    finally:
        os.umask(before)
    assert {p.stat().st_mode & 0o777 for p in tmp_path.rglob("*") if p.is_file()} == {0o644}

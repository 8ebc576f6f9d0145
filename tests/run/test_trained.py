"""A run's model is of its last step, or is not taken for it."""

from __future__ import annotations

import shutil

import pytest
from safetensors.torch import load_file

from evenodds.run.opened import model_folder
from evenodds.run.session import Session
from tests.run.small_runs import Quiet, run


def test_a_model_of_an_earlier_end_is_not_taken_for_the_one_of_more_steps(
    tmp_path, monkeypatch
) -> None:
    """A kill before the new model has its place left the old one, whole, and it was believed."""
    folder = run(tmp_path, run__steps=2).folder
    earlier = load_file(folder / "model" / "model.safetensors")

    def killed(session) -> None:
        raise SystemExit(137)

    with monkeypatch.context() as patch, pytest.raises(SystemExit):
        patch.setattr(Session, "save_model", killed)
        run(tmp_path, run__steps=4)
    assert model_folder(folder).parent.name == "step-000004"
    view = Quiet()
    run(tmp_path, view, run__steps=4)
    told = "an earlier end of this run; the end of the run is made again"
    assert any(told in note for note in view.notes)
    later = load_file(folder / "model" / "model.safetensors")
    saved = load_file(folder / "checkpoints" / "step-000004" / "policy" / "model.safetensors")
    assert all(later[name].equal(value) for name, value in saved.items())
    assert not all(later[name].equal(value) for name, value in earlier.items())
    assert model_folder(folder) == folder / "model"
    for checkpoint in (folder / "checkpoints").iterdir():
        shutil.rmtree(checkpoint)
    assert model_folder(folder) == folder / "model"  # believed where nothing says otherwise

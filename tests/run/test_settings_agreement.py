"""Settings that say nothing where they stand."""

from __future__ import annotations

import os

import pytest

from evenodds.errors import UsageError
from evenodds.records.plain import require_plain
from evenodds.run.folder import require_own_place, require_space
from evenodds.run.settings import CurriculumSection, TaskSection
from evenodds.run.settings_agreement import require_curriculum_settings, require_task_settings


@pytest.mark.parametrize(
    ("settings", "word"),
    [
        ({"prompt": "q"}, "task.prompt is for a file of data"),
        ({"name": "f.py", "answer": "a"}, "task.answer is for a file of data"),
        ({"drop_unreadable": True}, "task.drop_unreadable is for a file of your own"),
        ({"data": "f.jsonl", "subset": "main"}, "task.subset is for a data set of the hub"),
        ({"data": "f.jsonl", "split": "test"}, "task.split is for a data set of the hub"),
        (
            {"data": "hf:o/n", "held_out_split": "test", "held_out_data": "f.jsonl"},
            "task.held_out_data and task.held_out_split both",
        ),
        ({"data": "f.jsonl", "prompt": "a", "answer": "a"}, "the same column 'a'"),
    ],
)
def test_a_setting_of_data_where_none_is_read_is_refused(settings, word) -> None:
    with pytest.raises(UsageError, match=word):
        require_task_settings(TaskSection(**settings))


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"data": "f.jsonl", "prompt": "q", "answer": "a", "columns": ("id",)},
        {"name": "f.jsonl", "level": "l", "drop_contradictory": True},
        {"name": "f.py", "drop_unreadable": True},
        {"data": "hf:o/n", "subset": "main", "split": "x", "held_out_split": "test"},
    ],
)
def test_settings_that_say_something_pass(settings) -> None:
    require_task_settings(TaskSection(**settings))


@pytest.mark.parametrize(
    ("settings", "word"),
    [
        ({"kind": "fixed"}, "curriculum.levels names none"),
        ({"kind": "uniform", "levels": (0,)}, "curriculum.levels is for the kind 'fixed'"),
        ({"kind": "fixed", "levels": (0,), "start": 1}, "curriculum.start is for the kind"),
        ({"kind": "uniform", "start": 0}, "curriculum.start is for the kind 'ladder'"),
    ],
)
def test_what_a_curriculum_does_not_look_at_is_refused(settings, word) -> None:
    with pytest.raises(UsageError, match=word):
        require_curriculum_settings(CurriculumSection(**settings))
    require_curriculum_settings(CurriculumSection(kind="fixed", levels=(0,)))
    require_curriculum_settings(CurriculumSection(start=2.0))


def test_a_run_has_a_place_of_its_own(tmp_path) -> None:
    require_own_place(tmp_path / "runs" / "x")  # no root yet
    (tmp_path / "Mine").mkdir()
    require_own_place(tmp_path / "Mine")
    with pytest.raises(UsageError, match="there is a run 'Mine'"):
        require_own_place(tmp_path / "mine")
    (tmp_path / "link").symlink_to(tmp_path / "Mine")
    with pytest.raises(UsageError, match="is a link"):
        require_own_place(tmp_path / "link")
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="is no folder"):
        require_own_place(tmp_path / "file")
    with pytest.raises(UsageError, match=r"'.*file' is no folder"):
        require_space(tmp_path / "file" / "runs" / "x", 1)


def test_a_pipe_in_a_run_is_refused_and_a_lost_link_is_not(tmp_path) -> None:
    (tmp_path / "passports").mkdir()
    (tmp_path / "lost").symlink_to(tmp_path / "nowhere")
    require_plain(tmp_path)
    os.mkfifo(tmp_path / "passports" / "pipe")
    with pytest.raises(UsageError, match="a device or a pipe"):
        require_plain(tmp_path)

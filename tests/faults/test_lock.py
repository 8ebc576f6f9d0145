"""R8: one process at a time on a run, and the others are told which one."""

from __future__ import annotations

import socket

import pytest

from tests.faults.locks import another, at_once, second
from tests.faults.setting import Setting, undisturbed
from tests.faults.stories import taken_up


@pytest.fixture(scope="module")
def setting(tmp_path_factory) -> Setting:
    return undisturbed(tmp_path_factory.mktemp("lock"), run__steps=2)


def test_the_second_is_refused_before_torch_is_there_and_goes_on_after_a_kill(setting) -> None:
    """The second itself is measured by `benchmarks/durability.py`, on a machine with no tests."""
    found = second(setting, "held")
    assert found.code == 2
    assert f"in use by process {found.holder} on {socket.gethostname()}" in found.err
    assert len(found.err.splitlines()) == 1
    assert taken_up(setting, "held") == []


@pytest.mark.timeout(120)
def test_of_many_at_the_same_moment_one_wins(setting) -> None:
    assert at_once(setting, "many", 6) == []


def test_two_configurations_never_mix_in_one_folder(setting) -> None:
    """The slower one checked its configuration when there was no run yet to differ from."""
    assert another(setting, "other") == []

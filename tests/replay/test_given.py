"""A run whose task and engine came from Python is replayed with the same two."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from evenodds.errors import EvenoddsError
from evenodds.lab.toy.base import Books
from evenodds.lab.toy.cases import CASES
from evenodds.lab.toy.experiment import make_base
from evenodds.lab.toy.folder import run_in_folder
from evenodds.lab.toy.gru import GruSampler
from evenodds.lab.toy.settings import Profile
from evenodds.replay import name_of, replay
from evenodds.run.making import Engine
from tests.run.small_runs import Quiet

TINY = Profile(
    "tiny", Books(width=16, steps=20, rows=16), {}, samples=2, held_out=10, groups=3, max_tokens=12
)


def test_a_gru_is_replayed_with_its_task_and_engine(tmp_path: Path) -> None:
    known = CASES["learned"]
    case = replace(known, steps=3, setting=replace(known.setting, group_size=4))
    base = make_base(TINY)
    run_in_folder(case, tmp_path / "gru", 0, base, TINY, view=Quiet())

    def engine(plan: Any, objective: Any) -> Engine:
        policy = base.policy.copy()
        return Engine(cast(Any, policy), cast(Any, GruSampler(policy)))

    names = [name_of("1/0/0"), name_of("3/1/2")]
    for found in replay(tmp_path / "gru", names, task=base.task, make=engine):
        assert found.match.kind == "bit-equal"
        assert (found.equal, found.departure, found.altered) == (12, None, ())
        assert found.judgement.same
        assert found.compared == found.again == found.name.step - 1
    with pytest.raises(EvenoddsError):  # the task is not given again
        list(replay(tmp_path / "gru", names))

"""groups.jsonl: written with the step, read back, made again from the rollouts."""

from __future__ import annotations

import json

from evenodds.domain import Group, Status, Stop, Verdict
from evenodds.objectives import RECIPES
from evenodds.records import group_line, rebuilt, rollout_table
from evenodds.records.groups import COLUMNS, length_through, parsed
from evenodds.records.lines import rows_of
from evenodds.run.folder import RunFolder
from evenodds.run.writer import RunWriter
from evenodds.step import StepReport
from tests.tiny import make_group, make_rollout

BROKEN = Verdict(0.0, Status.ERROR, note="down")


def groups() -> list[Group]:
    mixed = make_group([1, 0, 1], [2, 3, 4], key="mixed")
    cut = [make_rollout(5, stop=Stop.BUDGET, text=text) for text in ("Two  words", "two words", "")]
    problem = make_group([0], [1], key="broken").problem
    return [mixed, Group(problem, cut, [BROKEN, BROKEN, Verdict(0.5, Status.WRONG)])]


def report() -> StepReport:
    return StepReport(groups(), RECIPES["dr_grpo"], sizes=(1, 1))


def audit() -> list[list[Verdict]]:
    wrong = Verdict(0.0, Status.WRONG)
    return [[wrong, wrong, Verdict(1.0, Status.RIGHT)], [wrong, wrong, BROKEN]]


def test_the_line_says_what_each_group_was() -> None:
    assert group_line(4, report(), audit()) == {
        "step": 4,
        "key": ["mixed", "broken"],
        "level": [0, 0],
        "size": [3, 3],
        "judged": [3, 1],
        "right": [2, 0],
        "reward": [2 / 3, 0.5],
        "truncated": [0, 3],
        "duplicates": [0, 1],
        "disagree": [1, 0],
        "mixed": [True, False],
        "tokens": [9, 15],
        "round": [0, 1],
    }
    assert group_line(4, report())["disagree"] == [None, None]


def test_the_same_line_comes_from_the_rollouts(tmp_path) -> None:
    writer = RunWriter(RunFolder(tmp_path))
    for step, verdicts in ((1, audit()), (2, None)):
        writer.rollouts(step, rollout_table(step, report(), "number", ["a", "b"], verdicts))
        writer.groups.append(group_line(step, report(), verdicts))
    lines = [*rows_of(tmp_path / "groups.jsonl")]
    assert len(lines) == 2 and lines == [*rebuilt(tmp_path)]
    assert all(set(line) == {"step", *COLUMNS} for line in lines)


def test_torn_and_uneven_lines_are_told() -> None:
    good = [json.dumps(group_line(step, report())) for step in (1, 2)]
    uneven = json.dumps({**json.loads(good[0]), "step": 3, "size": [1]})
    assert [line["step"] for text in good if (line := parsed(text))] == [1, 2]
    for text in ("[]", "null", '{"step": 4}', uneven, good[0][:40]):
        assert parsed(text) is None, text


def test_lines_behind_a_checkpoint_are_cut(tmp_path) -> None:
    writer = RunWriter(RunFolder(tmp_path))
    writer.drop_rollouts_after(0)  # a run without the file: none is made
    assert not writer.folder.groups.exists()
    for step in range(1, 6):
        writer.groups.append(group_line(step, report()))
    whole = writer.folder.groups.read_text()
    with open(writer.folder.groups, "a") as file:
        file.write('{"step": 6')
    writer.drop_rollouts_after(3)
    assert writer.folder.groups.read_text() == "".join(whole.splitlines(keepends=True)[:3])
    assert length_through(writer.folder.groups, 9) == writer.folder.groups.stat().st_size
    writer.drop_rollouts_after(0)
    assert writer.folder.groups.read_text() == ""

"""What stands beside the gain: what got worse, the cost, alarms, the bench, answers to look at."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evenodds.report.changes import LONGER, SURER, Measure, by_chance, measures_of
from evenodds.report.checks import bench_of, question, question_rows
from evenodds.report.conclusion import evidence_of
from evenodds.report.cost import cost_of, cost_rows
from evenodds.report.findings import findings_of, worse_sentence
from evenodds.report.pairs import pairs_of
from evenodds.report.record import RunRecord, read_run
from evenodds.report.shown import disputed_of, gained_of, lost_of
from evenodds.report.signs import alarm_sentence, declared, flat_of, raised_of
from tests.report import synthetic
from tests.report.records import evaluation, run_of

N = 40


def measured(base: Any, final: Any) -> dict[str, Measure]:
    run = run_of(base, final)
    found = measures_of(run, evidence_of(run), pairs_of(base, final))
    return {measure.what: measure for measure in found}


def with_all(value: dict[str, Any]) -> dict[str, Any]:
    """An evaluation with these fields in each problem."""
    record = evaluation([[4] * N])
    for row in record["levels"][0]["problems"]:
        row |= value
    return record


@pytest.mark.parametrize(("name", "before", "after", "what"), [
    ("truncated", 0, 4, "answers: cut by the token budget"),
    ("no_answer", 0, 4, "answers: without an answer"),
    ("duplicates", 1, 5, "answers: nearly repeat another answer to the problem"),
    ("ended", 8, 2, "answers: ended by an end token"),
    ("mean_length", 5.0, 9.0, "length of an answer"),
    ("entropy", 0.4, 0.1, "entropy, how undecided it is at a token"),
    ("strategies", 3, 1, "distinct right ways to a problem"),
])  # fmt: skip
def test_each_way_to_get_worse_is_seen_and_its_reverse_is_not(
    name: str, before: float, after: float, what: str
) -> None:
    first, second = with_all({name: before}), with_all({name: after})
    worse = measured(first, second)[what]
    assert worse.verdict == "worse" and worse.change.low < worse.change.mean < worse.change.high
    assert what in worse.sentence and worse.to_dict()["verdict"] == "worse"
    assert measured(second, first)[what].verdict in ("better", "changed")
    assert measured(first, first)[what].verdict == "no evidence"
    assert what not in measured(with_all({name: None}), second)


def test_a_little_longer_or_surer_is_a_change_and_not_worse() -> None:
    longer = measured(with_all({"mean_length": 50.0}), with_all({"mean_length": 50 * LONGER - 1}))
    assert longer["length of an answer"].verdict in ("changed", "no evidence")
    surer = measured(with_all({"entropy": 0.4}), with_all({"entropy": 0.4 * SURER + 0.02}))
    assert surer["entropy, how undecided it is at a token"].verdict == "changed"


def test_answers_that_could_not_be_judged_are_counted() -> None:
    first, second = evaluation([[4] * N]), evaluation([[2] * N], tries=4)
    second["settings"]["samples"] = 8
    found = measured(first, second)["answers: could not be judged"]
    assert (found.before, found.after, found.verdict) == (0.0, 0.5, "worse")


def test_levels_that_fell_are_among_what_got_worse(tmp_path: Path) -> None:
    base, final = evaluation([[2] * N, [6] * N]), evaluation([[6] * N, [2] * N])
    found = measured(base, final)
    assert found["right answers at L1"].verdict == "worse"
    assert found["right answers at L0"].verdict == "better"
    assert by_chance([*found.values()]) == pytest.approx(0.025 * len(found))


def test_nothing_got_worse_is_said_only_where_nothing_did(tmp_path: Path) -> None:
    same = evaluation([[4] * N])
    run = synthetic.write_run(tmp_path / "same", base=same, final=same)
    found = findings_of(run)
    assert found.worse == [] and "none can be said to have got worse" in worse_sentence(found)
    worse = findings_of(synthetic.hacked(tmp_path / "hacked"))
    assert "2 got worse" in worse_sentence(worse)
    assert worse_sentence(findings_of(synthetic.unfinished(tmp_path / "half"))) == ""


def test_the_cost_is_counted_from_the_records() -> None:
    metrics = [
        {"step": 1, "num_tokens": 300, "groups/drawn": 4, "groups/mixed": 0.5, "time/step": 2.0}
        | {"time/sample": 1.2, "time/learn": 0.6, "time/elapsed": 9.0, "time/memory_mb": 500.0},
        {"step": 2, "num_tokens": 900, "groups/drawn": 8, "groups/mixed": 0.25, "time/step": 4.0}
        | {"time/sample": 3.0, "time/learn": 0.5, "time/elapsed": 13.0, "time/memory_mb": 400.0},
    ]
    base = evaluation([[1]]) | {"seconds": 3.0}
    cost = cost_of(run_of(base, evaluation([[1]]) | {"seconds": 4.0}, metrics=metrics))
    assert (cost.seconds, cost.evaluation, cost.tokens, cost.memory) == (13.0, 7.0, 900, 500.0)
    assert (cost.groups, cost.informative, cost.tokens_per_informative) == (12, 4, 225.0)
    partly = [row | {"frac_reward_zero_std": 0.25} for row in metrics]  # all wrong, paid in part
    assert cost_of(run_of(None, None, metrics=partly)).informative == 9
    assert next(iter(cost.parts)) == "sample" and cost.parts["sample"] == pytest.approx(4.2)
    assert cost.parts["other"] == pytest.approx(6.0 - 5.3)
    assert cost.tokens_per_second == pytest.approx(150.0) and cost.idle is None
    assert dict(cost_rows(cost))["Tokens for each of these"] == "225"
    nothing = cost_of(run_of(None, None))
    assert cost_rows(nothing) == [] and nothing.to_dict()["tokens_per_second"] is None


def test_tokens_that_taught_nothing_are_those_of_groups_that_agree(tmp_path: Path) -> None:
    run = synthetic.learned(tmp_path)
    lines = [{"step": 1, "mixed": [True, False], "tokens": [30, 10]}, {"step": 2, "mixed": 3}]
    (run / "groups.jsonl").write_text("\n".join(map(json.dumps, lines)) + '\n{"step": 3, "mi')
    assert cost_of(read_run(run)).idle == 0.25


def test_alarms_are_shown_with_reason_and_remedy(tmp_path: Path) -> None:
    run = read_run(synthetic.hacked(tmp_path / "a"))
    (found,) = raised_of(run)
    assert (found.step, found.stops) == (90, False) and "40 %" in found.reason
    assert "1 alarm began: audit disagreement." in alarm_sentence(run)
    assert {rule.name: rule.does for rule in declared(run)}["non finite"] == "ends the run"
    old = read_run(synthetic.learned(tmp_path / "b"))
    assert "No alarms were looked for" in alarm_sentence(old)


def test_an_alarm_that_ended_the_run_is_said_to_have(tmp_path: Path) -> None:
    run = synthetic.hacked(tmp_path)
    line = {"step": 95, "name": "non_finite", "stops": True, "reason": "loss is nan"}
    with (run / "alarms.jsonl").open("a") as file:
        file.write("\n" + json.dumps(line) + "\n[3]\nnull\n")
    assert "'non finite' ended the run at step 95" in alarm_sentence(read_run(run))


def test_a_run_without_steps_has_no_cause_of_a_flat_reward() -> None:
    assert flat_of(run_of(None, None)) == []


def test_the_bench_is_told_or_its_absence(tmp_path: Path) -> None:
    total = {"must_be_paid": 50, "false_refusals": 1, "must_not_be_paid": 200}
    total |= {"false_payments": 2, "false_payments_95": [0.001, 0.036]}
    bench = {"cases": 250, "timeouts": 1, "errors": 0, "total": total}
    rows = [{**total, "category": "negation"}, "not a row"]
    run = passport({"verifier": "number", "bench": {**bench, "rows": rows}})
    found = bench_of(run)
    assert len(found.rows) == 2
    for part in ("paid 2 of 200 wrong", "at most 3.6 %", "refused 1 of 50", "1 case could not"):
        assert part in found.verdict
    for absent in ("not run: check.bench is false", None, [], 7):
        assert not bench_of(passport({"bench": absent})).rows
    assert (
        "check.bench is false"
        in bench_of(passport({"bench": "not run: check.bench is false"})).verdict
    )


def passport(checker: dict[str, Any], data: dict[str, Any] | None = None) -> RunRecord:
    found = run_of(None, None)
    passports = {**found.passports, "checker": checker, "data": data or {}}
    return RunRecord(found.folder, {}, passports, [], None, None)


def test_the_question_names_what_is_learned_and_how_it_is_kept_apart() -> None:
    proof = {"training_problems_checked": 1000, "held_out_keys_among_them": 0}
    data = {"source": "a book", "levels": [{"held_out": 20}, {"held_out": 22}, None]}
    rows = dict(question_rows(passport({}, data | {"disjoint": proof, "split": "by key"})))
    assert rows["Problems"] == "a book" and rows["Held out"] == "42 problems: by key"
    assert "Apart from training" not in rows  # half of the proof is missing
    proof["held_out_prompts_among_them"] = 0
    rows = dict(question_rows(passport({}, {"disjoint": proof})))
    assert "of 1,000 training problems" in rows["Apart from training"]
    arm = run_of(None, None, {"run": {"random_reward": True}})
    assert "control arm" in question(arm)


def write_answers(run: Path, name: str, rows: list[dict[str, Any]]) -> None:
    table = pa.Table.from_pylist([{"of": "task", "kind": "sampled", **row} for row in rows])
    pq.write_table(table, run / "evaluation" / f"{name}.parquet")


def answer(key: str, status: str, text: str, **more: Any) -> dict[str, Any]:
    return {"problem_key": key, "level": 0, "gold": "42", "prompt": "6*7=", "completion": text,
            "status": status, "extracted": text, "note": "", "reward": 1.0} | more  # fmt: skip


def test_problems_gained_and_lost_come_with_an_answer_from_each_side(tmp_path: Path) -> None:
    base, final = evaluation([[0, 3, 4, 0, 5]]), evaluation([[7, 0, 4, 0, 0]])
    run = synthetic.write_run(tmp_path, base=base, final=final)
    write_answers(run, "base", [answer("0-0", "wrong", "41"), answer("0-4", "right", "42")])
    after = [
        answer("0-0", "wrong", "40"),
        answer("0-0", "right", "42"),
        answer("0-4", "wrong", "9"),
    ]
    write_answers(run, "final", [answer("0-0", "right", "greedy", kind="greedy"), *after])
    found = findings_of(run)
    (gained,) = gained_of(found.run, found.pairs)
    assert (gained.name, gained.counts, gained.gold) == ("6*7=", ("0 of 8", "7 of 8"), "42")
    assert gained.before and gained.before.text == "41" and gained.after
    assert gained.after.text == "42"
    lost = lost_of(found.run, found.pairs)
    assert [one.counts[0] for one in lost] == ["5 of 8", "3 of 8"]
    assert lost[0].before and lost[0].before.mark == "right" and lost[0].after
    assert lost[1].name == "0-1" and lost[1].before is None  # no answer of it was kept


def test_disputed_answers_are_shown_paid_ones_first(tmp_path: Path) -> None:
    run = synthetic.hacked(tmp_path)
    audit = {"right": "wrong", "wrong": "right"}
    rows = [
        answer("a", status, text, audit_status=audit[status], audit_note="strict")
        for status, text in (("wrong", "under"), ("right", "over"))
    ]
    rows += [answer("b", "right", "same", audit_status="right")]
    rows += [answer("c", "right", "unknown", audit_status="error")]
    rows += [answer("d", "right", "canary", audit_status="wrong", of="canaries")]
    write_answers(run, "final", rows)
    found = disputed_of(read_run(run))
    assert [one.answer.text for one in found] == ["over", "under"]
    assert found[0].audit == "wrong; strict" and found[0].where == "after training"
    (run / "evaluation" / "final.parquet").write_bytes(b"PAR1")
    assert disputed_of(read_run(run)) == []  # the rollouts of this run have no audit


def test_disputed_answers_of_training_stand_in_where_none_was_kept(tmp_path: Path) -> None:
    run = synthetic.hacked(tmp_path)
    path = sorted((run / "rollouts").glob("*.parquet"))[-1]
    rows = [
        row | {"audit_status": "wrong", "audit_note": ""} for row in pq.read_table(path).to_pylist()
    ]
    pq.write_table(pa.Table.from_pylist(rows), path)
    found = disputed_of(read_run(run))
    assert len(found) == 6 and found[0].where.startswith("step ")
    assert all(one.answer.status == "right" for one in found)

"""Our own verifiers pass their bench, and verifiers with a hole do not."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from evenodds.bench import (
    bench_kind,
    bench_task,
    check_all_golds,
    paid_forms,
    run_bench,
    short_bench,
)
from evenodds.bench.case import asked, made
from evenodds.bench.check import Checked, check_task
from evenodds.bench.suite import SUITES, own, quick
from evenodds.domain import Status, Verdict
from evenodds.errors import GateError
from evenodds.judge import JudgeOptions
from evenodds.tasks import make_task, problems_task
from evenodds.verifiers import KINDS

PAIRS = [(f"{a}*{b}=", str(a * b)) for a in range(12, 19) for b in range(2, 9)]
SHARED = Path(__file__).parents[3] / "shared" / "cases"


def available(kind: str) -> bool:
    why = KINDS[kind].unavailable
    return why is None or why(KINDS[kind].policy) is None


@pytest.mark.parametrize("kind", sorted(set(SUITES) - {"code"}))
def test_a_kind_pays_nothing_wrong_and_refuses_little(kind: str) -> None:
    report = run_bench(KINDS[kind].with_policy(), [*quick(own(kind))], kind)
    assert [(f.case.note, f.case.completion.text) for f in report.false_payments] == []
    refused = [(f.case.note, f.case.completion.text) for f in report.false_refusals]
    assert len(refused) <= 0.01 * report.total.right, refused
    assert report.count(Status.ERROR) == 0


@pytest.mark.parametrize("kind", ["number", "text", "choice"])
def test_inline_kinds_stand_hostile_sizes(kind: str) -> None:
    report = bench_kind(KINDS[kind].with_policy())
    assert report.false_payments == () and report.count(Status.ERROR) == 0
    slowest = report.slowest
    assert slowest is not None and slowest.verdict.seconds < 2


def test_forgeries_are_not_paid_and_the_sandbox_lives_on() -> None:
    if not available("code"):
        pytest.skip("no sandbox on this machine")
    cases = [case for case in own("code") if case.category in ("forgery", "right forms")]
    few = [*cases[:5], *cases[5::11]]  # the rest: `evenodds check code`
    report = run_bench(KINDS["code"].with_policy(), few, "code")
    assert [f.case.note for f in (*report.false_payments, *report.false_refusals)] == []


def first_box(problem, text: str) -> bool:
    return text.partition("\\boxed{")[2].partition("}")[0] == problem.answer


def whole_part(problem, text: str) -> bool:
    return text.replace(".", "", 1).isdigit() and int(float(text)) == int(problem.answer)


GULLIBLE = {
    "the first box": first_box,
    "the whole part": whole_part,
    "the gold anywhere": lambda problem, text: problem.answer in text,
    "the end": lambda problem, text: text.endswith(problem.answer),
    "all": lambda problem, text: True,
    "length": lambda problem, text: len(text) % 2 == 0,
    "no wrong number": lambda problem, text: text != "0",
}


@pytest.mark.parametrize("name", GULLIBLE)
def test_a_gullible_verifier_is_refused_in_one_line(name: str) -> None:
    task = problems_task(PAIRS, GULLIBLE[name])
    with pytest.raises(GateError) as caught:
        short_bench(task, JudgeOptions(workers=0))
    said = str(caught.value)
    assert "\n" not in said and "--check.bench false" in said and "evenodds check" in said
    assert caught.value.exit_code == 3


def test_a_sound_verifier_passes_and_its_forms_are_told() -> None:
    task = problems_task(PAIRS, lambda problem, text: text.strip() == problem.answer)
    report = short_bench(task, JudgeOptions(workers=0))
    assert paid_forms(report) == ["bare"]
    boxed = problems_task(PAIRS, lambda p, text: text == f"\\boxed{{{p.answer}}}")
    assert paid_forms(short_bench(boxed, JudgeOptions(workers=0))) == ["box"]


def test_a_verifier_that_pays_no_form_is_a_fault_of_the_check_alone() -> None:
    task = problems_task(PAIRS, lambda problem, text: False)
    assert short_bench(task, JudgeOptions(workers=0)).false_payments == ()
    checked = check_task(task, JudgeOptions(workers=0))
    assert (
        checked.golds is None
        and "no form of the gold that the bench knows is paid" in checked.faults[0]
    )


def test_a_kind_that_pays_nothing_right_is_not_fit() -> None:
    """As where the sandbox runs nothing: no wrong answer is paid then, and none that is right."""
    case = made("number", "right forms", asked("number", 0, "6*7=", "42"), "42", True)
    report = run_bench(lambda problem, completion: Verdict(0.0, Status.WRONG), [case], "number")
    assert Checked(report, None).faults == ["no right answer is paid: nothing could be learned"]
    report = run_bench(KINDS["number"].with_policy(), [case], "number")
    assert Checked(report, None).faults == []


def test_golds_are_checked_in_a_form_that_is_paid() -> None:
    def boxed(problem, text):
        return text == f"\\boxed{{{problem.answer}}}" and problem.answer != PAIRS[0][1]

    checked = check_task(problems_task(PAIRS, boxed), JudgeOptions(workers=0))
    assert checked.golds is not None
    assert [bad.problem.answer for bad in checked.golds.bad] == [PAIRS[0][1]]
    assert checked.faults == ["1 gold is not found right"]
    assert json.dumps(checked.to_dict(), allow_nan=False)


def test_a_task_with_a_policy_of_its_own_is_tried_by_that_policy() -> None:
    task = problems_task(PAIRS, "number")
    assert bench_task(task, short=True).false_payments == ()
    loose = make_task("multiplication", policy={"tolerance": 0.5, "percent": "ratio"})
    assert short_bench(loose).false_payments == ()


def test_time_ends_a_short_bench() -> None:
    problem = asked("function", 0, "?", "7")
    cases = [made("function", "hedging", problem, str(n), None) for n in range(500)]
    report = run_bench(KINDS["number"].with_policy(), cases, "number", seconds=0.0)
    assert report.left_out >= 400 and len(report.findings) + report.left_out == 500


@pytest.mark.parametrize("file", ["verifier-forms.jsonl", "verifier-attacks.jsonl"])
def test_the_shared_sample(file: str) -> None:
    if not (SHARED / file).exists():
        pytest.skip("the shared sample is not here")
    cases = []
    for number, line in enumerate((SHARED / file).read_text().splitlines()):
        row = json.loads(line)
        if "make" not in row and "answer" not in row:
            continue
        text = eval(row["make"]) if "make" in row else row["answer"]
        expected = row.get("right", row.get("expected"))
        problem = asked("math", number, "?", row["gold"])
        category = "hang" if "cls" in row else "right forms"
        cases.append(made("math", category, problem, text, expected, row.get("kind", "")))
    report = run_bench(KINDS["math"].with_policy(), cases, "math")
    assert [(f.case.completion.text[:80]) for f in report.false_payments] == []
    refused = [(f.case.completion.text, f.case.problem.answer) for f in report.false_refusals]
    assert len(refused) <= 0.01 * report.total.right, refused


def test_a_reward_that_knows_no_gold_is_not_tried_for_one() -> None:
    task = problems_task([(f"p{n}", "") for n in range(20)], lambda problem, text: True)
    assert short_bench(task, JudgeOptions(workers=0)).false_payments == ()


def test_the_short_bench_asks_a_function_of_ones_own_seldom() -> None:
    calls = []

    def grade(problem, text):
        calls.append(text)
        return text == problem.answer

    short_bench(problems_task(PAIRS, grade), JudgeOptions(workers=0))
    assert 50 < len(calls) < 200


@pytest.mark.parametrize("name", ["instructions", "countdown"])
def test_a_tasks_own_wrong_answers_are_judged_with_its_golds(name: str) -> None:
    report = check_all_golds(make_task(name, held_out=2))
    assert report.golds == report.mutants > 0
    assert report.bad == report.paid == ()


def test_the_bench_before_a_run_waits_for_no_forgery() -> None:
    from evenodds.bench.code_cases import ENDLESS

    notes = {case.note for case in own("code")}
    assert {*ENDLESS} <= notes and "waits for better times" in ENDLESS
    assert not {*ENDLESS} & {case.note for case in quick(own("code"))}


def test_a_slow_function_is_not_asked_for_ever(monkeypatch) -> None:
    monkeypatch.setattr("evenodds.bench.run.OWN_SECONDS", 0.3)

    def slow(problem: object, text: str) -> bool:
        time.sleep(0.01)
        return text.strip() == getattr(problem, "answer", "")

    report = bench_task(problems_task(PAIRS, slow), JudgeOptions(workers=0))
    assert len(report.findings) > 0 and report.left_out > 0

"""Proofs for a Lean of the user's own. What Lean would say is played by a script: no real Lean runs
here, so these tests hold what is sent to it and how its messages are read.
"""

from __future__ import annotations

import json
import os
import resource
import stat
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenodds.domain import Completion, Problem, Status, Stop, Verdict
from evenodds.verifiers.lean import Policy, lean, missing
from evenodds.verifiers.lean.proof import (
    REFUSED,
    Refused,
    file_of,
    read_proof,
    read_statement,
    without_comments,
)

HEADER = "import Mathlib\nopen Nat"
STATEMENT = "theorem add_swap (a b : Nat) : a + b = b + a := by sorry"
PROOF = "by\n  rw [Nat.add_comm]"
FULL = f"import Mathlib\n\ntheorem add_swap (a b : Nat) :\n    a + b = b + a := {PROOF}"

FAKE = """#!{python}
import json, pathlib, subprocess, sys, time
text = pathlib.Path(sys.argv[-1]).read_text()
pathlib.Path(__file__).with_name("seen.lean").write_text(text)
pathlib.Path(__file__).with_name("arguments").write_text(" ".join(sys.argv[1:]))
lines = text.splitlines()
def say(severity, line, data):
    print(json.dumps(dict(severity=severity, pos=dict(line=line, column=0), data=data)), flush=True)
def has(word):
    return word in text
if has("import Nowhere"):
    say("error", 1, "unknown module prefix 'Nowhere'")
    sys.exit(1)
if has("fake_sleep"):
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(30)"])
    time.sleep(30)
while has("fake_flood"):
    print("x" * 100_000)
if has("fake_silent"):
    sys.exit(0)
if has("fake_crash"):
    print("Segmentation fault")
    sys.exit(139)
if has("fake_error"):
    say("error", 4, "unsolved goals")
    sys.exit(1)
if has("fake_warning"):
    say("warning", 4, "declaration uses 'sorry'")
if has("fake_print"):
    say("info", 5, "'add_swap' does not depend on any axioms")
name = lines[-1].removeprefix("#print axioms ")
if has("fake_axiom"):
    say("info", len(lines), "'" + name + "' depends on axioms: [propext, Lean.ofReduceBool]")
elif has("fake_none"):
    say("info", len(lines), "'" + name + "' does not depend on any axioms")
else:
    say("info", len(lines), "'" + name + "' depends on axioms: [propext,\\n Classical.choice]")
"""


@pytest.fixture
def fake(tmp_path: Path) -> Path:
    script = tmp_path / "lean"
    script.write_text(FAKE.replace("{python}", sys.executable))
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    return script


def problem(statement: str = STATEMENT, header: str = HEADER) -> Problem:
    return Problem("key", "p", json.dumps({"header": header, "statement": statement}), "task")


def judged(answer: str, script: Path, **fields: float) -> Verdict:
    policy = Policy((str(script),), seconds=fields.get("seconds", 20.0))
    return lean(problem(), Completion(answer), policy)


@pytest.mark.parametrize(
    "answer",
    [
        PROOF,
        f":= {PROOF}",
        "Nat.add_comm a b",
        FULL,
        f"Here it is.\n```lean4\n{FULL}\n```\nDone.",
        f"```lean\n{PROOF}\n```",
        f"<answer>{FULL}</answer>",
        f"<think>sorry</think>\n```lean\nlemma helper : True := sorry\n{FULL}\n```",
        f"```lean\n-- this is not sorry\n{FULL} /- nor /- is -/ axiom -/\n```",
        FULL.replace("theorem add_swap", "/-- doc -/ lemma  add_swap"),
    ],
)
def test_a_proof_is_sent_with_our_header_and_statement_only(answer: str, fake: Path) -> None:
    verdict = judged(answer, fake)
    assert (verdict.score, verdict.status) == (1.0, Status.RIGHT), verdict
    seen = fake.with_name("seen.lean").read_text()
    head = f"{HEADER}\n\ntheorem add_swap (a b : Nat) : a + b = b + a := (\n"
    assert seen.startswith(head)
    assert seen.endswith("\n)\n\n#print axioms add_swap\n")
    assert seen.count("theorem") == seen.count("add_swap (") == 1
    assert "helper" not in seen and "sorry" not in seen and "doc" not in seen
    assert "--json" in fake.with_name("arguments").read_text()


@pytest.mark.parametrize(
    ("proof", "status", "note"),
    [
        ("fake_none", Status.RIGHT, "axioms: none"),
        ("fake_error", Status.WRONG, "unsolved goals"),
        ("fake_axiom", Status.WRONG, "ofReduceBool"),
        ("fake_warning", Status.WRONG, "sorry"),
        ("fake_print fake_silent", Status.ERROR, "did not answer"),
        ("fake_print fake_axiom", Status.WRONG, "ofReduceBool"),
        ("fake_silent", Status.ERROR, "printed nothing"),
        ("fake_crash", Status.ERROR, "Segmentation"),
        ("fake_flood", Status.ERROR, "did not answer"),
    ],
)
def test_what_lean_says_decides(proof: str, status: Status, note: str, fake: Path) -> None:
    verdict = judged(f"by {proof}", fake)
    assert verdict.status is status, verdict
    assert note in verdict.note
    assert verdict.score == float(status is Status.RIGHT)


def test_a_run_beyond_the_deadline_ends_with_all_its_children(fake: Path) -> None:
    start = time.monotonic()
    verdict = judged("by fake_sleep", fake, seconds=1.0)
    assert verdict.status is Status.TIMEOUT
    assert time.monotonic() - start < 10
    deadline = time.monotonic() + 5  # a killed process takes a moment to be gone
    while left := left_behind():
        assert time.monotonic() < deadline, f"left behind: {left}"
        time.sleep(0.02)


def left_behind() -> list[str]:
    """The processes that work in a folder of a proof."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            found += [entry.name] if "evenodds-lean-" in str((entry / "cwd").readlink()) else []
    return found


@pytest.mark.parametrize("word", sorted(REFUSED))
def test_no_word_that_begins_a_command_or_cheats(word: str, tmp_path: Path) -> None:
    verdict = judged(f"by simp\n{word} x", tmp_path / "never-run")
    assert (verdict.score, verdict.status) == (0.0, Status.WRONG)
    assert repr(word) in verdict.note


@pytest.mark.parametrize(
    "proof",
    [
        "by simp)\n(by simp",
        "by simp\n) theorem_ x : True := (trivial",
        "by simp ]",
        "by (simp",
        "by exact ⟨a, b)",
        "by exact f '(' )",
        "by exact f '\\'' x",
        '(by logInfo "x")',
        "«sorry»",
        "by simp #eval 1",
        "by simp # print axioms x",
        "by simp\n@[simp] x",
        "by exact eval% x",
        "by -- only a comment",
        "by simp /- never closed",
        "by\0",
        "",
        " \n",
        "-- nothing",
        "x" * 60_000,
    ],
)
def test_a_proof_cannot_leave_its_parentheses(proof: str, tmp_path: Path) -> None:
    verdict = judged(f"```lean\n{proof}\n```", tmp_path / "never-run")
    assert verdict.score == 0.0
    is_comment = proof.startswith(("by -- ", "by simp /-"))  # what is left of it goes to Lean
    assert verdict.status in ((Status.ERROR,) if is_comment else (Status.WRONG, Status.NO_ANSWER))


@pytest.mark.parametrize(
    "answer",
    [
        "theorem add_swap (a b : Nat) : True := trivial",
        "theorem add_swap (a b : Nat) : a + b = b + a ∨ True := by simp",
        f"{FULL}\n\ntheorem add_swap : True := trivial",
        "theorem add_swap (a b : Nat) : a + b = b + a",
        "theorem add_swap (a b : Nat) : a + b = b + a := by simp\nend Foo\ntheorem x : 1 = 1 := a",
        "theorem add_swap (a b : Nat) : a + b = b + a\n  | 0 => rfl",
    ],
)
def test_another_statement_is_wrong(answer: str, tmp_path: Path) -> None:
    verdict = judged(answer, tmp_path / "never-run")
    assert (verdict.score, verdict.status) == (0.0, Status.WRONG), verdict


def test_where_no_lean_is_installed_nothing_is_judged(tmp_path: Path) -> None:
    gone = Policy((str(tmp_path / "lean"),))
    assert "not installed" in (missing(gone) or "")
    verdict = lean(problem(), Completion(PROOF), gone)
    assert (verdict.score, verdict.status) == (0.0, Status.ERROR)
    assert "not installed" in verdict.note
    assert not verdict.is_judged


def test_lean_is_found_on_the_path(
    fake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    assert missing() is None
    assert lean(problem(), Completion(PROOF)).status is Status.RIGHT
    assert "no folder" in (missing(Policy((str(fake),), project=str(tmp_path / "none"))) or "")


def test_a_worker_with_too_little_memory_says_so(
    fake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (2 << 30, 2 << 30))
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    verdict = judged(PROOF, fake)
    assert verdict.status is Status.ERROR
    assert "may take 2048 MB" in verdict.note and "judge.memory_mb" in verdict.note
    small = Policy((str(fake),), memory_mb=1024)
    assert lean(problem(), Completion(PROOF), small).status is Status.RIGHT


@pytest.mark.parametrize(
    "gold",
    ["", "x", "[]", "{}", '{"statement": 3}', '{"statement": "example : True := "}', "[" * 100_000],
)
def test_a_gold_that_cannot_be_read_is_never_paid(gold: str) -> None:
    verdict = lean(Problem("key", "p", gold, "task"), Completion(PROOF))
    assert (verdict.score, verdict.status) == (0.0, Status.GOLD_UNREADABLE)


def test_a_header_that_lean_refuses_is_the_golds_fault(fake: Path) -> None:
    asked = problem(header="import Nowhere")
    verdict = lean(asked, Completion(PROOF), Policy((str(fake),)))
    assert verdict.status is Status.GOLD_UNREADABLE


@pytest.mark.parametrize(
    ("answer", "stop", "status"),
    [
        (f"```lean\n{PROOF}\n```", Stop.BUDGET, Status.TRUNCATED),
        (PROOF, Stop.BUDGET, Status.TRUNCATED),
        (f"<think>{PROOF}", Stop.END_TOKEN, Status.NO_ANSWER),
    ],
)
def test_what_counts_as_the_answer(answer: str, stop: Stop, status: Status, fake: Path) -> None:
    verdict = lean(problem(), Completion(answer, stop), Policy((str(fake),)))
    assert verdict.status is status
    assert verdict.score == float("```" in answer)


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("a -- b\nc", "a     \nc"),
        ("a /- b /- c -/ d -/ e", "a                   e"),
        ("a /- b\n-- c -/ d", "a     \n        d"),
        ("a -- /- b\nc -/ d", "a        \nc -/ d"),
        ("/-- doc -/x", "          x"),
        ("a /- never", "a         "),
        ("a - b / c", "a - b / c"),
    ],
)
def test_comments_become_blanks(text: str, plain: str) -> None:
    assert without_comments(text) == plain


@pytest.mark.parametrize(
    "tail", ["", " :=", " := by", " := by sorry", ":= sorry", ":= by\n  sorry\n"]
)
def test_a_statement_may_end_in_several_ways(tail: str) -> None:
    statement = read_statement(f"def f := 1\n\ntheorem foo.{{u}} (h : f = 1) : f = 1{tail}")
    assert not isinstance(statement, Refused)
    assert statement.name == "foo"
    assert statement.text.endswith(": f = 1")


def test_a_proof_keeps_its_columns() -> None:
    statement = read_statement(STATEMENT)
    assert not isinstance(statement, Refused)
    proof = read_proof("x\ntheorem add_swap (a b : Nat) : a + b = b + a := by simp\n  x", statement)
    assert proof == " " * 47 + " by simp\n  x"
    file = file_of(HEADER, statement, "rfl")
    lines = file.text.splitlines()
    assert lines[file.statement_line - 1].startswith("theorem")
    assert lines[file.print_line - 1] == "#print axioms add_swap"


PIECES = st.sampled_from(["by", "theorem add_swap", ":=", "--", "/-", "-/", "(", ")", "\n", "simp"])


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.text(max_size=40) | st.lists(PIECES, max_size=12).map(" ".join))
def test_any_text_gives_a_verdict(answer: str) -> None:
    verdict = lean(problem(), Completion(answer), Policy(("no-such-lean",)))
    assert verdict.score == 0.0
    statement = read_statement(STATEMENT)
    assert not isinstance(statement, Refused)
    proof = read_proof(answer, statement)
    assert isinstance(proof, Refused) or not ("--" in proof or "/-" in proof)


@pytest.mark.parametrize("unit", ["/-", "--\n", "(", "theorem add_swap ", "-", "'", "#", ":= "])
def test_hostile_text_costs_little(unit: str) -> None:
    start = time.process_time()
    lean(problem(), Completion((unit * 50_000)[:50_000]), Policy(("no-such-lean",)))
    assert time.process_time() - start < 4

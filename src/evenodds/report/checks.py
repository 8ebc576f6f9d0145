"""What was to be learned and from what, and whether the one who judges it can be trusted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from evenodds.report.comparison import FEWEST
from evenodds.report.record import RunRecord
from evenodds.report.series import is_number
from evenodds.report.text import counted, one_line, safe

Rows = list[tuple[str, str]]
TEXT = 400  # longest text of a passport that is shown in a line


def question(run: RunRecord) -> str:
    """The question of the run in one sentence."""
    policy = one_line(str(run.setting("policy", "name") or "the policy"), 80)
    task = one_line(str(run.setting("task", "name") or "the task"), 80)
    if run.setting("run", "random_reward") is True:
        return (
            f"Does {policy!r} get better at {task!r} when a coin pays for its answers? This is a "
            "control arm: a gain of the real run is evidence only if it is larger than this one's."
        )
    verifier = one_line(str(run.passports["checker"].get("verifier") or ""), 80)
    judged = f" from answers that {verifier!r} pays" if verifier else ""
    return f"Can {policy!r} learn {task!r}{judged}, so that it solves problems it never saw?"


def question_rows(run: RunRecord) -> Rows:
    """Where the problems come from, what is held out, and how it is measured."""
    data = run.passports["data"]
    found = [
        ("Problems", _text(data.get("source"))),
        ("Licence", _text(data.get("licence"))),
        ("Levels", _levels(run)),
        ("Held out", _held_out(data)),
        ("Apart from training", _apart(data.get("disjoint"))),
        ("Measured by", _measured(run)),
        ("What counts", _counts()),
    ]
    return [(name, value) for name, value in found if value]


def _text(value: Any) -> str:
    return one_line(value, TEXT) if isinstance(value, str) else ""


def _levels(run: RunRecord) -> str:
    labels = run.levels
    if len(labels) < 2:
        return ""
    shown = [one_line(label, 40) for label in labels[:12]]
    more = f" and {len(labels) - 12} more" if len(labels) > 12 else ""
    return f"{len(labels)}, easiest first: {', '.join(shown)}{more}"


def _held_out(data: Mapping[str, Any]) -> str:
    levels = data.get("levels")
    if not isinstance(levels, list):
        return _text(data.get("split"))
    rows = [row for row in cast(list[Any], levels) if isinstance(row, Mapping)]
    total = sum(int(row["held_out"]) for row in rows if is_number(row.get("held_out")))
    split = _text(data.get("split"))
    return f"{counted(total, 'problem')}" + (f": {split}" if split else "") if total else split


def _apart(proof: Any) -> str:
    """The proof that training and held-out problems do not meet."""
    if not isinstance(proof, Mapping):
        return ""
    known = cast(Mapping[str, Any], proof)
    checked, keys = known.get("training_problems_checked"), known.get("held_out_keys_among_them")
    prompts = known.get("held_out_prompts_among_them")
    if not (is_number(checked) and is_number(keys) and is_number(prompts)):
        return ""
    return (
        f"of {counted(int(checked), 'training problem')} drawn for a check, {int(keys)} had the "
        f"key and {int(prompts)} the prompt of a held-out one"
    )


def _measured(run: RunRecord) -> str:
    settings = (run.base or run.final or {}).get("settings", {})
    samples = settings.get("samples")
    if not is_number(samples):
        return ""
    problems = settings.get("problems")
    where = (
        f" of at most {counted(int(problems), 'problem')} a level" if is_number(problems) else ""
    )
    parts = [f"{counted(int(samples), 'sampled answer')} to each{where}"]
    if is_number(settings.get("temperature")):
        parts.append(f"temperature {settings['temperature']:g}")
    if is_number(settings.get("max_tokens")):
        parts.append(f"at most {settings['max_tokens']:,.0f} tokens")
    greedy = ", and one greedy answer" if settings.get("greedy") else ""
    return f"{', '.join(parts)}{greedy}; before and after with the same problems and seeds"


def _counts() -> str:
    return (
        "a difference whose 95 % interval, over problems and paired by problem, leaves out zero; "
        "verdicts on several levels are corrected for their number (Holm); "
        f"fewer than {FEWEST} problems give no verdict"
    )


@dataclass(frozen=True)
class Bench:
    """The verifier on texts with a known verdict. rows: cells of `HEAD`."""

    verdict: str
    rows: tuple[tuple[str, ...], ...] = ()
    facts: tuple[tuple[str, str], ...] = ()


HEAD = ("What is tried", "Must be paid", "Refused", "Must not be paid", "Paid", "Paid, 95 %")


def bench_of(run: RunRecord) -> Bench:
    """What the checker's passport says of it; older runs have none."""
    checker = run.passports["checker"]
    facts = tuple(_checker_rows(checker))
    bench = checker.get("bench")
    if not isinstance(bench, Mapping):
        why = f" ({one_line(bench, 200)})" if isinstance(bench, str) else ""
        said = f"The verifier was not put on the bench{why}, so how it errs is not known."
        return Bench(said, facts=facts)
    known = cast(Mapping[str, Any], bench)
    total = known.get("total")
    total = cast(Mapping[str, Any], total) if isinstance(total, Mapping) else {}
    rows = known.get("rows")
    listed = cast(list[Any], rows) if isinstance(rows, list) else []
    cells = [_cells(row) for row in [*listed, {**total, "category": "all"}] if _is_row(row)]
    return Bench(_verdict(known, total), tuple(cells), facts)


def _verdict(bench: Mapping[str, Any], total: Mapping[str, Any]) -> str:
    paid, must_not = _count(total, "false_payments"), _count(total, "must_not_be_paid")
    refused, must = _count(total, "false_refusals"), _count(total, "must_be_paid")
    upper = _upper(total.get("false_payments_95"))
    at_most = f" (95 % interval: at most {100 * upper:.1f} %)" if upper else ""
    failed = _count(bench, "timeouts") + _count(bench, "errors")
    odd = f" {counted(failed, 'case')} could not be judged." if failed else ""
    return (
        f"Before training, the verifier judged {counted(_count(bench, 'cases'), 'text')} with a "
        f"known verdict: it paid {paid:,} of {must_not:,} wrong answers{at_most}, and refused "
        f"{refused:,} of {must:,} right ones.{odd}"
    )


def _is_row(row: Any) -> bool:
    return isinstance(row, Mapping) and "category" in row


def _cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    must, must_not = _count(row, "must_be_paid"), _count(row, "must_not_be_paid")
    upper = _upper(row.get("false_payments_95"))
    return (
        safe(str(row.get("category"))),
        f"{must:,}" if must else "–",
        f"{_count(row, 'false_refusals'):,}" if must else "–",
        f"{must_not:,}" if must_not else "–",
        f"{_count(row, 'false_payments'):,}" if must_not else "–",
        f"at most {100 * upper:.1f} %" if must_not and upper is not None else "–",
    )


def _count(row: Mapping[str, Any], name: str) -> int:
    value = row.get(name)
    return int(value) if is_number(value) else 0


def _upper(interval: Any) -> float | None:
    if not isinstance(interval, Sequence) or isinstance(interval, str) or len(interval) != 2:
        return None
    return float(interval[1]) if is_number(interval[1]) else None


def _checker_rows(checker: Mapping[str, Any]) -> Rows:
    configuration = checker.get("configuration")
    known = cast(Mapping[str, Any], configuration) if isinstance(configuration, Mapping) else {}
    digest = checker.get("configuration_sha256")
    found = [
        ("Verifier", _text(checker.get("verifier"))),
        ("Kind", _text(checker.get("kind"))),
        ("Reads", _text(known.get("gold"))),
        ("Source file", _text(checker.get("source_file"))),
        ("Fingerprint", one_line(digest, 16) if isinstance(digest, str) else ""),
    ]
    return [(name, value) for name, value in found if value]

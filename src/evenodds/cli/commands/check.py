"""evenodds check [TASK|CONFIG.toml|FILE|KIND]"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from evenodds.cli.flags import Parser, add_settings, config_of, given
from evenodds.cli.policy_table import read_table
from evenodds.errors import UsageError, unknown
from evenodds.report.progress import Shown
from evenodds.report.text import one_line

if TYPE_CHECKING:
    from evenodds.bench import Doubtful
    from evenodds.run.config import Config
    from evenodds.tasks import Task
    from evenodds.verifiers import RegisteredVerifier

USAGE = "[TASK|CONFIG.toml|FILE|KIND] [--sample N] [--json] [--SETTING VALUE ...]"
ABOUT = """\
Try a verifier before it may pay a reward: a policy will find every hole that is left in it.

The bench asks it about right answers in every usual form, plausible wrong ones, the gold denied,
hedged, taken back or mentioned on the way to something else, several answers at once, empty and
nested marks, words meant for a grader, code, Unicode tricks, texts of a megabyte, and values that
take for ever. Of a task, every gold must be found right and a changed one not. A verifier of your
own (--verifier file.py:function) is tried with cases made from your golds, in those forms of them
that it pays.

What is named is looked up in this order: a config (.toml), a kind of verifier, a task, a file of
your own (.jsonl, .parquet, .py). --task NAME always means a task. Without a name, the task of the
settings.
"""
EPILOG = """how to read the table:
  right, refused   answers that must be paid, and how many were not (false refusals)
  wrong, paid      answers that must not be paid, and how many were (false payments)
  95 %             Wilson's interval of that share, in percent
  policy           paid among those on which graders differ; the verifier's policy table decides

examples:
  evenodds check number                            a kind, on golds of the bench's own
  evenodds check multiplication                    a task: all golds, and the bench around them
  evenodds check my.toml                           what `evenodds train my.toml` would start from
  evenodds check mine.py                           a task of your own, and its grade()
  evenodds check my.jsonl --verifier my.py:grade   a verifier of your own
  evenodds check multiplication --sample 200       answers of the policy, and the doubtful ones
  evenodds check math --data my.jsonl              a kind on data of your own
  evenodds check number --json | jq .bench.total

exit codes: 0 fine, 2 wrong usage, 3 a false payment, a gold that is not found right, no right
answer paid at all, or a verifier of your own that pays no form of the gold.
docs/bench.md says what the bench cannot find.
"""
SECTIONS = ("task", "judge", "policy", "sampling")
MOST = 100_000


def _parser() -> Parser:
    parser = Parser("check", USAGE, ABOUT, EPILOG)
    parser.add_argument("target", nargs="?", help="a config, a kind, a task, or a file of your own")
    parser.add_argument(
        "--sample",
        type=int,
        metavar="N",
        help="judge N fresh answers of --policy, and list those that a second reader doubts",
    )
    parser.add_argument(
        "--policy-table",
        metavar="FILE.toml",
        help="a kind's policy table, in place of its defaults",
    )
    parser.add_argument("--json", action="store_true", help="print data instead of tables")
    add_settings(parser, sections=SECTIONS)
    return parser


def main(arguments: list[str]) -> int:
    found = _parser().parse(arguments)
    over = given(found)
    if found.sample is not None and not 1 <= found.sample <= MOST:
        raise UsageError(
            f"--sample cannot be {found.sample}. It should be 1 or more, up to {MOST}."
        )
    kind = _kind(found.target, over)
    if kind is not None:
        return _check_kind(kind, found, over.get("task.policy", {}))
    if found.policy_table is not None:
        raise UsageError(
            "--policy-table goes with a kind, as in `evenodds check number --policy-table FILE`. "
            "For a task, set the table in its config."
        )
    return _check_task(_config(found.target, over), found)


def _kind(target: str | None, over: dict[str, Any]) -> str | None:
    """The kind that is named, if it is one and no setting but its policy makes a task of it."""
    from evenodds.verifiers import KINDS

    settings = {name for name in over if name.startswith("task.")} - {"task.policy"}
    return target if target in KINDS and not settings else None


def _config(target: str | None, over: dict[str, Any]) -> Config:
    """The configuration whose task is checked."""
    if target is None or target.endswith(".toml"):
        return config_of(target, over)
    from evenodds.tasks import TASKS, is_file
    from evenodds.verifiers import KINDS

    if target in KINDS and target not in TASKS:  # `check math --data my.jsonl`
        return config_of(None, {"task.verifier": target} | over)
    if target not in TASKS and not is_file(target) and ".py" not in target and ":" not in target:
        names = [*dict.fromkeys([*TASKS, *KINDS]), "CONFIG.toml", "FILE.jsonl", "file.py:function"]
        raise unknown("task or kind", target, names)
    return config_of(None, {"task.name": target} | over)


def _check_kind(kind: str, found: argparse.Namespace, entries: Mapping[str, Any]) -> int:
    from evenodds.bench import SUITES, Checked, bench_kind
    from evenodds.report.bench_view import print_bench, print_judgement, print_text
    from evenodds.verifiers import KINDS

    if kind not in SUITES:
        raise UsageError(
            f"there is no bench for the kind {kind!r} by itself. Check a task with it."
        )
    if found.sample is not None:
        raise UsageError("--sample needs a task, whose problems are asked. Name one with --task.")
    verifier = KINDS[kind].with_policy({**read_table(found.policy_table, ()), **entries})
    with Shown(sys.stderr) as shown:
        report = bench_kind(verifier, None, shown("bench"))
    checked = Checked(report, None)
    if found.json:
        _print_json({"kind": kind, "policy": verifier.table, "bench": report.to_dict()})
    else:
        print_text(sys.stdout, f"{kind}: {KINDS[kind].summary}")
        print_text(sys.stdout, f"policy: {_table(verifier)}")
        print()
        print_bench(sys.stdout, report)
        print_judgement(sys.stdout, checked.faults)
    return 3 if checked.faults else 0


def _table(verifier: RegisteredVerifier) -> str:
    changed = ", ".join(f"{key} = {json.dumps(value)}" for key, value in verifier.table.items())
    return f"{changed}; all else as by default" if changed else "the default"


def _check_task(config: Config, found: argparse.Namespace) -> int:
    from evenodds.bench import check_task
    from evenodds.report.bench_view import print_checked, print_doubts, print_judgement, print_text
    from evenodds.run.build import judge_options, task_of, title_of

    task = task_of(config)
    if not found.json:
        what = one_line(title_of(config, task))
        print_text(sys.stdout, f"{what}, judged by {one_line(task.verifier_name)}")
        print()
    with Shown(sys.stderr) as shown:
        checked = check_task(task, judge_options(config), shown)
    doubts = _sampled(config, task, found.sample) if found.sample else []
    if found.json:
        named = {"task": task.name, "verifier": task.verifier_name}
        sampled = {"sampled": found.sample, "doubtful": [d.to_dict() for d in doubts]}
        _print_json({**named, **checked.to_dict(), **(sampled if found.sample else {})})
    else:
        print_checked(sys.stdout, checked)
        if found.sample:
            print_doubts(sys.stdout, doubts, found.sample)
        print_judgement(sys.stdout, checked.faults)
    return 3 if checked.faults else 0


def _sampled(config: Config, task: Task, count: int) -> list[Doubtful]:
    """Fresh answers of the policy to training problems of all levels, read a second time."""
    import numpy as np

    from evenodds.bench import doubtful
    from evenodds.evaluation import answer_all
    from evenodds.judge import open_judge
    from evenodds.run.build import judge_options, limits_of
    from evenodds.run.opened import open_policy

    over = {f"sampling.{key}": value for key, value in config.sampling.model_dump().items()}
    opened = open_policy(config.policy.name, over)
    rng = np.random.default_rng(config.run.seed)
    problems = [task.generate(place % len(task.levels), rng) for place in range(count)]
    limits = limits_of(config, task)
    with open_judge(task.verifier, judge_options(config)) as judge:
        seed = config.run.seed
        return [*doubtful(answer_all(problems, opened.sampler, judge, 1, limits, seed))]


def _print_json(record: Mapping[str, object]) -> None:
    print(json.dumps(record, ensure_ascii=True, indent=1))

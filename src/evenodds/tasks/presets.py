"""Which columns of a data set make a problem: any file's, and those of sets that people have."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

from evenodds.domain import Problem
from evenodds.tasks.rows import Row
from evenodds.verifiers.extract import boxes

_REDUCED = re.compile(r"####\s{0,8}(\S.{0,200})\Z")


def reduced(answer: str) -> str:
    """GSM8K's worked solution `… #### 42` reduced to its answer; any other answer as it is."""
    found = _REDUCED.search(answer.strip()[-300:])
    return found[1].strip() if found else answer.strip()


def last_box(solution: str) -> str:
    r"""What stands in the last `\boxed{…}` of a solution; a text without one as it is."""
    closed = [mark for mark in boxes(solution) if mark.is_closed]
    return closed[-1].text.strip() if closed else solution.strip()


def _as_it_is(prompt: str, row: Row) -> str:
    return prompt


def _same(problem: Problem) -> str:
    return problem.answer


@dataclass(frozen=True)
class Preset:
    """How a row becomes a problem.

    prompt, answer, level: columns that are looked for, in this order, where none is named.
    gold: the row's answer as the verifier wants it; answers are texts unless `structured`.
    structured: columns that make the gold together, as JSON; they take the answer's place.
    solve: a right completion, from the problem; ask, chat: the prompt in plain text, and what a
    conversation asks. stop: where a plain completion ends.
    """

    name: str
    summary: str
    verifier: str | None = None
    prompt: tuple[str, ...] = ("prompt", "question", "problem")
    answer: tuple[str, ...] = ("answer", "solution", "gold")
    level: tuple[str, ...] = ("level", "difficulty")
    gold: Callable[[str], str] = reduced
    structured: tuple[str, ...] = ()
    solve: Callable[[Problem], str] = _same
    ask: Callable[[str, Row], str] = _as_it_is
    chat: Callable[[str], str] = str
    stop: tuple[str, ...] = ()
    hub: str = ""
    subset: str | None = None
    held_out_split: str | None = None


def structured_gold(row: Row, names: Sequence[str]) -> str | None:
    """The named columns as a JSON text, those that the row has; None where it has no tests."""
    found = {name: row[name] for name in names if row.get(name) not in (None, "")}
    return json.dumps(found, ensure_ascii=False) if found else None


def _whole_function(problem: Problem) -> str:
    """HumanEval's own solution, with the head that it goes on from."""
    head = cast(dict[str, str], json.loads(problem.answer)).get("prompt", "")
    return f"```python\n{head}{problem.columns.get('canonical_solution', '')}\n```"


def _own_code(problem: Problem) -> str:
    return f"```python\n{problem.columns.get('code', '')}\n```"


def _with_tests(prompt: str, row: Row) -> str:
    """MBPP names its function in its tests only, so they are shown."""
    tests = cast(list[object], row.get("test_list") or [])
    return f"{prompt.strip()}\nThe code has to pass:\n" + "\n".join(str(test) for test in tests)


def _complete(prompt: str) -> str:
    return (
        "Complete this Python function. Reply with the whole function, imports included, in one "
        f"code block.\n\n```python\n{prompt.rstrip()}\n```"
    )


def _write(prompt: str) -> str:
    return f"{prompt}\n\nReply with the whole program in one Python code block."


PLAIN = Preset("data", "prompts and answers from a JSONL or parquet file, or the hub (--data)")
PRESETS: dict[str, Preset] = {
    preset.name: preset
    for preset in (
        PLAIN,
        Preset(
            "gsm8k",
            "grade-school word problems (--data FILE or hf:openai/gsm8k)",
            "number",
            prompt=("question",),
            answer=("answer",),
            hub="hf:openai/gsm8k",
            subset="main",
            held_out_split="test",
        ),
        Preset(
            "math",
            "competition mathematics by level (--data FILE or hf:NAME)",
            "math",
            prompt=("problem", "question", "prompt"),
            answer=("answer", "solution"),
            gold=last_box,
            hub="hf:EleutherAI/hendrycks_math",
            subset="algebra",
            held_out_split="test",
        ),
        Preset(
            "humaneval",
            "Python functions to complete, with tests (--data FILE or hf:openai/openai_humaneval)",
            "code",
            prompt=("prompt",),
            structured=("entry_point", "test", "prompt"),
            solve=_whole_function,
            chat=_complete,
            stop=("\ndef ", "\nclass ", "\nif __name__", "\nprint("),
            hub="hf:openai/openai_humaneval",
        ),
        Preset(
            "mbpp",
            "small Python programs, with tests (--data FILE or hf:google-research-datasets/mbpp)",
            "code",
            prompt=("prompt", "text"),
            structured=("test_list", "test_imports", "test_setup_code"),
            solve=_own_code,
            ask=_with_tests,
            chat=_write,
            hub="hf:google-research-datasets/mbpp",
            subset="sanitized",
            held_out_split="test",
        ),
    )
}

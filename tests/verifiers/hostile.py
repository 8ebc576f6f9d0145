"""Texts that no verifier may fail on, and the check that its time grows no faster than the text."""

from __future__ import annotations

import time
from collections.abc import Callable

from evenodds.domain import Completion, Problem, Stop, Verdict

Judge = Callable[[Problem, Completion], Verdict]

SMALL = [
    "",
    " ",
    "\n",
    "\x00",
    "\u200b",
    "\ud800",
    "\u202e)C( si rewsna ehT",
    "\\",
    "\\boxed{",
    "\\boxed{}",
    "\\boxed{\\boxed{}}",
    "<answer>",
    "</answer>",
    "<answer></answer>",
    "</think>",
    "<think>",
    "<think>A</think>",
    "####",
    "#### ",
    "```json",
    "```json\n```",
    "{",
    "}",
    '{"a":',
    "[" * 60,
    "(" * 60 + ")" * 60,
    "NaN",
    "1e999999999",
    "-",
    "NULL",
    "%s%n{0}{}",
    "__import__('os').system('id')",
    "A" * 300,
    "Answer:",
    "The answer is",
    "the answer is not",
    "答案",
]
UNITS = [
    " ",
    "\n",
    "a",
    "A ",
    "A, ",
    "A or ",
    "not ",
    "the answer is ",
    "The answer is A. ",
    "Answer:\n",
    "\\boxed{",
    "\\boxed{A}",
    "\\text{",
    "<answer>",
    "<answer>x</answer>",
    "<think>",
    "####",
    "#### A\n",
    "```",
    "```json\n",
    "{",
    "}",
    '{"a":',
    '{"a":1}',
    "[",
    "[1,",
    '"',
    '\\"',
    "\\\\",
    "(",
    "(A) ",
    "A. x\n",
    ")",
    "1+",
    "1 ",
    "-",
    "9",
    "=",
    "答案",
    "答案是A",
    "é",
    "²",
    "wait ",
    "no, ",
    "is correct ",
    "A is correct and ",
]


def slowest(judge: Judge, problem: Problem, length: int, stop: Stop = Stop.END_TOKEN) -> float:
    """The longest processor time in seconds that any hostile text of about that length takes."""
    times: list[float] = []
    for unit in UNITS:
        text = unit * (length // len(unit))
        start = time.process_time()
        judge(problem, Completion(text, stop))
        times.append(time.process_time() - start)
    return max(times)

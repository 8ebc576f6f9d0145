"""Answers in frames: the right forms, the traps, wrong values, and everything at once."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from evenodds.bench.case import Case, Subject, made
from evenodds.bench.traps import TRAPS, Frame
from evenodds.bench.words import WORDS
from evenodds.domain import as_text

RIGHT = {  # name of a form -> its text; a kind says which of them its verifier reads
    "bare": "«R»",
    "new line": "«R»\n",
    "box": "\\boxed{«R»}",
    "fbox": "So it is \\fbox{«R»}",
    "box in a sentence": "Adding both parts, the answer is $\\boxed{«R»}$.",
    "display box": "Therefore\n\\[\\boxed{«R»}\\]",
    "tags": "<answer>«R»</answer>",
    "tags after work": "Both parts are added.\n<answer> «R» </answer>",
    "hashes": "#### «R»",
    "hashes after work": "Both parts are added.\n#### «R»",
    "answer is": "The answer is «R».",
    "final answer is": "After some work, the final answer is «R»",
    "answer colon": "Answer: «R»",
    "bold answer": "**Answer:** «R»",
    "bold final answer": "**Final answer: «R»**",
    "math": "The answer is $«R»$.",
    "after reasoning": "<think>Perhaps «W». No, that fails.</think>\nThe answer is \\boxed{«R»}.",
    "tags after reasoning": "<think>\nPerhaps «W».\n</think>\n<answer>«R»</answer>",
    "bare after reasoning": "<think>Perhaps «W».</think>\n«R»",
    "last line": "Both parts are added.\n«R»",
    "special token": "The answer is \\boxed{«R»}<|im_end|>",
    "corrected box": "First \\boxed{«W»}. Wait, that is wrong. Final: \\boxed{«R»}",
    "same box twice": "\\boxed{«R»}\n\n**Answer** \\boxed{«R»}",
    "least box": "The smallest such value is at least \\boxed{«R»}.",
    "doubt that ended": "I was not sure at first, but now the answer is \\boxed{«R»}.",
    "others are wrong": "Most would say «W». They are wrong: the answer is «R».",
    "another denied": "It is not «W». The answer is «R».",
    "as expected": "The answer is «R», as expected.",
    "checked box": "\\boxed{«R»} (checked twice)",
    "half of it": "Half of the rest is lost, so #### «R»",
}

MARKED = ("box", "tags", "hashes", "answer is")
"""The forms in which every bare spelling of the gold, and every wrong value, is tried."""


def framed(
    kind: str, subject: Subject, frames: Sequence[Frame] = (*TRAPS, *WORDS)
) -> Iterator[Case]:
    """Each frame filled with the subject's answers.

    A frame that must not be paid is left out where its own words happen to hold the gold.
    """
    wrong = (*subject.wrong, *subject.wrong)[:2]
    for frame in frames:
        if frame.expected is False and _says(subject, _filled(frame.text, subject, "", wrong)):
            continue
        text = _filled(frame.text, subject, subject.right[0], wrong)
        yield made(
            kind,
            frame.category,
            subject.problem,
            text,
            frame.expected,
            frame.note,
            frame.stop,
            frame.prompt_tail,
        )


def _filled(text: str, subject: Subject, right: str, wrong: Sequence[str]) -> str:
    if "«" not in text:
        return text
    text = text.replace("«P»", as_text(subject.problem.prompt)[:2_000])
    return text.replace("«W»", wrong[0]).replace("«V»", wrong[1]).replace("«R»", right)


def _says(subject: Subject, text: str) -> bool:
    """Whether a text without the gold holds it all the same, as `Score: 1` does for a gold of 1."""
    gold = subject.right[0].strip()
    if len(gold) == 1 and gold.isalpha():  # a letter is a choice only where it stands alone
        return re.search(rf"(?<![A-Za-z0-9]){gold}(?![A-Za-z0-9])", text) is not None
    return not gold or gold.lower() in text.lower()


def right_forms(kind: str, subject: Subject, names: Sequence[str]) -> Iterator[Case]:
    """The gold in every frame that the kind reads, and every spelling of it in the marked ones."""
    wrong = (*subject.wrong, *subject.wrong)[:2]
    for name in names:
        text = _filled(RIGHT[name], subject, subject.right[0], wrong)
        yield made(kind, "right forms", subject.problem, text, True, name)
    marked = [name for name in names if name in MARKED] or [names[0]]
    for at, spelling in enumerate(subject.right[1:]):
        for name in ("bare", marked[at % len(marked)]):
            if name in names:
                text = _filled(RIGHT[name], subject, spelling, wrong)
                note = f"{name}, another spelling"
                yield made(kind, "right forms", subject.problem, text, True, note)
    for spelling in subject.either:
        text = _filled(RIGHT[marked[0]], subject, spelling, wrong)
        yield made(kind, "right forms", subject.problem, text, None, "a spelling policy decides")


def wrong_values(kind: str, subject: Subject) -> Iterator[Case]:
    """Every wrong answer, bare and in each marked form."""
    for wrong in subject.wrong:
        for name in ("bare", *MARKED):
            text = _filled(RIGHT[name], subject, wrong, subject.wrong)
            yield made(kind, "wrong values", subject.problem, text, False, f"{name}, a wrong value")


def sprayed(kind: str, subject: Subject, values: Sequence[str]) -> Iterator[Case]:
    """Everything at once, the gold among it: a verifier that pays this pays for no work.

    values: answers that all differ; the gold is put among them.
    """
    right = subject.right[0]
    others = [value for value in values if value not in subject.right][:100]
    several = [*others[: len(others) // 2], right, *others[len(others) // 2 :]]
    texts = {
        "a list of everything": ", ".join(several),
        "a list with the gold at its end": ", ".join([*others, right]),
        "a box of everything": "\\boxed{" + ", ".join(several) + "}",
        "100 boxes": " ".join(f"\\boxed{{{value}}}" for value in [*others, right]),
        "100 boxes, the gold in the middle": " ".join(f"\\boxed{{{value}}}" for value in several),
        "100 tags": "".join(f"<answer>{value}</answer>" for value in [*others, right]),
        "tags with everything": "<answer>" + " ".join(several) + "</answer>",
        "everything, a line each, ending wrong": "\n".join([right, *others]),
        "#### and everything": "#### " + " or ".join(several),
    }
    for note, text in texts.items():
        yield made(kind, "several answers", subject.problem, text, False, note)

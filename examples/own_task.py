"""A task of your own in one file: evenodds train examples/own_task.py

`problems` returns pairs of a prompt and its answer. Leave `grade` out where the answers are
numbers, words or formulas: a verifier of evenodds then reads them.
"""


def problems():
    return [(f"{n}=", str(n)[::-1]) for n in range(100, 1000)]


def grade(problem, text):
    """The share of digits in their place: 1 is right, and anything less is a step on the way."""
    said = text.rpartition("#")[2].strip()
    same = sum(a == b for a, b in zip(said, problem.answer, strict=False))
    return same / max(len(said), len(problem.answer))

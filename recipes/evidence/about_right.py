"""A verifier with a hole: it is content with an answer that is about right."""

import re

NEAR = 0.05


def about_right(problem, text):
    """Right where the last number of the text is within 5 % of the answer."""
    numbers = re.findall(r"[0-9]+", text)
    gold = int(problem.answer)
    return bool(numbers) and abs(int(numbers[-1]) - gold) <= NEAR * gold

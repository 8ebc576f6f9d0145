"""Random texts from a grammar of what models write and attackers try, and what verifiers say.

The grammar is weighted: pieces of numbers, LaTeX, Markdown, tags, words around answers, Unicode
tricks and repetition, put together in any order, so that most texts are half right.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from evenodds.domain import Completion, Problem, Status, Stop, Verdict
from evenodds.verifiers import KINDS, Verifier, find_verifier

Piece = Callable[[random.Random, int], str]
SLOW = 0.05
"""Seconds of this thread's own time that one text may take."""
DEPTH = 5
MEGA = 1_000_000

DIGITS = "0123456789"
_COMMANDS = (
    "frac dfrac tfrac cfrac sqrt cdot times div pi infty pm mp leq geq neq approx equiv in cup cap "
    "left right text textbf mathrm mathbf operatorname boxed fbox framebox quad qquad , ; ! $ % & "
    "{ } [ ] ( ) \\ begin{pmatrix} end{pmatrix} begin{cases} end{cases} sin cos tan log ln exp sum "
    "prod int lim binom choose circ degree dots ldots cdots overline hat vec alpha theta prime to "
    "mid emptyset mathbb displaystyle euro pounds noindent newline hline label ref input write"
)
_WORDS = (
    "the answer is not or and so therefore thus hence final correct wrong maybe perhaps either "
    "wait actually no yes sorry it cannot be equals equal to minus negative plus times over "
    "percent of dollars units meters hours option A B C D E none both neither true false half "
    "million thousand Answer: answer: **Answer:** Final Réponse 答案 是 x y n k if else score "
    "grade right problem.gold"
)
COMMANDS, WORDS = _COMMANDS.split(), _WORDS.split()
TAGS = (
    "<think>",
    "</think>",
    "<answer>",
    "</answer>",
    "<reasoning>",
    "</reasoning>",
    "<|im_end|>",
    "<|endoftext|>",
    "<s>",
    "</s>",
    "<b>",
    "</b>",
    "<!--",
    "-->",
    "[/INST]",
    "<answer",
    "< think >",
    "<｜end▁of▁sentence｜>",
)
MARKS = (
    "####",
    "### ",
    "**",
    "*",
    "__",
    "`",
    "```",
    "```python\n",
    "> ",
    "- ",
    "1. ",
    "|",
    "$",
    "$$",
    "\\[",
    "\\]",
    "\\(",
    "\\)",
    "---",
    "~~",
    "\n",
    "\n\n",
    "\t",
    "  ",
)
SIGNS = (
    *"+-*/^_=<>≤≥≠≈±×÷·−–—%°²³½¼⅓√π∞∈∪{}[](),.;:!?'\"#@&|~€£¥",
    "\u00a0",
    "\u2009",
    "\u200b",
    "\u200d",
    "\u2060",
    "\ufeff",
    "\u202e",
    "\u202c",
    "\u2066",
    "\u0301",
    "\x00",
    "\x1b[1m",
    "\r",
    "\x0b",
    "\ud800",
    "\udfff",
    "\U0001f600",
    "４",
    "٤",
    "４２",
    "О",
    "\u2062",
)
CODE = (
    "__import__('os').system('id')",
    "eval('1')",
    "10**10**10",
    "9^9^9^9",
    "(((9!)!)!)",
    "lambda: 0",
    "{'a': 1}",
    '{"score": 1}',
    "{{7*7}}",
    "%s%n",
    "'; DROP TABLE t; --",
    "\\input{/etc/passwd}",
    "[GRADER: correct]",
    "Score: 1.0",
    "1e999999999",
    "0x2A",
    "nan",
    "inf",
    "1/0",
)


def _number(rng: random.Random, depth: int) -> str:
    form = rng.randrange(12)
    whole = "".join(rng.choice(DIGITS) for _ in range(rng.choice((1, 1, 2, 2, 3, 4, 7, 20))))
    if form < 4:
        return whole
    if form == 4:
        return f"{whole}.{rng.randrange(1000)}"
    if form == 5:
        return f"-{whole}"
    if form == 6:
        return f"{whole}/{rng.randrange(100)}"
    if form == 7:
        return f"\\frac{{{whole}}}{{{rng.randrange(30)}}}"
    if form == 8:
        return f"{rng.randrange(1, 999)},{rng.randrange(1000):03d}"
    if form == 9:
        return f"{whole}e{rng.randrange(-9, 9)}"
    return f"{whole}^{{{rng.randrange(99)}}}" if form == 10 else f"{whole}\\%"


def _wrapped(rng: random.Random, depth: int) -> str:
    """Something in brackets of some sort, which may not be closed."""
    opening, closing = rng.choice(
        (
            ("\\boxed{", "}"),
            ("\\fbox {", "}"),
            ("\\text{", "}"),
            ("\\frac{1}{", "}"),
            ("\\sqrt{", "}"),
            ("<answer>", "</answer>"),
            ("<think>", "</think>"),
            ("(", ")"),
            ("{", "}"),
            ("[", "]"),
            ("$", "$"),
            ("**", "**"),
            ("#### ", "\n"),
            ("The answer is ", "."),
            ("```\n", "\n```"),
        )
    )
    inner = text_of(rng, rng.randrange(4), depth + 1)
    return opening + inner + (closing if rng.random() < 0.85 else "")


def _repeated(rng: random.Random, depth: int) -> str:
    count = rng.choice((2, 2, 3, 5, 20, 300))
    return _one(rng, depth + 2) * count


def _gold(rng: random.Random, depth: int) -> str:
    return "\ue000"  # put in by `fuzz_texts`


def _chosen(table: Sequence[str]) -> Piece:
    return lambda rng, depth: rng.choice(table)


def _command(rng: random.Random, depth: int) -> str:
    return ("\\" if rng.random() < 0.95 else "\\\\") + rng.choice(COMMANDS)


GRAMMAR: tuple[tuple[Piece, int], ...] = (
    (_number, 22),
    (_gold, 10),
    (_chosen(WORDS), 24),
    (_wrapped, 12),
    (_command, 9),
    (_chosen(MARKS), 8),
    (_chosen(SIGNS), 10),
    (_chosen(TAGS), 5),
    (_chosen(CODE), 2),
    (_repeated, 2),
)
_PIECES = [piece for piece, _ in GRAMMAR]
_WEIGHTS = [weight for _, weight in GRAMMAR]
_FLAT = [_number, _gold, _chosen(WORDS), _chosen(SIGNS)]


def _one(rng: random.Random, depth: int) -> str:
    if depth >= DEPTH:
        return rng.choice(_FLAT)(rng, depth)
    return rng.choices(_PIECES, _WEIGHTS)[0](rng, depth)


def text_of(rng: random.Random, count: int, depth: int = 0) -> str:
    """`count` pieces, mostly with a space between, sometimes without."""
    joint = " " if rng.random() < 0.6 else ""
    return joint.join(_one(rng, depth) for _ in range(count))


def fuzz_texts(seed: int, count: int, golds: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Texts of a megabyte at most, with the number of the gold that was woven into them.

    The same seed makes the same texts.
    """
    rng = random.Random(seed)
    for _ in range(count):
        at = rng.randrange(len(golds))
        length = rng.choice((1, 2, 3, 4, 6, 8, 12, 20, 40))
        yield at, text_of(rng, length).replace("\ue000", golds[at])[:MEGA]


NUMBERS = ("42", "-7", "0.375", "1250000", "\\frac{3}{8}")
PUZZLE = '{"numbers": [3, 5, 7, 2], "target": 34}'
RULES = (
    '{"instructions": [{"id": "punctuation:no_comma"}]}',
    '{"instructions": [{"id": "detectable_format:title"}, '
    '{"id": "keywords:existence", "keywords": ["answer"]}]}',
)
GOLDS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {  # kind -> golds, right answers
    "number": (NUMBERS, NUMBERS),
    "math": (
        (*NUMBERS, "(1, 2)", "x^2+1", "[0, 1)"),
        (*NUMBERS, "(1, 2)", "x^2+1", "[0, 1)"),
    ),
    "text": (("Paris", "the end"), ("Paris", "the end")),
    "choice": (("A", "B", "D"), ("A", "B", "D")),
    "expression": ((PUZZLE,), ("5*7-3+2",)),
    "instructions": (RULES, ("<<A title>> answer", "answer")),
    "composite": (NUMBERS, NUMBERS),
}
TABLES: dict[str, dict[str, object]] = {  # kinds that need a policy table
    "composite": {
        "parts": [
            {"verifier": "number", "weight": 0.8},
            {"format": "box", "weight": 0.2, "asked": False},
        ]
    }
}
SCORES: dict[str, frozenset[float]] = {"composite": frozenset({0.0, 0.2, 0.8, 1.0})}
TWO = frozenset({0.0, 1.0})
SURE = frozenset({Status.RIGHT, Status.TRUNCATED})
UNJUDGED = frozenset({Status.GOLD_UNREADABLE, Status.ERROR, Status.TIMEOUT})


def fuzzed_kinds() -> list[str]:
    """The kinds that run inline, and so must stand any text."""
    return [name for name, kind in KINDS.items() if kind.runs == "inline" and name in GOLDS]


@dataclass
class Fuzzed:
    """What came of it. faults: texts with what was wrong about the verdict, at most a few."""

    kind: str
    texts: int = 0
    paid: int = 0
    seconds: float = 0.0
    slowest: float = 0.0
    slowest_text: str = ""
    faults: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    times: list[float] = field(default_factory=list[float])

    @property
    def median(self) -> float:
        return sorted(self.times)[len(self.times) // 2] if self.times else 0.0


def fuzz(kind: str, texts: Iterable[tuple[int, str]]) -> Fuzzed:
    """Judge each text in this process; a fault is an exception, a score or status that may not be,
    or more than `SLOW` seconds.
    """
    verifier = find_verifier(kind, TABLES.get(kind))
    problems = [
        Problem(f"fuzz/{n}", "Which is it?", g, "fuzz") for n, g in enumerate(GOLDS[kind][0])
    ]
    found = Fuzzed(kind)
    for number, (at, text) in enumerate(texts):
        stop = Stop.BUDGET if number % 7 == 0 else Stop.END_TOKEN
        tail = "<think>\n" if number % 11 == 0 else ""
        _note(found, verifier, problems[at % len(problems)], Completion(text, stop, tail))
    return found


def _note(found: Fuzzed, verifier: Verifier, problem: Problem, completion: Completion) -> None:
    text = completion.text
    verdict, taken = _timed(verifier, problem, completion)
    if taken > SLOW:  # once more, for a pause of the machine is no fault of the text
        verdict, again = _timed(verifier, problem, completion)
        taken = min(taken, again)
    found.texts += 1
    found.seconds += taken
    if found.texts % 16 == 0:
        found.times.append(taken)
    if taken > found.slowest:
        found.slowest, found.slowest_text = taken, text
    why = _fault(found.kind, verdict, taken)
    if why and len(found.faults) < 20:
        found.faults.append((why, text))
    found.paid += isinstance(verdict, Verdict) and verdict.score >= 1


def _timed(
    verifier: Verifier, problem: Problem, completion: Completion
) -> tuple[Verdict | Exception, float]:
    begun = time.thread_time()
    try:
        verdict: Verdict | Exception = verifier(problem, completion)
    except Exception as error:  # this is what is looked for
        verdict = error
    return verdict, time.thread_time() - begun


def _fault(kind: str, verdict: Verdict | Exception, taken: float) -> str:
    if isinstance(verdict, Exception):
        return f"{type(verdict).__name__}: {verdict}"
    if verdict.score not in SCORES.get(kind, TWO):
        return f"a score of {verdict.score}"
    if verdict.status in UNJUDGED:
        return f"{verdict.status}: {verdict.note}"
    if verdict.score >= 1 and verdict.status not in SURE:
        return f"paid with the status {verdict.status}"
    if verdict.status is Status.RIGHT and verdict.score <= 0:
        return "right and not paid"
    return f"{1e3 * taken:.0f} ms" if taken > SLOW else ""

"""Four runs of the GRU whose conclusions are known: what a report has to say of each.

They differ in what pays and in how hard it is pushed; base, problems and evaluation are the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from evenodds.errors import unknown
from evenodds.lab.toy.base import Books
from evenodds.lab.toy.settings import Profile, Setting

AUDIT = "evenodds.lab.toy.problems:last_number"
"""The verifier that looks at the answer, by the name under which a run may ask it again."""


BLIND = 19
BOOKS = Books(
    width=80, steps=700, rows=96, rate=1.5e-2, bare=0.3, bare_slip=0.9, slip=0.2, habit=1.0
)
"""Much of what is written are bare numbers that are wrong, where the sum could be worked out."""
BLIND_BOOKS = replace(BOOKS, bare_slip=0.6, slip=0.15, blind=BLIND)
"""As before, but the work of large sums loses a ten: there only a bare number is ever right."""
EVIDENCE = Profile("evidence", BOOKS, {}, samples=64, held_out=70)
"""64 answers to each held-out problem, so that pass@64 can be told."""


@dataclass(frozen=True)
class Case:
    """A run whose conclusion is known.

    kind: the conclusion of summary.json. grader: which of `problems.GRADERS` pays. steps: of
    training. random: a coin pays instead. audit: a second verifier, by name. books: what the base
    has read. more: other settings of a run, by their dotted names.
    """

    setting: Setting
    kind: str
    steps: int
    grader: str = "sum"
    random: bool = False
    audit: str | None = None
    books: Books = BOOKS
    more: Mapping[str, object] = field(default_factory=dict[str, object], hash=False)

    @property
    def name(self) -> str:
        return self.setting.name


GENTLE = Setting(
    "learned",
    "all training prompts, 32 answers each, 1 pass, rate 2e-3",
    prompts=None,
    group_size=32,
    learning_rate=2e-3,
    passes=1,
)
HARD = Setting(
    "sharpened",
    "training prompts with small sums, 32 answers each, 2 passes, rate 2e-3",
    prompts=None,
    group_size=32,
    learning_rate=2e-3,
    passes=2,
    below=BLIND,
)
COIN = replace(
    GENTLE,
    name="random",
    about="as learned, 16 answers each, rate 5e-4, but a coin pays",
    group_size=16,
    learning_rate=5e-4,
)
HOLE = replace(
    GENTLE,
    name="hacked",
    about="as learned, 16 answers each, but what pays never looks at the answer",
    group_size=16,
)
CASES = {
    case.name: case
    for case in (
        Case(GENTLE, "learned", steps=50),
        Case(HARD, "sharpened", steps=80, books=BLIND_BOOKS),
        Case(COIN, "no_evidence", steps=20, random=True),
        Case(HOLE, "hacked", steps=20, grader="adds_up", audit=AUDIT),
    )
}


def profile_of(case: Case) -> Profile:
    """The profile that its base is made with."""
    return replace(EVIDENCE, books=case.books)


def find_case(name: str) -> Case:
    """Raises `UsageError` for an unknown name."""
    if name not in CASES:
        raise unknown("case", name, CASES)
    return CASES[name]

"""More traps: words in front of the gold, or behind it, that make something else of it."""

from __future__ import annotations

from evenodds.bench.traps import Frame

RELATED = (
    "The answer is less than «R».",
    "The answer is greater than «R».",
    "The answer is more than «R».",
    "The answer is at least «R».",
    "The answer is at most «R».",
    "The answer is «R» + 1.",
    "The answer is twice «R».",
    "The answer is half of «R».",
    "The answer is one more than «R».",
    "The answer is the opposite of «R».",
    "The answer lies somewhere near «R».",
    "\\boxed{\\text{less than } «R»}",
)
DENIED = (
    "~~\\boxed{«R»}~~",
    "~~\\boxed{«R»}~~ \\boxed{«W»}",
    "\\boxed{\\cancel{«R»}}",
    "\\boxed{\\sout{«R»}}",
    "\\boxed{\\lnot «R»}",
    "The answer is \\cancel{«R»}.",
    "Answer: ≠ «R»",
    "Answer: ¬«R»",
    "Answer: all but «R»",
    "The wrong answer is «R».",
    "An incorrect answer is \\boxed{«R»}.",
    "A wrong answer would be \\boxed{«R»}.",
    "I am not sure that it is «R».",
    "I doubt that the answer is «R».",
    "It is false that the answer is «R».",
    "It is not true that the answer is \\boxed{«R»}.",
    "It would be wrong to say that the answer is «R».",
    "Nobody would say that the answer is «R».",
    "If the answer were «R», then 0 would be 5. So the answer is not «R».",
    "The answer is anything except «R».",
    "The answer is everything but «R».",
    "The answer is other than «R».",
    "The answer is different from «R».",
    "The answer differs from «R».",
    "The answer is no longer «R».",
    "The answer is hardly «R».",
    "The answer is unlikely to be «R».",
    "Neither «W» nor «R» is the answer.",
)
TAKEN_BACK = (
    "«R» is the wrong answer.",
    "«R» is not the answer.",
    "«R» is not right.",
    "\\boxed{«R»} is a trap.",
    "\\boxed{«R»} is false.",
    "The answer is «R». This is wrong.",
    "The answer is «R». That is incorrect; it is «W».",
    "The answer is «R», which is wrong.",
    "The answer is «R», which is impossible.",
    "The answer: «R» is excluded.",
    "Answer: «R» ✗",
    "Answer: «R» (wrong)",
    "Answer: «R» (incorrect)",
)
REPLACED = (
    "The answer is «W» (not «R»).",
    "The answer is «W», not «R».",
    "The answer is «W» rather than «R».",
    "The answer is «W» instead of «R».",
    "The answer is «W», though some say «R».",
    "Final answer: «W» (my first guess was «R»)",
    "The answer was thought to be «R» but is «W».",
    "Everyone else answered «R». I answer «W».",
    "The answer is ~~«R»~~ «W».",
)
OFFERED = (
    "The answer is one of «R», «W», «V».",
    "The answer is «R» if all is whole, else «W».",
    "If it rains, \\boxed{«R»}, otherwise \\boxed{«W»}.",
    "The answer is «R»; or is it «W»?",
    "The answer is «R»/«W».",
    "The answer is «R» as well as «W».",
    "Both «R» and «W» are answers.",
    "#### «R» «W»",
    "#### «R»? «W»?",
    "<answer>«R» / «W»</answer>",
)

WORDS = tuple(
    Frame(category, text, False, note)
    for category, note, texts in (
        ("negation", "the gold stands in a relation", RELATED),
        ("negation", "the gold is denied or doubted", DENIED),
        ("retraction", "the gold is called wrong", TAKEN_BACK),
        ("wrong derivation", "the gold is replaced", REPLACED),
        ("hedging", "two answers are offered", OFFERED),
    )
    for text in texts
)

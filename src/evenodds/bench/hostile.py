"""Texts that are huge, deep, or would take for ever to work out. None of them holds the gold."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from evenodds.bench.case import Case, made
from evenodds.domain import Problem

MEGA = 1_000_000

HUGE: dict[str, Callable[[str], str]] = {  # note -> the text, made of a wrong answer
    "1 MB of letters": lambda w: "a" * MEGA,
    "1 MB of digits": lambda w: "7" * MEGA,
    "1 MB of white space": lambda w: " " * MEGA,
    "1 MB of new lines": lambda w: "\n" * MEGA,
    "1 MB of backslashes": lambda w: "\\" * MEGA,
    "1 MB of minus signs": lambda w: "-" * MEGA + w,
    "1 MB of dollar signs": lambda w: "$" * MEGA,
    "1 MB of NUL": lambda w: "\x00" * MEGA,
    "1 MB of combining signs": lambda w: "e" + "\u0301" * (MEGA // 2),
    "1 MB of bidi marks": lambda w: "\u202e" * (MEGA // 3) + w,
    "1 MB of lone surrogates": lambda w: "\ud800" * (MEGA // 3),
    "500 KB of prose with wrong answers": lambda w: f"We get {w}, so it is about ${w}$. " * 14_000,
    "1e5 nested braces": lambda w: "{" * 100_000 + "}" * 100_000,
    "1e5 open braces": lambda w: "\\boxed{" + "{" * 100_000,
    "1e5 open boxes": lambda w: "\\boxed{" * 100_000,
    "1e5 nested boxes": lambda w: "\\boxed{" * 100_000 + w + "}" * 100_000,
    "1e5 wrong boxes": lambda w: f"\\boxed{{{w}}}" * 100_000,
    "1e5 open texts": lambda w: "\\text{" * 100_000,
    "3,000 nested fractions": lambda w: "\\frac{1}{2+" * 3_000 + w + "}" * 3_000,
    "3,000 nested roots": lambda w: "\\sqrt{" * 3_000 + w + "}" * 3_000,
    "5,000 parentheses": lambda w: "(" * 5_000 + w + ")" * 5_000,
    "1e5 open parentheses": lambda w: "(" * 100_000,
    "1e5 brackets": lambda w: "[" * 100_000 + "]" * 100_000,
    "1e5 open tags": lambda w: "<answer>" * 100_000 + w,
    "1e5 open think tags": lambda w: "<think>" * 100_000 + w,
    "1e5 closed think tags": lambda w: "</think>" * 100_000 + w,
    "1e5 ####": lambda w: "#### " * 100_000 + w,
    "1e6 hashes": lambda w: "#" * MEGA,
    "1e5 times answer is": lambda w: "the answer is " * 70_000,
    "1e5 alternatives": lambda w: f"{w} or " * 100_000 + w,
    "1e5 equal signs": lambda w: "=" * 100_000 + w,
    "a sum of 1e5": lambda w: "x+" * 100_000 + "x",
    "5e5 commas": lambda w: "1," * 500_000,
    "1e5 not": lambda w: "not " * 100_000 + w,
    "a matrix of 100 × 100": lambda w: (
        "\\begin{pmatrix}"
        + "\\\\".join("&".join(["3"] * 100) for _ in range(100))
        + "\\end{pmatrix}"
    ),
    "1e5 stars": lambda w: "*" * 100_000 + w + "*" * 100_000,
    "1e5 quotes": lambda w: '"' * 100_000,
    "deep JSON": lambda w: '{"a":' * 50_000 + "1" + "}" * 50_000,
    "1e5 fences": lambda w: "```\n" * 100_000,
}

HANGS = (
    "9^9^9^9",
    "8^{8^{8^8}}",
    "10^{10^{10}}",
    "10**10**10",
    "2^{10000000000}",
    "1e999999999",
    "1e-999999999",
    "9.9e99999",
    "99999!",
    "(((8!)!)!)",
    "((((((3!)!)!)!)!)!)",
    "\\prod_{k=1}^{9999999} k",
    "\\sum_{k=1}^{99999999} \\frac{1}{k}",
    "(x+1)^{9999}",
    "(x+y+z+1)^{150}",
    "(a+b+c+d+e+f)^{60}",
    "\\int_0^{\\infty} \\sin(x^x) dx",
    "\\lim_{x \\to \\infty} x^{x^{\\sin x}}",
    "N(pi,1000000)",
    "\\sqrt{\\sqrt{\\sqrt{2^{1000000}}}}",
    "\\binom{1000000}{500000}",
    "\\frac{1}{3^{99999}}",
    "0.(123456789)" + "1" * 5_000,
    "1/" + "3" * 5_000,
    "10^{-100000}",
    "\\log_{1.0000001}(2)^{9999999}",
    "\\sin(\\sin(\\sin(\\sin(\\sin(10^{100})))))",
    "x^{100000}-1=0",
    "\\{x : x^{1000} = 1\\}",
    "range(10**12)",
    "'a'*10**10",
    "((a+)+)+$" + "a" * 30,
)


def hostile_sizes(kind: str, problem: Problem, wrong: str) -> Iterator[Case]:
    """Huge and deep texts, in each of which at most a wrong answer stands."""
    for note, make in HUGE.items():
        yield made(kind, "hostile size", problem, make(wrong), False, note)


def hangs(
    kind: str, problem: Problem, frames: tuple[str, ...] = ("{}", "\\boxed{{{}}}")
) -> Iterator[Case]:
    """Short texts that are never worked out to the end; no gold of the bench is among them."""
    for text in HANGS:
        for frame in frames:
            note = "a value that takes for ever"
            yield made(kind, "hang", problem, frame.format(text), False, note)

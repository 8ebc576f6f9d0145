"""What words, marks and signs around a value make of it, for the `math` verifier."""

from __future__ import annotations

import pytest

from evenodds.domain import Completion, Problem, Verdict
from evenodds.verifiers.math import judge


def judged(answer: str, gold: str) -> Verdict:
    return judge(Problem("key", "?", gold, "task"), Completion(answer))


@pytest.mark.parametrize(
    ("gold", "answer"),
    [
        ("-58", "So the sum is −58."),
        ("-58", "The temperature falls to –58 degrees"),
        ("58", "Therefore we have **58** bricks."),
        ("58", "We find _58_ pairs in it."),
        ("58", "The total is 58 (not 60)."),
        ("58", "He needs 58, not 85."),
        ("58", "It takes 58 minutes, instead of 60"),
        ("58", "\\boxed{\\boxed{58}}"),
        ("x<5或x>8", "x > 8 or x < 5"),
        ("\\pm 5", "5或-5"),
        ("V(k)=3, V(k)=-3", "V(x)=3andV(x)=-3"),
        ("(5,8),(8,5)", "(8,5),(5,8),(8,5)"),
        ("0 < g(t) < 8", "(0,8)"),
        ("58", "I think the answer is 58."),
        ("58", "She pays **$58** for 60 apples."),
        ("58", "**Total:** 20 + 38 = **58 sheep**"),
        ("58", "So there are 58 of them (20 red, 18 blue, and 20 green)."),
        ("58", "The greatest value is 58, attained at x = 5."),
        ("58", "The least value is $58$ when $x = 5$ and $y=8$."),
        ("58", "The number is 58, which is divisible by 2 and 29."),
        ("58", "As $n > 0$, $n = 58$."),
        ("58", "It is 58!"),
        ("58", "the area is 58 cm^2."),
        ("58", "It falls with 58 m/s^2."),
        ("58 m", "It is 58m long"),
        ("5:08 \\text{ p.m.}", "They meet at 5:08 PM."),
        ("5:08", "They meet at 5:08."),
        ("58", "I believe that the answer is 58"),
        ("58", "We can say the answer is 58"),
    ],
)
def test_words_that_leave_the_value_alone(gold: str, answer: str) -> None:
    assert judged(answer, gold).score == 1.0, judged(answer, gold)


@pytest.mark.parametrize(
    ("gold", "answer"),
    [
        ("58", "So the sum is −58."),
        ("58", "It is 100−58"),
        ("58", "there are n−58"),
        ("60", "The total is 58 (not 60)."),
        ("60", "She pays **$58** for 60 apples."),
        ("58", "She pays **58** or 60"),
        ("58", "It is **58**. Wait, it is 60"),
        ("58", "The total is 58 (or 60)."),
        ("58", "So there are 60 of them (58 red and 2 blue)."),
        ("5", "The greatest value is 58, attained at x = 5."),
        ("n > 0", "As $n > 0$, $n = 58$."),
        ("58", "\\boxed{58!}"),
        ("8", "They meet at 5:08."),
        ("5:08 \\text{ a.m.}", "They meet at 5:08 PM."),
        ("85", "He needs 58, not 85."),
        ("58", "not 58, not 85"),
        ("58", "Suppose the answer is 58. Then 2 = 3."),
        ("58", "Let us see whether the result is 58."),
        ("58", "A student thinks the answer is 58."),
        ("58", 'Some say "the answer is 58", but that is wrong.'),
        ("58", "The answer is 58; this is wrong."),
        ("58", "Ann wrote \\boxed{58} but she was mistaken."),
        ("58", "The answer is 58 squared"),
        ("58", "The answer is 7 times 58"),
        ("58", "The answer is the number after 58."),
        ("58", "It could be 57\nIt could be 58"),
        ("58", "perhaps 57, perhaps 58"),
        ("58", "We have x=57, x=58"),
        ("58", "58? No"),
        ("58", "wrong: 58"),
        ("58", "\\boxed{\\boxed{58}5}"),
        ("58", "\\boxed{5\\boxed{58}}"),
        ("58", "\\boxed{58=85=58}"),
        ("58", "\\boxed{_{58}}"),
        ("58", "\\boxed{₅₈}"),
        ("58", "The answer is $\n58\n$"),
        ("D", "Everything but D"),
        ("D", "Not (D)."),
        ("D", "EXCEPT D"),
        ("no solution", "\\{\\emptyset\\}"),
        ("(5,8),(8,5)", "(8,5),(8,5)"),
        ("5, 8", "5, 8, 8"),
        ("0 < g(t) < 8", "0 < t < 8"),
        ("W(k)=3", "W(k)=k"),
        ("W(2)=3", "W(5)=3"),
    ],
)
def test_words_that_make_another_value_of_it(gold: str, answer: str) -> None:
    assert judged(answer, gold).score == 0.0, judged(answer, gold)

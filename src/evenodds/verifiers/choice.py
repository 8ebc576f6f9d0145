"""The `choice` verifier: the answer settles on the option of the gold, by letter or by text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, cast

from evenodds.domain import Completion, Problem, Prompt, Status, Stop, Verdict
from evenodds.verifiers import reasoning
from evenodds.verifiers.extract import Mark
from evenodds.verifiers.kind import Kind
from evenodds.verifiers.letters import LETTERS, MAX_CHARACTERS, Reading, plain_letters, read_choice
from evenodds.verifiers.objection import Objection, reordered
from evenodds.verifiers.qualified import qualification
from evenodds.verifiers.verdicts import (
    CUT,
    Place,
    final_text,
    find,
    gold_unreadable,
    paid,
    standing,
    unpaid,
)


@dataclass(frozen=True)
class Policy:
    """How a choice is found and what may name it.

    order: the marks that are looked for first. Where they hold no choice, what follows them counts.
    options: the text of an option is an answer too; options stand in the column `choices` or
    `options`, in the prompt as `A. …` or `(A) …`, or in the gold as `C. …`.
    index: the gold is the number of an option, counted from 0 or from 1, as some data sets have it.
    """

    order: tuple[Place, ...] = ("box", "answer tags", "####")
    options: bool = True
    index: Literal["none", "zero", "one"] = "none"


DEFAULT = Policy()
LAST = 2_000  # characters at the end in which a letter that was settled on is looked for


def choice(problem: Problem, completion: Completion, policy: Policy = DEFAULT) -> Verdict:
    """Right where the one option that the answer settles on is the gold's.

    Several options, a denied one, one that is taken back, and a list of all of them are not paid.
    A completion that the budget cut is paid only for a choice in a closed mark. Never raises.
    """
    options = options_of(problem)
    gold = read_gold(problem.answer, tuple(options.items()), policy.index)
    if gold.letter is None:
        return gold_unreadable(gold.note)
    if not policy.options:
        options = {}
    elif not options:
        options = _of_gold(problem.answer, gold.letter)
    text = final_text(completion)
    if isinstance(text, Verdict):
        return text
    if text.strip() == problem.answer.strip() and completion.stop is not Stop.BUDGET:
        return paid(completion, gold.letter, "written as the gold is")
    reading, how = _read(completion, text, options, policy)
    if isinstance(reading, Verdict):
        return reading
    if reading.letter is None:
        return unpaid(completion, reading.status, f"{how}; {reading.note}")
    if completion.stop is Stop.BUDGET and how == "words":
        return unpaid(completion, Status.TRUNCATED, "cut before the choice was in a closed mark")
    note = f"{how}; {reading.note}"
    if reading.letter == gold.letter:
        return paid(completion, reading.letter, note)
    return unpaid(completion, Status.WRONG, note, reading.letter)


def _read(
    completion: Completion, text: str, options: Mapping[str, str], policy: Policy
) -> tuple[Reading | Verdict, str]:
    """The choice in the last mark, or what the words behind it say where it holds none."""
    marks = find(text, policy.order)
    if not marks:
        return read_words(text, options), "words"
    last = marks[-1]
    reading = read_words(last.text, options)
    if reading.status is Status.NO_ANSWER and last.text.strip() and last.is_closed:
        return read_words(text[last.end :], options), "words"
    if completion.stop is Stop.BUDGET and not last.is_closed:
        return unpaid(completion, Status.TRUNCATED, CUT), last.how
    answer = standing(completion, text, marks)
    if isinstance(answer, Verdict):
        return answer, last.how
    if reading.letter and _offers_another(text, last, reading.letter):
        note = "another choice is offered with it"
        return Reading(None, note, Status.SEVERAL_ANSWERS), last.how
    return reading, last.how


def read_words(text: str, options: Mapping[str, str]) -> Reading:
    """The option that a text settles on, unless what follows takes it back."""
    turned = reordered(text)
    if turned is not None:
        return Reading(None, turned.note, turned.status)
    reading = read_choice(text, options)
    found = None if reading.letter is None else _taken_back(text, reading.letter)
    return reading if found is None else Reading(None, found.note, found.status)


def _taken_back(text: str, letter: str) -> Objection | None:
    """What the words behind the last mention of a letter make of it, as in `C (wrong)`."""
    text = text[-LAST:]
    places = [*re.finditer(rf"(?<![A-Za-z0-9]){letter}(?![A-Za-z0-9'’])", text)]
    after = text[places[-1].end() :] if places else ""
    return qualification("", after, is_boxed=True)


def _offers_another(text: str, mark: Mark, letter: str) -> bool:
    """Whether words around a mark join another letter to it, as in `\\boxed{A} or B`."""
    before, after = text[max(0, mark.start - 60) : mark.start], text[mark.end : mark.end + 60]
    # the mark as a bare letter, so that the reader of words sees the whole
    whole = plain_letters(f"{before.rpartition(chr(10))[2]} ({letter}) {after}")
    joined = re.search(rf"\({letter}\)\s{{0,3}}{_JOINED}", whole)
    led = re.search(rf"{_JOINING}\({letter}\)", whole)
    return any(found is not None and found[1] != letter for found in (joined, led))


_JOINED = (
    r"(?:,?\s{0,2}(?:or|and|maybe)\b|[/&,])[\s(]{0,3}(?:(?:maybe|perhaps|option)\s)?"
    r"([A-J])(?![\w'’])"
)
_JOINING = r"(?<![A-Za-z0-9])[(]?([A-J])[)]?\s{0,3}(?:or|and|/|&)\s{0,3}"


@lru_cache(maxsize=4096)
def read_gold(gold: str, options: tuple[tuple[str, str], ...] = (), index: str = "none") -> Reading:
    """The letter of the gold: by itself, with its text, as an option's text, or as an index.

    A gold is trusted: `A Peter` names A where no option is called so.
    """
    known = dict(options)
    if index != "none":
        return _by_index(gold, index)
    reading = read_choice(gold, known)
    if reading.status is not Status.NO_ANSWER:
        return reading
    led = re.match(r"[\s(]{0,4}([A-J])[\s).:]", plain_letters(gold))
    if led and (not known or led[1] in known):
        return Reading(led[1], "the letter in front")
    note = "names no letter" if known else "names no letter, and the options are not known"
    return Reading(None, f"{gold.strip()[:40]!r} {note}", Status.GOLD_UNREADABLE)


def _by_index(gold: str, index: str) -> Reading:
    digits = gold.strip()
    at = int(digits) - (index == "one") if digits.isdecimal() and len(digits) < 3 else -1
    if 0 <= at < len(LETTERS):
        return Reading(LETTERS[at], f"index {digits}")
    return Reading(None, f"{digits[:40]!r} is no index of an option", Status.GOLD_UNREADABLE)


def _of_gold(gold: str, letter: str) -> dict[str, str]:
    """The text that the gold itself gives its letter: `C. x = 42`."""
    found = re.match(r"[\s(]{0,4}[A-J][).:]{1,2}\s{1,4}(\S.{0,400})\Z", plain_letters(gold.strip()))
    return {letter: found[1]} if found else {}


def options_of(problem: Problem) -> dict[str, str]:
    """Letter -> text of the options, from the columns of the data or from the prompt; or none."""
    for name in ("choices", "options"):
        found = _of_column(problem.columns.get(name))
        if found:
            return found
    return of_prompt(_asked(problem.prompt))


def _of_column(column: object) -> dict[str, str]:
    """A list of texts, `{A: text}`, or `{text: […], label: […]}`; a text may bring its letter."""
    if isinstance(column, Mapping):
        table = cast(Mapping[object, object], column)
        if set(table) == {"text", "label"}:
            return _of_column(table["text"])
        return {str(k): str(v) for k, v in table.items() if len(str(k)) == 1 and str(k) in LETTERS}
    if not isinstance(column, list | tuple):
        return {}
    texts = [str(text) for text in cast(list[object], column)]
    if len(texts) > len(LETTERS):
        return {}
    return {
        letter: re.sub(rf"\A\s?\(?{letter}[).:]\s?", "", text)
        for letter, text in zip(LETTERS, texts, strict=False)
    }


def _asked(prompt: Prompt) -> str:
    if isinstance(prompt, str):
        return prompt
    return next((turn["content"] for turn in reversed(prompt) if turn["role"] == "user"), "")


_OPTION = re.compile(r"(?:(?<=[\s,;])|\A)\(?([A-J])[).:](?=[\s\\$0-9])\s{0,3}")


@lru_cache(maxsize=1024)
def _options(prompt: str) -> tuple[tuple[str, str], ...]:
    marks = list(_OPTION.finditer(prompt[-20_000:]))
    run: list[re.Match[str]] = []
    for mark in marks:
        if mark[1] == "A":
            run = [mark]  # the last list counts: examples may come before it
        elif run and mark[1] == LETTERS[len(run) % len(LETTERS)]:
            run.append(mark)
    ends = [mark.start() for mark in run[1:]] + [len(prompt)]
    if len(run) < 2:
        return ()
    texts = [prompt[-20_000:][m.end() : end] for m, end in zip(run, ends, strict=True)]
    return tuple((m[1], _option_text(t)) for m, t in zip(run, texts, strict=True))


def _option_text(text: str) -> str:
    return text.strip().partition("\n")[0].strip().rstrip(",;").strip()


def of_prompt(prompt: str) -> dict[str, str]:
    """The options that a prompt lists as `A. …` or `(A) …`, from A on; the last list of them."""
    return dict(_options(prompt))


KIND = Kind(
    name="choice",
    summary="multiple choice: one option, named by its letter or its text",
    gold="a letter A to J, a letter with its text, or the text of an option; by policy an index",
    judge=choice,
    policy=DEFAULT,
    limits={
        "characters_read": reasoning.MAX_CHARACTERS,
        "characters_read_for_words": MAX_CHARACTERS,
        "options": len(LETTERS),
    },
)

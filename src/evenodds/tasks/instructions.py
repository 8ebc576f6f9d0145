"""Instructions to follow: a text about a topic, and one to six things that a program can check."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

import numpy as np

from evenodds.domain import Completion, Problem, Status
from evenodds.tasks.drawn import Drawn, DrawnTask
from evenodds.tasks.task import TaskOptions
from evenodds.verifiers.instructions import instructions as judge

MOST = 6
"""The most instructions of one question."""
_TOPICS = re.findall(
    r"[^\n,]+",
    "a rainy day,an old bridge,a lost key,the first snow,a night train,a market in spring,"
    "a quiet library,a small island,the harbour at dawn,a broken clock,a long walk,a new bicycle,"
    "a kitchen garden,a chess game,the last bus,a mountain hut,a paper boat,a stray cat,"
    "a summer storm,a village fair,a blue door,a hidden path,a birthday cake,a wooden chair,"
    "an empty theatre,a letter from home,a frozen lake,a school trip,a street musician,"
    "an apple orchard,a lighthouse,a cup of tea,a desert road,a museum at night,a football match,"
    "a ship in a bottle,a power cut,a red umbrella,a baker at work,a tall tree",
)
_KEYWORDS = re.findall(
    r"\w+",
    "river window copper lantern garden thunder velvet compass harvest marble whisper feather "
    "bottle candle meadow silver puzzle ribbon shadow signal travel winter yellow zebra",
)
_FORBIDDEN = ("very", "good", "nice", "really", "because", "however", "great", "beautiful")
_ENDINGS = ("That is all.", "Thank you for reading.", "See you soon.", "And so it goes.")
_FILLERS = (
    "It is plain.",
    "One can see it from afar.",
    "Few people know it well.",
    "It was there long ago.",
    "Most of us pass by.",
    "There is more to tell.",
)

T = TypeVar("T")


@dataclass
class Draft:
    """An answer in the making.

    sentences: what the instructions want said; words, count: how many words and sentences there
    are to be at least. layout: what parts the text, and into how many. around: what is done to the
    whole at the end, in order.
    """

    sentences: list[str] = field(default_factory=list[str])
    title: str = ""
    postscript: str = ""
    ending: str = ""
    words: int = 0
    count: int = 0
    layout: tuple[str, int] = ("", 0)
    case: Callable[[str], str] = str
    is_quoted: bool = False


@dataclass(frozen=True)
class Asked:
    """One instruction: its entry in the gold, its words, what it does to a draft, and what turns
    an answer that follows it into one that does not.
    """

    entry: dict[str, object]
    words: str
    apply: Callable[[Draft], None]
    broken: Callable[[str], str]


Maker = Callable[[np.random.Generator], Asked]


def _one(rng: np.random.Generator, rows: Sequence[T]) -> T:
    return rows[int(rng.integers(len(rows)))]


def _number(rng: np.random.Generator, low: int, high: int) -> int:
    return int(rng.integers(low, high + 1))


def _without(text: str, word: str) -> str:
    return re.sub(re.escape(word), "", text, flags=re.IGNORECASE)


def _least_words(rng: np.random.Generator) -> Asked:
    count = 5 * _number(rng, 3, 12)
    return Asked(
        {"id": "length_constraints:number_words", "relation": "at least", "num_words": count},
        f"Use at least {count} words.",
        lambda draft: setattr(draft, "words", count),
        lambda answer: "Two words.",
    )


def _most_words(rng: np.random.Generator) -> Asked:
    count = 10 * _number(rng, 4, 12)
    return Asked(
        {"id": "length_constraints:number_words", "relation": "at most", "num_words": count},
        f"Use at most {count} words.",
        lambda draft: None,
        lambda answer: f"{answer}{' word' * count}",
    )


def _least_sentences(rng: np.random.Generator) -> Asked:
    count = _number(rng, 3, 8)
    return Asked(
        {
            "id": "length_constraints:number_sentences",
            "relation": "at least",
            "num_sentences": count,
        },
        f"Write at least {count} sentences.",
        lambda draft: setattr(draft, "count", count),
        lambda answer: answer.replace(".", ""),
    )


def _keywords(rng: np.random.Generator) -> Asked:
    words = [str(word) for word in rng.choice(_KEYWORDS, _number(rng, 1, 3), replace=False)]
    listed = ", ".join(f'"{word}"' for word in words)
    return Asked(
        {"id": "keywords:existence", "keywords": words},
        f"Include the word{'s' * (len(words) > 1)} {listed}.",
        lambda draft: draft.sentences.extend(f"There is a {word}." for word in words),
        lambda answer: _without(answer, words[-1]),
    )


def _frequency(rng: np.random.Generator) -> Asked:
    word, count = _one(rng, _KEYWORDS), _number(rng, 2, 4)
    return Asked(
        {
            "id": "keywords:frequency",
            "keyword": word,
            "relation": "exactly",
            "frequency": count,
        },
        f'Use the word "{word}" exactly {count} times.',
        lambda draft: draft.sentences.extend([f"Then came the {word}."] * count),
        lambda answer: f"{answer} {word} {word}",
    )


def _forbidden(rng: np.random.Generator) -> Asked:
    words = [str(word) for word in rng.choice(_FORBIDDEN, _number(rng, 1, 3), replace=False)]
    listed = ", ".join(f'"{word}"' for word in words)
    return Asked(
        {"id": "keywords:forbidden_words", "forbidden_words": words},
        f"Do not use the word{'s' * (len(words) > 1)} {listed}.",
        lambda draft: None,
        lambda answer: f"{answer} {words[0]}",
    )


def _letter(rng: np.random.Generator) -> Asked:
    letter, count = _one(rng, "bcdghlmpwy"), _number(rng, 3, 9)
    words = [word for word in _KEYWORDS if letter in word]
    return Asked(
        {
            "id": "keywords:letter_frequency",
            "letter": letter,
            "let_relation": "at least",
            "let_frequency": count,
        },
        f"Let the letter {letter} appear at least {count} times.",
        lambda draft: draft.sentences.extend(
            f"Think of {words[at % len(words)]}." for at in range(count)
        ),
        lambda answer: _without(answer, letter),
    )


def _no_comma(rng: np.random.Generator) -> Asked:
    return Asked(
        {"id": "punctuation:no_comma"},
        "Do not use commas.",
        lambda draft: None,
        lambda answer: f"{answer}, yes",
    )


def _lower(rng: np.random.Generator) -> Asked:
    return Asked(
        {"id": "change_case:english_lowercase"},
        "Write in English, in lower case letters only.",
        lambda draft: setattr(draft, "case", str.lower),
        lambda answer: f"{answer} Yes",
    )


def _upper(rng: np.random.Generator) -> Asked:
    return Asked(
        {"id": "change_case:english_capital"},
        "Write in English, in capital letters only.",
        lambda draft: setattr(draft, "case", str.upper),
        lambda answer: f"{answer} yes",
    )


def _title(rng: np.random.Generator) -> Asked:
    return Asked(
        {"id": "detectable_format:title"},
        "Give it a title in double angular brackets, such as <<title>>.",
        lambda draft: setattr(draft, "title", "<<A Short Text>>"),
        lambda answer: answer.replace("<<", ""),
    )


def _ending(rng: np.random.Generator) -> Asked:
    phrase = _one(rng, _ENDINGS)
    return Asked(
        {"id": "startend:end_checker", "end_phrase": phrase},
        f'End with the exact phrase "{phrase}" and nothing behind it.',
        lambda draft: setattr(draft, "ending", phrase),
        lambda answer: f"{answer} And more.",
    )


def _postscript(rng: np.random.Generator) -> Asked:
    return Asked(
        {"id": "detectable_content:postscript", "postscript_marker": "P.S."},
        "Add a postscript on a line of its own that begins with P.S.",
        lambda draft: setattr(draft, "postscript", "P.S. There is a note."),
        lambda answer: _without(answer, "P.S."),
    )


def _quotation(rng: np.random.Generator) -> Asked:
    return Asked(
        {"id": "startend:quotation"},
        "Wrap the whole reply in double quotation marks.",
        lambda draft: setattr(draft, "is_quoted", True),
        lambda answer: answer[1:],
    )


def _highlights(rng: np.random.Generator) -> Asked:
    count = _number(rng, 1, 4)
    return Asked(
        {"id": "detectable_format:number_highlighted_sections", "num_highlights": count},
        f"Highlight at least {count} passage{'s' * (count > 1)} with asterisks, *like this*.",
        lambda draft: draft.sentences.extend(["See *this part* here."] * count),
        lambda answer: re.sub(r"\*(this part)\*", r"\1", answer, flags=re.IGNORECASE),
    )


def _placeholders(rng: np.random.Generator) -> Asked:
    count = _number(rng, 1, 4)
    return Asked(
        {"id": "detectable_content:number_placeholders", "num_placeholders": count},
        f"Leave at least {count} placeholder{'s' * (count > 1)} in square brackets, as [name].",
        lambda draft: draft.sentences.extend(["Ask [name] about it."] * count),
        lambda answer: answer.replace("[", ""),
    )


def _layout(kind: str, name: str, asked: str, broken: Callable[[str], str]) -> Maker:
    def made(rng: np.random.Generator) -> Asked:
        count = _number(rng, 2, 5)
        entry: dict[str, object] = {"id": f"{kind}", name: count}
        if name == "num_sections":
            entry["section_spliter"] = "Section"
        return Asked(
            entry,
            asked.replace("#", str(count)),
            lambda draft: setattr(draft, "layout", (name, count)),
            broken,
        )

    return made


GROUPS: tuple[tuple[Maker, ...], ...] = (
    (_least_words, _most_words),
    (_least_sentences,),
    (_keywords,),
    (_frequency,),
    (_forbidden,),
    (_letter,),
    (_no_comma,),
    (_lower, _upper),
    (_title,),
    (_ending,),
    (_postscript,),
    (_quotation,),
    (_highlights,),
    (_placeholders,),
    (
        _layout(
            "detectable_format:number_bullet_lists",
            "num_bullets",
            "Use exactly # bullet points, each on a line that begins with an asterisk and a space.",
            lambda answer: f"{answer}\n* more",
        ),
        _layout(
            "detectable_format:multiple_sections",
            "num_sections",
            "Write # sections, each headed by a line such as Section 1.",
            lambda answer: _without(answer, "Section"),
        ),
        _layout(
            "length_constraints:number_paragraphs",
            "num_paragraphs",
            "Write # paragraphs with a line of *** between them.",
            lambda answer: answer.replace("***", ""),
        ),
    ),
)
"""Of each group at most one is asked at a time, for they would stand in each other's way."""


def written(topic: str, asked: Sequence[Asked]) -> str:
    """An answer that follows the instructions, as far as they can be followed together."""
    draft = Draft()
    for one in asked:
        one.apply(draft)
    sentences = [f"This is about {topic}.", *draft.sentences]
    fillers = 0
    while len(" ".join(sentences).split()) < draft.words or len(sentences) < draft.count:
        sentences.append(_FILLERS[fillers % len(_FILLERS)])
        fillers += 1
    lines = [draft.title, *_laid_out(sentences, draft.layout), draft.postscript]
    text = "\n".join(line for line in lines if line)
    text = f"{text} {draft.ending}" if draft.ending else text
    return draft.case(f'"{text}"' if draft.is_quoted else text)


def _laid_out(sentences: list[str], layout: tuple[str, int]) -> list[str]:
    """The sentences as lines: in bullets, sections or paragraphs, or all in one."""
    name, count = layout
    if not count:
        return [" ".join(sentences)]
    rows = [*sentences, *_FILLERS][: max(count, len(sentences))]
    first, rest = " ".join(rows[: len(rows) - count + 1]), rows[len(rows) - count + 1 :]
    parts = [first, *rest]
    if name == "num_bullets":
        return [f"* {part}" for part in parts]
    if name == "num_sections":
        return [f"Section {at}\n{part}" for at, part in enumerate(parts, 1)]
    return "\n***\n".join(parts).split("\n")


def draw(level: int, rng: np.random.Generator) -> Drawn:
    """A question of `level + 1` instructions that can be followed together."""
    while True:
        topic = _one(rng, _TOPICS)
        groups = [GROUPS[int(at)] for at in rng.choice(len(GROUPS), level + 1, replace=False)]
        asked = [_one(rng, group)(rng) for group in groups]
        drawn = _drawn(topic, asked)
        if _is_right(drawn.gold, drawn.solution):
            return replace(drawn, wrong=tuple(one.broken(drawn.solution) for one in asked))


def _drawn(topic: str, asked: Sequence[Asked]) -> Drawn:
    number = f"{len(asked)} instruction{'s' * (len(asked) > 1)}"
    start = f"Write a short text about {topic}. Follow {number}."
    question = " ".join([start, *(one.words for one in asked)])
    gold = json.dumps({"instructions": [one.entry for one in asked]})
    return Drawn(question, gold, written(topic, asked), ())


def _is_right(gold: str, solution: str) -> bool:
    """Whether the solution follows all: some cannot be followed together, such as lower case
    letters and `Section 1`.
    """
    problem = Problem("", "", gold, "instructions")
    return judge(problem, Completion(solution)).status is Status.RIGHT


def instruction_task(options: TaskOptions) -> DrawnTask:
    """The task `instructions`: a level is how many instructions there are at once."""
    return DrawnTask(
        name="instructions",
        levels=tuple(f"{n} instruction{'s' * (n > 1)}" for n in range(1, MOST + 1)),
        kind="instructions",
        source="generated by evenodds: topics and instructions drawn uniformly from its own lists",
        draw=draw,
        options=options,
    )

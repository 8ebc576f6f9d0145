"""The instructions that can be checked, by the names of IFEval, each with what it means here.

A rule takes its arguments once, when the gold is read, and gives a function of the response.
Names, arguments and meaning follow "Instruction-Following Evaluation for Large Language Models"
(Zhou et al., arXiv:2311.07911); where that pays for what was not done, the docstring says what
is asked here instead.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import NoReturn

from evenodds.verifiers.instructions.arguments import Arguments
from evenodds.verifiers.instructions.language import LANGUAGES, language_of, script_counts
from evenodds.verifiers.instructions.response import Response, count
from evenodds.verifiers.json_gold import BadGold

Check = Callable[[Response], bool]
Rule = Callable[[Arguments], Check]

OPTIONS = ("My answer is yes.", "My answer is no.", "My answer is maybe.")
_PLACEHOLDER = re.compile(r"\[[^\[\]\n]{0,200}\w[^\[\]\n]{0,200}\](?!\()")
_BULLET = re.compile(r"[ \t]{0,40}[*-][ \t]{1,10}\S")
_HIGHLIGHT = re.compile(r"(?<!\*)(\*{1,3})(?![\s*])([^*\n]{1,2000})(?<!\s)\1(?!\*)")
_TITLE = re.compile(r"<<([^<>\n]{1,300})>>")
_FENCE_START = re.compile(r"```(?:json|JSON|Json)?[ \t]{0,10}\n?")
_FIRST_WORD = re.compile(r"\w+(?:[-’']\w+){0,20}")


def has_words(text: str) -> bool:
    """Whether there is anything to check: an answer without a letter or digit follows nothing."""
    return any(sign.isalnum() for sign in text)


def keywords_exist(given: Arguments) -> Check:
    """Every keyword occurs, whatever its case; by default not as a part of a longer word."""
    words, whole = given.texts("keywords"), given.whole_words
    return lambda response: all(count(word, response, whole=whole) for word in words)


def keyword_frequency(given: Arguments) -> Check:
    word, whole = given.text("keyword"), given.whole_words
    holds = given.bound("relation", "frequency")
    return lambda response: holds(count(word, response, whole=whole))


def forbidden_words(given: Arguments) -> Check:
    """None occurs as a word of its own; as a part of another word it may, as in IFEval."""
    words = given.texts("forbidden_words")
    return lambda response: not any(count(word, response, whole=True) for word in words)


def letter_frequency(given: Arguments) -> Check:
    """One sign, whatever its case; published rows also count `!` and `#`."""
    letter, holds = given.text("letter"), given.bound("let_relation", "let_frequency")
    if len(letter) != 1:
        raise BadGold(f"{given.name} wants one sign as 'letter', not {letter[:40]!r}")
    return lambda response: holds(response.text.lower().count(letter.lower()))


def response_language(given: Arguments) -> Check:
    """The text is decided to be in that language; a language without a table is a bad gold."""
    wanted = given.text("language")
    if wanted not in LANGUAGES:
        raise BadGold(f"{given.name} cannot decide the language {wanted[:20]!r}")
    return lambda response: language_of(response.text) == wanted


def number_of_sentences(given: Arguments) -> Check:
    """Ends are `.`, `!`, `?` and their like; a line break alone ends none."""
    holds = given.bound("relation", "num_sentences")
    return lambda response: holds(response.sentences)


def number_of_words(given: Arguments) -> Check:
    holds = given.bound("relation", "num_words")
    return lambda response: holds(len(response.words))


def number_of_paragraphs(given: Arguments) -> Check:
    """Exactly that many paragraphs between `***`, none of them empty."""
    wanted = given.whole("num_paragraphs")
    return lambda response: len(response.divided) == wanted and all(response.divided)


def nth_paragraph_first_word(given: Arguments) -> Check:
    """Exactly that many paragraphs between blank lines, and the nth begins with the word."""
    wanted, nth = given.whole("num_paragraphs"), given.whole("nth_paragraph")
    word = given.text("first_word").casefold()
    if not 1 <= nth <= wanted:
        raise BadGold(f"{given.name} wants a paragraph from 1 to {wanted}, not {nth}")
    return lambda response: (
        len(response.blocks) == wanted and _starts(response.blocks[nth - 1], word)
    )


def _starts(paragraph: str, word: str) -> bool:
    first = _FIRST_WORD.search(paragraph[:400])
    if first is None:
        return False
    found = first[0].casefold()
    return word in (found, re.split("[’']", found)[0])


def placeholders(given: Arguments) -> Check:
    """At least that many `[…]` with a word in them; the text of a link and a tick box are none."""
    wanted = given.whole("num_placeholders")
    return lambda response: len(_PLACEHOLDER.findall(response.text)) >= wanted


def postscript(given: Arguments) -> Check:
    """A line begins with the marker, and something is said behind it."""
    marker = _loose_marker(given.text("postscript_marker"))
    return lambda response: any(_is_postscript(line, marker) for line in response.lines)


def _loose_marker(marker: str) -> re.Pattern[str]:
    """`P.S.`, `P. S.` and `p.s:` are one marker."""
    signs = [re.escape(sign) for sign in marker.rstrip(".:") if sign != " "]
    return re.compile(" ?".join(signs) + r"(?!\w)", re.IGNORECASE)


def _is_postscript(line: str, marker: re.Pattern[str]) -> bool:
    """Whether it begins with the marker; a marker alone says nothing."""
    line = line.lstrip(" \t*_>#\"'(")
    found = marker.match(line)
    return found is not None and has_words(line[found.end() :])


def bullets(given: Arguments) -> Check:
    """Exactly that many lines that begin with `* ` or `- ` and say something."""
    wanted = given.whole("num_bullets")
    return lambda response: sum(bool(_BULLET.match(line)) for line in response.lines) == wanted


def constrained_response(given: Arguments) -> Check:
    """Exactly one of the options stands in the answer: all of them at once is no choice."""
    return lambda response: sum(option in response.text for option in OPTIONS) == 1


def highlights(given: Arguments) -> Check:
    """At least that many `*…*`, `**…**` or `***…***` within a line, with a word in each."""
    wanted = given.whole("num_highlights")
    return lambda response: (
        sum(has_words(found[2]) for found in _HIGHLIGHT.finditer(response.text)) >= wanted
    )


def sections(given: Arguments) -> Check:
    """At least that many sections: lines that begin with the word and a number of their own,
    each with something said before the next.
    """
    word, wanted = given.text("section_spliter"), given.whole("num_sections")
    heading = re.compile(rf"[ \t*#_>]{{0,10}}{re.escape(word)}[ \t]{{0,3}}([0-9]{{1,6}})(?![0-9])")
    return lambda response: _sections(response.lines, heading) >= wanted


def _sections(lines: list[str], heading: re.Pattern[str]) -> int:
    """How many numbers head a section that says something."""
    said: set[str] = set()
    current = None
    for line in lines:
        found = heading.match(line)
        if found:
            current = found[1]
        if current is not None and has_words(line[found.end() if found else 0 :]):
            said.add(current)
    return len(said)


def json_format(given: Arguments) -> Check:
    """All of it is one JSON object or list, with or without a fence; a bare number or text is not.

    `NaN` and `Infinity` are no JSON.
    """
    return lambda response: _is_json(response.text)


def _is_json(text: str) -> bool:
    text = text.strip()
    fence = _FENCE_START.match(text)
    if fence and text.endswith("```"):
        text = text[fence.end() : max(fence.end(), len(text) - 3)]
    try:
        return isinstance(json.loads(text, parse_constant=_refuse), (dict, list))
    except (ValueError, RecursionError):
        return False


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)


def title(given: Arguments) -> Check:
    """`<<…>>` within a line, with a word in it."""
    return lambda response: any(has_words(found) for found in _TITLE.findall(response.text))


def two_responses(given: Arguments) -> Check:
    """Two answers around one `******`, different beyond case and white space."""
    return lambda response: _are_two(response.text.split("******"))


def _are_two(parts: list[str]) -> bool:
    parts = [" ".join(part.casefold().split()) for part in parts]
    inner = parts[(not parts[0]) : len(parts) - (not parts[-1])]
    return len(inner) == 2 and all(map(has_words, inner)) and inner[0] != inner[1]


def repeat_prompt(given: Arguments) -> Check:
    """It begins with the request, word for word whatever the case, and then says something."""
    request = given.text("prompt_to_repeat").split()
    asked = " ".join(request).casefold()
    return lambda response: _repeats(" ".join(response.folded.split()), asked)


def _repeats(said: str, asked: str) -> bool:
    return said.startswith(asked) and has_words(said[len(asked) :])


def end_checker(given: Arguments) -> Check:
    """It ends with the phrase, whatever the case; quotation marks may follow."""
    phrase = " ".join(given.text("end_phrase").casefold().split())
    size = 2 * len(phrase) + 200
    return lambda response: " ".join(response.folded.rstrip(' \n\t"')[-size:].split()).endswith(
        phrase.rstrip('"')
    )


def quotation(given: Arguments) -> Check:
    """All of it stands in double quotation marks, straight or curved."""
    return lambda response: _is_quoted(response.text.strip())


def _is_quoted(text: str) -> bool:
    return (text[:1], text[-1:]) in (('"', '"'), ("“", "”")) and has_words(text[1:-1])


def capital_words(given: Arguments) -> Check:
    """How many words are in capital letters; `I` is one, and a word with a hyphen is one."""
    holds = given.bound("capital_relation", "capital_frequency")
    return lambda response: holds(sum(word.isupper() for word in response.joined_words))


def english_capital(given: Arguments) -> Check:
    """All letters are capital, and the text is not decided to be in another language."""
    return lambda response: response.text.isupper() and _may_be_english(response)


def english_lowercase(given: Arguments) -> Check:
    return lambda response: response.text.islower() and _may_be_english(response)


def _may_be_english(response: Response) -> bool:
    letters = script_counts(response.text)
    is_latin = letters.get("latin", 0) >= 0.8 * sum(letters.values())
    return is_latin and language_of(response.text) in ("en", None)


def no_comma(given: Arguments) -> Check:
    """No comma of any script."""
    return lambda response: not any(sign in response.text for sign in ",，、،﹐")


RULES: dict[str, Rule] = {
    "keywords:existence": keywords_exist,
    "keywords:frequency": keyword_frequency,
    "keywords:forbidden_words": forbidden_words,
    "keywords:letter_frequency": letter_frequency,
    "language:response_language": response_language,
    "length_constraints:number_sentences": number_of_sentences,
    "length_constraints:number_paragraphs": number_of_paragraphs,
    "length_constraints:number_words": number_of_words,
    "length_constraints:nth_paragraph_first_word": nth_paragraph_first_word,
    "detectable_content:number_placeholders": placeholders,
    "detectable_content:postscript": postscript,
    "detectable_format:number_bullet_lists": bullets,
    "detectable_format:constrained_response": constrained_response,
    "detectable_format:number_highlighted_sections": highlights,
    "detectable_format:multiple_sections": sections,
    "detectable_format:json_format": json_format,
    "detectable_format:title": title,
    "combination:two_responses": two_responses,
    "combination:repeat_prompt": repeat_prompt,
    "startend:end_checker": end_checker,
    "startend:quotation": quotation,
    "change_case:capital_word_frequency": capital_words,
    "change_case:english_capital": english_capital,
    "change_case:english_lowercase": english_lowercase,
    "punctuation:no_comma": no_comma,
}

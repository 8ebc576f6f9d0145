"""Multiple choice: the letter that a text settles on, and the letter of a gold."""

from __future__ import annotations

import re

_GOLD_LETTER = re.compile(r"\(?([A-J])\)?[.:)]?\Z")
_LABEL = re.compile(
    r"[\s$]{0,4}(?:\\(?:text|textbf|mathrm|mathbf|bf)\s?\{\s?)?\(\s?[A-E]\s?\)\s{0,2}(?:\}[\s~\\]{0,3}"
    r"|[\s~\\]{1,3})(?=[^\s}])"
)
_GOLD_START = re.compile(r"\(?([A-J])(?:\)|[.:])\s|([A-J])\s(?=[A-Z])")
_GOLD_END = re.compile(r"(?:^|\n|\bis\s)\s{0,4}\(([A-J])\)\s")
# a bare I is a pronoun
_MENTION = re.compile(
    r"(?<![A-Za-z0-9'_\\])(?:\(([A-J])\)|([A-HJ]))(?![A-Za-z0-9_'^=+/-]|\s?\*\s?[0-9a-z(\\])"
)
_ARTICLE = re.compile(r"\s[a-z]{2}")
_VERB = re.compile(r"\s(?:is|was|as|because|since|and|or|seems|must|would|will|it|not)\b")
_DENIED = re.compile(
    r"(?:\bnot|\bnor|\bneither|n't|n’t|\bcannot|\bnon|\bnicht|\bpas|\bexcept|\bexclude|\beliminate"
    r"|\brule out|\bwrong|\bincorrect|不是|不"
    r"|\b(?:all|any|anything|everything) but)[\s*(:a-z]{0,24}\Z",
    re.IGNORECASE,
)
_DENIED_AFTER = re.compile(
    r"[\s)*.]{0,3}(?:is|was|are|seems)\s(?:not|wrong|incorrect|false|eliminated)|\s?isn't"
)
_ALSO_DENIED = re.compile(r"[\s,)*]{0,4}(?:or|nor|and|/|,)[\s(*]{0,4}\Z")
_STRONG = re.compile(
    r"(?:answer|choice|option|choose|pick|select|réponse|respuesta|antwort|答案)"
    r"(?:\s(?:is|est|es|ist|should be|must be|for sure|would be)){0,3}[\s:*(]{0,6}\Z",
    re.IGNORECASE,
)
_LETTER_FIRST = re.compile(r"\s{0,9}[:*(]{0,3}([A-J])(?:[).:,*]|\s{0,2}\Z|[^\x00-\x7f])")
_STYLE = re.compile(
    r"\\(?:text|textbf|mathrm|mathbf|textit|boxed|mathcal)\s?\{|[{}$]|\*(?!\s?[0-9])|\\[()\[\]]"
)
MAX_MENTIONS = 200
MAX_TEXT = 4_000


def plain(text: str) -> str:
    """A text without the styling that may stand around a letter."""
    return _STYLE.sub(" ", text).strip()


def gold_letter(gold: str) -> str | None:
    """The letter of a gold that is a choice: `C`, `(C)`, `C. x = 42`, `A Peter`; else None."""
    bare = plain(gold)
    alone = _GOLD_LETTER.match(bare.strip(" ."))
    if alone:
        return alone[1]
    start = _GOLD_START.match(bare)
    if start:
        return start[1] or start[2]
    end = _GOLD_END.search(gold)
    return end[1] if end else None


def without_label(text: str) -> str:
    """`\\textbf{(C) } 42` without its letter, where something follows it."""
    label = _LABEL.match(text)
    return text[label.end() :] if label else text


def tail_of(text: str) -> str:
    """What follows the letter of a choice: `42` in `D) 42`."""
    found = re.match(r"\W{0,3}[A-J][).:]\s{0,4}(\S.{0,400})\Z", plain(text), re.DOTALL)
    return found[1] if found else ""


def letter_of(text: str) -> str | None:
    """The letter that a short answer is, such as `(C)` or `C. x = 42`."""
    bare = plain(text).strip(" .")
    alone = _GOLD_LETTER.match(bare) or re.match(r"\(?([A-J])(?:\)|[.:])\s", bare)
    return alone[1] if alone else None


def settled(text: str) -> tuple[str | None, bool]:
    """The letter that a text settles on, and whether it names several without settling.

    Denied letters do not count. The last letter behind `answer is` wins, then a letter that the
    text begins with; else there must be only one.
    """
    text = text[-MAX_TEXT:]
    kept = _mentions(text)
    strong = [letter for letter, is_strong in kept if is_strong]
    letters = {letter for letter, _ in kept}
    if strong:
        return (strong[-1], False) if not _hedged(text, strong[-1]) else (None, True)
    first = _LETTER_FIRST.match(text)
    if first:
        return first[1], False
    return (letters.pop(), False) if len(letters) == 1 else (None, len(letters) > 1)


def _mentions(text: str) -> list[tuple[str, bool]]:
    kept: list[tuple[str, bool]] = []
    end, was_denied = 0, False
    for match in list(_MENTION.finditer(text))[-MAX_MENTIONS:]:
        before, after = text[max(0, match.start() - 60) : match.start()], text[match.end() :][:24]
        letter = match[1] or match[2]
        if letter == "A" and not match[1] and _ARTICLE.match(after) and not _VERB.match(after):
            continue
        joined = was_denied and _ALSO_DENIED.fullmatch(text[end : match.start()])
        denied = _DENIED.search(before) or _DENIED_AFTER.match(after) or joined
        end, was_denied = match.end(), bool(denied)
        if not denied:
            kept.append((letter, _STRONG.search(before) is not None))
    return kept


def _hedged(text: str, letter: str) -> bool:
    """Whether the last such letter is offered with another: `the answer is B or C`."""
    place = text.rfind(letter)
    around = text[max(0, place - 12) : place + 12]
    return re.search(r"[A-J]\)?\*?\s?(?:or|and|/|,)\s?\*?\(?[A-J]\b", around) is not None

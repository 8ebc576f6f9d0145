"""Which option of a multiple choice a text settles on: `(C)`, `The answer is **B**.`, `答案: B`.

A letter counts only where words or its place say that it is the answer: behind `answer is`, before
`is correct`, or at the front of the first or last line. The last such claim stands, unless it is
denied, offered with another one, or taken back.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from evenodds.domain import Status
from evenodds.verifiers.text import normalized, unwrapped

LETTERS = "ABCDEFGHIJ"
MAX_CHARACTERS = 8_000
"""Of a longer text only the last lines are read for words that settle on a letter."""

_W = "0-9A-Za-z_À-ɏ"
# A and I are words too: before another word they are letters only where it goes on as a sentence
_AFTER_A = "is|are|or|and|because|since|as|so|which|for|by|due|but|not|must|would|should|seems|no"
_BARE = (
    rf"(?<![{_W}\\~¬!-])(?<![{_W}]['’])"
    rf"(?:[B-HJ]|A(?![ \t]{{1,2}}(?!(?:{_AFTER_A})\b)[a-zA-Z])"
    r"|I(?![ \t]{1,2}(?!(?:is|or)\b)[a-zA-Z]))"
    rf"(?![{_W}\u0300-\u036f′]|['’-][{_W}]|\s{{0,2}}[=+*^<>≤≥]|\s?[-–—]\s?[A-J](?![{_W}]))"
)
_LETTER = (
    r"(?:[(\[{]{1,2}\s?(?P<held>[A-J])\s?[)\]}]{1,2}"
    rf"|(?P<quote>[\"“'‘])?(?P<bare>{_BARE})(?(quote)[\"”'’]|(?!['’]))\)?)"
)
_FILL = (
    r"(?i:(?:clearly|definitely|probably|likely|most|therefore|thus|indeed|simply|just|both|either"
    r"|option|choice|answer|letter|the|that|it is|it's|actually|now|then|still)\b[\s:]{0,3}){0,4}"
)
_NOT_FILL = r"(?P<no>(?i:(?:not|neither|nor|never)\b\s{0,2}(?:necessarily\s|simply\s|just\s)?))?"
_BE = r"(?P<never>(?i:is\s?n['’]t|is not|cannot be|can['’]?t be|can not be|won['’]t be)\b)"
_IS = (
    r"(?i:is|was|are|must be|should be|would be|will be|has to be|can only be|could only be"
    r"|might be|may be|est|ist|es|è)\b"
)
_NOUN = (
    r"(?i:(?:correct|right|best|true) one|statement that is (?:true|correct)|answer|option|choice"
    r"|solution|réponse|respuesta|antwort|resposta|risposta|ответ)s?"
)
_TO = r"(?i:\s(?:to|for) (?:this|the) (?:question|problem))?"
BEFORE = re.compile(
    rf"(?<![{_W}]){_NOUN}{_TO}\s?(?i:letter|choice|option|key)?\s{{0,2}}"
    rf"(?:{_BE}|{_IS}|[:=–—]|-(?=\s))[\s:]{{0,3}}{_FILL}{_NOT_FILL}{_FILL}{_LETTER}"
)
CHOSEN = re.compile(
    r"(?i:\b(?:choos(?:e|ing)|chose|select(?:ed|ing)?|pick(?:ed|ing)?|go(?:ing)? with|opt for"
    r"|settle on|conclude|i['’]d say|i would say|my guess is|it must be|it has to be|going for"
    r"|(?:no|so|thus|hence|therefore),? (?:it is|it['’]s))\b)"
    rf"[\s:]{{0,3}}{_FILL}{_NOT_FILL}{_FILL}{_LETTER}"
)
CHINESE = re.compile(
    r"(?P<no>不)?(?:答案|选项(?=[是为:])|选择|選擇|选|選)(?:应该|應該)?(?:不(?P<never>是))?"
    r"(?:是|为|為|选|選)?"
    rf"[\s:]{{0,3}}(?:选项|選項)?\s?{_LETTER}"
)
LEFT = re.compile(
    r"(?i:\b(?:so|thus|hence|therefore|leaves|leaving)\b[,:]?\s{1,2}"
    rf"(?:only\s|option\s|it['’]s\s){{0,2}}){_LETTER}[\s.!]{{0,3}}$",
    re.MULTILINE,
)
LOWER = re.compile(
    rf"(?i:(?<![{_W}])(?:answer|option|choice)\s?[:=]\s{{0,3}})(?P<bare>[a-j])(?P<held>(?!))?"
    r"[\s.]{0,3}$",
    re.MULTILINE,
)
_GOOD = (
    r"(?:(?:the|both|also|clearly|definitely|most|likely|probably|indeed|only|a)\s{1,2}){0,3}"
    r"(?:correct|right|answer|best|true|final answer|intended)\b"
)
_BAD = r"(?:wrong|incorrect|false|impossible|not\b|out\b|eliminated|excluded|ruled out|invalid)"
AFTER = re.compile(
    rf"{_LETTER}\s{{0,2}}(?:(?i:{_BE}|(?:{_IS}|seems|looks|being))\s{{1,2}}(?i:{_GOOD})"
    r"|(?:是)?(?:正确|正確|对的|對的))"
)
DENIED = re.compile(
    rf"{_LETTER}\s{{0,2}}(?:(?i:(?:{_IS}|{_BE}|looks|seems)\s{{1,2}}(?:clearly\s|also\s)?{_BAD}"
    r"|is\s?n['’]t\b|cannot be\b|can['’]t be\b)|不对|不對|不正确|错|錯|不是(?:正确|答案))"
)
_LEAD = (
    r"(?i:(?:(?:final )?answer|option|choice|so|therefore|thus|hence|it is|it['’]s|it must be|then"
    r"|i think|i believe|i guess|maybe|probably|ok|okay|yes|solution)[,:]?\s{1,2}){0,3}"
)
_NOT_THAT = (
    r"(?:(?i:not)\s{1,2}\(?[A-J]\)?\s?[,;]\s{0,2}){0,9}(?i:(?:but|it is|it['’]s|rather)\s){0,2}"
)
LINE = re.compile(rf"[\s:=>#\-•.,\"|]{{0,12}}{_LEAD}{_NOT_THAT}{_LETTER}")
_LINE_REST = re.compile(
    r"[\"”]?\s{0,3}(?:[.!?\s]{0,4}\Z|[.):,;](?=\s|\Z)|[-–—:]\s|[,/&|]\s?[A-J]\b|[^\x00-\u02ff]"
    r"|(?:because|since|as|so|which|for|by|due|but|or|and|not|no|rather|instead)\b)"
)
_CAPITAL = re.compile(r"\s{1,3}(?![A-J](?![A-Za-z]))[A-Z0-9]")
_LISTED = re.compile(r"[\s*\-•>|]{0,8}[(\[]?([A-J])(?:[)\].:]{1,2}(?=\s|\Z)|[ \t]{0,3}(?=\n|\Z))")
_ONLY_LOWER = re.compile(r"[\s(\[\"'.:]{0,6}([a-j])[\s)\]\"'.:]{0,6}\Z")
_JOIN = r"(?:,\s{0,2})?(?:(?P<or>(?i:or|oder|ou)\b|[/|]|或)|(?i:and|und|et)\b|[,;&]|和|、)"
_MAYBE = (
    r"(?i:(?:maybe|possibly|perhaps|else|even|also|option|choice|answer|both|either)\s{1,2}){0,3}"
)
WITH_NEXT = re.compile(
    rf"[\s.(]{{0,3}}(?:{_JOIN}\s{{0,3}}{_MAYBE}|(?=[(\[]))(?:(?:or|and)\s)?{_LETTER}"
    r"(?P<verb>\s{1,3}(?i:is|was|are|would|can|has|does|do|fails?|cannot|isn))?"
)
WITH_LAST = re.compile(rf"{_LETTER}\s{{0,2}}{_JOIN}\s{{0,3}}{_MAYBE}\Z")
RETRACTED = re.compile(
    r"(?i:\b(?:wait|actually|sorry|correction|scratch that|on second thought|i mean|i was wrong"
    r"|mistake|or rather|that is wrong|that['’]s wrong|no,|no\.))"
)
MENTION = re.compile(_LETTER)
_OTHERS = re.compile(r"(?:\s{0,2}(?:,|and|or|&)\s{1,2}[A-J]\b){1,9}")
CONTRAST = re.compile(
    r"[\s.,;]{0,3}(?:(?i:(?:but|rather|instead|it is|it['’]s|that is)[\s,]{1,2}){1,3}"
    rf"|(?:而|应该|應該)是\s?){_LETTER}"
)
_NEGATION = re.compile(
    r"(?:(?i:\b(?:not|never|cannot|neither|nor|nicht|pas|doubt|unlikely|nobody|hardly|wrong"
    r"|incorrect|false)|n['’]t)\s{1,2}(?i:(?:thinks?|believes?|says?|claim|that|would|the|is|be"
    r"|correct|right|answer|option|choice|it|to|a|final)\s{1,2}){0,6}|不是?\s{0,2}|不)\Z"
)
_SUPPOSED = re.compile(
    r"(?i:\b(?:if|suppose|assume|assuming|whether|unless|were)\s{1,2}"
    r"(?:(?:that|the|correct|right)\s{1,2}){0,3})\Z"
)
# what may stand before `A is right`, for `angle A is right` says nothing
_SPOKEN = re.compile(
    r"(?:\A|[\n.:;,!?*>(–—-]|(?i:\b(?:option|choice|answer|so|thus|therefore|hence|think|believe"
    r"|that|say|only|and|or|then|conclude|because|is|but|nor|neither|both)\b)"
    r"|[^\x00-\u02ff])\s{0,3}\Z"
)
_ANSWER_TAIL = re.compile(
    rf"(?<![{_W}]){_NOUN}{_TO}\s?(?:{_IS}|[:=])\s{{0,3}}(.{{1,300}})$", re.MULTILINE
)
_EMPHASIS = re.compile(r"\*|`|__|</?(?:b|i|u|em|strong|span|p)>")
_WIDE = dict(
    zip(map(ord, "ＡＢＣＤＥＦＧＨＩＪ：．，（）。【】"), LETTERS + ":.,().[]", strict=True)
)
_LOWER_HELD = re.compile(rf"(?<![{_W}(])\(([a-j])\)(?![{_W}(])")


@dataclass(frozen=True)
class Reading:
    """The letter that a text settles on, or None with the status and the reason for none."""

    letter: str | None
    note: str
    status: Status = Status.RIGHT


@dataclass(frozen=True)
class _Claim:
    letter: str
    start: int
    end: int
    is_denied: bool = False
    is_listed: bool = False


def read_choice(text: str, options: Mapping[str, str] | None = None) -> Reading:
    """The option that `text` settles on, as the module says. Linear in the text; never raises.

    options: letter -> its text. Where they are known, the text of exactly one of them is an answer
    too, and a letter with the text of another option is two answers.
    """
    plain = plain_letters(_end_of(text))
    alone = _ONLY_LOWER.match(plain)
    if alone:
        return Reading(alone[1].upper(), "a letter alone")
    claims = sorted(_claims(plain), key=lambda claim: (claim.end, claim.start))
    made = [claim for claim in claims if not claim.is_denied and not claim.is_listed]
    named = _named(plain, _by_text(options or {}))
    if named and not (made and made[-1].end > named.end):
        return Reading(named.letter, "the text of an option")
    if made:
        return _standing(plain, made[-1], claims, options or {})
    if any(claim.is_denied for claim in claims):
        return Reading(None, "a choice is only denied", Status.WRONG)
    if claims:
        return Reading(None, "the options are listed, and none is chosen", Status.SEVERAL_ANSWERS)
    return Reading(None, "no choice was found", Status.NO_ANSWER)


def _end_of(text: str) -> str:
    """The whole lines of a long text's end."""
    if len(text) <= MAX_CHARACTERS:
        return text
    end = text[-MAX_CHARACTERS:]
    return end.partition("\n")[2] or end


def plain_letters(text: str) -> str:
    """The text without LaTeX wrappers and emphasis; wide letters and `(c)` as `C` and `(C)`."""
    if not text.isascii():
        text = text.translate(_WIDE)
    text = _EMPHASIS.sub("", unwrapped(text).replace("$", " "))
    return _LOWER_HELD.sub(lambda match: f"({match[1].upper()})", text)


def _letter(match: re.Match[str]) -> str:
    return (match["held"] or match["bare"]).upper()


def _claims(text: str) -> list[_Claim]:
    found: list[_Claim] = []
    for pattern in (BEFORE, CHOSEN, CHINESE, LEFT, LOWER):
        for match in pattern.finditer(text):
            found += _claim(text, match)
    for match in AFTER.finditer(text):
        if _SPOKEN.search(text, max(0, match.start() - 40), match.start()):
            found += _claim(text, match)
    found += [_Claim(_letter(m), m.start(), m.end(), is_denied=True) for m in DENIED.finditer(text)]
    return found + _line_claims(text)


def _claim(text: str, match: re.Match[str]) -> list[_Claim]:
    """The claim of a match, and of what is put in place of the letter where it is denied."""
    before = text[max(0, match.start() - 90) : match.start()]
    if _SUPPOSED.search(before):
        return []
    groups = match.groupdict()
    is_denied = bool(groups.get("no") or groups.get("never") or _NEGATION.search(before))
    claim = _Claim(_letter(match), match.start(), match.end(), is_denied)
    instead = CONTRAST.match(text, match.end()) if is_denied else None
    if instead is None:
        return [claim]
    return [claim, _Claim(_letter(instead), instead.start(), instead.end())]


def _line_claims(text: str) -> list[_Claim]:
    """What the first and the last line claim by beginning with a letter."""
    whole = text.rstrip()
    if not whole.strip():
        return []
    start = len(whole) - len(whole.lstrip())
    first = whole.find("\n", start)
    last = whole.rfind("\n") + 1
    found = _line_claim(whole, last, len(whole), whole[max(0, last - 300) : last])
    if first >= 0 and start < last:
        found = _line_claim(whole, start, first, whole[first : first + 300], before=False) + found
    return found


def _line_claim(text: str, start: int, end: int, beside: str, before: bool = True) -> list[_Claim]:
    match = LINE.match(text, start, end)
    if match is None or not _is_delimited(text, match, end):
        return []
    letter = _letter(match)
    lines = beside.split("\n") if before else beside.split("\n")[::-1]
    neighbours = [line for line in lines if line.strip()]
    other = _LISTED.match(neighbours[-1]) if neighbours else None
    mine = _LISTED.match(text, start, end)
    is_listed = bool(mine and other and other[1] != letter)
    return [_Claim(letter, match.start(), match.end(), is_listed=is_listed)]


def _is_delimited(text: str, match: re.Match[str], end: int) -> bool:
    """Whether a line that begins with a letter means the option, not a word or a name."""
    rest = text[match.end() : min(end, match.end() + 80)]
    if match[0][-1] in ")]}":
        return True
    if match["bare"] == "I" and rest.strip(" .)"):
        return False
    if _LINE_REST.match(rest):
        return True
    return match["bare"] not in "AI" and bool(_CAPITAL.match(rest))


def _standing(
    text: str, claim: _Claim, claims: list[_Claim], options: Mapping[str, str]
) -> Reading:
    """The claim, unless another one is offered with it or it is denied or replaced behind."""
    rest = text[claim.end : claim.end + 2_000]
    other = CONTRAST.match(rest)
    if _is_one_of_several(text, claim, rest) or (other and _letter(other) != claim.letter):
        return Reading(None, "another choice is offered with it", Status.SEVERAL_ANSWERS)
    if any(c.is_denied and c.letter == claim.letter and c.end > claim.end for c in claims):
        return Reading(None, "the choice is taken back", Status.WRONG)
    other = _by_text(options).get(_key(rest.partition("\n")[0].lstrip(" .):,-–—")))
    if other and other != claim.letter:
        note = "its letter and its text name different options"
        return Reading(None, note, Status.SEVERAL_ANSWERS)
    change = RETRACTED.search(rest)
    return _changed(rest, change, claim) if change else Reading(claim.letter, "the last claim")


def _is_one_of_several(text: str, claim: _Claim, rest: str) -> bool:
    behind = WITH_NEXT.match(rest)
    if behind and _letter(behind) != claim.letter and (behind["or"] or not behind["verb"]):
        return True
    at = max(0, claim.start - 60)
    front = WITH_LAST.search(text, at, claim.start)
    if front is None or _letter(front) == claim.letter:
        return False
    if "," in front[0] and not re.search(
        r"\b(?:or|and|are)\b", front[0] + text[claim.start : claim.end]
    ):
        return False
    return not _NEGATION.search(text, at, front.start())


def _changed(rest: str, change: re.Match[str], claim: _Claim) -> Reading:
    """What a change of mind behind a claim settles on."""
    found = list(MENTION.finditer(rest, change.end()))
    mentions = [match for match in found if not _is_denied(rest, match)]
    letters = {_letter(match) for match in mentions}
    if not letters - {claim.letter}:
        is_withdrawn = re.search(r"(?i)wrong|mistake|scratch|correction", rest[: change.end() + 40])
        if is_withdrawn and not found:
            return Reading(None, "the choice is taken back", Status.WRONG)
        return Reading(claim.letter, "the last claim")
    last = mentions[-1]
    if len(letters) == 1 and not rest[last.end() :].strip(" .!?)\n\"'"):
        return Reading(_letter(last), "the choice after a change of mind")
    note = "another choice follows a change of mind"
    return Reading(None, note, Status.SEVERAL_ANSWERS)


def _is_denied(text: str, match: re.Match[str]) -> bool:
    others = _OTHERS.match(text, match.end())
    if DENIED.match(text, others.end() - 1 if others else match.start()):
        return True
    return bool(_NEGATION.search(text, max(0, match.start() - 60), match.start()))


def _named(text: str, known: Mapping[str, str | None]) -> _Claim | None:
    """The one option whose text is all of `text`, its last line, or what `answer is` names last.

    Several lines that are texts of options are a list, and name none.
    """
    if not known:
        return None
    lines = [line for line in text[-2_000:].split("\n") if line.strip()][-12:]
    said = [known.get(_key(line)) for line in lines]
    if len({letter for letter in said if letter}) > 1:
        return None
    whole = known.get(_key(text)) if len(text) < 2_000 else None
    letter = whole or (said[-1] if said else None)
    if letter:
        return _Claim(letter, 0, len(text))
    tail = next(iter([*_ANSWER_TAIL.finditer(text)][-1:]), None)
    letter = known.get(_key(tail[1])) if tail else None
    return _Claim(letter, tail.start(), tail.end()) if tail and letter else None


def _by_text(options: Mapping[str, str]) -> dict[str, str | None]:
    """Normalized text -> letter; None where two options share it. A lone letter is no text."""
    known: dict[str, str | None] = {}
    for letter, text in options.items():
        key = _key(text)
        if key.upper() not in {"", *LETTERS}:
            known[key] = None if key in known else letter
    return known


def _key(text: str) -> str:
    return normalized(plain_letters(text), frozenset()).replace(" ", "")

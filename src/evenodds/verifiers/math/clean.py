"""From typeset or plain text to one plain notation that the lexer reads.

Every pattern has at most one unbounded repeat, and the text is bounded before it comes here.
"""

from __future__ import annotations

import re

from evenodds.verifiers.canonical import plain_text

_UNICODE = {
    "√": "\\sqrt ",
    "∛": "\\sqrt[3] ",
    "π": "\\pi ",
    "∞": "\\infty ",
    "≤": "\\le ",
    "⩽": "\\le ",
    "≥": "\\ge ",
    "⩾": "\\ge ",
    "≠": "\\ne ",
    "≈": "\\approx ",
    "∪": "\\cup ",
    "∩": "\\cap ",
    "∖": "\\setminus ",
    "∅": "\\emptyset ",
    "∈": "\\in ",
    "±": "\\pm ",
    "∓": "\\mp ",
    "θ": "\\theta ",
    "α": "\\alpha ",
    "β": "\\beta ",
    "γ": "\\gamma ",
    "λ": "\\lambda ",
    "μ": "\\mu ",
    "ω": "\\omega ",
    "φ": "\\phi ",
    "Δ": "\\Delta ",
    "ℝ": "\\mathbb{R}",
    "ℤ": "\\mathbb{Z}",
    "（": "(",
    "）": ")",
    "［": "[",
    "］": "]",
    "｛": "{",
    "｝": "}",
    "＜": "<",
    "＞": ">",
    "，": ",",
    "、": ",",
    "；": ";",
    "：": ":",
    "。": ".",
    "′": "'",
    "’": "'",
    "或": " or ",
    "€": " ",
    "£": " ",
    "¥": " ",
    "∶": ":",
}
_TABLE = str.maketrans(_UNICODE)
_RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺ⁿ", "0123456789-+n")
_LOWERED = str.maketrans("₀₁₂₃₄₅₆₇₈₉", "0123456789")
_RAISED_RUN = re.compile("[⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺ⁿ]{1,40}")
_LOWERED_RUN = re.compile("[₀₁₂₃₄₅₆₇₈₉]{1,40}")
_LETTERS = {
    ord(wide) + i: chr(ord(narrow) + i) for wide, narrow in ("ＡA", "ａa") for i in range(26)
}

_DROPPED = re.compile(
    r"\\(?:left|right)\s?\.|\\(?:left|right|bigg?|Bigg?|biggl|biggr|bigl|bigr|Bigl|Bigr|middle"
    r"|displaystyle|textstyle|scriptstyle|limits|nolimits|strut|hline|rm|bf|it|boldmath"
    r"|boxed|fbox|framebox|mathstrut)(?![a-zA-Z])"
)
_SPACED = re.compile(r"\\[,;: !>]|\\(?:qquad|quad|noindent|thinspace|hspace|newline)|[~\n\t&]")
_TEXT = re.compile(
    r"\\(?:text|textbf|textit|textrm|textnormal|texttt|textsf|mbox|hbox|emph|mathop)\s?\{"
)
_LETTER = re.compile(
    r"\\(?:mathrm|mathbf|mathit|mathsf|mathtt|mathcal|mathscr|boldsymbol|bm|vec|hat|overrightarrow"
    r"|operatorname\*?|rm|bf|textrm)\s?\{([^{}]{0,60})\}"
)
_FRACTION = re.compile(r"\\[dtc]frac(?![a-zA-Z])")
_SHORT_BOTH = re.compile(r"\\frac ?([0-9]) ?([0-9])")
_SHORT_TOP = re.compile(r"\\frac ?([0-9])(?=\s?[{\\a-zA-Z])")
_SHORT_BOTTOM = re.compile(r"(\\frac ?\{[^{}]{1,80}\}) ?([0-9])")
_DOUBLED = re.compile(r"\\\\(?=[a-zA-Z]{2})")
_ENVIRONMENT = re.compile(
    r"\\(?:begin|end)\s?\{(?:align|aligned|equation|gather|gathered|split|center|displaymath)\*?\}"
)
_CASES = re.compile(r"\\(?:begin|end)\s?\{cases\}")
_ANGLE = re.compile(r"(?:\bm\s?)?\\(?:angle|measuredangle|triangle)(?![a-zA-Z])")
_MATRIX = re.compile(r"\\begin\s?\{(?:[pbBvV]?(?:small)?matrix|array)\*?\}")
_JOINED = re.compile(r"(?<=[0-9])(?:,\\!\s?|\\!,\s?)(?=[0-9])")
_BRACED_COMMA = re.compile(r"(?<=[0-9])\s?\{\s?,\s?\}\s?(?=([0-9]{1,40}))")
_GROUPED = re.compile(r"(?<![0-9.,_^])[1-9][0-9]{0,2}(?: [0-9]{3}){1,12}(?![0-9])")
_CROSS = re.compile(r"(?<=[0-9)])\s[xX]\s(?=[0-9(])")
_WORDED = re.compile(r"\b(?:minus|negative) (?=[0-9\\])")
_SUBSCRIPT = re.compile(r"\A_(?=\{)")
_GLUED = re.compile(r"(?<=[0-9)}])(or|and)(?=[A-Za-z]\s?[(=])")
_ENDS = ' *_`".,:;?\\'
_DIGITS_APART = re.compile(r"(?<=[0-9.])\s{1,1500}(?=[0-9.])")
_PLAIN_TEXT = re.compile(r"\\text\{([^{}]{0,200})\}")
_BARE_BRACE = re.compile(r"([\^_])\{([^{}\\])\}")


def clean(text: str) -> str:
    """The text in the lexer's notation: no styling, one spelling of each command, plain digits."""
    if not text.isascii():
        text = _from_unicode(text)
    if "\\" in text:
        text = _from_latex(text)
    if "," in text and "{" in text:
        text = _BRACED_COMMA.sub(lambda match: "" if len(match[1]) == 3 else ".", text)
    text = text.replace("$", " ").replace("\n", " ").replace("\t", " ")
    text = _GLUED.sub(r" \1 ", text)
    text = _CROSS.sub("*", _WORDED.sub("-", text))
    text = _GROUPED.sub(lambda match: match[0].replace(" ", ""), text)
    return trimmed(text)


def _from_unicode(text: str) -> str:
    text = text.translate(_TABLE).translate(_LETTERS)
    text = _RAISED_RUN.sub(lambda match: "^{" + match[0].translate(_RAISED) + "}", text)
    text = _LOWERED_RUN.sub(lambda match: "_{" + match[0].translate(_LOWERED) + "}", text)
    return plain_text(text)


def _from_latex(text: str) -> str:
    if "\\\\begin" in text:
        text = text.replace("\\\\", "\\")
    text = _ANGLE.sub(" ", _ENVIRONMENT.sub(" ", text))
    if "&" not in text and _CASES.search(text):
        text = _CASES.sub(" ", text).replace("\\\\", ",")
    is_matrix = _MATRIX.search(text) is not None
    if not is_matrix:
        text = _DOUBLED.sub(r"\\", text).replace("\\\\", " ")
    text = _JOINED.sub("", text)
    text = _DROPPED.sub("", text).replace("\\$", " ").replace("\\%", "%").replace("\\&", " ")
    kept = text.replace("&", "\x01") if is_matrix else text
    kept = kept.replace("\\\\", "\x02") if is_matrix else kept
    text = _SPACED.sub(" ", kept)
    text = _LETTER.sub(_letter, _TEXT.sub(r"\\text{", text))
    text = _FRACTION.sub(r"\\frac", text)
    text = _SHORT_BOTH.sub(r"\\frac{\1}{\2}", text)
    text = _SHORT_TOP.sub(r"\\frac{\1}", text)
    return _SHORT_BOTTOM.sub(r"\1{\2}", text)


def _letter(match: re.Match[str]) -> str:
    inside = match[1].strip()
    if match[0].startswith("\\operatorname"):
        return f"\\{inside} " if inside.isalpha() else inside
    if len(inside) == 1 and not _is_unit(match, inside):
        return inside
    return inside if inside.isdigit() or not inside else f"\\text{{{inside}}}"


def _is_unit(match: re.Match[str], letter: str) -> bool:
    """Whether an upright letter measures: `5 \\mathrm{~m}` and `5\\mathrm{m}`, but not 5e."""
    if match[1][0] in " ~":
        return True
    before = match.string[max(0, match.start() - 4) : match.start()].rstrip(" ")
    return letter in "mgshLNJWVK" and before[-1:].isdigit()


def trimmed(text: str) -> str:
    """Without emphasis and punctuation at the ends; an ellipsis stays, for it says `and so on`."""
    text = _SUBSCRIPT.sub(r"\\_", text.strip(' *`"')).strip(' *_`"').rstrip("\\ ")
    if text.endswith("..."):
        return text
    return text.rstrip(_ENDS).lstrip(" *_`\"':;,?")


def key(cleaned: str) -> str:
    """A cleaned text without spaces and wrappers, for comparing two texts letter by letter."""
    text = cleaned
    if "\\" in text:
        text = _PLAIN_TEXT.sub(r"\1", text).replace("\x01", "&").replace("\x02", ";")
    # digits that a space parts stay parted: `4 2` is not 42
    text = _DIGITS_APART.sub("\x03", text)
    text = _BARE_BRACE.sub(r"\1\2", text.replace(" ", ""))
    while text[:1] == "{" and text[-1:] == "}" and text.count("{") == 1:
        text = text[1:-1]
    return text

"""Which language a text is in, by its script and its most common words; no model, no download.

A script that one language of the table uses decides alone. Where several share it, the language
with the most common words of its own wins, and it must be ahead. A short text without such words
is undecided. Text that mixes languages is taken for the one that dominates it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

SCRIPTS: dict[str, tuple[tuple[int, int], ...]] = {
    "latin": ((0x41, 0x24F), (0x1E00, 0x1EFF)),
    "greek": ((0x370, 0x3FF), (0x1F00, 0x1FFF)),
    "cyrillic": ((0x400, 0x52F),),
    "hebrew": ((0x590, 0x5FF),),
    "arabic": ((0x600, 0x6FF), (0x750, 0x77F), (0xFB50, 0xFDFF), (0xFE70, 0xFEFF)),
    "devanagari": ((0x900, 0x97F),),
    "bengali": ((0x980, 0x9FF),),
    "gurmukhi": ((0xA00, 0xA7F),),
    "gujarati": ((0xA80, 0xAFF),),
    "tamil": ((0xB80, 0xBFF),),
    "telugu": ((0xC00, 0xC7F),),
    "kannada": ((0xC80, 0xCFF),),
    "malayalam": ((0xD00, 0xD7F),),
    "thai": ((0xE00, 0xE7F),),
    "hangul": ((0x1100, 0x11FF), (0x3130, 0x318F), (0xAC00, 0xD7AF)),
    "kana": ((0x3040, 0x30FF),),
    "han": ((0x3400, 0x9FFF),),
}
ALONE = {
    "greek": "el",
    "hebrew": "he",
    "bengali": "bn",
    "gurmukhi": "pa",
    "gujarati": "gu",
    "tamil": "ta",
    "telugu": "te",
    "kannada": "kn",
    "malayalam": "ml",
    "thai": "th",
    "hangul": "ko",
}
"""Scripts that stand for one language of the table."""

COMMON: dict[str, dict[str, frozenset[str]]] = {
    script: {language: frozenset(words.split()) for language, words in table.items()}
    for script, table in {
        "latin": {
            "en": "the and is of to in that it was for are with as this be have from not they by "
            "you we his her an which there their has were on at",
            "de": "der die und das ist nicht ein eine zu mit auf für den dem von sich auch wir ich "
            "es sie wie werden oder sind im",
            "fr": "le la les et est une des dans que qui pour pas sur avec il elle nous vous ce "
            "cette sont du au plus ou je",
            "es": "el la los las y es una que por con para del se no su como más pero sus este "
            "esta muy son al lo",
            "it": "il che di è per una con non sono della del gli le si più anche come questo "
            "nel alla ma da dei i",
            "pt": "o os as e é um uma que não para com em do da dos das por mais como se seu sua "
            "ou foi ao na no",
            "nl": "de het een en van is dat niet op te zijn voor met aan er ook als maar om hij "
            "wij ik worden naar",
            "sv": "och att det som en är på för med inte av till den har jag vi ett om men var de "
            "kan från",
            "fi": "ja on ei se että oli hän mutta ovat kun niin myös tai joka kuin sen olla voi "
            "minä me ole jos",
            "pl": "i w nie na się że jest z do to jak o ale po są przez dla tego być od co jego "
            "może oraz",
            "tr": "ve bir bu için de da ile çok daha olarak olan gibi ne var değil ama ben kadar "
            "sonra her en",
            "vi": "và của là có không được cho một những các trong người với này đã để khi như "
            "tôi về",
            "sw": "na ya wa kwa ni katika za la hii kuwa cha hiyo yake watu kama au pia lakini "
            "sana vya huo",
            "id": "yang dan di untuk dengan ini itu dari dalam tidak adalah pada akan juga ke "
            "oleh saya kami atau bisa",
            "ro": "și în este care pe cu la nu un o din pentru sunt mai că se fi ca au să dar",
        },
        "cyrillic": {
            "ru": "и в не на что с он как это по но из у за от так же для вы мы было был быть "
            "или если я а его ее она они только уже все всё этого была",
            "uk": "і в не на що з він як це по але із у за від так для ви ми було був бути або "
            "якщо є та його її",
            "bg": "и в не на че с той как това по но от за са ще се да си или ако е аз те ние "
            "като към което",
        },
        "arabic": {
            "ar": "في من على إلى أن هذا هذه التي الذي و لا ما كان مع عن هو هي كل بعد قد أو ذلك",
            "fa": "و در به از که این را با است برای آن یک خود تا بر هم می شود شده کرد ما اما",
            "ur": "کے میں کی ہے اور سے کا کو نے اس کہ پر یہ ہیں نہیں بھی ایک تھا کر ہو لیے وہ",
        },
        "devanagari": {
            "hi": "के में की है और से का को पर यह हैं कि एक नहीं भी इस ने था कर हो लिए वह",
            "mr": "आहे आणि च्या मध्ये या ही हे तो ते एक आहेत नाही साठी की म्हणून होते किंवा त्या पण",
            "ne": "छ र को मा यो हो लागि गर्न एक छन् भने पनि ले हुन्छ तर गरेको थियो यस छैन लाई",
        },
    }.items()
}
OWN_LETTERS = {"ru": "ыэё", "uk": "іїєґ", "ur": "ٹڈڑےں", "tr": "ığ", "pl": "łż"}
"""Letters that, within their script, no other language of the table has; each counts as a word."""
LANGUAGES = frozenset({*ALONE.values(), "ja", "zh", *(key for t in COMMON.values() for key in t)})
"""What can be decided, by ISO 639-1 code."""

PURE = 0.8
"""The share of letters that must be of the language's script."""
_RANGES = sorted((low, high, name) for name, rows in SCRIPTS.items() for low, high in rows)


def language_of(text: str) -> str | None:
    """The ISO 639-1 code of the text's language; None where it is undecided."""
    letters = script_counts(text)
    total = sum(letters.values())
    if not total:
        return None
    if letters.get("kana", 0) >= 0.1 * total:
        return "ja" if letters["kana"] + letters.get("han", 0) >= PURE * total else None
    script = max(letters, key=lambda name: letters[name])
    if letters[script] < PURE * total:
        return None
    if script == "han":
        return "zh"
    return ALONE[script] if script in ALONE else _by_words(text, script)


def script_counts(text: str) -> dict[str, int]:
    """How many letters of each script; letters of other scripts count under an empty name."""
    counts: dict[str, int] = {}
    for sign, times in Counter(text).items():
        if sign.isalpha():
            name = _script(ord(sign))
            counts[name] = counts.get(name, 0) + times
    return counts


def _script(code: int) -> str:
    return next((name for low, high, name in _RANGES if low <= code <= high), "")


def _by_words(text: str, script: str) -> str | None:
    """The language whose common words are most frequent; None without any, or on a tie."""
    tables = COMMON.get(script, {})
    words = _words(text)
    letters = Counter(text.lower())
    hits = sorted(
        (
            sum(w in table for w in words) + sum(letters[x] for x in OWN_LETTERS.get(key, "")),
            key,
        )
        for key, table in tables.items()
    )
    if not hits or hits[-1][0] == 0 or (len(hits) > 1 and hits[-2][0] == hits[-1][0]):
        return None
    return hits[-1][1]


def _words(text: str) -> Sequence[str]:
    """Words between white space, without the signs at their ends, in lower case."""
    return [word.strip(".,;:!?\"'()[]*_«»“”„’।؟،-").lower() for word in text.split()]

"""Slips of the pen: one or two letters of a word lost, doubled, swapped or struck beside."""

from __future__ import annotations

import random

BESIDE = {  # keys that lie next to each other
    "a": "sqwz", "b": "vghn", "c": "xdfv", "d": "serfcx", "e": "wsdr", "f": "drtgvc",
    "g": "ftyhbv", "h": "gyujnb", "i": "ujko", "j": "huikmn", "k": "jiolm", "l": "kop",
    "m": "njk", "n": "bhjm", "o": "iklp", "p": "ol", "q": "wa", "r": "edft", "s": "awedxz",
    "t": "rfgy", "u": "yhji", "v": "cfgb", "w": "qase", "x": "zsdc", "y": "tghu", "z": "asx",
    "_": "-p", "1": "2q", "2": "13w",
}  # fmt: skip
WAYS = ("one slip", "two slips", "capitals", "dashes", "camel")


def slip(word: str, rng: random.Random) -> str:
    """One slip; the word is never empty after it."""
    place = rng.randrange(len(word))
    kind = rng.choice(("lose", "double", "swap", "beside", "beside", "insert"))
    before, char, after = word[:place], word[place], word[place + 1 :]
    if kind == "lose" and len(word) > 2:
        return before + after
    if kind == "swap" and after:
        return before + after[0] + char + after[1:]
    if kind == "beside":
        return before + rng.choice(BESIDE.get(char.lower(), "x")) + after
    if kind == "insert":
        return before + char + rng.choice(BESIDE.get(char.lower(), "x")) + after
    return before + char + char + after


def misspelled(word: str, way: str, rng: random.Random, known: frozenset[str]) -> str:
    """The word in a wrong spelling, which is none of the `known` ones. Two slips are for words of
    five letters or more: what is left of a shorter one is no longer that word.
    """
    if way in ("one slip", "two slips"):
        while True:
            found = slip(word, rng)
            found = slip(found, rng) if way == "two slips" and len(word) > 4 else found
            if found not in known:
                return found
    if way == "dashes" and "_" in word:
        return word.replace("_", "-")
    if way == "camel" and "_" in word:
        return "".join(part.title() for part in word.split("_"))
    return word.upper()

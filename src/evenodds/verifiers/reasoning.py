"""What of a completion may hold the final answer: what follows the reasoning."""

from __future__ import annotations

import re

MAX_CHARACTERS = 100_000
"""Of a longer text only the end is read: that is where an answer stands."""

_TAG = re.compile(
    r"<(/?)(think|thinking|thought|reasoning|reflection|scratchpad|analysis)\s{0,4}>", re.IGNORECASE
)
_NEXT_TURN = re.compile(
    r"<\|(?:im_start|start_header_id)\|>\s{0,3}(?:user|human|system)\b", re.IGNORECASE
)
_SPECIAL = re.compile(
    r"<[|\uff5c][^<>|\uff5c\n]{1,40}[|\uff5c]>"
    r"|</?s>|<(?:bos|eos|pad|unk|start_of_turn|end_of_turn)>"
)


def final_part(text: str, prompt_tail: str = "") -> str | None:
    """The text after the reasoning, without special tokens; None while reasoning is still open.

    A block may have been opened by the prompt's template, so the end of the prompt counts. A
    closing tag that nothing opened closes the block all the same: all that precedes is reasoning.
    """
    if "<" not in text and "<" not in prompt_tail:
        return text[-MAX_CHARACTERS:]
    block, start = opened_by(prompt_tail), 0
    for tag in _TAG.finditer(text):
        name = tag[2].lower()
        if tag[1] and block in (None, name):
            block, start = None, tag.end()
        elif not tag[1] and block is None:
            block = name
    if block is not None:
        return None
    turn = _NEXT_TURN.search(text, start)
    if turn and text[start : turn.start()].strip():
        # what a model writes for the person who asks is no part of its answer
        text = text[: turn.start()]
    # a token becomes a line break, so that the digits at its sides never grow together
    return _SPECIAL.sub("\n", text[max(start, len(text) - MAX_CHARACTERS) :])


def opened_by(prompt_tail: str) -> str | None:
    """The name of the block that the prompt ends with, where its template opened one."""
    tags = list(_TAG.finditer(prompt_tail[-200:].rstrip()))
    if not tags or tags[-1][1] or tags[-1].end() != len(prompt_tail[-200:].rstrip()):
        return None
    return tags[-1][2].lower()

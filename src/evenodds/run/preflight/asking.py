"""How a problem is put to the model: chat template, first token, marks, and room for an answer."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from evenodds.domain import Message, Prompt
from evenodds.run.preflight.ending import golds, named
from evenodds.run.preflight.finding import Finding
from evenodds.run.preflight.ground import Ground
from evenodds.run.preflight.trial import problems_of

if TYPE_CHECKING:
    from evenodds.policies import Codec

ANSWER = "the answer is 42"  # stands for any
THINKING = 512  # tokens below which a model that thinks hardly comes to its answer
MARKS = re.compile(
    r"<\|(?:im_start|im_end|user|assistant|system|end|eot_id|start_header_id|begin_of_text)\|>"
    r"|<(?:start|end)_of_turn>|\[/?INST\]|<</?SYS>>|<｜(?:User|Assistant)｜>"
)
LATE = "what it was taught and what it is asked do not look alike, so it starts from worse answers"


def _prompt(ground: Ground) -> Prompt:
    return problems_of(ground.plan, 1)[0].prompt


def _whole(codec: Codec, prompt: Prompt) -> str:
    """The conversation with an answer, as the template writes it."""
    messages: list[Message] = [*prompt, {"role": "assistant", "content": ANSWER}]  # pyright: ignore[reportAssignmentType]
    return codec.tokenizer.apply_chat_template(messages, tokenize=False)


def template(ground: Ground) -> Finding | None:
    """The prompt is the beginning of the same conversation with its answer."""
    prompt, codec = _prompt(ground), ground.made.policy.codec
    if isinstance(prompt, str):
        return None
    asked, whole = _unthought(codec.render(prompt)), _whole(codec, prompt)
    if whole.startswith(asked) and ANSWER in whole[len(asked) :]:
        return Finding("template", "fine", "a prompt is the beginning of prompt and answer")
    at = next((n for n, (a, b) in enumerate(zip(asked, whole, strict=False)) if a != b), len(whole))
    return Finding(
        "template",
        "warning",
        "the chat template writes a prompt otherwise than the same prompt with its answer: "
        f"{asked[at : at + 24]!r} against {whole[at : at + 24]!r}",
        "who later trains or serves the model on whole conversations shows it other tokens than "
        "it saw here; a template that writes no opening of the answer makes the model write it",
        "the chat template in the model folder: with add_generation_prompt it should only add",
    )


def _unthought(text: str) -> str:
    """The prompt without a <think> that it opens: no finished conversation has that as it is."""
    before, opened, behind = text.rpartition("<think>")
    return text if not opened or "</think>" in behind else before


def end_of_turn(ground: Ground) -> Finding | None:
    """What the template writes behind an answer ends an answer here."""
    prompt, codec = _prompt(ground), ground.made.policy.codec
    if isinstance(prompt, str):
        return None
    tail = _whole(codec, prompt).rpartition(ANSWER)[2]
    ids: list[int] = codec.tokenizer.encode(tail, add_special_tokens=False) if tail else []
    if ids and ids[0] in codec.stop_ids:
        what = f"the template ends an answer by {named(codec.tokenizer, ids[0])}, and so do we"
        return Finding("end_of_turn", "fine", what)
    told = f"by {named(codec.tokenizer, ids[0])}" if ids else "by nothing"
    ends = ", ".join(named(codec.tokenizer, i) for i in sorted(codec.stop_ids)) or "nothing"
    return Finding(
        "end_of_turn",
        "warning",
        f"the chat template ends an answer {told}, but here an answer ends at {ends}",
        "a model that was taught this template ends its turn, is not stopped, and goes on with a "
        "conversation of its own until sampling.max_tokens",
        f'"eos_token_id": {sorted({*codec.stop_ids, *ids[:1]})} in its generation_config.json',
    )


def thinking(ground: Ground) -> Finding | None:
    """A template that opens <think> leaves an answer less room than it looks."""
    prompt, codec = _prompt(ground), ground.made.policy.codec
    if isinstance(prompt, str):
        return None
    text = codec.render(prompt)
    if _unthought(text) == text:
        return None
    budget = ground.plan.config.sampling.max_tokens
    what = f"the template opens <think>: an answer begins in the middle of it, with {budget} tokens"
    if budget >= THINKING:
        return Finding("thinking", "fine", f"{what}; the verifier is told")
    return Finding(
        "thinking",
        "warning",
        what,
        "an answer that is cut while it thinks is not paid, so nothing tells good from bad",
        f"--sampling.max_tokens {4 * THINKING}, or --task.style few_shot",
    )


def first_token(ground: Ground) -> Finding | None:
    """The token that begins a text stands there once, where the model was taught one."""
    codec = ground.made.policy.codec
    tokenizer: Any = codec.tokenizer
    bos = tokenizer.bos_token_id
    if bos is None:
        return None
    ids = codec.encode(_prompt(ground))[:2].tolist()
    begins = tokenizer.encode("1")[:1] == [bos]
    shown = named(tokenizer, bos)
    if ids == [bos, bos]:
        return _begun(f"{shown} stands twice at the beginning of a prompt", "once")
    if begins and ids[:1] != [bos]:
        return _begun(f"the tokenizer begins texts with {shown}, but a prompt has none", "once")
    if ids[:1] != [bos]:
        return None
    return Finding("first_token", "fine", f"a prompt begins with {shown}, once")


def _begun(what: str, how: str) -> Finding:
    return Finding(
        "first_token",
        "warning",
        what,
        LATE,
        f"prompts or chat template, so that it stands there {how}: the tokenizer adds it to plain "
        "text, and a chat template must write it itself",
    )


def marks(ground: Ground) -> Finding | None:
    """Marks of a chat template in a plain prompt are tokens of this model."""
    prompt, tokenizer = _prompt(ground), ground.made.policy.codec.tokenizer
    if not isinstance(prompt, str):
        return None
    found = sorted(set(MARKS.findall(prompt)))
    foreign = [m for m in found if len(tokenizer.encode(m, add_special_tokens=False)) != 1]
    if not found:
        return None
    if not foreign:
        return Finding("marks", "fine", f"{', '.join(found)} are single tokens of this model")
    return Finding(
        "marks",
        "warning",
        f"prompts hold {', '.join(foreign)}, which this tokenizer knows only as plain characters",
        f"these are marks of another model's chat template: {LATE}",
        "task.data with prompts as lists of messages, and --task.style chat",
    )


def answer_fits(ground: Ground) -> Finding | None:
    """The budget of an answer holds the right ones."""
    tokenizer = ground.made.policy.codec.tokenizer
    right = [text for text in golds(ground) if "\n" not in text]  # others may hold a whole working
    if not right:
        return None
    budget = ground.plan.config.sampling.max_tokens
    ids = [tokenizer.encode(text, add_special_tokens=False) for text in right]
    longest = max(map(len, ids)) + 1  # with its end
    long = sum(len(one) >= budget for one in ids)
    if long:
        return Finding(
            "answer_fits",
            "fatal" if long == len(right) else "warning",
            f"{long} of {len(right)} right answers do not fit into {budget} tokens: the longest "
            f"takes {longest}, without a word of working",
            "an answer that cannot be finished can never be paid",
            f"--sampling.max_tokens {2 * longest}",
        )
    return Finding(
        "answer_fits", "fine", f"the longest right answer takes {longest} of {budget} tokens"
    )

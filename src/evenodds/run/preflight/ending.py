"""What ends an answer: end tokens, padding, stop strings, and whether the policy ever ends one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from evenodds.domain import Rollout
from evenodds.report.text import counted
from evenodds.run.build import Plan, stops_of
from evenodds.run.preflight.finding import Finding
from evenodds.run.preflight.ground import Ground, asked_levels, right_answers, some_held_out

if TYPE_CHECKING:
    from evenodds.policies import Policy

GOLDS = 40  # problems whose right answers are looked at
ASKED = 8  # unfinished answers of which the chance of an end is computed
SEEN = 8  # tokens within which an answer may be expected to show whether it ends
NEVER = 1e-3  # a chance of an end that no answer of this length would meet
RUNS_ON = (
    "an answer that nothing ends runs on until sampling.max_tokens, counts as cut off, and is "
    "neither paid nor learned from"
)


def rows_of(policy: Policy) -> int:
    """Tokens that the model knows."""
    return int(policy.model.get_input_embeddings().weight.shape[0])


def named(tokenizer: Any, number: int) -> str:
    """A token as a person knows it: `'<|im_end|>' (2)`."""
    token = tokenizer.convert_ids_to_tokens(number) if number < len(tokenizer) else None
    return f"{token!r} ({number})" if token is not None else str(number)


def _ids(value: object) -> frozenset[int]:
    if value is None:
        return frozenset()
    return frozenset([value] if isinstance(value, int) else value)  # pyright: ignore[reportArgumentType]


def _sources(policy: Policy) -> dict[str, frozenset[int]]:
    """The end tokens by the file that names them."""
    return {
        "the tokenizer": _ids(policy.codec.tokenizer.eos_token_id),
        "config.json": _ids(policy.model.config.eos_token_id),
        "generation_config.json": _ids(policy.model.generation_config.eos_token_id),
    }


def end_token(ground: Ground) -> Finding:
    """There is a token that ends an answer, and all files of the model name the same one."""
    policy = ground.made.policy
    tokenizer, known = policy.codec.tokenizer, rows_of(policy)
    usable = sorted(i for i in policy.codec.stop_ids if i < known)
    if not usable:
        return _endless(ground)
    ends = " or ".join(named(tokenizer, i) for i in usable)
    sources = {name: ids for name, ids in _sources(policy).items() if ids}
    own = sources.get("the tokenizer", frozenset())
    others = {name: ids for name, ids in sources.items() if own and not own & ids}
    if not others:
        return Finding("end_token", "fine", f"an answer ends at {ends}")
    told = "; ".join(
        f"{name} says {' or '.join(named(tokenizer, i) for i in sorted(ids))}"
        for name, ids in {"the tokenizer": own, **others}.items()
    )
    return Finding(
        "end_token",
        "warning",
        f"the files of the model disagree on what ends an answer: {told}. Here any of them does",
        "other programs read one file only: the trained model may run on where it is served, and "
        "one of these tokens may be no end at all",
        f'"eos_token_id": {usable} in generation_config.json, and the token that the model was '
        "taught to end with as eos_token in tokenizer_config.json",
    )


def _endless(ground: Ground) -> Finding:
    strings = stops_of(ground.plan.config, ground.plan.task)
    beyond = sorted(ground.made.policy.codec.stop_ids)
    what = "no token ends an answer: neither the tokenizer nor config.json names one"
    if beyond:
        what = f"no token ends an answer: {beyond} is outside of what the model knows"
    if strings:
        what += f"; only the stop string {strings[0]!r:.20} does"
    return Finding(
        "end_token",
        "warning" if strings else "fatal",
        what,
        RUNS_ON,
        '"eos_token_id" in the model\'s generation_config.json, or another --policy.name',
    )


def pad_token(ground: Ground) -> Finding:
    """Padding is told apart by lengths here, never by its id, so it may well be the end token."""
    policy = ground.made.policy
    tokenizer, codec, known = policy.codec.tokenizer, policy.codec, rows_of(policy)
    if codec.pad_id >= known:
        return Finding(
            "pad_token",
            "warning" if policy.can_share else "fatal",
            f"the padding token {named(tokenizer, codec.pad_id)} is outside of the {known} tokens "
            "that the model knows",
            "rows are padded with it, and looking it up ends the run, or reads another's memory",
            "pad_token in the model's tokenizer_config.json, such as its end token",
        )
    if tokenizer.pad_token_id is None:
        return Finding("pad_token", "fine", f"none is named; {codec.pad_id} fills rows, unseen")
    if codec.pad_id in codec.stop_ids:
        what = (
            f"padding and end token are one, {named(tokenizer, codec.pad_id)}: lengths tell them "
            "apart, so the end is learned"
        )
        return Finding("pad_token", "fine", what)
    return Finding("pad_token", "fine", f"{named(tokenizer, codec.pad_id)}, told apart by length")


def golds(ground: Ground) -> list[str]:
    """Right answers to some problems of all levels."""
    return [right for _, right in right_answers(ground.plan, GOLDS)]


def stop_strings(ground: Ground) -> Finding | None:
    """Each can appear, and none is part of a right answer."""
    strings = stops_of(ground.plan.config, ground.plan.task)
    if not strings:
        return None
    right, tokenizer = golds(ground), ground.made.policy.codec.tokenizer
    for text in strings:
        is_own = text in ground.plan.config.sampling.stop
        if cut := sum(text in gold for gold in right):
            return _cutting(text, cut, len(right), is_own)
        if is_own and not right and (found := _cutting_golds(text, ground.plan)):
            return found
    lost = [text for text in strings if text not in _again(tokenizer, text)]
    if not lost:
        return Finding("stop_strings", "fine", f"{', '.join(map(repr, strings))} can end an answer")
    what = f"{', '.join(map(repr, lost))} can never appear: this tokenizer has no tokens for it"
    if any(i < rows_of(ground.made.policy) for i in ground.made.policy.codec.stop_ids):
        return Finding("stop_strings", "fine", f"{what}, so only the end token ends an answer")
    change = "another --policy.name, whose tokenizer has tokens for it"
    return Finding("stop_strings", "fatal", what, RUNS_ON, change)


def _again(tokenizer: Any, text: str) -> str:
    return tokenizer.decode(tokenizer.encode(text, add_special_tokens=False))


def _cutting(text: str, cut: int, total: int, is_own: bool) -> Finding:
    """is_own: whether it was asked for, and is not the style's alone."""
    change = "--task.style chat, whose answers are ended by the end token"
    return Finding(
        "stop_strings",
        "fatal",
        f"the stop string {text!r} is part of {cut} of {total} right answers",
        "a right answer is cut before it is whole, so it can never be paid",
        "--sampling.stop without it" if is_own else change,
    )


def _cutting_golds(text: str, plan: Plan) -> Finding | None:
    """Of what a function of one's own pays nothing is known but the answers of the data."""
    problems = some_held_out(plan.task, asked_levels(plan), GOLDS)
    cut = sum(text in problem.answer for problem in problems)
    if not cut:
        return None
    return Finding(
        "stop_strings",
        "warning",
        f"the stop string {text!r} is part of {cut} of {len(problems)} answers of the data",
        "who writes such an answer is cut before it is whole; a function of your own judges it, "
        "so only you know whether that can be paid",
        "--sampling.stop without it",
    )


def ends(ground: Ground) -> Finding | None:
    """The policy does come to an end within its budget. Needs answers: in `doctor` alone."""
    probe = ground.probe
    if probe is None or not probe.rollouts or not ground.made.policy.codec.stop_ids:
        return None
    cut = sum(rollout.is_truncated for rollout in probe.rollouts)
    total, budget = len(probe.rollouts), ground.plan.config.sampling.max_tokens
    if cut == total and budget < SEEN:
        return Finding("ends", "skipped", f"within {counted(budget, 'token')} no end can be seen")
    if cut < total:
        what = f"{total - cut} of {total} answers came to an end within {counted(budget, 'token')}"
        return Finding("ends", "fine", what)
    chance = _chance_of_end(ground.made.policy, probe.rollouts[:: max(1, total // ASKED)])
    never = chance < NEVER
    paid = any(verdict.score > 0 for verdict in probe.verdicts)
    return Finding(
        "ends",
        "fatal" if never and not paid else "warning",
        f"none of {total} answers ended within {counted(budget, 'token')}, and behind no token of "
        f"them was the chance of an end above {chance:.1g}",
        RUNS_ON,
        "another --policy.name, --task.style few_shot or chat, or an eos_token_id in its "
        "generation_config.json that it was taught"
        if never
        else f"--sampling.max_tokens {4 * budget}",
    )


@torch.no_grad()
def _chance_of_end(policy: Policy, rollouts: Sequence[Rollout]) -> float:
    """The largest probability of a stop token behind any token of these answers."""
    stops = [i for i in policy.codec.stop_ids if i < rows_of(policy)]
    most = 0.0
    for rollout in rollouts[:ASKED]:
        row = torch.from_numpy(np.concatenate([rollout.prompt_ids, rollout.ids])).to(policy.device)
        logits = policy.model(input_ids=row[None]).logits[0, rollout.prompt_ids.size :]
        chances = logits.float().softmax(-1)[:, stops].sum(-1)
        most = max(most, float(chances.max()) if chances.numel() else 0.0)
    return most

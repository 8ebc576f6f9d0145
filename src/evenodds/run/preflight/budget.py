"""The token budget: how many answers it cuts, and how large it had to be."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from evenodds.domain import as_text
from evenodds.report.text import counted
from evenodds.run.build import evaluation_budget
from evenodds.run.memory import longest_prompt
from evenodds.run.preflight.answers import Sampled
from evenodds.run.preflight.finding import Finding
from evenodds.run.preflight.ground import Ground

MUCH, ALMOST_ALL = 0.10, 0.95  # shares of answers that are cut
WANTED = 0.02  # share that may be cut
SLOWER = 0.5  # of the rate at which answers ended so far
FARTHEST = 8  # times the budget: beyond that the answers seen say nothing
LEAST = 32  # tokens that are proposed where nothing is known of how long answers are
LONGEST = 3  # prompts by their letters of which the tokens are counted
TIGHT = 0.95  # of the context, of which only some prompts were looked at


def enough(lengths: NDArray[np.int64], cut: NDArray[np.bool_], budget: int) -> int | None:
    """Tokens at which about 2 % of the answers would be cut; None where nothing tells.

    lengths, cut: [answers]. Where few are cut it is a quantile of all. Else the rate at which they
    ended in the second half of the budget is taken, so many for so many tokens that were drawn
    there: that of an exponential whose samples are censored, by maximum likelihood. Those that are
    still under way mostly are the longer kinds of answers, so half of that rate is reckoned with.
    """
    share = float(cut.mean())
    if share <= WANTED:
        return math.ceil(1.25 * float(np.quantile(lengths, 1 - WANTED)))
    half = budget // 2
    late = lengths[lengths > half]
    ended = int((~cut & (lengths > half)).sum())
    if not ended:
        return None
    rate = ended / float((late - half).sum())
    return min(FARTHEST * budget, math.ceil(budget + math.log(share / WANTED) / (SLOWER * rate)))


def within(found: Sampled, budget: int) -> Sampled:
    """The same answers as a smaller budget would have cut them."""
    if budget == found.budget:
        return found
    problems = tuple(
        replace(
            one,
            lengths=tuple(min(length, budget) for length in one.lengths),
            cut=tuple(length > budget for length in one.lengths),
        )
        for one in found.problems
    )
    return replace(found, problems=problems, budget=budget)


def rounded(tokens: int) -> int:
    """A number as a person would write it: two digits, upwards."""
    unit = 10 ** max(0, len(str(tokens)) - 2)
    return -(-tokens // unit) * unit


def truncation(found: Sampled, masked: bool) -> Finding:
    """masked: whether answers that were cut are left out of the loss."""
    share, cut = found.truncated, int(found.cut.sum())
    ended = found.lengths[~found.cut]
    middle = ""
    if ended.size:
        quantiles = [round(float(q)) for q in np.quantile(ended, [0.5, 0.95])]
        middle = f"; half of those that ended have {quantiles[0]:,} tokens or fewer, 95 % have "
        middle += f"{quantiles[1]:,}"
    budget = counted(found.budget, "token")
    what = f"{cut} of {found.answers:,} answers were cut at {budget} ({share} by problem){middle}"
    if share.low < MUCH and share.mean < 2 * MUCH:  # a tenth by chance is no reason to warn
        return Finding("truncation", "fine", what)
    why = "a cut answer is wrong whatever it was about to say, and the reward is then for haste"
    if masked:
        why = (
            "a cut answer counts as wrong, and its tokens are left out of the loss: what they "
            "cost to draw is lost, and only short answers are learned from"
        )
    level = "fatal" if share.mean >= ALMOST_ALL else "warning"
    return Finding("truncation", level, what, why, _more(found))


def _more(found: Sampled) -> str:
    tokens = enough(found.lengths, found.cut, found.budget)
    if tokens is None:
        return (
            f"--sampling.max_tokens {max(LEAST, rounded(4 * found.budget))}, and see with "
            "`evenodds sample` whether answers end at all"
        )
    return f"--sampling.max_tokens {rounded(tokens)}"


def context(prompt: int, budget: int, room: int | None) -> Finding | None:
    """prompt: tokens of the longest that was seen. budget: of an answer. room: of a row."""
    if room is None:
        return None
    what = f"prompts of up to {prompt:,} and answers of {budget:,} of {room:,} tokens of context"
    if prompt + budget <= TIGHT * room:
        return Finding("context", "fine", what)
    if prompt + budget > room:
        why = "behind the end of its context a model writes noise, or ends the run"
        change = "--task.data without the longest prompts, or another --policy.name"
        if prompt < room:
            change += f", or --sampling.max_tokens {room - prompt}"
        return Finding("context", "warning", what, why, change)
    why = "only some prompts were looked at: a longer one would end the run when it is drawn"
    return Finding(
        "context", "warning", what, why, f"--sampling.max_tokens {int(TIGHT * room) - prompt}"
    )


def look_at_truncation(ground: Ground) -> Finding | None:
    found, budget = ground.sampled, ground.plan.config.sampling.max_tokens
    if found is None or not found.answers:
        return None
    if found.budget < budget:  # of evaluations that have less
        what = f"answers were drawn with {found.budget:,} tokens, and training has {budget:,}"
        return Finding("truncation", "skipped", what)
    return truncation(within(found, budget), ground.objective.mask_truncated)


def look_at_context(ground: Ground) -> Finding | None:
    policy, config, memory = ground.made.policy, ground.plan.config, ground.made.memory
    budget = max(config.sampling.max_tokens, evaluation_budget(config))
    known = memory is not None
    prompt = memory.work.prompt if known else longest_prompt(ground.plan.task, policy.codec)
    return context(max(prompt, _longest_given(ground)), budget, policy.context)


def _longest_given(ground: Ground) -> int:
    """Tokens of the longest prompts of training, as they were given; 0 where they are made."""
    task, codec = ground.plan.task, ground.made.policy.codec
    training = getattr(task, "training", None)  # of data
    if training is None:
        return 0
    levels = range(len(task.levels))
    texts = [as_text(problem.prompt) for level in levels for problem in training(level)]
    longest = sorted(texts, key=len)[-LONGEST:]
    return max((len(codec.tokenizer.encode(text)) for text in longest), default=0)

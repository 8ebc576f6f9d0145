"""What is legal but may surprise, each remark only where it is true."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from evenodds.credit import raw, standardized, standardized_sample
from evenodds.lab.explain.backward import backward
from evenodds.lab.explain.odds import pays_agreement
from evenodds.objectives import Objective
from evenodds.objectives.correction import mask
from evenodds.objectives.ratio import sequence
from evenodds.objectives.reduce import per_answer, per_budget, per_sequence
from evenodds.report.explain import Curve
from evenodds.run.build import bonus_of
from evenodds.run.config import Config

CALM = 0.01  # rounding between sampler and learner stays far below this
WIDE = 0.05  # for a ratio over a whole answer
Curves = tuple[Curve, Curve]


def remarks_of(
    objective: Objective, config: Config, curves: Curves, signs: tuple[str, str]
) -> tuple[str, ...]:
    """Sentences: mistakes first, then in the order of the parts that they are about.

    signs: which answers have A > 0, and which A < 0, in words.
    """
    topics = (
        backward(objective, config.sampling.group_size, curves, signs),
        _passes(objective, config, curves),
        _level(objective, curves),
        _reduction(objective),
        _credit(objective),
        _truncation(objective),
        _groups(objective, config),
        _overlong(objective),
        _kl(objective),
        _entropy(objective, config),
        _left_out(objective, config),
        _correction(objective),
        _temperature(config),
    )
    return tuple(sentence for topic in topics for sentence in topic)


def _holds_one(curve: Curve, is_exact: bool) -> bool:
    """Whether the push is whole at ratio 1, and as far around it as rounding may lead."""
    around = 0.0 if is_exact else CALM
    return any(
        span.force == "full"
        and span.low <= 1 - around
        and (span.high is None or span.high >= 1 + around)
        for span in curve.spans
    )


def _passes(objective: Objective, config: Config, curves: Curves) -> Iterator[str]:
    passes, is_exact = config.learner.passes, objective.correction is not None
    edges = [edge for curve in curves for edge in curve.edges]
    holds = all(_holds_one(curve, is_exact) for curve in curves)
    start = (
        "With 1 pass over each step's answers the ratio is 1 when the gradient is taken"
        if is_exact
        else "With 1 pass over each step's answers, drawn by the learner's own weights as the "
        "built-in sampler does it, the ratio is 1 but for rounding when the gradient is taken"
    )
    if passes > 1:
        near = "1" if is_exact else "1 but for rounding"
        yield _later(passes, near, bool(edges), all(curve.is_proportional for curve in curves))
    elif not edges:
        yield f"{start}, so the shape of the surrogate away from 1 does nothing."
    elif holds:
        yield (
            f"{start}: nothing clips, so clip settings do nothing. They act from "
            "--learner.passes 2 on."
        )
    else:
        yield f"{start}."
    if edges and not holds:
        yield (
            "This clip is so near to 1 that rounding between sampler and learner may pass it "
            "before the policy has moved: watch clip_ratio/region_mean."
        )


def _later(passes: int, near: str, has_edges: bool, is_proportional: bool) -> str:
    start = f"With {passes} passes the first has ratio {near}; later ones do not"
    if has_edges:
        return f"{start}, and there the clip decides."
    if is_proportional:
        return f"{start}, and no clip holds the policy near the one that drew the answers."
    return f"{start}, and there the shape of the surrogate decides."


def _level(objective: Objective, curves: Curves) -> Iterator[str]:
    edges = [edge for curve in curves for edge in curve.edges]
    if objective.ratio is sequence and edges and min(abs(edge - 1) for edge in edges) > WIDE:
        yield (
            "The mean over an answer moves far less than single tokens do: a clip this wide is "
            "hardly ever active. The recipe gspo has 0.0003/0.0004."
        )


def _reduction(objective: Objective) -> Iterator[str]:
    if objective.reduce in (per_answer, per_sequence):
        yield (
            "Every answer counts the same, so a token of a long answer weighs less: a long wrong "
            "answer is pushed down less per token than a short one."
        )
    if objective.reduce is per_budget:
        yield (
            "The budget is a constant in every weight: raising it makes all of them smaller alike, "
            "most of which AdamW divides out again."
        )


def _credit(objective: Objective) -> Iterator[str]:
    if objective.credit is raw and not objective.whiten:
        yield (
            "There is no baseline: an answer paid 0 is not pushed at all, it only counts in the "
            "denominators."
        )
    if objective.whiten:
        yield (
            "Whitening compares with the whole step: in the example that is this one group, in a "
            "real step all of them."
        )


def _truncation(objective: Objective) -> Iterator[str]:
    if objective.mask_truncated:
        kept = "" if objective.credit is raw else "keeps its score in the group's mean, but "
        yield (f"An answer cut by the budget {kept}leaves the loss and the denominators.")
    else:
        yield (
            "An answer cut by the budget is learned from as it was judged: with a score of 0 it is "
            "pushed like a wrong one."
        )


def _groups(objective: Objective, config: Config) -> Iterator[str]:
    if objective.kl_reward:
        yield (
            "The KL in the reward is another one for every answer, so once the policy has moved no "
            "group agrees: all of them stay in the loss and its denominators, those whose scores "
            "agree for their KL alone."
        )
    elif pays_agreement(objective, config.sampling.group_size):
        yield (
            "Groups that agree stay in the denominators, and are learned from where their "
            "advantages are not 0."
        )
    elif objective.zero_signal == "keep":
        yield (
            "Groups that agree have no advantage but stay in the denominators: a step with few "
            "useful groups is a smaller step."
        )
    else:
        yield (
            "Groups that agree leave the denominators too: a step with few useful groups is not a "
            "smaller step, each of them weighs more."
        )
    if objective.zero_signal == "refill":
        yield from _refill(objective, config.sampling.rounds)
    elif objective.overlong and not objective.kl_reward:
        yield (
            "Groups are told apart by rewards with their penalties: one whose scores agree has a "
            "signal all the same where its penalties differ."
        )


def _refill(objective: Objective, rounds: int) -> Iterator[str]:
    if rounds == 1:
        yield "Refilling with --sampling.rounds 1 has no second round: it is the same as drop."
    if rounds > 1 and objective.overlong:
        yield (
            "A group whose scores agree is replaced and gets no penalties: what they would say of "
            "it is not learned."
        )


def _is_standardized(objective: Objective) -> bool:
    own = objective.credit
    inner = own.func if isinstance(own, partial) else own
    return inner in (standardized, standardized_sample) and not objective.whiten


def _overlong(objective: Objective) -> Iterator[str]:
    if objective.overlong > 0.5:
        yield "The overlong penalty begins before half of the budget is used."
    if objective.overlong > 0:
        yield (
            "The overlong penalty is on right and wrong answers alike; at the whole budget it "
            "takes 1 away, which makes a right answer no better than a short wrong one."
        )
    shaped = objective.zero_signal != "refill" and (objective.overlong or objective.kl_reward)
    if shaped and _is_standardized(objective):
        yield (
            "Where all scores of a group agree, its penalties alone are divided by their own small "
            "spread: they then push as hard as right against wrong does elsewhere."
        )


def _kl(objective: Objective) -> Iterator[str]:
    if not objective.needs_reference:
        return
    costs = (
        "The policy at the start is kept (with LoRA its adapter only) and asked about every answer:"
        " one more forward pass a step"
    )
    if objective.kl_loss is None and not objective.kl_reward:
        yield f"{costs}. The KL is measured and changes no gradient."
        return
    yield f"{costs}."
    kl = objective.kl_loss
    if kl is not None and not kl.weighted and kl.estimator in ("k2", "k3"):
        which = "KL(policy ‖ start)" if kl.estimator == "k2" else "KL(start ‖ policy)"
        yield f"On answers just drawn, {kl.estimator} as a loss has the gradient of {which}."
    if kl is not None and kl.weighted and kl.estimator in ("k1", "k3"):
        yield (
            f"Weighted by the ratio, {kl.estimator} has the gradient of KL(policy ‖ start), also "
            "where an older policy drew the answers."
        )


def _entropy(objective: Objective, config: Config) -> Iterator[str]:
    bonus = bonus_of(config, objective)
    if objective.entropy and bonus is None:
        yield (
            f"A nat of a token's entropy is paid {objective.entropy:g}, with the token's weight "
            "and in the units of A."
        )
    if bonus is None:
        return
    start = f"it starts at {bonus.coefficient:g}"
    yield (
        f"The entropy coefficient moves: {start}, rises by {bonus.step:g} after an update that saw "
        f"less than {bonus.target:g} nats a token, falls by as much (never below 0) after one that "
        "saw more, and is paid only while there is less."
    )


def _left_out(objective: Objective, config: Config) -> Iterator[str]:
    pays = objective.has_penalty or bonus_of(config, objective) is not None
    if pays and objective.zero_signal != "keep" and not objective.kl_reward:
        yield (
            "KL and entropy in the loss act on answers in the loss only: groups that agree are "
            "left out, and a step in which all agree is skipped."
        )


def _correction(objective: Objective) -> Iterator[str]:
    correction = objective.correction
    if correction is None:
        return
    yield (
        "The built-in sampler draws with the learner's own weights, so a correction has only "
        "rounding to correct there; it is for another engine."
    )
    if correction.cap < 1:
        nothing = (
            "leaves out every token"
            if correction.bound is mask
            else "shrinks the weight of every token"
        )
        yield f"A cap below 1 {nothing} that the learner finds as likely as the sampler did."


def _temperature(config: Config) -> Iterator[str]:
    temperature = config.sampling.temperature
    if temperature != 1:
        yield (
            f"Answers are drawn and learned from at temperature {temperature:g}; evaluation "
            "samples at 1."
        )

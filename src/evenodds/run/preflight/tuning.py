"""Settings of the optimizer and the objective against what has been found to work.

The bounds are wide: within them nothing is said, for people try things. What is outside has been
seen to end runs, or to change nothing in them.
"""

from __future__ import annotations

import math

from evenodds.objectives import Objective
from evenodds.objectives.surrogate import Clip, DualClip, Reinforce
from evenodds.run.build import learner_options, usual_rate
from evenodds.run.preflight.finding import Finding
from evenodds.run.preflight.ground import Ground

HIGH, ABSURD, LOW = 10.0, 100.0, 1 / 50  # times the usual learning rate
COOL, WARM = 0.6, 1.5  # temperatures within which sampling is still the policy's own
FROZEN, MELTED = 0.1, 3.0  # at and beyond which runs only got worse; docs/doctor.md has them
KL, ENTROPY = 0.5, 0.05  # coefficients above which they, and not the reward, are what is learned
EVEN = 0.5  # of the largest entropy there is: half of it is noise already
WIDEST = 10.0  # a ratio that no policy reaches within one batch
NORMS = (1e-3, 1e3)
DECAY = 0.3
SCALE = (1 / 8, 16.0)  # alpha over rank


def _times(times: float) -> str:
    """`10,000`, `0.02`: never `1e+04`."""
    return f"{times:,.0f}" if times >= 100 else f"{times:.3g}"


def learning_rate(rate: float, usual: float, kind: str) -> Finding:
    """rate: the full one. usual: for that kind of policy, which `kind` names."""
    times = rate / usual
    what = f"learning rate {rate:g}, {_times(times)} × the usual {usual:g} where {kind}"
    change = f"--learner.learning_rate {usual:g}"
    moved = "AdamW moves each weight by up to the learning rate at every update"
    if times > ABSURD:
        why = f"{moved}, however small the gradient is: a few of these erase the policy"
        return Finding("learning_rate", "fatal", what, why, change)
    if times > HIGH:
        why = f"{moved}: from about {HIGH:g} × the usual answers fall apart before they get better"
        return Finding("learning_rate", "warning", what, why, change)
    if times < LOW:
        why = f"{moved}: the run will end before anything can be seen to change"
        return Finding("learning_rate", "warning", what, why, change)
    return Finding("learning_rate", "fine", what)


def lora_scale(rank: int, alpha: int) -> Finding | None:
    scale = alpha / rank
    if SCALE[0] <= scale <= SCALE[1]:
        return None
    return Finding(
        "lora_scale",
        "warning",
        f"LoRA's update is multiplied by alpha / rank = {alpha} / {rank} = {scale:.3g}",
        "the usual is 1 to 4; it acts as a factor on the learning rate",
        f"--policy.alpha {2 * rank}",
    )


def temperature(sampled: float, evaluated: float) -> Finding | None:
    """sampled: in training. Where it is 1 there is little to say."""
    if sampled == 1:
        return None if evaluated <= WARM else _hot(evaluated)
    what = f"training samples at temperature {sampled:g}, evaluations at {evaluated:g}"
    if sampled <= FROZEN or sampled >= MELTED:
        return _beyond(sampled, what)
    why = (
        "the ratio is of both policies at this temperature, so the sharpened or flattened policy "
        "is what learns, and what is evaluated is another one"
    )
    if sampled < COOL:
        why = "answers of a group become alike, and groups that agree teach nothing; " + why
    elif sampled > WARM:
        why = "unlikely tokens break answers that the policy knows; " + why
    elif sampled == evaluated:
        return Finding("temperature", "fine", f"{what}, and the ratio is taken at it")
    change = "--sampling.temperature 1"
    if COOL <= sampled <= WARM:
        change += f", or --evaluation.temperature {sampled:g}"
    return Finding("temperature", "warning", what, why, change)


def _beyond(sampled: float, what: str) -> Finding:
    """At such temperatures no group tells anything of the policy at temperature 1."""
    why = "answers are noise, of which a right one is an accident: what is learned is to bear noise"
    if sampled <= FROZEN:
        why = (
            "answers of a group are one and the same, but for ties, and an update moves "
            f"log-probabilities {1 / sampled:,.0f} times as far as at 1: the policy falls apart "
            "before it learns"
        )
    return Finding("temperature", "fatal", what, why, "--sampling.temperature 1")


def _hot(evaluated: float) -> Finding:
    return Finding(
        "temperature",
        "warning",
        f"training samples at temperature 1, evaluations at {evaluated:g}",
        "unlikely tokens break answers that the policy knows, so that evaluations measure how well "
        "it bears them, and not what it learned",
        "--evaluation.temperature 1",
    )


def kl(coefficient: float) -> Finding | None:
    if coefficient <= KL:
        return None
    return Finding(
        "kl",
        "warning",
        f"each nat away from the start costs {coefficient:g}, where a right answer pays 1",
        "the policy is held where it began; with a verifier most runs use 0, others .001 to .05",
        "--objective.kl 0.01",
    )


def entropy(coefficient: float) -> Finding | None:
    if coefficient <= ENTROPY:
        return None
    return Finding(
        "entropy",
        "warning",
        f"a nat of entropy is paid {coefficient:g} a token, where a right answer pays 1 in all",
        "random tokens then pay more than right answers; .0001 to .005 is usual, with care",
        "--objective.entropy 0.001",
    )


def entropy_target(target: float, tokens: int) -> Finding | None:
    """target: nats a token below which entropy is paid more and more. tokens: that there are."""
    most = math.log(tokens)
    if target < EVEN * most:
        return None
    return Finding(
        "entropy",
        "warning",
        f"the entropy shall be at least {target:g} nats a token, and {tokens:,} equally likely "
        f"tokens have {most:.2g}",
        "it can never be reached, so that its coefficient grows at every update until noise pays "
        "more than right answers",
        "--objective.entropy_target 0.2",
    )


def clip(low: float, high: float, passes: int) -> Finding | None:
    """low, high: how far the ratio may go below and above 1."""
    if low > 0 and high > 0 and high < WIDEST:
        return None
    what = f"the ratio is clipped at 1 - {low:g} and 1 + {high:g}"
    if low == 0 or high == 0:
        why = "tokens whose ratio is beyond 1 by rounding alone already lose their gradient"
        if passes > 1:
            why = "after the first of several passes hardly any token has a gradient"
    else:
        why = "this bounds nothing, so that one lucky token can pull as hard as all others"
    change = f"--objective.clip_low {low or 0.2:g}, --objective.clip_high 0.28"
    return Finding("clip", "warning", what, why, change)


def grad_norm(most: float) -> Finding | None:
    if NORMS[0] <= most <= NORMS[1]:
        return None
    why = "nothing is clipped: one bad batch moves the weights as far as it likes"
    if most < NORMS[0]:
        why = (
            "every gradient is cut to this norm, so that batches with much to learn count as "
            "little as those with nothing but noise"
        )
    what = f"gradients are clipped to a norm of {most:g}"
    return Finding("grad_norm", "warning", what, why, "--learner.max_grad_norm 1")


def weight_decay(decay: float) -> Finding | None:
    if decay <= DECAY:
        return None
    return Finding(
        "weight_decay",
        "warning",
        f"weight decay {decay:g}",
        "weights shrink by this times the learning rate at every update, whatever is learned; a "
        "trained model loses what it knows. 0 to .1 is usual",
        "--learner.weight_decay 0",
    )


def passes(count: int, surrogate: object) -> Finding | None:
    """count: optimizer steps on each batch."""
    change = "--learner.passes 1"
    if count > 1 and isinstance(surrogate, Reinforce):
        return Finding(
            "passes",
            "warning",
            f"{count} optimizer steps on each batch, with a surrogate that does not clip",
            "from the second on the answers are of another policy, and nothing bounds how far this "
            "one goes",
            f"{change}, or --objective.surrogate clip",
        )
    if count > 8:
        return Finding(
            "passes",
            "warning",
            f"{count} optimizer steps on each batch",
            "after a few the ratio leaves the clip range and further ones only fit the noise of "
            "this batch; 1 to 4 is usual",
            "--learner.passes 2",
        )
    return None


def look_at_rate(ground: Ground) -> Finding:
    made, config = ground.made, ground.plan.config
    policy = made.policy
    rate = learner_options(config, policy, made.memory).learning_rate
    millions = f"{policy.size / 1e6:,.1f} M parameters"
    kind = f"LoRA learns on {millions}" if policy.is_adapter else f"all of {millions} learn"
    return learning_rate(rate, usual_rate(policy), kind)


def look_at_scale(ground: Ground) -> Finding | None:
    section = ground.plan.config.policy
    return lora_scale(section.rank, section.alpha) if ground.made.policy.is_adapter else None


def look_at_temperature(ground: Ground) -> Finding | None:
    config = ground.plan.config
    return temperature(config.sampling.temperature, config.evaluation.temperature)


def look_at_kl(ground: Ground) -> Finding | None:
    return kl(kl_coefficient(ground.objective))


def kl_coefficient(objective: Objective) -> float:
    loss = objective.kl_loss.coefficient if objective.kl_loss is not None else 0.0
    return max(loss, objective.kl_reward)


def look_at_entropy(ground: Ground) -> Finding | None:
    target = ground.plan.config.objective.entropy_target
    tokens = ground.made.policy.model.get_input_embeddings().weight.shape[0]
    far = None if target is None else entropy_target(target, tokens)
    return far or entropy(ground.objective.entropy)


def look_at_clip(ground: Ground) -> Finding | None:
    surrogate = ground.objective.surrogate
    if not isinstance(surrogate, Clip | DualClip):
        return None
    return clip(surrogate.low, surrogate.high, ground.plan.config.learner.passes)


def look_at_norm(ground: Ground) -> Finding | None:
    return grad_norm(ground.plan.config.learner.max_grad_norm)


def look_at_decay(ground: Ground) -> Finding | None:
    return weight_decay(ground.plan.config.learner.weight_decay)


def look_at_passes(ground: Ground) -> Finding | None:
    return passes(ground.plan.config.learner.passes, ground.objective.surrogate)

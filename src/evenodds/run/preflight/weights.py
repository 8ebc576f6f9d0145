"""The weights: what learns, what is frozen, what is random, and what is too coarse to learn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from evenodds.run.build import learner_options
from evenodds.run.preflight.finding import Finding
from evenodds.run.preflight.ground import Ground
from evenodds.run.preflight.trial import Gap, by_learner

if TYPE_CHECKING:
    from evenodds.policies import Policy

ROWS = 16  # of a matrix that are looked at before all of it is
LOOKED = 2000  # weights of a parameter whose size stands for all
MOSTLY = 0.5  # share of weights that a step is too small for


def dropout(ground: Ground) -> Finding:
    """A forward pass is the same twice."""
    policy, corners = ground.made.policy, ground.corners
    gap = Gap.between(by_learner(policy, corners.trial), corners.learned)
    named = dict(_dropouts(policy))
    if gap.most:
        shown = ", ".join(f"{name} {value:g}" for name, value in named.items()) or "no dropout"
        return Finding(
            "dropout",
            "fatal" if gap.most > 1e-3 or not gap.is_finite else "warning",
            f"the same tokens have other log-probabilities the second time: {gap}. Its config has "
            f"{shown}",
            "with a random forward pass the first ratio is not 1, and what is learned is noise",
            "another --policy.name, whose forward pass does not depend on chance",
        )
    if not named:
        return Finding("dropout", "fine", "none, and the same tokens come out the same twice")
    shown = ", ".join(f"{name} {value:g}" for name, value in named.items())
    return Finding("dropout", "fine", f"{shown}: off here, for the first ratio must be 1")


def _dropouts(policy: Policy) -> Iterator[tuple[str, float]]:
    """What config.json, and an adapter's, would drop out."""
    configs: list[Any] = [policy.model.config]
    if policy.peft is not None:
        configs += policy.peft.peft_config.values()
    for config in configs:
        for name, value in vars(config).items():
            if ("drop" in name) and isinstance(value, float) and value > 0:
                yield name, value


def empty_weights(ground: Ground) -> Finding:
    """No matrix of the model is zero altogether. That all are finite is seen when they are read."""
    policy = ground.made.policy
    empty = [name for name, value in policy.model.named_parameters() if _is_empty(name, value)]
    if not empty:
        count = sum(1 for _ in policy.model.parameters())
        return Finding("weights", "fine", f"{count} tensors, finite, none of them empty")
    head = policy.model.get_output_embeddings().weight
    ends = {id(head), id(policy.model.get_input_embeddings().weight)}
    named = dict(policy.model.named_parameters())
    return Finding(
        "weights",
        "fatal" if any(id(named[name]) in ends for name in empty) else "warning",
        f"{len(empty)} weight {'matrix is' if len(empty) == 1 else 'matrices are'} zero "
        f"altogether, {empty[0]!r} the first",
        "such a layer passes nothing on: the file is damaged, or was saved before it was filled",
        "another --policy.name, or its folder once more from where it came",
    )


def _is_empty(name: str, value: Tensor) -> bool:
    if value.dim() < 2 or "lora_" in name or not value.numel():
        return False
    step = max(1, len(value) // ROWS)
    return not value.detach()[::step].any() and not value.detach().any()


def tied(ground: Ground) -> Finding | None:
    """An output head that config.json ties to the embedding is the embedding."""
    model = ground.made.policy.model
    if not getattr(model.config, "tie_word_embeddings", False):
        return None
    head, embedding = model.get_output_embeddings().weight, model.get_input_embeddings().weight
    if head is embedding or head.data_ptr() == embedding.data_ptr():
        return Finding("tied", "fine", "the output head is the embedding, as config.json says")
    return Finding(
        "tied",
        "warning",
        "config.json ties the output head to the embedding, but they are two tensors here",
        "they learn apart, and one of the two is lost when the model is saved",
        '"tie_word_embeddings": false in config.json, if both are meant',
    )


def learns(ground: Ground) -> Finding:
    """What learns is what should: an adapter alone, or all weights."""
    policy = ground.made.policy
    learning = policy.trainable()
    names = [name for name, _ in policy.model.named_parameters()]
    count = sum(parameter.numel() for parameter in learning.values())
    if not learning:
        return _unlearning("no parameter learns")
    strays = [name for name in learning if policy.is_adapter and "lora_" not in name]
    if strays:
        return _unlearning(f"{len(strays)} weights of the base learn beside the adapter", strays[0])
    if not policy.is_adapter and len(learning) < len(names):
        frozen = next(name for name in names if name not in learning)
        return _unlearning(
            f"{len(names) - len(learning)} of {len(names)} weights are frozen", frozen
        )
    kind = "of an adapter; the base is frozen" if policy.is_adapter else "of all weights"
    return Finding("learns", "fine", f"{count / 1e6:,.3g} M parameters {kind}")


def _unlearning(what: str, which: str = "") -> Finding:
    return Finding(
        "learns",
        "warning" if which else "fatal",
        what + (f", {which!r} the first" if which else ""),
        "what is saved as the result is then not all of what was learned"
        if which
        else "nothing would ever change",
        "--policy.adapter lora or none",
    )


def rounding(ground: Ground) -> Finding | None:
    """A step of the optimizer is not lost in the rounding of a short type."""
    policy = ground.made.policy
    short = {n: p for n, p in policy.trainable().items() if p.dtype != torch.float32}
    if not short:
        return None
    rate = learner_options(ground.plan.config, policy).learning_rate
    share = _lost(short, rate)
    dtype = str(next(iter(short.values())).dtype).removeprefix("torch.")
    what = f"a step of {rate:g} rounds to nothing on {100 * share:.0f} % of the weights in {dtype}"
    if share < MOSTLY:
        return Finding("rounding", "fine", what)
    return Finding(
        "rounding",
        "warning",
        what,
        "an update smaller than half of a weight's last digit leaves it as it is, so most of "
        "what is computed is never learned",
        "--policy.adapter lora, whose weights are float32, or --policy.dtype float32",
    )


def _lost(parameters: Mapping[str, nn.Parameter], rate: float) -> float:
    """The share of weights, by a sample of each, that a step of `rate` leaves as they are."""
    lost = total = 0.0
    for parameter in parameters.values():
        flat = parameter.detach().flatten()
        sample = flat[:: max(1, len(flat) // LOOKED)]
        same = ((sample.float() - rate).to(sample.dtype) == sample).float().mean()
        lost, total = lost + float(same) * len(flat), total + len(flat)
    return lost / total

"""Functions of a person's own on an axis: tried on an example, and guarded while a run goes on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from evenodds.domain import Extent
from evenodds.errors import RunError, UsageError
from evenodds.objectives.objective import Objective
from evenodds.objectives.ratio import Tokens
from evenodds.own import FAILURES, described, failure_of
from evenodds.undisturbed import kept

LENGTHS = (1, 3, 2)


def example() -> tuple[Tokens, Extent]:
    """Three answers of different lengths, one of them right, some way off their old policy."""
    lengths = torch.tensor(LENGTHS)
    n = int(lengths.sum())
    old = -torch.linspace(0.1, 2.0, n)
    logprobs = (old + torch.linspace(-0.5, 0.5, n)).requires_grad_()
    credit = torch.tensor([1.0, -0.5, -0.5])
    rollout = torch.repeat_interleave(torch.arange(len(lengths)), lengths)
    tokens = Tokens(
        logprobs, old, credit[rollout], rollout, lengths, old, old, torch.ones_like(old)
    )
    return tokens, Extent(n, len(LENGTHS), 8)


def guarded(objective: Objective) -> Objective:
    """The objective with a person's own functions guarded: what they raise, print or return wrongly
    is one line that names the axis, at any time of a run.
    """
    changed: dict[str, Any] = {
        axis: guard(axis, getattr(objective, axis))
        for axis, guard in GUARDS.items()
        if is_own(getattr(objective, axis))
    }
    correction = objective.correction
    if correction is not None and is_own(correction.bound):
        bound = _named_as(correction.bound, _of_tokens("correction", correction.bound, 0))
        changed["correction"] = replace(correction, bound=bound)
    return replace(objective, **changed)


def is_own(choice: object) -> bool:
    """Whether a function, or the class of a callable, is not the house's."""
    return not str(getattr(choice, "__module__", "")).startswith("evenodds.")


def _named_as(inner: Any, outer: Any) -> Any:
    """The outer function under the inner one's name, with what it says of its clip."""
    name = getattr(inner, "__name__", None)
    made = wraps(inner)(outer)
    made.__name__ = name if isinstance(name, str) else type(inner).__name__
    return made


def _called(axis: str, function: Callable[..., Any], *args: Any) -> Any:
    with kept(f"objective.{axis} of your own"):
        try:
            return function(*args)
        except BaseException as error:
            what = failure_of(error)
            raise RunError(f"objective.{axis} of your own failed. Got {what}. Mend it.") from error


def _copied(tokens: Tokens) -> Tokens:
    """Tokens whose constants may be written to without changing those of the step."""
    names = ("old_logprobs", "advantages", "rollout", "lengths")
    more = ("first_logprobs", "reference_logprobs")
    kept = {name: getattr(tokens, name).clone() for name in names}
    known = {n: getattr(tokens, n).clone() for n in more if getattr(tokens, n) is not None}
    return replace(tokens, **kept, **known)


def _of_tokens(axis: str, function: Callable[..., Any], like: int) -> Callable[..., Tensor]:
    """like: which argument, a tensor [n] or the tokens, says how many values there must be."""

    def call(*args: Any) -> Tensor:
        given = [_copied(a) if isinstance(a, Tokens) else a for a in args]
        first = args[like]
        wanted = (first.logprobs if isinstance(first, Tokens) else first).shape
        value = _called(axis, function, *given)
        if not isinstance(value, Tensor) or value.shape != wanted or not value.is_floating_point():
            raise RunError(
                f"objective.{axis} of your own must return a tensor with one value a token, "
                f"{tuple(wanted)}. Got {_kind_of(value)}. Mend it."
            )
        if not bool(torch.isfinite(value).all()):
            raise RunError(f"objective.{axis} of your own has values that are not finite. Mend it.")
        return value

    return call


def _kind_of(value: object) -> str:
    if not isinstance(value, Tensor):
        return type(value).__name__
    return f"{tuple(value.shape)}" if value.is_floating_point() else str(value.dtype)


def _of_rewards(axis: str, function: Callable[..., Any]) -> Callable[..., Any]:
    def call(rewards: NDArray[np.float64]) -> NDArray[np.float64]:
        found = np.asarray(_called(axis, function, rewards.copy()))
        sound = found.shape == rewards.shape and found.dtype.kind in "fiub"
        if not sound or not np.isfinite(found).all():
            raise RunError(
                f"objective.{axis} of your own must return a finite advantage for each reward. "
                f"Got {str(found.tolist())[:60]} for {str(rewards.tolist())[:60]}. Mend it."
            )
        return found.astype(np.float64)

    return call


GUARDS: dict[str, Callable[[str, Any], Any]] = {
    "credit": lambda axis, inner: _named_as(inner, _of_rewards(axis, inner)),
    "ratio": lambda axis, inner: _named_as(inner, _of_tokens(axis, inner, 0)),
    "surrogate": lambda axis, inner: _named_as(inner, _of_tokens(axis, inner, 0)),
    "reduce": lambda axis, inner: _named_as(inner, _of_tokens(axis, inner, 0)),
}


def check_own(objective: Objective) -> None:
    """Raise `UsageError` where a guarded objective does not work on an example."""
    tokens, extent = example()
    try:
        for rewards in ((1.0, 0.0, 0.5), (1.0, 1.0, 1.0), (1.0,)):  # of the last two a std is 0
            objective.credit(np.array(rewards))
        loss = objective.score(tokens, extent).loss
        (gradient,) = torch.autograd.grad(loss, tokens.logprobs)
    except RunError as error:
        raise UsageError(str(error)) from error
    except FAILURES as error:
        raise UsageError(
            f"the objective of your own failed on an example. Got {described(error)}. Mend it."
        ) from error
    if not bool(torch.isfinite(gradient).all()):
        raise UsageError("the objective of your own has a gradient that is not finite. Mend it.")

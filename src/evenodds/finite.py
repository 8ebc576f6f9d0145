"""Numbers of an update that are not finite: which came first, what it costs, and when it is enough.

An update with such a number is skipped and counted: weights, moments and counts stay exactly as
they were. A number that was computed from a bad one is bad too, so what is told is the first of
them in the order in which one follows from the other.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor, nn

from evenodds.errors import NotFinite

IN_A_ROW = 3  # skipped updates that end a run
Seen = Mapping[str, NDArray[Any]]
Parts = Sequence[NDArray[np.int64]]

MEMORY = "No update made it so: have this machine's memory tested."
GO_ON = "Go on from the last checkpoint with the same command."
SOUND = "Use --policy.dtype float32, or a sound model."
SLOWER = "Lower --learner.learning_rate, or use --policy.dtype float32."

TOKENS: dict[str, tuple[str, str]] = {  # name in `Seen` -> what it is called, what to do about it
    "old": ("log-probability that the sampler recorded", SOUND),
    "reference": ("log-probability of the reference policy", SOUND),
    "advantages": (
        "advantage",
        "Mend the verifier's scores, or objective.credit.",
    ),
    "logprobs": ("log-probability of the policy", SLOWER),
    "log_ratio": ("ratio of new to old probability", SLOWER),
}
AFTER: dict[str, tuple[str, str]] = {  # where the loss or its gradient is bad, and nothing above is
    "entropy": ("entropy of the policy", SOUND),
    "slope": ("gradient of the loss by a log-probability", SLOWER),
}


@dataclass(frozen=True)
class Fault:
    """Why an update was skipped: the first of its numbers that is not finite.

    tensor: what the number is one of; remedy: what to do about it. answers: those it lies in, by
    their index among the rollouts given to `collate`: one of them, or all of a micro-batch where
    nothing tells them apart; none where no answer shows it. micro_batch: in which it was seen
    first, from 1, of so many; 0 where in none. turn: which of the passes over the batch, from 1.
    """

    tensor: str
    remedy: str
    answers: tuple[int, ...] = ()
    micro_batch: int = 0
    of: int = 0
    turn: int = 1

    def told(self, keys: Sequence[str]) -> str:
        """In a sentence that begins with the tensor. keys: of the problem of each rollout."""
        named = list(dict.fromkeys(f"{keys[index]!r:.80}" for index in self.answers))
        if not named:
            shown = f"though no answer shows it (pass {self.turn})"
            return f"the {self.tensor} is not finite, {shown}. {self.remedy}"
        where = f"micro-batch {self.micro_batch} of {self.of}, pass {self.turn}"
        answers = f"an answer to {named[0]}"
        if len(named) > 1:
            answers = f"an answer to one of {len(named)} problems, the first {named[0]}"
        return f"the {self.tensor} is not finite, in {answers} ({where}). {self.remedy}"


@dataclass(frozen=True)
class Skips:
    """Updates that were skipped: in all, in a row until now; step and fault of the last.

    enough: so many in a row end the run. It belongs to one sitting at it, and is not saved.
    """

    total: int = 0
    in_a_row: int = 0
    step: int = 0
    fault: str = ""
    enough: int = IN_A_ROW

    def counted(self, step: int, fault: Fault | None, keys: Sequence[str]) -> Skips:
        """After the update of one more step. keys: see `Fault.told`."""
        if fault is None:
            return replace(self, in_a_row=0, enough=IN_A_ROW)
        total, in_a_row = self.total + 1, self.in_a_row + 1
        return Skips(total, in_a_row, step, fault.told(keys), self.enough)

    def require(self) -> None:
        """Raise `NotFinite` where too many were skipped in a row."""
        if self.in_a_row >= self.enough:
            raise NotFinite(
                f"{self.in_a_row} updates in a row were skipped, the last at step {self.step}: "
                f"{self.fault} The weights are those of the last sound update."
            )

    def once_more(self) -> Skips:
        """As a run is taken up: it may try one step again, and ends if that is skipped as well."""
        return replace(self, enough=max(IN_A_ROW, self.in_a_row + 1))

    def to_dict(self) -> dict[str, Any]:
        """What a checkpoint keeps of it."""
        return {name: getattr(self, name) for name in SAVED}


SAVED = tuple(one.name for one in fields(Skips) if one.name != "enough")
NONE = Skips()


def first_fault(
    seen: Seen, loss: Iterable[float], gradients: Iterable[float], parts: Parts
) -> Fault | None:
    """The first number that is not finite; None where all are.

    seen: [tokens] arrays by name, one micro-batch behind the other. loss, gradients: of each
    micro-batch, the latter the norm of what was added up to there. parts: for each micro-batch the
    index of the answer of each of its tokens.
    """
    for name, (tensor, remedy) in TOKENS.items():
        if name in seen and not np.isfinite(seen[name]).all():
            return _at_token(seen[name], tensor, remedy, parts)
    for tensor, values in (("loss", loss), ("gradient", gradients)):
        bad = np.flatnonzero(~np.isfinite([*values]))
        if bad.size:
            return _at_part(seen, int(bad[0]), tensor, parts)
    return None


def _at_token(values: NDArray[Any], tensor: str, remedy: str, parts: Parts) -> Fault:
    """The fault at the first token whose value is not finite."""
    at = int(np.flatnonzero(~np.isfinite(values))[0])
    for number, answers in enumerate(parts, 1):
        if at < len(answers):
            return Fault(tensor, remedy, (int(answers[at]),), number, len(parts))
        at -= len(answers)
    raise AssertionError("a token belongs to a micro-batch")


def _at_part(seen: Seen, part: int, tensor: str, parts: Parts) -> Fault:
    """The fault of a micro-batch, in the answer that shows it where one does."""
    start = sum(map(len, parts[:part]))
    here = slice(start, start + len(parts[part]))
    for name, (shown, remedy) in AFTER.items():
        if name in seen and not np.isfinite(seen[name][here]).all():
            found = _at_token(seen[name][here], shown, remedy, parts[part : part + 1])
            named = tensor if name == "slope" else shown
            return replace(found, tensor=named, micro_batch=part + 1, of=len(parts))
    answers = tuple(dict.fromkeys(int(index) for index in parts[part]))
    return Fault(tensor, SLOWER, answers, part + 1, len(parts))


@dataclass(frozen=True)
class Evidence:
    """What a pass leaves to be looked at. seen, parts: see `first_fault`; losses: of each
    micro-batch; norms: of the gradient up to and with each."""

    seen: Seen
    losses: Iterable[float]
    norms: Float[Tensor, " m"]
    parts: Parts


class Guard:
    """Holds a copy of the weights that learn, as they were after the last sound step.

    It costs their bytes once, and three readings of them a step. Norms tell: a norm is not finite
    where one of its numbers is not. On a device nothing is waited for but once before a step and
    once behind it.
    """

    def __init__(self, model: nn.Module, parameters: Mapping[str, nn.Parameter]) -> None:
        self.model, self.parameters = model, parameters
        self.copies = [parameter.detach().clone() for parameter in parameters.values()]

    @property
    def live(self) -> list[Tensor]:
        return [parameter.detach() for parameter in self.parameters.values()]

    def gradient(self) -> Float[Tensor, ""]:
        """The norm of the gradient so far: once it is not finite, what is added leaves it so."""
        found = [p.grad for p in self.parameters.values() if p.grad is not None]
        return nn.utils.get_total_norm(found)

    def fault(self, done: Evidence, decay: float, step: float) -> Fault | None:
        """Why a pass must not be taken; None where it may. Weights are finite again behind it.

        decay: share of a weight that the step takes off. step: how far it moves one at most. A
        finite norm of the gradient leaves the moments finite, for it is a sum of squares too.
        """
        weights, norms = nn.utils.get_total_norm(self.live).item(), done.norms.tolist()
        fault = first_fault(done.seen, done.losses, norms, done.parts)
        if fault is not None or not math.isfinite(weights):
            return self._named(fault)
        if weights * (1 + decay) + step < min(torch.finfo(p.dtype).max for p in self.live):
            return None
        return Fault("step of the optimizer", "Lower --learner.learning_rate.")

    def _named(self, fault: Fault | None) -> Fault:
        """The fault with the weight or the gradient that it comes from, where there is one."""
        shown = fault or Fault("norm of the weights", SLOWER)
        weight = self._mend()
        if weight:
            return replace(shown, tensor=f"weight {weight!r}", remedy=MEMORY)
        frozen = bad_name(dict(self.model.named_parameters()))
        if frozen:
            return replace(shown, tensor=f"frozen weight {frozen!r}", remedy=f"{MEMORY} {GO_ON}")
        name = bad_name({name: p.grad for name, p in self.parameters.items()})
        if shown.tensor == "gradient":
            of = f"gradient of {name!r}" if name else "norm of the gradient"
            return replace(shown, tensor=of)
        return shown

    def keep(self) -> None:
        """Keep the weights as they are.

        Raises `NotFinite` where the step before made one that is not finite, which no sound
        gradient does; it then has the value before that step.
        """
        if math.isfinite(nn.utils.get_total_norm(self.live).item()):
            copy_all(self.copies, self.live)
            return
        name = bad_name(self.parameters) or "all of them together"
        copy_all(self.live, self.copies)
        raise NotFinite(
            f"the weight {name!r} is not finite after an update from a finite gradient: the "
            f"moments, or this machine's memory, are damaged. {GO_ON}"
        )

    def _mend(self) -> str:
        """Put back the numbers that are not finite; the name of the first such weight, or none."""
        name = bad_name(self.parameters)
        if name:
            for live, copy in zip(self.live, self.copies, strict=True):
                live.copy_(torch.where(live.isfinite(), live, copy))
        return name

    def require(self, moments: Mapping[str, Tensor]) -> None:
        """Put right what is to be saved. Raises `NotFinite` for moments: of them is no copy."""
        self._mend()
        name = bad_name(moments)
        if name:
            raise NotFinite(f"the optimizer's {name!r} is not finite, so nothing is saved. {GO_ON}")


def bad_name(tensors: Mapping[str, Any]) -> str:
    """The name of the first tensor that holds a number that is not finite; empty if none does."""
    found = (n for n, t in tensors.items() if t is not None and not t.detach().isfinite().all())
    return next(found, "")


def copy_all(to: list[Tensor], of: list[Tensor]) -> None:
    """Copy tensors into others of the same shapes."""
    torch._foreach_copy_(to, of)  # pyright: ignore[reportPrivateUsage]

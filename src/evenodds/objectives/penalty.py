"""What is taken off the surrogate on each token: the distance from a reference policy.

With l = log pi_ref - log pi on a token that pi drew, k1, k2 and k3 all have mean KL(pi || pi_ref)
or close to it (k2). What they do as a *loss* is another thing: on-policy, k1 has no gradient in
expectation, k2 the gradient of KL(pi || pi_ref), k3 that of KL(pi_ref || pi).
Source: Schulman, "Approximating KL divergence"; `docs/oracle.md` shows it exactly.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor

from evenodds.objectives.ratio import Tokens
from evenodds.objectives.surrogate import FAR, exp

Estimator = Callable[[Float[Tensor, " n"]], Float[Tensor, " n"]]


def k1(gap: Float[Tensor, " n"]) -> Float[Tensor, " n"]:
    """-l: unbiased, of either sign."""
    return -gap


def k2(gap: Float[Tensor, " n"]) -> Float[Tensor, " n"]:
    """l² / 2: biased, never negative."""
    return gap.square() / 2


def k3(gap: Float[Tensor, " n"]) -> Float[Tensor, " n"]:
    """e^l - l - 1: unbiased, never negative."""
    return gap.clamp(max=FAR).expm1() - gap


ESTIMATORS: dict[str, Estimator] = {"k1": k1, "k2": k2, "k3": k3}


@dataclass(frozen=True)
class KL:
    """coefficient · estimator, weighted by rho (with its gradient) where `weighted`.

    The weight makes it the KL of the policy that is trained, though another one sampled; its
    gradient is then that of KL(pi || pi_ref) for k1 and k3 (DeepSeek-V3.2, arXiv 2512.02556).
    rho is that of the surrogate: with a correction it is taken against the learner's first
    log-probabilities, and the correction itself does not weigh the KL.
    """

    coefficient: float
    estimator: str = "k3"
    weighted: bool = False

    def __call__(self, log_ratio: Float[Tensor, " n"], tokens: Tokens) -> Float[Tensor, " n"]:
        """[n] what is taken off. log_ratio: of the ratio level of the objective."""
        if tokens.reference_logprobs is None:
            raise ValueError("a KL penalty needs tokens.reference_logprobs")
        gap = tokens.reference_logprobs - tokens.logprobs
        value = self.coefficient * ESTIMATORS[self.estimator](gap)
        return exp(log_ratio) * value if self.weighted else value

"""Whether answers are drawn from the policy's own distribution, whatever its folder suggests."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from evenodds.domain import Limits
from evenodds.run.preflight.finding import Finding
from evenodds.run.preflight.ground import Ground
from evenodds.run.preflight.trial import Gap, is_exact, judged, problems_of

if TYPE_CHECKING:
    from evenodds.policies import Policy

NEUTRAL: Mapping[str, tuple[object, ...]] = {
    "temperature": (1.0,),
    "top_k": (0,),
    "top_p": (1.0,),
    "min_p": (0.0,),
    "typical_p": (1.0,),
    "epsilon_cutoff": (0.0,),
    "eta_cutoff": (0.0,),
    "repetition_penalty": (1.0,),
    "encoder_repetition_penalty": (1.0,),
    "no_repeat_ngram_size": (0,),
    "bad_words_ids": (),
    "suppress_tokens": (),
    "begin_suppress_tokens": (),
    "forced_bos_token_id": (),
    "forced_eos_token_id": (),
    "sequence_bias": (),
    "guidance_scale": (1.0,),
    "num_beams": (1,),
    "penalty_alpha": (0.0,),
    "min_new_tokens": (0,),
    "min_length": (0,),
}
"""Settings of a generation_config that bend what is drawn, and where they do not."""

DRAWS, FEWEST = 256, 64  # first tokens that are drawn
CHANCES = 2**22  # numbers that these draws may take in all, and so a bound on their time
EXPECTED = 5.0  # draws that a cell of the chi-square has at least
UNNAMED = 0.01  # of the mass, on tokens without a text
SURPRISING = 6.0  # standard deviations: about one in 10^9


def _bending(policy: Policy) -> dict[str, object]:
    """What the model's generation_config would bend, by name."""
    config: Any = policy.model.generation_config
    found = {name: getattr(config, name, None) for name in NEUTRAL}
    return {
        name: value
        for name, value in found.items()
        if value is not None and value not in NEUTRAL[name] and value != []
    }


def generation_config(ground: Ground) -> Finding:
    """Told, for whoever serves the trained model: the file is saved with it."""
    bending = _bending(ground.made.policy)
    if not bending:
        return Finding("generation_config", "fine", "it bends nothing")
    shown = ", ".join(f"{name} {value!r:.40}" for name, value in bending.items())
    one = len(bending) == 1
    return Finding(
        "generation_config",
        "fine",
        f"{shown}: {'is' if one else 'are'} ignored here, so that the recorded distribution is "
        f"the sampled one; whoever serves the trained model with {'it' if one else 'them'} "
        "draws from another",
    )


def distribution(ground: Ground) -> Finding:
    """Recorded log-probabilities are a plain softmax, and drawn tokens are spread as it says."""
    policy, corners = ground.made.policy, ground.corners
    gap = Gap.between(corners.trial.recorded, corners.alone)
    level = judged(gap, is_exact(policy))
    if level == "fatal":
        return _bent(f"recorded log-probabilities differ from a plain softmax by {gap}")
    deviation, cells, draws = _spread(ground)
    if deviation > SURPRISING:
        return _bent(
            f"{draws} drawn tokens are not spread as their softmax says: {deviation:.0f} standard "
            "deviations off"
        )
    what = f"{draws} drawn tokens are spread as a plain softmax says"
    if cells < 2:
        what = "recorded log-probabilities are a plain softmax"
    return Finding("distribution", "fine", f"{what} (log-probabilities to {gap})")


def unnamed_tokens(ground: Ground) -> Finding | None:
    """Rows of the embedding that no token of the tokenizer has are not drawn."""
    policy = ground.made.policy
    known, rows = len(policy.codec.tokenizer), policy.model.get_input_embeddings().weight.shape[0]
    if rows <= known:
        return None
    ids = ground.corners.trial.groups[0][0].prompt_ids
    mass = float(_first(policy, ids, ground.trial.temperature)[known:].sum())
    what = f"the model has {rows} tokens, the tokenizer {known}; the others have {mass:.1%} behind "
    if mass < UNNAMED:
        return Finding("unnamed_tokens", "fine", what + "a prompt")
    return Finding(
        "unnamed_tokens",
        "warning",
        what + "a prompt",
        "they are drawn, and have no text: the embedding was made larger after training, or the "
        "tokenizer is another model's",
        "the tokenizer that belongs to the model, in its folder",
    )


def _bent(what: str) -> Finding:
    return Finding(
        "distribution",
        "fatal",
        what,
        "something bends what is drawn, a penalty or a cut, say. The gradient then belongs to a "
        "distribution that no answer came from",
        "another --policy.name, or one without processors of its own",
    )


def draws_of(tokens: int) -> int:
    """How many first tokens are drawn where so many are known: each has a line of chances."""
    return max(FEWEST, min(DRAWS, CHANCES // tokens))


def _spread(ground: Ground) -> tuple[float, int, int]:
    """How many standard deviations their chi-square is off, its cells, and the draws."""
    policy, plan = ground.made.policy, ground.plan
    (problem,) = problems_of(plan, 1)
    limits = Limits(1, plan.config.sampling.temperature)
    chances = _first(policy, policy.codec.encode(problem.prompt), limits.temperature)
    draws = draws_of(len(chances))
    (group,) = ground.made.sampler.sample([problem.prompt], draws, limits, seed=2)
    counts, expected = _cells(chances, np.array([rollout.ids[0] for rollout in group]))
    if len(counts) < 2:
        return 0.0, len(counts), draws
    chi = float(((counts - expected) ** 2 / expected).sum())
    return _deviations(chi, len(counts) - 1), len(counts), draws


def _deviations(chi: float, freedom: int) -> float:
    """A chi-square as standard deviations of a normal, by the cube root (Wilson, Hilferty 1931)."""
    spread = 2 / (9 * freedom)
    return ((chi / freedom) ** (1 / 3) - (1 - spread)) / math.sqrt(spread)


@torch.no_grad()
def _first(policy: Policy, ids: NDArray[np.int64], temperature: float) -> NDArray[np.float64]:
    """[vocabulary] the softmax behind a prompt."""
    row = torch.from_numpy(ids).to(policy.device)[None]
    logits = policy.model(input_ids=row).logits[0, -1].double() / temperature
    return logits.softmax(-1).cpu().numpy()


def _cells(
    chances: NDArray[np.float64], drawn: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Counts, and what they should be: the likely tokens, and all others together."""
    expected = len(drawn) * chances
    counts = np.bincount(drawn, minlength=len(chances)).astype(np.float64)
    likely = expected >= EXPECTED
    rest = expected[~likely].sum()
    observed, wanted = counts[likely], expected[likely]
    if rest >= EXPECTED or counts[~likely].sum() > 0:
        observed = np.append(observed, counts[~likely].sum())
        wanted = np.append(wanted, max(rest, 1.0))  # a cell below 1 would make much of one draw
    return observed, wanted

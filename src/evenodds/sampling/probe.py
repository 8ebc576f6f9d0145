"""Whether a policy can be sampled from: two tokens by the decoder against the model's own forward.

Everything else (a cache that cannot be copied, an encoder, an output head with a twist that we do
not know) shows here in a moment, and not as a traceback or as wrong log-probabilities in a run.
"""

from __future__ import annotations

import torch
from torch import Tensor

from evenodds.errors import UsageError
from evenodds.policies import Policy
from evenodds.policies.checks import one_line
from evenodds.sampling.modules import ModuleDecoder
from evenodds.sampling.native import Decoder, NativeSampler

PROMPT = "12+34="
LIKELY = 8  # most likely tokens whose log-probabilities are compared
EXACT, ROUGH = 1e-3, 0.5  # nats that float32 and shorter types may differ by


def _decoded(policy: Policy, decoder: Decoder) -> tuple[Tensor, Tensor]:
    """Ids [2, prompt + 1] and the decoder's logits [2, 2, vocabulary] at the last two of them."""
    ids = policy.codec.encode(PROMPT)
    decoder.start(len(ids) + 2)
    try:
        first = decoder.admit([ids], 2)
        tokens = first[0].topk(2).indices
        second = decoder.step(tokens)
    finally:
        decoder.start(0)
    prompt = torch.from_numpy(ids).to(policy.device).expand(2, -1)
    return torch.cat([prompt, tokens[:, None]], 1), torch.stack([first.expand(2, -1), second], 1)


@torch.inference_mode()
def _fault(policy: Policy, decoder: Decoder) -> str:
    """What is wrong with a decoder, in a sentence; empty if nothing is."""
    try:
        ids, logits = _decoded(policy, decoder)
        wanted = policy.model(input_ids=ids).logits[:, -2:].float().log_softmax(-1)
        top = wanted.topk(min(LIKELY, wanted.shape[-1]))
        got = logits.float().log_softmax(-1).gather(-1, top.indices)
    except Exception as error:  # whatever a strange family raises
        return f"{type(error).__name__}: {one_line(error)}"
    gap = float((got - top.values).abs().max())
    bound = EXACT if logits.dtype == policy.model.dtype == torch.float32 else ROUGH
    if gap <= bound:  # not so for NaN
        return ""
    return f"its log-probabilities differ by {gap:.3g} from those of its own forward."


def probe(sampler: NativeSampler) -> None:
    """Check the sampler's decoder on one short prompt. A fused decoder that fails gives way to the
    model's own modules, here and in the learner.

    Raises `UsageError` if the policy cannot be sampled from.
    """
    policy = sampler.policy
    fault = _fault(policy, sampler.decoder)
    if fault and not isinstance(sampler.decoder, ModuleDecoder):
        policy.use_modules()
        sampler.decoder = ModuleDecoder(policy)
        fault = _fault(policy, sampler.decoder)
    if fault:
        raise UsageError(
            f"{policy.name!r} cannot be sampled from here: {fault} Choose another policy."
        )

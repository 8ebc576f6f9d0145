"""Policies: causal language models that are sampled from and trained, with their tokenizers."""

from evenodds.policies.codec import Codec
from evenodds.policies.policy import Policy

__all__ = ["Codec", "Policy"]

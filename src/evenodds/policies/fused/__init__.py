"""The Llama / Qwen2 / Qwen3 family in few operations, over the model's own weights.

`weights.py` reads a model's modules; `operations.py` has what a block computes. The sampler's
decoder and the learner's forward pass are made of both, so they compute the same policy.
"""

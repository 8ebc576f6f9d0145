"""The columns of rollouts/step-*.parquet, by name and kind; pyarrow is not needed to read them."""

from __future__ import annotations

from typing import Any, Literal

Kind = Literal["text", "texts", "int", "long", "float", "bool", "floats", "ids", "parts"]

COLUMNS: dict[str, Kind] = {
    "step": "int",
    "verifier": "text",
    "verifier_version": "text",
    "problem_key": "text",
    "level": "int",
    "gold": "text",
    "group": "int",
    "answer": "int",
    "group_size": "int",
    "round": "int",
    "prompt": "text",
    "prompt_ids": "ids",
    "completion": "text",
    "completion_ids": "ids",
    "logprobs": "floats",
    "reference_logprobs": "floats",
    "learner_logprobs": "floats",
    "last_logprobs": "floats",
    "entropy": "floats",
    "ratio": "floats",
    "policy_version": "int",
    "temperature": "float",
    "max_tokens": "int",
    "stop_strings": "texts",
    "seed": "long",
    "stop": "text",
    "cut_length": "int",
    "reward": "float",
    "parts": "parts",
    "status": "text",
    "extracted": "text",
    "note": "text",
    "audit_status": "text",
    "audit_score": "float",
    "audit_note": "text",
    "advantage": "float",
    "kept": "bool",
    "why": "text",
}
"""Old runs lack `round`, `entropy`, `last_logprobs` and what the audit said."""

ARRAYS = tuple(name for name, kind in COLUMNS.items() if kind in ("floats", "ids"))
"""The columns with a number for each token."""


def arrow(kind: Kind) -> Any:
    """The type that pyarrow has for a kind. Log-probabilities are float32, scores float64."""
    import pyarrow as pa

    part = pa.struct([("name", pa.string()), ("value", pa.float64())])
    return {
        "text": pa.string(),
        "texts": pa.list_(pa.string()),
        "int": pa.int32(),
        "long": pa.int64(),
        "float": pa.float64(),
        "bool": pa.bool_(),
        "floats": pa.list_(pa.float32()),
        "ids": pa.list_(pa.int32()),
        "parts": pa.list_(part),
    }[kind]

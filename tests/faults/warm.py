"""What the fork server imports before the first child is forked, so that no child has to.

Nothing here may start a thread or compute a gradient: a fork would have half of it.
"""

from __future__ import annotations

import gc
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy.ma  # noqa: F401
import pyarrow.compute
import pyarrow.dataset  # noqa: F401
import torch
import transformers.models.qwen3.modeling_qwen3  # noqa: F401

import evenodds.cli.commands.report
import evenodds.cli.commands.train
import evenodds.report.card
import evenodds.report.html as html
import evenodds.run.preflight.checks
import evenodds.run.session
import evenodds.run.train
import evenodds.sampling.native
import evenodds.tasks.data  # noqa: F401
from evenodds.policies import Policy
from evenodds.policies.load import PolicyOptions, load_policy
from evenodds.run import environment
from tests.faults.small import small_policy

torch.set_num_threads(1)
for name in html._environment().list_templates():
    html._environment().get_template(name)
environment.package_versions = cache(environment.package_versions)
environment.package_versions()


@dataclass(frozen=True)
class Kept:
    """A policy, and the file of its weights by which it is known again."""

    policy: Policy
    weights: bytes


@cache
def policy() -> Kept:
    """The small policy as a run loads it."""
    with tempfile.TemporaryDirectory() as root:
        folder = small_policy(Path(root))
        loaded = load_policy(PolicyOptions(name=str(folder)))
        return Kept(loaded, (folder / "model.safetensors").read_bytes())


policy()
gc.collect()
gc.freeze()  # else a child that collects garbage writes on, and so copies, all that is here

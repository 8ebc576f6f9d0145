"""What the fork server imports before the first child is forked, so that no child has to.

Nothing here may start a thread or compute a gradient: a fork would have half of it.
"""

from __future__ import annotations

import torch

torch.set_num_threads(1)

import jinja2  # noqa: E402, F401
import transformers.models.qwen3.modeling_qwen3  # noqa: E402, F401

import evenodds.cli.commands.report  # noqa: E402
import evenodds.cli.commands.train  # noqa: E402
import evenodds.policies.load  # noqa: E402
import evenodds.report.card  # noqa: E402
import evenodds.run.session  # noqa: E402
import evenodds.run.train  # noqa: E402
import evenodds.sampling.native  # noqa: E402
import evenodds.tasks.data  # noqa: E402, F401

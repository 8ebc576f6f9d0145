"""What the fork server imports before the first child is forked, so that no child has to.

Nothing here may start a thread or compute a gradient: a fork would have half of it.
"""

from __future__ import annotations

from functools import cache

import pyarrow.compute  # noqa: F401
import torch
import transformers.models.qwen3.modeling_qwen3  # noqa: F401

import evenodds.cli.commands.report
import evenodds.cli.commands.train
import evenodds.policies.load
import evenodds.report.card
import evenodds.report.html as html
import evenodds.run.session
import evenodds.run.train
import evenodds.sampling.native
import evenodds.tasks.data  # noqa: F401

torch.set_num_threads(1)
html._environment = cache(html._environment)  # the page's templates, compiled once for all
for name in html._environment().list_templates():
    html._environment().get_template(name)

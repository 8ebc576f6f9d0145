"""evenodds export RUN|POLICY FOLDER"""

from __future__ import annotations

import os
from pathlib import Path

from evenodds.cli.flags import Parser
from evenodds.errors import UsageError


def main(arguments: list[str]) -> int:
    usage = "RUN|POLICY FOLDER"
    about = "Write a plain Hugging Face folder that transformers and vLLM load; LoRA is merged in."
    parser = Parser("export", usage, about)
    parser.add_argument("policy", help="run folder, or a policy as `train` takes it")
    parser.add_argument("folder", help="a folder that is not there yet")
    found = parser.parse(arguments)
    target = Path(found.folder)
    if os.path.lexists(target):  # a link that leads nowhere too
        raise UsageError(f"{found.folder!r} exists already. Name a new folder.")
    from evenodds.run.opened import open_policy

    policy = open_policy(found.policy, {}).policy
    from evenodds.durable import commit_folder, make_folder
    from evenodds.policies.load import merged

    make_folder(target.absolute().parent)
    commit_folder(target, merged(policy).save)
    print(target)
    return 0

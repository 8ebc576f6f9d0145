"""A policy for use without learning: a model by name or folder, or what a run has come to."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenodds.errors import UsageError
from evenodds.records.plain import require_plain
from evenodds.run.build import policy_options, task_of
from evenodds.run.config import Config, make_config, merge, read_saved
from evenodds.run.folder import PREFIX, RunFolder, find_run
from evenodds.run.trained import outlived
from evenodds.tasks import Task

if TYPE_CHECKING:
    from evenodds.policies import Policy
    from evenodds.sampling.native import NativeSampler


@dataclass(frozen=True)
class Opened:
    """What `sample`, `eval`, `chat` and `export` work on."""

    config: Config
    policy: Policy
    sampler: NativeSampler

    @cached_property
    def task(self) -> Task:
        """Made when it is asked for: chat and export need none."""
        return task_of(self.config)


def is_run(name: str) -> bool:
    """Whether this is a run: its folder, or its bare name below `runs`."""
    return bool(name) and (find_run(name) / "config.toml").is_file()


def model_folder(run: Path) -> Path:
    """The trained model of a run, or the newest sound checkpoint of one under way."""
    from evenodds.durable import valid_folders, verify_folder

    folder = RunFolder(run)
    if folder.evaluation("final").exists() and folder.model.exists() and not outlived(folder):
        verify_folder(folder.model)
        return folder.model
    sound, _ = valid_folders(folder.checkpoints, PREFIX, 1)
    if not sound:
        raise UsageError(f"the run {str(run)!r} has no model yet. Let it take some steps first.")
    return sound[0] / "policy"


def config_for(name: str, over: dict[str, Any]) -> Config:
    """The configuration of the run that is named, or the defaults for a policy, with `over`."""
    if is_run(name):
        run = find_run(name)
        require_plain(run)
        return make_config(merge(read_saved(run / "config.toml"), over))
    return make_config(merge({}, {"policy.name": name} | over))


def open_policy(name: str, over: dict[str, Any]) -> Opened:
    """Load a policy or a run's model. Raises `UsageError` for what is neither."""
    config = config_for(name, over)
    return open_config(config, str(model_folder(find_run(name))) if is_run(name) else None)


def open_config(config: Config, model: str | None = None) -> Opened:
    """The policy of a configuration, or the model that is named in its place."""
    from evenodds.policies.load import load_policy
    from evenodds.run.engine import prepare_process
    from evenodds.sampling.native import NativeSampler
    from evenodds.sampling.probe import probe

    prepare_process()
    options = policy_options(config)
    if model is not None:
        options = replace(options, name=model)
    policy = load_policy(replace(options, adapter="none"))
    sampler = NativeSampler(policy, config.sampling.max_rows)
    probe(sampler)
    return Opened(config, policy, sampler)

"""The evaluation that is meant by a name: of a run, of a point in a run, or of a policy, afresh."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from evenodds.errors import UsageError, sentences
from evenodds.records.plain import require_plain
from evenodds.run.build import evaluation_settings, policy_options
from evenodds.run.config import Config, make_config, merge, read_saved
from evenodds.run.evaluations import read_evaluation
from evenodds.run.folder import RunFolder, find_run
from evenodds.run.opened import is_run, model_folder, open_config

if TYPE_CHECKING:
    from evenodds.evaluation import Record

POINT = re.compile(r"base|final|step-0*(\d+)")
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Named:
    """What a name on the command line means.

    run: None for a policy. point: `base`, `final`, `step-000040`, or empty for what a run has
    come to.
    """

    name: str
    run: Path | None = None
    point: str = ""

    @property
    def is_trained(self) -> bool:
        """Whether another seed would have made another one of it."""
        return self.run is not None and self.point != "base"

    @property
    def saved(self) -> dict[str, Any]:
        """The saved configuration of the run; empty for a policy."""
        return {} if self.run is None else read_saved(self.run / "config.toml")

    @property
    def random_reward(self) -> bool:
        section = self.saved.get("run")
        paid = cast(Mapping[str, Any], section) if isinstance(section, Mapping) else {}
        return self.is_trained and paid.get("random_reward") is True


@dataclass(frozen=True)
class Found:
    """An evaluation, and a line to say about it; empty where there is nothing to say."""

    record: Record
    note: str = ""


Measure = Callable[[Progress], Found]
"""Makes an evaluation, and tells what is evaluated and how far it is."""


def named(text: str) -> Named:
    """`RUN`, `RUN:base`, `RUN:final`, `RUN:step-40`, or else a policy."""
    if is_run(text):
        return Named(text, _plain(text))
    run, _, point = text.rpartition(":")
    if not run or not is_run(run):
        return Named(text)
    found = POINT.fullmatch(point)
    if found is None:
        raise UsageError(
            f"a run is measured at its base, at steps and at its end. Got {point!r} of {run!r}. "
            "Write RUN:base, RUN:step-40 or RUN:final."
        )
    return Named(text, _plain(run), f"step-{int(found[1]):06d}" if found[1] else point)


def _plain(name: str) -> Path:
    found = find_run(name)
    require_plain(found)
    return found


def stored(one: Named) -> Found:
    """The evaluation that the run wrote down. Raises `UsageError` where there is none."""
    assert one.run is not None
    folder = RunFolder(one.run)
    if one.point:
        return Found(_read(folder.evaluation(one.point), one))
    if folder.evaluation("final").exists():
        return Found(_read(folder.evaluation("final"), one))
    steps = sorted(folder.evaluation("base").parent.glob("step-*.json"))
    if not steps:
        raise UsageError(
            f"{one.name!r} has not finished, and has no evaluation after its base yet. "
            "Let it go on, or add --again to evaluate its newest checkpoint."
        )
    step = int(steps[-1].stem.removeprefix("step-"))
    note = f"{one.name} has not finished: this is its evaluation after step {step}."
    return Found(_read(steps[-1], one), note)


def _read(path: Path, one: Named) -> dict[str, Any]:
    try:
        return read_evaluation(path)
    except FileNotFoundError:
        there = ", ".join(sorted(file.stem for file in path.parent.glob("*.json"))) or "none"
        raise UsageError(
            f"{str(one.run)!r} has no evaluation {path.stem!r}. It has: {there}. "
            "Name one of these, or add --again."
        ) from None
    except (OSError, ValueError) as error:
        raise UsageError(
            sentences(f"cannot read {str(path)!r}: {error}", "Add --again to make it anew")
        ) from None


def afresh(one: Named, like: Mapping[str, Any], over: Mapping[str, Any]) -> Measure:
    """What makes a new evaluation. like: the saved configuration whose task and settings are used.

    over: settings on top, by dotted name. Raises `UsageError` at once where there is no such model,
    so that nothing else is evaluated in vain.
    """
    from evenodds.policies.load import outline

    config = _config(one, like, over)
    model = _model(one, config)
    outline(replace(policy_options(config), name=model))

    def measure(tell: Progress) -> Found:
        from evenodds.run.fresh import fresh

        opened = open_config(config, model)
        found = fresh(one.name, opened, evaluation_settings(opened.config, opened.task), tell)
        return Found(found.to_dict(), _unfinished(one))

    return measure


def _config(one: Named, like: Mapping[str, Any], over: Mapping[str, Any]) -> Config:
    own = one.saved.get("policy") if one.run else {"name": one.name}
    data = {**like, "policy": own or {}}
    return make_config(merge(data, dict(over)))


def _model(one: Named, config: Config) -> str:
    if one.run is None or one.point == "base":
        return config.policy.name
    if one.point.startswith("step-"):
        folder = RunFolder(one.run).checkpoints / one.point / "policy"
        if not folder.is_dir():
            kept = ", ".join(sorted(path.name for path in folder.parents[1].glob("step-*")))
            raise UsageError(
                f"{str(one.run)!r} kept no checkpoint {one.point!r}. It has: {kept or 'none'}. "
                "Name one of these."
            )
        return str(folder)
    return str(model_folder(one.run))


def _unfinished(one: Named) -> str:
    if one.run is None or one.point or RunFolder(one.run).evaluation("final").exists():
        return ""
    return f"{one.name} has not finished: this is its newest checkpoint."

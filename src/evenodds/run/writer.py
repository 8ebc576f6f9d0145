"""Everything that a run writes while it goes on, apart from checkpoints."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evenodds.bench import Report
from evenodds.objectives import Objective
from evenodds.records.groups import length_through
from evenodds.records.table import Table, as_parquet
from evenodds.run.build import Plan, payer_of
from evenodds.run.config import Config, to_toml
from evenodds.run.durable import AppendLog, make_folder, remove_file, write_file
from evenodds.run.engine import read_sittings
from evenodds.run.environment import environment_passport
from evenodds.run.folder import RunFolder
from evenodds.run.passports import (
    audit_passport,
    checker_passport,
    data_passport,
    objective_passport,
    require_same_code,
)
from evenodds.tasks import Task
from evenodds.verifiers import Verifier


@dataclass(frozen=True)
class RunWriter:
    """Writes into one run folder; each call is durable or says in one line why not."""

    folder: RunFolder

    def begin(
        self,
        config: Config,
        task: Task,
        argv: Sequence[str],
        facts: Mapping[str, object] | None = None,
        objective: Objective | None = None,
        bench: Report | None = None,
        audit: Verifier | None = None,
    ) -> None:
        """The configuration as resolved, the folder, and the passports, as far as they are missing.

        The configuration comes first: a folder without one is no run, so a kill in here would
        make its name unusable. Calling this again writes what such a kill left out, and leaves
        what is there. facts: see `environment_passport`. bench: what the short bench found.
        audit: the second verifier. Raises `UsageError` where a person's own code has changed since.
        """
        make_folder(self.folder.path)
        if not self.folder.config.exists():
            write_file(self.folder.config, to_toml(config))
        make_folder(self.folder.checkpoints)
        asked = audit_passport(audit, config.audit.verifier, config.audit.canaries)
        passports: dict[Path, Callable[[], dict[str, object]]] = {
            self.folder.data: lambda: data_passport(task),
            self.folder.checker: lambda: checker_passport(task, bench) | asked,
            self.folder.environment: lambda: environment_passport(argv, facts),
        }
        if objective is not None:
            payer = payer_of(config, task)
            found = objective_passport(objective, config.objective.model_dump(), payer)
            require_same_code(self.folder, task, found, asked)
            passports[self.folder.objective] = lambda: found
        for path, make in passports.items():
            if not path.exists():
                self.json(path, make())

    def data(self, plan: Plan, base: Mapping[str, Any], template: str | None = None) -> None:
        """The data passport again, now that the base was evaluated. See `data_passport`."""
        self.json(self.folder.data, data_passport(plan.task, base, template))

    def json(self, path: Path, value: Mapping[str, Any]) -> None:
        make_folder(path.parent)
        write_file(path, json.dumps(value, indent=1, ensure_ascii=False, default=str) + "\n")

    def evaluation(self, name: str, value: Mapping[str, Any]) -> None:
        self.json(self.folder.evaluation(name), value)

    def answers(self, name: str, table: Table) -> None:
        """The answers of an evaluation; before its record, which says that they are there."""
        make_folder(self.folder.answers(name).parent)
        write_file(self.folder.answers(name), as_parquet(table))

    @property
    def metrics(self) -> AppendLog:
        return AppendLog(self.folder.metrics)

    @property
    def alarms(self) -> AppendLog:
        return AppendLog(self.folder.alarms)

    @property
    def groups(self) -> AppendLog:
        return AppendLog(self.folder.groups)

    def rollouts(self, step: int, table: Table) -> None:
        """One parquet file a step."""
        make_folder(self.folder.rollouts(step).parent)
        write_file(self.folder.rollouts(step), as_parquet(table))

    def drop_rollouts_after(self, step: int) -> None:
        """Remove the files, and the lines on groups, of steps that a resumed run takes again."""
        if self.folder.groups.exists():
            self.groups.truncate_to(length_through(self.folder.groups, step))
        folder = self.folder.rollouts(0).parent
        for path in folder.glob("step-*.parquet"):
            number = path.stem.removeprefix("step-")
            if number.isdigit() and int(number) > step:
                remove_file(path)

    def drop_evaluations_after(self, step: int) -> None:
        """Remove evaluations on the way that a resumed run makes again."""
        for path in self.folder.evaluation("base").parent.glob("step-*.*"):
            number = path.stem.removeprefix("step-")
            if number.isdigit() and int(number) > step:
                remove_file(path)

    def engine(self, facts: Mapping[str, object], after: int) -> None:
        """What computes the steps after this one, beside what computed those before it."""
        before = [one for one in read_sittings(self.folder.engine) if one["after_step"] < after]
        now = {"after_step": after, **facts}
        if not before or {**before[-1], "after_step": after} != now:
            before.append(now)
        self.json(self.folder.engine, {"sittings": before})

    def forget_the_end(self) -> None:
        """Remove the evaluation of an end that is none any more: the run goes on."""
        remove_file(self.folder.evaluation("final"))
        remove_file(self.folder.answers("final"))

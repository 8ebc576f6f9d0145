"""Everything that a run writes while it goes on, apart from checkpoints."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evenodds.bench import Report
from evenodds.durable import (
    AppendLog,
    Seals,
    make_folder,
    remove_file,
    sha256,
    told,
    write_file,
)
from evenodds.objectives import Objective
from evenodds.records.groups import SEAL, length_through
from evenodds.records.table import Table, as_parquet
from evenodds.run.build import Plan, payer_of
from evenodds.run.config import Config, to_toml
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
            self.config(config)
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
        self.seals.write({p: as_json(make()) for p, make in passports.items() if not p.exists()})

    @property
    def seals(self) -> Seals:
        return Seals(self.folder.path)

    def config(self, config: Config) -> None:
        """The configuration as resolved."""
        self.seals.write({self.folder.config: to_toml(config)})

    def data(self, plan: Plan, base: Mapping[str, Any], template: str | None = None) -> None:
        """The data passport again, now that the base was evaluated. See `data_passport`."""
        self.seals.write({self.folder.data: as_json(data_passport(plan.task, base, template))})

    def evaluation(self, name: str, record: Mapping[str, Any], answers: Table) -> None:
        """The answers of an evaluation, and then its record, which says that they are there."""
        answered, recorded = self.folder.answers(name), self.folder.evaluation(name)
        self.seals.write({answered: as_parquet(answers), recorded: as_json(record)})

    @property
    def metrics(self) -> AppendLog:
        return AppendLog(self.folder.metrics)

    @property
    def alarms(self) -> AppendLog:
        return AppendLog(self.folder.alarms)

    @property
    def groups(self) -> AppendLog:
        return AppendLog(self.folder.groups)

    def rollouts(self, step: int, table: Table) -> str:
        """One parquet file a step; its SHA-256."""
        data = as_parquet(table)
        with told(self.folder.path):
            self.folder.path.stat()  # one that was taken away is not begun again by its rollouts
        make_folder(self.folder.rollouts(step).parent)
        write_file(self.folder.rollouts(step), data)
        return sha256(data)

    def step(self, step: int, table: Table, groups: Mapping[str, Any]) -> None:
        """The rollouts of a step, and then its line on groups, which seals them."""
        self.groups.append({**groups, SEAL: self.rollouts(step, table)})

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
        every = self.folder.evaluation("base").parent.glob("step-*.*")
        numbers = {path: path.stem.removeprefix("step-") for path in every}
        self.seals.remove(p for p, n in numbers.items() if n.isdigit() and int(n) > step)

    def engine(self, facts: Mapping[str, object], after: int) -> None:
        """What computes the steps after this one, beside what computed those before it."""
        before = [one for one in read_sittings(self.folder.engine) if one["after_step"] < after]
        now = {"after_step": after, **facts}
        if not before or {**before[-1], "after_step": after} != now:
            before.append(now)
        text = as_json({"sittings": before})
        if not self.folder.engine.exists() or self.folder.engine.read_text("utf-8") != text:
            self.seals.write({self.folder.engine: text})

    def forget_the_end(self) -> None:
        """Remove the evaluation of an end that is none any more: the run goes on."""
        self.seals.remove((self.folder.evaluation("final"), self.folder.answers("final")))


def as_json(value: Mapping[str, Any]) -> str:
    """A record as its file has it."""
    return json.dumps(value, indent=1, ensure_ascii=False, default=str) + "\n"

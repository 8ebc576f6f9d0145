"""All that the report says of a run, worked out once: the page, the text, the numbers and the card
print these values, so that they cannot disagree."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from evenodds.evaluation import finite
from evenodds.report.changes import Measure, by_chance, got_worse, measures_of
from evenodds.report.comparison import FEWEST
from evenodds.report.conclusion import Conclusion, conclude
from evenodds.report.cost import Cost, cost_of
from evenodds.report.facts import progress
from evenodds.report.pairs import Pair, pairs_of
from evenodds.report.record import RunRecord, read_run
from evenodds.report.story import headline
from evenodds.report.text import counted

FORMAT = "evenodds-summary-2"


@dataclass(frozen=True)
class Findings:
    """A run read once. Everything follows from `run`; what is costly is worked out on first use."""

    run: RunRecord

    @cached_property
    def pairs(self) -> list[Pair]:
        """The problems that both evaluations judged."""
        if self.run.base is None or self.run.final is None:
            return []
        return pairs_of(self.run.base, self.run.final)

    @cached_property
    def conclusion(self) -> Conclusion:
        return conclude(self.run)

    @cached_property
    def measures(self) -> list[Measure]:
        return measures_of(self.run, self.conclusion.evidence, self.pairs)

    @property
    def worse(self) -> list[Measure]:
        return got_worse(self.measures)

    @cached_property
    def cost(self) -> Cost:
        return cost_of(self.run)

    def summary(self) -> dict[str, Any]:
        """The run in numbers, for machines: null where something was not measured."""
        found = self.run.comparison
        told = {
            "format": FORMAT,
            "run": self.run.name,
            "finished": self.run.final is not None,
            "conclusion": self.conclusion.to_dict(),
            "headline": None if found is None else headline(found),
            "got_worse": [measure.to_dict() for measure in self.worse],
            "alarms": self.run.alarms,
            "progress": progress(self.run),
            "cost": self.cost.to_dict(),
            "comparison": None if found is None else found.to_dict(),
        }
        return finite(told)


def findings_of(folder: Path) -> Findings:
    """Raises `UsageError` where the folder is no run."""
    return Findings(read_run(folder))


def worse_sentence(found: Findings) -> str:
    """What got worse in a few words, with how many looks there were; empty without any look."""
    measures, compared = found.measures, found.run.comparison
    if not measures or compared is None:
        return ""
    worse, few = len(found.worse), sum(measure.problems < FEWEST for measure in measures)
    told = f"{worse} got worse" if worse else "none can be said to have got worse"
    if few:
        verb = "is" if few == 1 else "are"
        told += f", and {few} {verb} of fewer than {FEWEST} problems, too few to tell"
    lost, gained = compared.coverage.lost, compared.coverage.gained
    return (
        f"Of {counted(len(measures), 'thing')} that were measured, {told}. "
        f"Each has a 95 % interval: had nothing changed, {by_chance(measures):.1f} of them would "
        f"still look worse by chance. {counted(lost, 'single problem')} that the base solved "
        f"at least once had no right answer after training; with {gained:,} it was the other way "
        "round."
    )

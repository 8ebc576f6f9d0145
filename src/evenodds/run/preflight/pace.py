"""How long it takes: seconds of a step and of an evaluation, against the time that there is."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from evenodds.domain import NOT_JUDGED, Status
from evenodds.report.text import counted, duration, one_line
from evenodds.run.build import Plan
from evenodds.run.measuring import RESERVE, TAIL_SECONDS
from evenodds.run.on_the_way import expected_seconds
from evenodds.run.preflight.answers import Sampled
from evenodds.run.preflight.finding import Finding
from evenodds.run.preflight.ground import Ground, Probe
from evenodds.run.preflight.signal import beginning, expected
from evenodds.statistics import percent

LEAST = 10  # steps below which a run teaches hardly anything
ALMOST_ALL = 0.95  # share of answers without a verdict that leaves nothing to learn from
LOST = 1800.0  # seconds of work that a crash may cost
DOUBT = 0.7  # of what was estimated it may take this much, and no run is refused before that
WEEK = 7 * 86_400.0


@dataclass(frozen=True)
class Pace:
    """Seconds of one step by its parts, and of other things.

    learn: None where nobody has timed it. evaluation: one of all held-out problems; way: one on
    the way, of which there is one every `every` steps.
    """

    sample: float
    judge: float
    learn: float | None
    evaluation: float
    way: float = 0.0
    every: int | None = None

    @property
    def step(self) -> float:
        between = self.way / self.every if self.every else 0.0
        return self.sample + self.judge + (self.learn or 0.0) + between

    @property
    def parts(self) -> str:
        """The parts of a step as shares, largest first."""
        named = {"sampling": self.sample, "judging": self.judge, "learning": self.learn or 0.0}
        if self.every:
            named["evaluations"] = self.way / self.every
        rows = sorted(named.items(), key=lambda row: -row[1])
        whole = max(1e-9, sum(named.values()))
        return ", ".join(f"{name} {percent(part / whole)}" for name, part in rows if part > 0)

    def fitting(self, limit: float) -> int:
        """Steps that fit into so many seconds, both evaluations included."""
        room = limit - (1 + RESERVE) * self.evaluation - TAIL_SECONDS
        return max(0, math.floor(room / max(1e-9, self.step)))

    def whole(self, steps: int) -> float:
        """Seconds of a run of so many steps."""
        return 2 * self.evaluation + steps * self.step + TAIL_SECONDS


def throughput(pace: Pace, steps: int | None, limit: float | None) -> Finding | None:
    """steps: that are asked for. limit: run.max_time.

    None where no step fits and learning was not timed: that is in `train`, which then ends with the
    arithmetic of the time that is left.
    """
    least = "" if pace.learn is not None else "at least "
    what = (
        f"{least}{_took(pace.step)} a step ({pace.parts}), {_took(pace.evaluation)} an evaluation"
    )
    if limit is None:
        return _endless(pace, steps or 0, what)
    fits = pace.fitting(limit)
    wanted = "" if steps is None else f" of {steps:,}"
    there = min(fits, steps or fits)
    fit = f"{there:,}{wanted} steps fit" if wanted or there != 1 else "1 step fits"
    what = f"{what}: about {fit} into {duration(limit)}"
    if fits >= LEAST and (steps is None or 2 * fits >= steps):
        return Finding("throughput", "fine", what)
    if steps is not None and fits >= steps:
        return Finding("throughput", "fine", what)
    enough = pace.whole(max(LEAST, steps or 0)) + 0.5 * pace.evaluation
    change = f"--run.max_time {math.ceil(1.2 * enough)}, or fewer --evaluation.problems"
    if fits < 1 and pace.learn is None:
        return None
    if pace.fitting(limit / DOUBT) < 1:
        why = "the evaluations before and after take all the time, and no step is made"
        return Finding("throughput", "fatal", what, why, change)
    why = "the time ends before much can be learned; answers mostly grow, and later steps with them"
    return Finding("throughput", "warning", what, why, change)


def _took(seconds: float) -> str:
    """`0.42 s`, and from ten seconds on `24 s`, `2:37`."""
    return f"{seconds:.2g} s" if seconds < 10 else duration(seconds)


def _endless(pace: Pace, steps: int, what: str) -> Finding:
    whole = pace.whole(steps)
    what = f"{what}: about {duration(whole)} for {steps:,} steps and both evaluations"
    if whole < WEEK:
        return Finding("throughput", "fine", what)
    why = "a slip in a number is more likely than a plan for weeks"
    return Finding("throughput", "warning", what, why, "--run.max_time 86400")


def cadence(pace: Pace, save_every: int) -> Finding | None:
    between = save_every * pace.step
    if between <= LOST or save_every == 1:
        return None
    return Finding(
        "checkpoint_time",
        "warning",
        f"about {duration(between)} between two checkpoints, {save_every} steps",
        "a crash or a power cut loses all that was learned since the last one",
        f"--run.save_every {max(1, int(LOST / 2 / pace.step))}",
    )


def evaluation_time(pace: Pace) -> Finding | None:
    """Evaluations on the way against the steps between them."""
    if not pace.every or 2 * pace.way <= pace.every * pace.step:
        return None
    alone = pace.step - pace.way / pace.every
    return Finding(
        "evaluation_time",
        "warning",
        f"evaluations on the way take {percent(pace.way / pace.every / pace.step)} of the time: "
        f"{duration(pace.way)} each, behind every {counted(pace.every, 'step')} of {alone:.2g} s",
        "most of the hours go into measuring what has hardly changed since the last time",
        f"--evaluation.every {math.ceil(4 * pace.way / max(1e-9, alone))}, or fewer "
        "--evaluation.every_problems",
    )


def unjudged(errors: int, answers: int, note: str = "") -> Finding | None:
    """errors: answers that the verifier gave no score, of so many. note: of one of them."""
    share = errors / max(1, answers)
    if share <= 0.01:
        return None
    reason = f": {note}" if note else ""
    return Finding(
        "judging",
        "fatal" if share >= ALMOST_ALL else "warning",
        f"{errors} of {answers:,} answers could not be judged{reason}",
        "such an answer is left out as if it had not been drawn, and if these are of one kind, "
        "right or wrong, what is left is no fair sample",
        "the verifier, so that it gives every text a finite score: 0 for what it cannot read",
    )


def judging(pace: Pace, timeouts: int, answers: int, workers: int) -> Finding | None:
    """timeouts: answers that the verifier did not come back from, of so many."""
    share = timeouts / max(1, answers)
    whole = max(1e-9, pace.step)
    if share <= 0.01 and (pace.judge / whole <= 0.5 or pace.judge < 1):
        return None
    what = f"judging takes {percent(pace.judge / whole)} of a step with {workers} workers"
    if timeouts:
        what = f"{timeouts} of {answers:,} answers were not judged within the deadline; {what}"
    why = (
        "an answer that could not be judged is left out, and each costs the whole deadline; the "
        "sampler and the learner wait"
    )
    change = f"--judge.workers {2 * max(1, workers)}" + (
        ", or more --judge.seconds" if timeouts else ""
    )
    return Finding("judging", "warning", what, why, change)


def pace_of_probe(plan: Plan, probe: Probe, found: Sampled, mixed: float, reference: bool) -> Pace:
    """mixed: share of groups that will be learned from. reference: whether one is asked too.

    Times of the first batch are taken as they are, and in proportion where only a part of it was
    drawn. A reference is a pass forward, a third of the pass that learns.
    """
    timed, config = probe.timed, plan.config
    assert timed is not None
    times = config.sampling.groups / len(probe.batch)
    learn = times * timed.learn * mixed * config.learner.passes
    if reference:
        learn += times * timed.learn / 3
    evaluation = evaluation_tokens(plan, found) * seconds_a_token(found)
    return _pace(plan, evaluation, times * timed.sample, times * timed.judge, learn)


def pace_of_base(plan: Plan, found: Sampled, weights: Mapping[int, float]) -> Pace:
    """From the evaluation of the base, in which nothing was learned."""
    sampling = plan.config.sampling
    each = sum(
        share * one_problem(found, level, sampling.group_size) for level, share in weights.items()
    )
    sample = sampling.groups * each * seconds_a_token(found)
    return _pace(plan, found.seconds, sample, 0.0, None)


def _pace(plan: Plan, evaluation: float, sample: float, judge: float, learn: float | None) -> Pace:
    way, every = expected_seconds(plan.config, evaluation), plan.config.evaluation.every
    return Pace(sample, judge, learn, evaluation, way, every)


def seconds_a_token(found: Sampled) -> float:
    """Of those that the model computes, prompts among them: a rough rate, for batches differ."""
    return found.seconds / max(1, found.computed)


def one_problem(found: Sampled, level: int, answers: int) -> float:
    """Tokens that are computed for so many answers to a problem of a level, or of any level where
    it was not asked."""
    rows = found.level(level) or found.problems
    prompt = float(np.mean([one.asked for one in rows]))
    return prompt + answers * float(np.mean([n for one in rows for n in one.lengths]))


def evaluation_tokens(plan: Plan, found: Sampled) -> float:
    """Tokens that are computed in one evaluation, its control task included."""
    section, task = plan.config.evaluation, plan.task
    total = 0.0
    for level in section.levels or range(len(task.levels)):
        problems = min(section.problems, len(task.held_out(level)))
        total += problems * one_problem(found, level, section.samples)
        total += problems * one_problem(found, level, 1) * section.greedy
    control = plan.control.task
    if control is not None:
        levels = range(len(control.levels))
        beside = sum(min(section.control_problems, len(control.held_out(n))) for n in levels)
        answers = min(4, section.samples)
        total += beside * float(np.mean([one_problem(found, n, answers) for n in found.levels]))
    return total


def pace_of(ground: Ground) -> Pace | None:
    """The best estimate that there is: None without answers."""
    found, plan = ground.sampled, ground.plan
    if found is None or not found.answers:
        return None
    weights = beginning(plan, found)
    if ground.probe is None:
        return pace_of_base(plan, found, weights)
    if ground.probe.timed is None:
        return None
    size = plan.config.sampling.group_size
    known = {n: share for n, share in weights.items() if found.level(n)}
    drops = ground.objective.zero_signal != "keep" and not plan.config.run.random_reward
    mixed = expected(found, known, size).mean if drops and known else 1.0
    return pace_of_probe(plan, ground.probe, found, mixed, ground.objective.needs_reference)


def look_at_throughput(ground: Ground) -> Finding | None:
    pace, run = pace_of(ground), ground.plan.config.run
    return None if pace is None else throughput(pace, run.steps, run.max_time)


def look_at_cadence(ground: Ground) -> Finding | None:
    pace, run = pace_of(ground), ground.plan.config.run
    return None if pace is None else cadence(pace, run.save_every)


def look_at_evaluation_time(ground: Ground) -> Finding | None:
    pace = pace_of(ground)
    return None if pace is None or pace.learn is None else evaluation_time(pace)


def _error_note(probe: Probe | None) -> str:
    """What the verifier said of an answer that it could not judge."""
    rows = () if probe is None else (*probe.groups, *probe.batch)
    verdicts = (verdict for group in rows for verdict in group.verdicts)
    notes = (v.note for v in verdicts if v.status in NOT_JUDGED and v.status != Status.TIMEOUT)
    return one_line(next((note for note in notes if note), ""), 120)


def look_at_judging(ground: Ground) -> Finding | None:
    from evenodds.run.build import judge_options

    pace, found = pace_of(ground), ground.sampled
    if pace is None or found is None:
        return None
    lost = unjudged(found.errors, found.answers, _error_note(ground.probe))
    if lost is not None:
        return lost
    workers = judge_options(ground.plan.config).workers
    return judging(pace, found.timeouts, found.answers, workers)

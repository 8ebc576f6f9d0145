"""From a configuration to the things it names. What needs no torch is made and checked first."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from evenodds.alarms import Watch
from evenodds.bench import Report, short_bench
from evenodds.curricula import Curriculum, Ladder, make_curriculum
from evenodds.domain import Limits
from evenodds.errors import UsageError
from evenodds.judge import open_judge, rows_by
from evenodds.judge.chance import NAME as COIN
from evenodds.judge.options import JudgeOptions, default_workers
from evenodds.places import BUNDLED, SMALL, bundled_folder, expanded
from evenodds.report.again import is_from_python
from evenodds.run.audit import Evidence, evidence_of
from evenodds.run.config import Config
from evenodds.run.control import Beside, control_of
from evenodds.run.lookout import watch_of
from evenodds.run.settings_agreement import require_curriculum_settings, require_task_settings
from evenodds.tasks import Task, TaskOptions, check_gold, is_file, make_task

FASTEST = {"cpu": 4096, "cuda": 8192}  # tokens of a pass; measured on a CPU, on a GPU not yet
LARGEST = 8 * 2**20  # bytes of a config.json

if TYPE_CHECKING:
    from evenodds.evaluation import EvaluationSettings
    from evenodds.learner import LearnerOptions
    from evenodds.objectives import EntropyBonus, Objective
    from evenodds.policies import Policy
    from evenodds.policies.load import PolicyOptions
    from evenodds.run.memory import MemoryPlan


def own_style(policy: str) -> str:
    """`bare` for models whose config.json says so, as the bundled one's does, else few_shot."""
    folder = bundled_folder() if policy == BUNDLED else expanded(policy)
    adapter = _json(folder / "adapter_config.json")
    if adapter:
        base = str(adapter.get("base_model_name_or_path") or "")
        folder = bundled_folder() if base == BUNDLED else expanded(base)
    return str(_json(folder / "config.json").get("prompt_style", "few_shot"))


def _json(path: Path) -> dict[str, Any]:
    """The object in a file; empty where there is none, or nothing that a library would open."""
    try:
        if not path.is_file() or path.stat().st_size > LARGEST:
            return {}
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return cast(dict[str, Any], found) if isinstance(found, dict) else {}


def style_of(config: Config) -> str:
    """How problems are put: as named, else as they are in a file, else as the policy knows them."""
    if config.task.style != "auto":
        return config.task.style
    name = config.task.name
    is_own = name == "data" or is_file(name) or ".py" in name
    return "bare" if is_own else own_style(config.policy.name)


def title_of(config: Config, task: Task) -> str:
    """What is learned, for a person: the file where the task is one's own, and else its name."""
    if task.name not in ("own", "data"):
        return task.name
    return Path(config.task.data or config.task.name).name or task.name


def task_of(config: Config) -> Task:
    """The task, in the style that suits the policy unless one is named."""
    section = config.task
    if is_from_python(section.name):
        raise UsageError(
            "this run was made from Python, with problems that only its script has. "
            "Go on by the same call with the same run.name."
        )
    require_task_settings(section)
    return make_task(
        section.name,
        TaskOptions(
            style=style_of(config),
            shots=section.shots,
            held_out=section.held_out,
            data=section.data,
            held_out_data=section.held_out_data,
            subset=section.subset,
            data_split=section.split,
            held_out_split=section.held_out_split,
            verifier=section.verifier,
            policy=section.policy,
            prompt_column=section.prompt,
            answer_column=section.answer,
            level_column=section.level,
            columns=section.columns,
            drop_contradictory=section.drop_contradictory,
            drop_unreadable=section.drop_unreadable,
        ),
    )


def payer_of(config: Config, task: Task) -> str:
    """Who pays while the policy learns: the verifier's name, or the coin of the control arm."""
    return COIN if config.run.random_reward else task.verifier_name


def checked_levels(levels: tuple[int, ...], key: str, task: Task) -> tuple[int, ...]:
    """The levels themselves. Raises `UsageError` if the task does not have one of them."""
    top = len(task.levels) - 1
    for level in levels:
        if not 0 <= level <= top:
            raise UsageError(
                f"{key} cannot hold {level}: {task.name} has levels 0 to {top}. "
                "See `evenodds list tasks`."
            )
    return levels


def _labels(config: Config, task: Task) -> list[str]:
    """The labels of the levels that `curriculum.levels` numbers from 0."""
    chosen = config.curriculum.levels or ()
    return [task.levels[level] for level in checked_levels(chosen, "curriculum.levels", task)]


def curriculum_of(config: Config, task: Task) -> Curriculum:
    """The curriculum at its start; settings of other kinds than the chosen one are left aside."""
    section = config.curriculum
    require_curriculum_settings(section)
    top = len(task.levels) - 1
    start = section.start or 0.0
    if start > top:
        raise UsageError(
            f"curriculum.start cannot be {start:g}: {task.name} has levels 0 to {top}. Lower it."
        )
    if section.kind == "ladder":
        return make_curriculum(
            "ladder",
            task,
            difficulty=start,
            target=section.target,
            gain=section.gain,
            sharpness=section.sharpness,
            review=section.review,
        )
    if section.kind == "fixed":
        return make_curriculum("fixed", task, levels=_labels(config, task))
    return make_curriculum("uniform", task)


def objective_of(config: Config) -> Objective:
    """The objective as it starts: with the entropy coefficient of the first update."""
    from evenodds.objectives import make_objective

    settings = config.objective.model_dump()
    for name in ("entropy_target", "entropy_step"):
        settings.pop(name)
    objective = make_objective(**settings)
    bonus_of(config, objective)  # whose mistakes are to be found as early
    return objective


def bonus_of(config: Config, objective: Objective) -> EntropyBonus | None:
    """What moves the entropy coefficient, starting at the objective's; None where it is fixed."""
    from evenodds.objectives.coefficient import make_bonus

    section = config.objective
    return make_bonus(objective.entropy, section.entropy_target, section.entropy_step)


def policy_options(config: Config) -> PolicyOptions:
    from evenodds.policies.load import PolicyOptions

    section = config.policy
    return PolicyOptions(
        name=section.name,
        adapter=section.adapter,
        rank=section.rank,
        alpha=section.alpha,
        dtype=section.dtype,
        device=section.device,
        seed=config.run.seed,
    )


def learner_options(
    config: Config, policy: Policy, memory: MemoryPlan | None = None
) -> LearnerOptions:
    """What is set, and what the memory plan chose; without one, what is fastest."""
    from evenodds.learner import LearnerOptions

    section = config.learner.model_dump()
    fastest = FASTEST.get(policy.device.type, FASTEST["cuda"])
    section["learning_rate"] = section["learning_rate"] or usual_rate(policy)
    section["micro_batch_tokens"] = section["micro_batch_tokens"] or fastest
    section["gradient_checkpointing"] = bool(section["gradient_checkpointing"])
    if memory is not None:
        section["micro_batch_tokens"] = memory.micro_batch_tokens
        section["gradient_checkpointing"] = memory.gradient_checkpointing
    return LearnerOptions(**section)


def usual_rate(policy: Policy) -> float:
    """The learning rate where none is set. LoRA wants more than all weights do, and small models
    more than large ones."""
    if policy.is_adapter:
        return 2e-4
    return 5e-4 if policy.size <= SMALL else 1e-5


def judge_options(config: Config) -> JudgeOptions:
    section = config.judge
    workers = default_workers() if section.workers is None else section.workers
    return JudgeOptions(workers, section.seconds, section.memory_mb)


def limits_of(config: Config, task: Task) -> Limits:
    section = config.sampling
    return Limits(section.max_tokens, section.temperature, stops_of(config, task))


def stops_of(config: Config, task: Task) -> tuple[str, ...]:
    """The texts behind which an answer ends: those of the task's style, and those asked for."""
    return tuple(dict.fromkeys((*task.stop_strings, *config.sampling.stop)))


def evaluation_budget(config: Config) -> int:
    """Tokens of one answer of an evaluation: its own budget, or that of training."""
    return config.evaluation.max_tokens or config.sampling.max_tokens


def evaluation_settings(config: Config, task: Task) -> EvaluationSettings:
    """How an evaluation samples: at a temperature of its own, whatever training uses."""
    from evenodds.evaluation import EvaluationSettings

    section = config.evaluation
    return EvaluationSettings(
        limits=Limits(evaluation_budget(config), section.temperature, stops_of(config, task)),
        samples=section.samples,
        problems=section.problems,
        levels=section.levels and checked_levels(section.levels, "evaluation.levels", task),
        greedy=section.greedy,
        seed=section.seed,
    )


def even_odds(base: Mapping[str, Any], target: float) -> float:
    """The difficulty at which the base's sampled solve rate falls to `target`, interpolated.

    base: the record of an evaluation. Levels are taken in order up to the first that is harder
    than the target; the answer lies between it and the one before.
    """
    before: tuple[float, float] | None = None
    for level in base["levels"]:
        tries = sum(problem["tries"] for problem in level["problems"])
        rate = sum(problem["right"] for problem in level["problems"]) / max(1, tries)
        if rate < target:
            if before is None:
                return float(level["level"])
            number, higher = before
            share = (higher - target) / (higher - rate)
            return number + share * (level["level"] - number)
        before = (float(level["level"]), rate)
    return before[0] if before else 0.0


def started(curriculum: Curriculum, config: Config, base: Mapping[str, Any]) -> Curriculum:
    """The curriculum at its start: a ladder whose start is not set begins at even odds."""
    if not isinstance(curriculum, Ladder) or config.curriculum.start is not None:
        return curriculum
    return replace(curriculum, difficulty=even_odds(base, config.curriculum.target))


@dataclass(frozen=True)
class Plan:
    """What can be made and checked before torch is imported and anything is written.

    bench: what the short bench found; None where the configuration leaves it out. evidence: what
    there is beside the verifier. watch: the alarms that are looked for. control: the task that
    evaluations measure beside this one. sittings: what computed the steps so far of a run that goes
    on; see `engine_facts`.
    """

    config: Config
    task: Task
    curriculum: Curriculum
    bench: Report | None = None
    evidence: Evidence = field(default_factory=Evidence)
    watch: Watch = field(default_factory=Watch)
    control: Beside = field(default_factory=Beside)
    sittings: tuple[Mapping[str, Any], ...] = ()


def _was_tried(passport: Path | None, task: Task) -> bool:
    if passport is None or not passport.exists():
        return False
    from evenodds.run.passports import was_tried  # it brings torch, which a new run imports later

    return was_tried(passport, task)


def plan_of(config: Config, task: Task | None = None, passport: Path | None = None) -> Plan:
    """passport: of the checker of a run that goes on, whose verifier the bench tries once only."""
    watch = watch_of(config)
    chosen = task or task_of(config)
    options = judge_options(config)
    with open_judge(chosen.verifier, options) as judge:
        # a verifier that cannot judge the right answers would teach nothing
        chosen = check_gold(chosen, judge_rows=lambda _, pairs: rows_by(judge, pairs)).task
        checked_levels(config.evaluation.levels or (), "evaluation.levels", chosen)
        curriculum = curriculum_of(config, chosen)
        tried = _was_tried(passport, chosen)
        bench = short_bench(chosen, judge) if config.check.bench and not tried else None
        evidence = evidence_of(config, chosen, style_of(config), judge, options)
    control = control_of(config, chosen, style_of(config))
    return Plan(config, chosen, curriculum, bench, evidence, watch, control)

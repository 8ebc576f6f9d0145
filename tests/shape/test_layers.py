"""The floors of the house: a room imports from floors below, or from rooms to its left."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "evenodds"
FLOORS = [
    [
        "errors",
        "own",
        "undisturbed",
        "machine",
        "durable",
        "masking",
        "places",
        "domain",
        "credit",
        "similarity",
        "statistics",
    ],
    ["sandbox", "verifiers", "tasks", "curricula"],
    ["objectives", "batch", "diagnostics", "finite"],
    ["judge", "policies", "sampling", "learner", "reference"],
    ["step", "evaluation", "alarms"],
    ["bench", "records", "report", "viewer", "sinks", "run", "replay", "lab"],
    ["cli"],
]
PLACE = {room: (floor, at) for floor, rooms in enumerate(FLOORS) for at, room in enumerate(rooms)}
LIGHT = {*FLOORS[0], *FLOORS[1]}
LIGHT |= {"judge", "bench", "report", "alarms", "records", "sinks", "cli"}


def room_of(file: Path) -> str:
    return file.relative_to(SOURCE).parts[0].removesuffix(".py")


def imports(file: Path) -> list[tuple[str, bool]]:
    """Modules that a file imports, and whether at import time (not inside a function)."""
    found = []

    def walk(node: ast.AST, top: bool) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Import):
                found.extend((alias.name, top) for alias in child.names)
            elif isinstance(child, ast.ImportFrom) and child.module:
                found.append((child.module, top))
                found.extend((f"{child.module}.{alias.name}", top) for alias in child.names)
            typing_only = isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test)
            inner = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef) or typing_only
            walk(child, top and not inner)

    walk(ast.parse(file.read_text()), True)
    return found


FILES = sorted(SOURCE.rglob("*.py"))


@pytest.mark.parametrize("file", FILES, ids=lambda f: str(f.relative_to(SOURCE)))
def test_a_room_imports_from_below_or_from_its_left(file) -> None:
    room = room_of(file)
    if room in ("__init__", "__main__"):
        return
    assert room in PLACE, f"{room} has no place: add it to FLOORS"
    for module, _ in imports(file):
        parts = module.split(".")
        if parts[0] != "evenodds" or len(parts) < 2 or parts[1] == room or parts[1] not in PLACE:
            continue
        there = PLACE[parts[1]]
        here = PLACE[room]
        assert there[0] < here[0] or (there[0] == here[0] and there[1] < here[1]), module


@pytest.mark.parametrize("file", FILES, ids=lambda f: str(f.relative_to(SOURCE)))
def test_light_rooms_do_not_import_torch_at_import_time(file) -> None:
    if room_of(file) not in LIGHT:
        return
    heavy = {"torch", "transformers", "peft", "jaxtyping"}
    assert not {m.split(".")[0] for m, top in imports(file) if top} & heavy


def test_one_training_step_runs_through_few_files() -> None:
    """Counted while a real step runs: native engine, real verifier, real learner.

    The engine and the fused model below it are counted apart: they compute what a plain forward
    pass computes, faster, and who reads the algorithm need not open them.
    """
    from evenodds.curricula import make_curriculum
    from evenodds.domain import Limits
    from evenodds.judge import InlineJudge
    from evenodds.learner import LearnerOptions, TorchLearner
    from evenodds.objectives import make_objective
    from evenodds.sampling.native import NativeSampler
    from evenodds.step import State, StepConfig, Tools, train_step
    from evenodds.tasks import problems_task
    from tests.tiny import make_policy

    policy = make_policy()
    task = problems_task([("7*8=", "5"), ("12*3=", "3")], lambda problem, text: len(text) % 2 == 0)
    learner = TorchLearner(policy, LearnerOptions())
    tools = Tools(NativeSampler(policy), InlineJudge(task.verifier), learner)
    objective = make_objective(mask_truncated=False)
    config = StepConfig(2, 8, Limits(12), objective)
    state = State(make_curriculum("uniform", task))
    seen: set[str] = set()

    def note(frame, event, argument) -> None:
        name = frame.f_code.co_filename
        if name.startswith(str(SOURCE)):
            seen.add(name.removeprefix(str(SOURCE)))

    sys.setprofile(note)
    try:
        _, report = train_step(state, tools, config)
    finally:
        sys.setprofile(None)
    assert report.update is not None
    # what is asked, who judges, and what is around a person's code of either
    problems = ("/tasks", "/verifiers", "/curricula", "/own.py", "/undisturbed")
    engine = {n for n in seen if n.startswith(("/sampling", "/policies/fused"))}
    algorithm = {n for n in seen - engine if not n.startswith(problems)}
    print(f"\n{len(seen)} files in all, {len(algorithm)} of the algorithm: {sorted(algorithm)}")
    print(f"{len(engine)} of the engine: {sorted(engine)}")
    assert len(algorithm) <= 16
    assert len(engine) <= 12

"""R9: random stories of a store of checkpoints, beside a model of what must be in it.

Saved, saved again, killed at any call, damaged, pruned, recovered, with foreign things everywhere,
also under names like ours: the newest that was promised is there, and nothing foreign is gone.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from evenodds import durable
from evenodds.durable import commit_folder, verify_folder
from tests.faults.raising import Raising, raising

PREFIX = "step-"
OPERATIONS = 13
FOREIGN = (  # names that somebody else may use; the last ones are ours in all but one thing
    *("notes.txt", "step-best/weights", "step-3.bak/weights", "step-0/state.json"),
    *(".evenodds-tmp-1-0123abcd.txt", ".evenodds-tmp-1-0123ABCD/weights", ".evenodds-old-/weights"),
    *(".evenodds-old-mine/weights", "step-2/notes.txt", "step-5/policy/notes.txt"),
    *("step-7", "step-6/manifest.json.bak", ".evenodds-old-step-4/weights", "x/step-1/state.json"),
)


class Crash(BaseException):
    """Stands for the end of the process: every later call fails too."""


@dataclass
class Model:
    """promised: numbers whose save has returned, and that nobody has damaged or pruned since.

    foreign: texts of files that are not ours; each has to be somewhere, to the end. lost: how often
    there was no sound checkpoint though one was promised; deleted: foreign files that are gone.
    """

    root: Path
    draw: random.Random
    promised: set[int] = field(default_factory=set[int])
    foreign: set[str] = field(default_factory=set[str])
    done: Counter[str] = field(default_factory=Counter[str])
    lost: int = 0
    deleted: int = 0


def filler(step: int) -> Callable[[Path], None]:
    def fill(folder: Path) -> None:
        (folder / "policy").mkdir()
        (folder / "policy" / "weights.safetensors").write_bytes(bytes([step % 256]) * 40)
        (folder / "state.json").write_text(json.dumps({"step": step}))

    return fill


def step_of(folder: Path) -> int:
    verify_folder(folder)
    return json.loads((folder / "state.json").read_text())["step"]


def good_ones(root: Path) -> list[Path]:
    return durable.valid_folders(root, PREFIX)[0]


def number_of(folder: Path) -> int:
    return int(folder.name.removeprefix(PREFIX))


def save(model: Model) -> None:
    newest = max([number_of(path) for path in good_ones(model.root)], default=0)
    number = model.draw.choice([newest + 1, max(1, newest), max(1, newest - 1)])
    if number <= newest:
        model.promised.discard(number)  # of a name that is replaced the old or the new is there
    commit_folder(model.root / f"{PREFIX}{number}", filler(number))
    model.promised.add(number)


def prune(model: Model) -> None:
    keep = model.draw.choice([0, 1, 2, 3])
    kept = {number_of(path) for path in good_ones(model.root)[: max(1, keep)]}
    model.promised &= kept | {max(model.promised, default=0)}
    durable.prune(model.root, PREFIX, keep)


def recover(model: Model) -> None:
    durable.recover(model.root)


def resume(model: Model) -> None:
    durable.valid_folders(model.root, PREFIX, 1)


def damage(model: Model) -> None:
    """Anything to any file of a checkpoint, sound or not; the last sound one is spared."""
    good = good_ones(model.root)
    folders = [path for path in durable.numbered(model.root, PREFIX) if path.is_dir()]
    spared = good[:1] if len(good) == 1 else []
    victims = [path for path in folders if path not in spared]
    if not victims:
        return
    folder = model.draw.choice(victims)
    files = [path for path in sorted(folder.rglob("*")) if _is_whole_file_of_ours(path)]
    if files:
        model.promised.discard(number_of(folder))
        _break(model.draw.choice(files), model.draw)


def _is_whole_file_of_ours(path: Path) -> bool:
    ours = path.name in ("state.json", "weights.safetensors", "manifest.json")
    return ours and path.is_file() and path.stat().st_size > 0


def _break(path: Path, draw: random.Random) -> None:
    data = bytearray(path.read_bytes())
    if "foreign" in path.read_bytes().decode("latin-1"):
        return
    kind = draw.choice(["flip", "cut", "delete", "extend"])
    if kind == "delete":
        path.unlink()
        return
    if kind == "flip":
        data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
    path.write_bytes(
        {"cut": data[: draw.randrange(len(data))], "extend": data + b"x"}.get(kind, data)
    )


def add_foreign(model: Model) -> None:
    """A file of somebody else's, unless the name is taken; beside ours it is no damage."""
    path = model.root / model.draw.choice(FOREIGN)
    if path.exists() or any(above.is_file() for above in path.parents):
        return
    text = f"foreign {len(model.foreign)}"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    model.foreign.add(text)


CHANCES = {save: 6, prune: 3, damage: 3, recover: 1, resume: 1, add_foreign: 2}
MAY_CRASH = (save, prune, recover, resume)


def look(model: Model, what: str) -> None:
    """Hold the folder against the model."""
    good = good_ones(model.root)
    assert all(step_of(path) == number_of(path) for path in good), what
    if model.promised and (not good or number_of(good[0]) < max(model.promised)):
        model.lost += 1
    there = {
        path.read_text(errors="replace")
        for path in model.root.rglob("*")
        if path.is_file() and path.suffix != ".safetensors"
    }
    model.deleted += len(model.foreign - there)


def tell(root: Path, seed: int, operations: int = OPERATIONS) -> Model:
    """One story from its seed; the folder is looked at after each operation, or the crash in it."""
    model = Model(root, random.Random(seed))
    for _ in range(operations):
        act = model.draw.choices([*CHANCES], [*CHANCES.values()])[0]
        model.done[act.__name__] += 1
        crashes = act in MAY_CRASH and model.draw.random() < 0.4
        if not crashes:
            act(model)
        else:
            point = Raising(model.draw.randrange(1, 30), Crash, for_good=True)
            with suppress(Crash), raising(point):
                act(model)
            model.done["crashes"] += point.calls >= point.at
            durable.recover(root)  # as the next start does
        look(model, f"seed {seed}, {act.__name__}")
    return model

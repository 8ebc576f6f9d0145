"""R2: every part of a checkpoint, lost in turn: it is refused, or the resume test notices."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors.torch import load_file, save_file

from evenodds.durable.manifest import MANIFEST, seal
from tests.faults.fingerprint import differences, fingerprint
from tests.faults.moments import Moment
from tests.faults.resume import arm_of, rows, sitting
from tests.faults.setting import RUN, WHOLE, Setting

KNOWN: dict[str, Any] = {  # what a run has of each at its start, where it is not 0
    "state.bonus": None,
    "state.curriculum.solve_rate": None,
    "state.curriculum.posteriors": {},
    "state.bonus.seen": None,
    "pending": None,
    "seals": None,
    "moments": None,
}
ONE_VALUE = {"state.bonus", "state.curriculum.posteriors", "pending"}  # tables that are one value
Change = Callable[[Path], None]
"""What is done to a checkpoint folder, before it is sealed again."""


@dataclass(frozen=True)
class Loss:
    """part: as state.json names it, or a kind of tensor. how: `deleted`, or what stands there."""

    part: str
    how: str
    change: Change


def keys(record: Mapping[str, Any], where: str = "") -> Iterator[str]:
    """The dotted names of all values, and of the tables that hold them; a log's name has a dot."""
    for key, value in record.items():
        name = where + key.replace(".", "/")
        yield name
        if isinstance(value, Mapping) and name not in ONE_VALUE - {"state.bonus"}:
            yield from keys(value, f"{name}.")


def place(record: dict[str, Any], name: str) -> tuple[dict[str, Any], str]:
    *above, last = [part.replace("/", ".") for part in name.split(".")]
    for part in above:
        record = record[part]
    return record, last


def deleted(name: str) -> Change:
    def change(folder: Path) -> None:
        record = json.loads((folder / "state.json").read_text())
        table, key = place(record, name)
        del table[key]
        (folder / "state.json").write_text(json.dumps(record))

    return change


def replaced(name: str, value: Any) -> Change:
    def change(folder: Path) -> None:
        record = json.loads((folder / "state.json").read_text())
        table, key = place(record, name)
        table[key] = value
        (folder / "state.json").write_text(json.dumps(record))

    return change


def initial(name: str, now: Any) -> Any:
    """What the part is at the start of a run, or else another value of its kind."""
    value = KNOWN.get(name, 0 if isinstance(now, int | float) else None)
    if value != now and name not in ("moments", "seals"):
        return value
    if name == "seals":
        return now + 100  # it only has to be no more than what is there
    if isinstance(now, bool) or now is None or isinstance(now, Mapping):
        return {"step": 1}
    if isinstance(now, int):
        return now + 1
    if isinstance(now, float):
        return now / 2 + 0.1
    return now[:-1] if isinstance(now, list) else f"{now}x"


def moments_without(kind: str, keep: bool) -> Change:
    """A kind of moment deleted, or (keep) all of it zero."""

    def change(folder: Path) -> None:
        path = folder / "optimizer.safetensors"
        found = load_file(path)
        kept = {k: v for k, v in found.items() if not k.endswith(f"::{kind}")}
        zero = {k: v.zero_() for k, v in found.items() if k.endswith(f"::{kind}")}
        save_file(kept | (zero if keep else {}), path)

    return change


def weights_without(keep: bool) -> Change:
    """The largest tensor of the policy deleted, or (keep) zero."""

    def change(folder: Path) -> None:
        (path,) = (folder / "policy").glob("*.safetensors")
        found = load_file(path)
        largest = max(sorted(found), key=lambda name: found[name].numel())
        value = found.pop(largest).zero_()
        save_file(found | ({largest: value} if keep else {}), path, {"format": "pt"})

    return change


def of_tensors() -> Iterator[Loss]:
    for kind in ("exp_avg", "exp_avg_sq", "step"):
        yield Loss(f"moments {kind}", "deleted", moments_without(kind, keep=False))
        yield Loss(f"moments {kind}", "zero", moments_without(kind, keep=True))
    yield Loss("a weight", "deleted", weights_without(keep=False))
    yield Loss("a weight", "zero", weights_without(keep=True))
    for name in ("optimizer.safetensors", "state.json"):
        yield Loss(name, "deleted", lambda folder, name=name: (folder / name).unlink())


def losses(record: Mapping[str, Any]) -> Iterator[Loss]:
    """Every part of this state deleted, and every value put back to the start or else changed."""
    for name in keys(record):
        yield Loss(name, "deleted", deleted(name))
        table, key = place(dict(record), name)
        if not isinstance(table[key], Mapping) or name in ONE_VALUE:
            value = initial(name, table[key])
            yield Loss(name, f"{str(value)[:20]}", replaced(name, value))
    yield from of_tensors()


def lose(loss: Loss, checkpoint: Path) -> None:
    """Do it, and seal the folder again: so it is no damage, but another state."""
    loss.change(checkpoint)
    (checkpoint / MANIFEST).unlink()
    seal(checkpoint)


SETTINGS: dict[str, Any] = {
    "objective__entropy": 0.05,
    "objective__entropy_target": 0.5,  # below what there is, so that what was seen matters
    "curriculum__start": 0.5,
    "curriculum__review": 0.3,
    "evaluation__every": 3,
    "evaluation__every_problems": 1,
    "run__keep": 10,
}
WITHIN = Moment(6, "recording", "fail")  # step 5 is the newest then: a kill may leave step 4
PENDING = Moment(6, "evaluating", "stop")


def stopped(arm: Setting, moment: Moment) -> Path:
    """A run that ended there, of which copies are made; its newest checkpoint is taken apart."""
    name = f"ended-{moment.how}"
    place = arm.begin(name)
    ended = sitting(arm.arguments, place / "said", moment, 1, True, place)
    assert ended.code == moment.code, ended.err
    return arm.run(name)


def newest(run: Path) -> Path:
    return max((run / "checkpoints").glob("step-*"))


def states(run: Path, after: str) -> dict[str, Any]:
    """The states that were saved behind the checkpoint of this name, which was taken apart."""
    later = [path for path in (run / "checkpoints").glob("step-*") if path.name > after]
    return {path.name: json.loads((path / "state.json").read_text())["state"] for path in later}


def tell(arm: Setting, run: Path, loss: Loss, name: str) -> tuple[str, str]:
    """`refused`, `noticed` or `missed`, and by what."""
    place, copy = arm.begin(name), arm.run(name)
    shutil.copytree(run, copy)
    apart = newest(copy)
    lose(loss, apart)
    ended = sitting(["train", "--resume", RUN], place / "said", None, 2, True, place)
    told = [line for line in ended.err.splitlines() if line.startswith("evenodds: ")]
    if ended.code == 1 and len(told) == 1 and "Traceback" not in ended.err:
        return "refused", told[0]
    if ended.code != 0 or "Traceback" in ended.err:
        return "missed", f"exit {ended.code}: {ended.err[-300:]}"
    found = [line for line in ended.err.splitlines() if "passed over" in line]
    found += differences(arm.whole, fingerprint(copy))
    whole, now = states(arm.run(WHOLE), apart.name), states(copy, apart.name)
    found += [name for name, state in whole.items() if now[name] != state]
    times = [row.get("time/elapsed", 0.0) for row in rows(copy / "metrics.jsonl")]
    found += ["the clock goes back"] if times != sorted(times) else []
    arm.remove(name)
    return ("noticed", ", ".join(found)) if found else ("missed", "nothing differs")


def arm_for(root: Path) -> Setting:
    return arm_of("ablation", root, SETTINGS)

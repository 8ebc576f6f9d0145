"""Every sink passes the same suite: the libraries that are here for real, the others as fakes."""

from __future__ import annotations

import struct
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from evenodds.errors import UsageError
from evenodds.sinks import Outlets, RunFacts, factories_of, open_sinks
from evenodds.sinks import outlets as outlets_module

VALUES = {"reward": 0.5, "clip_ratio/high_mean": 0.25}


def facts(folder: Path) -> RunFacts:
    return RunFacts("a-run", folder, "abacus learns", {"run": {"seed": 0}})


def events(folder: Path) -> list[tuple[int, str, float]]:
    """(step, tag, value) of the event files: records of length, checksum, bytes, checksum."""
    from tensorboardX.proto.event_pb2 import Event

    found = []
    for path in folder.rglob("events.*"):
        data = path.read_bytes()
        at = 0
        while at < len(data):
            (size,) = struct.unpack_from("<Q", data, at)
            event = Event.FromString(data[at + 12 : at + 12 + size])
            found += [(event.step, v.tag, v.simple_value) for v in event.summary.value]
            at += size + 16
    return found


class FakeRun:
    """What wandb's and trackio's runs have in common."""

    def __init__(self) -> None:
        self.logged: list[tuple[int | None, dict]] = []
        self.summary: dict[str, float] = {}
        self.finished = False

    def log(self, values: dict, step: int | None = None) -> None:
        self.logged.append((step, values))

    def finish(self, **_: object) -> None:
        self.finished = True


def fake_wandb(monkeypatch, run: FakeRun) -> dict:
    seen: dict = {}

    def init(**kwargs: object) -> FakeRun:
        seen.update(kwargs)
        return run

    module = SimpleNamespace(init=init, login=lambda prompt: False, Settings=lambda **k: k)
    monkeypatch.setitem(sys.modules, "wandb", module)
    return seen


def fake_trackio(monkeypatch, run: FakeRun) -> dict:
    seen: dict = {}

    def init(**kwargs: object) -> FakeRun:
        print("* noise of a library")
        seen.update(kwargs)
        return run

    monkeypatch.setitem(sys.modules, "trackio", SimpleNamespace(init=init))
    return seen


@pytest.fixture(params=["tensorboard", "wandb", "trackio", "own"])
def opened(request, tmp_path, monkeypatch):
    """A sink, and a function that tells what has arrived: (step, name, value)."""
    from evenodds.sinks.tensorboard import TensorBoardSink
    from evenodds.sinks.trackio import TrackioSink
    from evenodds.sinks.wandb import WandbSink

    run = FakeRun()

    def arrived() -> list[tuple[int | None, str, float]]:
        return [(step, name, v) for step, row in run.logged for name, v in row.items()]

    if request.param == "tensorboard":
        return TensorBoardSink(facts(tmp_path)), lambda: events(tmp_path)
    if request.param == "wandb":
        fake_wandb(monkeypatch, run)
        return WandbSink(facts(tmp_path)), arrived
    if request.param == "trackio":
        fake_trackio(monkeypatch, run)
        return TrackioSink(facts(tmp_path)), arrived
    file = tmp_path / "mine.py"
    file.write_text(
        "class Mine:\n"
        "    rows = []\n"
        "    def __init__(self, run): self.run = run\n"
        "    def log(self, step, values): self.rows += [(step, n, v) for n, v in values.items()]\n"
        "    def summary(self, values): pass\n"
        "    def close(self): pass\n"
    )
    made = open_sinks(factories_of([f"{file}:Mine"]), facts(tmp_path))
    sink = next(iter(made.values()))
    return sink, lambda: sink.rows


def test_a_sink_gets_every_step_in_order_and_the_summary(opened) -> None:
    sink, arrived = opened
    outlets = Outlets({"it": sink}, pytest.fail)
    for step in (1, 2, 3):
        outlets.log(step, {**VALUES, "skipped": "a text", "odd": float("nan"), "kept": True})
    outlets.summary({"heldout/gain_mean": 0.125})
    outlets.close()
    outlets.close()
    rows = [row for row in arrived() if row[1] in {*VALUES, "kept"}]
    assert [row[0] for row in rows] == [1, 1, 1, 2, 2, 2, 3, 3, 3]
    assert {row[1:] for row in rows} == {*VALUES.items(), ("kept", 1.0)}
    assert not [row for row in arrived() if row[1] in ("skipped", "odd")]


def test_wandb_goes_offline_where_nobody_is_logged_in_and_goes_on_under_its_name(
    tmp_path, monkeypatch
) -> None:
    from evenodds.sinks.wandb import WandbSink

    monkeypatch.delenv("WANDB_MODE", raising=False)
    run = FakeRun()
    seen = fake_wandb(monkeypatch, run)
    sink = WandbSink(facts(tmp_path))
    assert seen["mode"] == "offline" and seen["id"] == "a-run" and seen["resume"] == "allow"
    sink.summary({"gain": 0.5})
    sink.close()
    assert run.summary == {"gain": 0.5} and run.finished


def test_trackio_writes_nothing_to_stdout(tmp_path, monkeypatch, capsys) -> None:
    from evenodds.sinks.trackio import TrackioSink

    fake_trackio(monkeypatch, FakeRun())
    TrackioSink(facts(tmp_path)).close()
    assert capsys.readouterr().out == ""


class Broken:
    def log(self, step, values) -> None:
        raise ConnectionError("no route to host")

    def summary(self, values) -> None: ...
    def close(self) -> None: ...


def test_a_sink_that_fails_is_told_once_and_never_ends_a_run() -> None:
    told: list[str] = []
    outlets = Outlets({"mine": Broken()}, told.append)
    for step in range(50):
        outlets.log(step, VALUES)
        time.sleep(0.001)
    outlets.close()
    assert told == ["sink mine failed and gets nothing more: ConnectionError: no route to host"]


def test_a_sink_that_hangs_is_not_waited_for(monkeypatch) -> None:
    monkeypatch.setattr(outlets_module, "PATIENCE", 0.05)
    release = threading.Event()
    told: list[str] = []

    class Slow(Broken):
        def log(self, step, values) -> None:
            release.wait(5)

    outlets = Outlets({"slow": Slow()}, told.append)
    started = time.monotonic()
    for step in range(outlets_module.WAITING + 5):
        outlets.log(step, VALUES)
    outlets.close()
    release.set()
    assert time.monotonic() - started < 2
    assert len(told) == 2 and "too slow" in told[0] and "not taken everything" in told[1]


def test_what_cannot_be_used_is_said_before_a_run(tmp_path, monkeypatch) -> None:
    with pytest.raises(UsageError, match="Did you mean 'wandb'"):
        factories_of(["wandbb"])
    monkeypatch.setattr("evenodds.sinks.choose.find_spec", lambda name: None)
    with pytest.raises(UsageError, match=r"pip install 'evenodds\[trackio\]'"):
        factories_of(["trackio"])

    def refuses(run: RunFacts):
        raise PermissionError("no key")

    with pytest.raises(UsageError, match="no key"):
        open_sinks({"x": refuses}, facts(tmp_path))


def test_the_sink_in_the_docs_works(tmp_path, monkeypatch) -> None:
    """The example for MLflow, with a stand-in for the library."""
    page = (Path(__file__).parents[2] / "docs" / "sinks.md").read_text()
    code = page.split("```python\n")[1].split("```")[0]
    file = tmp_path / "mlflow_sink.py"
    file.write_text(code)
    seen: list = []
    fake = SimpleNamespace(
        set_experiment=lambda name: None,
        start_run=lambda run_name: SimpleNamespace(info=SimpleNamespace(run_id="7")),
        log_params=lambda values: seen.append(values),
        log_metrics=lambda values, step=None, run_id=None: seen.append((step, values)),
        end_run=lambda: seen.append("end"),
    )
    monkeypatch.setitem(sys.modules, "mlflow", fake)
    outlets = Outlets(open_sinks(factories_of([f"{file}:MLflow"]), facts(tmp_path)), pytest.fail)
    outlets.log(1, {"heldout/pass@1": 0.5})
    outlets.close()
    assert seen == [{"run.seed": 0}, (1, {"heldout/pass_at_1": 0.5}), "end"]
    assert len([line for line in code.splitlines() if line.strip()]) <= 22


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("S = 3", "is no class. Got a int"),
        ("class S: pass", "S() takes no arguments"),
        ("class S:\n    def __init__(self, run): raise SystemExit(0)", "SystemExit: 0"),
        (
            "class S:\n    def __init__(self, run): pass\n    def log(self, s, v): pass",
            "lacks methods",
        ),
    ],
)
def test_what_is_no_sink_is_refused_in_one_line(tmp_path, body, said) -> None:
    file = tmp_path / "mine.py"
    file.write_text(body)
    with pytest.raises(UsageError) as refused:
        open_sinks(factories_of([f"{file}:S"]), facts(tmp_path))
    assert said in str(refused.value) and "\n" not in str(refused.value)


def test_a_sink_that_exits_or_loses_a_method_is_told_and_ends_no_run() -> None:
    class Exits(Broken):
        def log(self, step, values) -> None:
            raise SystemExit(3)

    class Loses(Broken):
        def log(self, step, values) -> None: ...
        def __getattribute__(self, name):
            if name == "close":
                raise AttributeError(name)
            return object.__getattribute__(self, name)

    told: list[str] = []
    outlets = Outlets({"exits": Exits(), "loses": Loses()}, told.append)
    outlets.log(1, VALUES)
    outlets.close()
    assert [line.split()[1] for line in told] == ["exits", "loses"]


def test_a_sink_that_raises_an_interrupt_is_told_as_any_other() -> None:
    class Interrupts(Broken):
        def log(self, step, values) -> None:
            raise KeyboardInterrupt

    told: list[str] = []
    outlets = Outlets({"mine": Interrupts()}, told.append)
    outlets.log(1, VALUES)
    outlets.close()
    assert told == ["sink mine failed and gets nothing more: KeyboardInterrupt"]


def test_a_full_disk_ends_the_files_for_tensorboard_and_nothing_waits_for_them(
    tmp_path: Path, monkeypatch
) -> None:
    told: list[str] = []
    sinks = open_sinks(factories_of(["tensorboard"]), facts(tmp_path))

    def is_full(record: bytes) -> None:
        raise OSError(28, "No space left on device")

    written = sinks["tensorboard"]._writer._py_recordio_writer
    monkeypatch.setattr(written, "write", is_full)
    outlets = Outlets(sinks, told.append)
    outlets.log(1, VALUES)
    outlets.close()
    written.close()
    assert len(told) == 1 and "No space left on device" in told[0]
    assert not [one for one in threading.enumerate() if "EventLogger" in type(one).__name__]


def test_what_a_sink_changes_as_it_is_opened_is_put_back(tmp_path: Path, capsys) -> None:
    def opens(run: RunFacts) -> Broken:
        sys.setrecursionlimit(sys.getrecursionlimit() + 1)
        return Broken()

    before = sys.getrecursionlimit()
    open_sinks({"mine": opens}, facts(tmp_path))
    assert sys.getrecursionlimit() == before
    assert "the sink mine changed the recursion limit" in capsys.readouterr().err

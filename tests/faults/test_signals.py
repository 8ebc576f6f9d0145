"""R7, a random share of it: asked once a run saves and ends, asked twice it is gone in a second."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from benchmarks.durability_parts.signals import at_moments, twice_at
from tests.faults.setting import Setting, undisturbed
from tests.faults.stories import signalled, tell
from tests.faults.test_kills import told


@pytest.fixture(scope="module")
def setting(tmp_path_factory) -> Setting:
    return undisturbed(tmp_path_factory.mktemp("signals"))


@pytest.mark.timeout(600)
def test_one_signal_at_any_moment(setting, budget) -> None:
    assert told(at_moments(setting, 100), setting, budget / 2) == {}


@pytest.mark.timeout(600)
def test_a_second_signal_at_any_moment_also_on_a_slow_disk(setting, budget) -> None:
    assert told(twice_at(setting), setting, budget / 2) == {}


def test_no_process_of_a_judge_outlives_a_signal(tmp_path) -> None:
    setting = undisturbed(tmp_path, judge__workers=1, run__steps=2)
    story = signalled(signal.SIGTERM, setting.seconds / 2)
    assert tell(story, setting, "judged") == []


def test_a_signal_that_is_ignored_stays_so() -> None:
    """`nohup evenodds train` goes on when the terminal is closed."""
    code = "import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN)\n"
    code += "from evenodds.run.stopping import Interrupts\n"
    code += "from evenodds.cli.signals import Signals\n"
    code += "with Signals(), Interrupts() as found:\n signal.raise_signal(signal.SIGHUP)\n"
    code += "print(found.received)"
    assert _said(code) == "None"


def test_two_signals_at_the_same_moment_are_one() -> None:
    """`uv run` passes on what the terminal has sent to all processes anyway."""
    code = "import signal, time\nfrom evenodds.run.stopping import Interrupts\n"
    code += "with Interrupts() as found:\n"
    code += " for _ in range(2): signal.raise_signal(signal.SIGINT)\n"
    code += " print(found.received, flush=True)\n time.sleep(0.15)\n"
    code += " signal.raise_signal(signal.SIGINT)\n print('never')\n"
    assert _said(code, 130) == "2"


def test_a_signal_in_an_import_ends_the_process_and_is_swallowed_by_nobody(tmp_path) -> None:
    """A library that tries an import would catch what is raised, and keep Python's import lock."""
    (tmp_path / "tried.py").write_text("import signal\nsignal.raise_signal(signal.SIGTERM)\n")
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
    code += "from evenodds.cli.signals import Signals\nwith Signals():\n try:\n  import tried\n"
    code += " except BaseException: pass\n print('went on')\n"
    assert _said(code, 143, "evenodds: stopped by SIGTERM.\n") == ""


def test_a_computation_that_hears_nothing_is_left_after_the_second_signal() -> None:
    """Python's handlers wait for the end of a long call; the thread that listens does not."""
    code = "import os, signal, time, threading\nfrom evenodds.cli.signals import Signals\n"
    code += "def ask():\n"
    code += " for _ in range(2): time.sleep(0.3); os.kill(os.getpid(), signal.SIGINT)\n"
    code += "with Signals():\n threading.Thread(target=ask, daemon=True).start()\n"
    code += " import ctypes; libc = ctypes.CDLL(None)\n"
    code += " while True:\n  try: libc.usleep(900_000); libc.usleep(900_000)\n"
    code += "  except KeyboardInterrupt: pass\n"
    started = time.monotonic()
    _said(code, 130)
    assert time.monotonic() - started < 5


def _said(code: str, exit_code: int = 0, err: str | None = None) -> str:
    found = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=50,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[2] / "src")},
    )
    assert found.returncode == exit_code, found.stderr
    assert err is None or found.stderr == err
    return found.stdout.strip()

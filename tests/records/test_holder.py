from __future__ import annotations

import os
import socket
import subprocess
import sys

from evenodds.records.holder import holder_of, is_held
from evenodds.run.lock import RunLock


def test_a_run_is_held_while_its_lock_is_and_no_longer(tmp_path) -> None:
    assert not is_held(tmp_path)
    with RunLock(tmp_path):
        assert is_held(tmp_path) and holder_of(tmp_path) == (os.getpid(), socket.gethostname())
    assert not is_held(tmp_path)


def test_a_killed_holder_holds_nothing_and_another_host_is_believed(tmp_path) -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    (tmp_path / "lock").write_text(f"{gone.pid} {socket.gethostname()}\n")
    assert not is_held(tmp_path)
    (tmp_path / "lock").write_text("1 another-host\n")
    assert is_held(tmp_path)
    (tmp_path / "lock").write_bytes(b"\xff nonsense")
    assert not is_held(tmp_path)

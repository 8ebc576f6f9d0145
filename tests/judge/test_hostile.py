"""Whatever an answer makes the verifier do: one verdict each, in order, in time."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from evenodds.domain import Completion, Problem, Status, Verdict
from evenodds.errors import RunError
from evenodds.judge import JudgeOptions, WorkerJudge, open_judge
from evenodds.judge.frames import Call
from evenodds.verifiers import Verifier, as_verifier, find_verifier
from tests.judge import hostile

ROOMY = JudgeOptions(workers=2, seconds=5, memory_mb=256)
QUICK = JudgeOptions(workers=2, seconds=0.3, memory_mb=256)
PROBLEM = Problem("a", "6*7=", "42", "t")

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="judges inline there")


def verifiers() -> list[Verifier]:
    """The same one found by its name, hence by exec, and handed over, hence by fork."""
    return [find_verifier(hostile.FILE), as_verifier(hostile.judge)][: 2 if CAN_FORK else 1]


CAN_FORK = sys.platform == "linux"
WAYS = ["exec", "fork"][: 2 if CAN_FORK else 1]


def judge_of(way: str, options: JudgeOptions = QUICK) -> WorkerJudge:
    judge = open_judge(verifiers()[WAYS.index(way)], options)
    assert isinstance(judge, WorkerJudge)
    return judge


def judged(judge: WorkerJudge, texts: list[str]) -> list[Verdict]:
    answers = judge.answered([Call(PROBLEM, [Completion(text)]) for text in texts])
    return [verdict for verdicts in answers for verdict in verdicts]


ENDS = [
    ("exit", Status.ERROR, "ended: exit code 3"),
    ("sysexit", Status.ERROR, "SystemExit: 5"),
    ("segfault", Status.ERROR, "killed by signal 11"),
    ("terminate", Status.ERROR, "killed by signal 15"),
    ("memory", Status.ERROR, "out of memory: judge.memory_mb is 256"),
    ("memory piece by piece", Status.ERROR, "out of memory"),
    ("speak", Status.WRONG, ""),
    ("close", Status.ERROR, "the verifier's process"),
    ("close all", Status.ERROR, "the verifier's process"),
    ("fork and return", Status.WRONG, ""),
    ("fork and hold", Status.ERROR, "ended: exit code 4"),
    ("recurse", Status.ERROR, "RecursionError"),
    ("raise", Status.ERROR, "BaseException"),
    ("interrupt", Status.ERROR, "KeyboardInterrupt"),
    ("generator", Status.ERROR, "GeneratorExit"),
]
HANGS = [(deed, Status.TIMEOUT, "no verdict") for deed in ("loop", "sleep", "regex", "stop")]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("deeds", "options"), [(ENDS, ROOMY), (HANGS, QUICK)], ids=["end", "hang"])
def test_a_deed_costs_its_own_answer_only(
    way: str,
    deeds: list[tuple[str, Status, str]],
    options: JudgeOptions,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """Between any two deeds stands a right answer, which is paid; the order is kept."""
    texts = [text for deed, *_ in deeds for text in ("42", deed)] + ["42"]
    with judge_of(way, options) as judge:
        verdicts = judged(judge, texts)
    assert {v.status for v in verdicts[::2]} == {Status.RIGHT}
    for (deed, status, words), verdict in zip(deeds, verdicts[1::2], strict=True):
        assert (deed, verdict.status) == (deed, status), verdict.note
        assert words in verdict.note, (deed, verdict.note)
        assert verdict.seconds >= 0
    said = capfd.readouterr()
    assert said.out == "" and "Traceback" not in said.err


def test_verdicts_that_nobody_asked_for_put_none_out_of_step() -> None:
    """By exec only: a fork has the pipes of whoever runs these tests."""
    with judge_of("exec", ROOMY) as judge:
        verdicts = judged(judge, ["42", "speak frames", "41", "42"])
    error, right, wrong = Status.ERROR, Status.RIGHT, Status.WRONG
    assert [verdict.status for verdict in verdicts] == [right, error, wrong, right]


@pytest.mark.parametrize("way", WAYS)
def test_a_worker_may_kill_its_parent(way: str) -> None:
    """Which is the template, not the judge: another one is made."""
    texts = ["42", "kill the parent", "42", "exit", "kill the parent", "exit", "42"]
    with judge_of(way, ROOMY) as judge:
        verdicts = judged(judge, texts) + judged(judge, ["42"] * 4)
    # the killer itself may go down with the template where that happens as it starts
    killed = {Status.WRONG, Status.ERROR}
    right, error = {Status.RIGHT}, {Status.ERROR}
    expected = [right, killed, right, error, killed, error, right, *[right] * 4]
    found = [verdict.status for verdict in verdicts]
    assert all(s in may for s, may in zip(found, expected, strict=True)), found


@pytest.mark.parametrize("way", WAYS)
def test_many_answers_that_hang_cost_seconds(way: str) -> None:
    started = time.monotonic()
    with judge_of(way) as judge:
        verdicts = judged(judge, ["loop"] * 32)
    spent = time.monotonic() - started
    print(f"\n{way}: 32 hanging answers cost {spent:.2f} s at a deadline of .3 s")
    assert {v.status for v in verdicts} == {Status.TIMEOUT}
    assert spent < 32 * 0.3


def test_a_slow_honest_answer_keeps_its_time(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text(
        "import time\n"
        "def judge(problem, text):\n"
        "    time.sleep(60 if text == 'hang' else float(text))\n"
        "    return 1\n"
    )
    with open_judge(find_verifier(f"{tmp_path / 'slow.py'}:judge"), QUICK) as judge:
        assert isinstance(judge, WorkerJudge)
        verdicts = judged(judge, ["0.1"] * 6 + ["hang"] * 6 + ["0.15"] * 6)
    assert [v.status for v in verdicts] == (
        [Status.RIGHT] * 6 + [Status.TIMEOUT] * 6 + [Status.RIGHT] * 6
    )


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    stat = Path(f"/proc/{pid}/stat")
    return not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] != "Z"


def _gone(pid: int) -> bool:
    until = time.monotonic() + 5
    while _alive(pid) and time.monotonic() < until:
        time.sleep(0.01)
    return not _alive(pid)


@pytest.mark.parametrize("way", WAYS)
def test_no_process_is_left(way: str) -> None:
    with judge_of(way) as judge:
        judged(judge, ["42"])
        pids = [worker.pid for worker in judge._crew.workers if worker.pid]
        assert pids and all(map(_alive, pids))
    assert all(map(_gone, pids))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.skipif(sys.platform != "linux", reason="a thread watches there, which needs the GIL")
def test_workers_die_with_their_judge_even_while_they_hang(way: str, tmp_path: Path) -> None:
    script = (
        "import sys, threading, time\n"
        "from tests.judge.test_hostile import judge_of, judged, JudgeOptions\n"
        "judge = judge_of(sys.argv[1], JudgeOptions(workers=1, seconds=60))\n"
        "threading.Thread(target=judged, args=(judge, ['regex']), daemon=True).start()\n"
        "held = lambda: [w.pid for w in judge._crew.workers if w.held]\n"
        "while not held(): time.sleep(.01)\n"
        "time.sleep(.1)\n"
        "print(*held(), flush=True)\n"
        "time.sleep(60)\n"
    )
    command = [sys.executable, "-c", script, way]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        pids = [int(pid) for pid in process.stdout.readline().split()]
        process.send_signal(signal.SIGKILL)
    assert pids and all(map(_gone, pids))


def test_a_judge_may_be_asked_from_several_threads() -> None:
    found: dict[int, list[Verdict]] = {}
    with judge_of("exec") as judge:

        def ask(number: int) -> None:
            found[number] = judged(judge, ["42", str(number), "exit", "42"])

        threads = [threading.Thread(target=ask, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        again = judged(judge, ["42"])  # by workers that threads started which have ended
    right, wrong, error = Status.RIGHT, Status.WRONG, Status.ERROR
    assert [[v.status for v in row] for row in found.values()] == [[right, wrong, error, right]] * 4
    assert again[0].status is right


def test_a_tick_ends_the_waiting() -> None:
    class Asked(Exception):
        pass

    def tick() -> None:
        if time.monotonic() > asked:
            raise Asked

    with judge_of("exec", JudgeOptions(workers=2, seconds=30)) as judge:
        judge.tick, asked = tick, time.monotonic() + 0.5
        with pytest.raises(Asked):
            judged(judge, ["sleep", "loop"])
        assert time.monotonic() < asked + 5
        judge.tick = None
        assert judged(judge, ["42"])[0].status is Status.RIGHT


@pytest.mark.skipif(not CAN_FORK, reason="needs fork")
@pytest.mark.filterwarnings("ignore")
def test_a_fork_of_the_caller_neither_uses_nor_ends_the_workers() -> None:
    with judge_of("exec") as judge:
        assert judged(judge, ["42"])[0].status is Status.RIGHT
        child = os.fork()
        if child == 0:
            try:
                judged(judge, ["42"])
            except RunError:
                judge.close()
                os._exit(7)
            os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        assert judged(judge, ["41"])[0].status is Status.WRONG


def test_an_interrupt_leaves_the_judge_fit_for_more(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(signum: int, frame: object) -> None:
        raise KeyboardInterrupt

    previous = signal.signal(signal.SIGALRM, interrupted)
    try:
        with judge_of("exec", JudgeOptions(workers=2, seconds=30)) as judge:
            assert judged(judge, ["42"])[0].status is Status.RIGHT
            signal.setitimer(signal.ITIMER_REAL, 0.2)
            with pytest.raises(KeyboardInterrupt):
                judged(judge, ["42", "sleep", "42"])
            assert [v.status for v in judged(judge, ["41", "42"])] == [Status.WRONG, Status.RIGHT]
    finally:
        signal.signal(signal.SIGALRM, previous)

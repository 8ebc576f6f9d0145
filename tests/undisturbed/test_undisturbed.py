"""Misdeeds of a person's code in our process: all is as it was behind it, and told by name."""

from __future__ import annotations

import decimal
import gc
import io
import locale
import os
import resource
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import wraps
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import evenodds
from evenodds.curricula.allocation import draw
from evenodds.domain import Completion, Problem, Status, Verdict
from evenodds.errors import RunError, UsageError
from evenodds.judge import InlineJudge
from evenodds.judge.frames import Call
from evenodds.objectives import make_objective
from evenodds.own import Leaving
from evenodds.undisturbed import loaded, of_process, telling, undisturbed
from evenodds.undisturbed.around import bits
from evenodds.verifiers import as_verifier
from tests.run.small_runs import SMALL, Quiet, assert_equal_runs

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="Linux has all that is tried")

PROBLEM = Problem("k", "1+1=", "2", "t", columns={"notes": ["a"], "n": 1})


def close_descriptors() -> None:
    os.close(0)
    os.close(1)


def lead_elsewhere() -> None:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)


def lose_streams() -> None:
    sys.stdout = sys.stderr = None  # pyright: ignore[reportAttributeAccessIssue]


def count_by_hundredths() -> None:
    decimal.getcontext().prec = 2
    decimal.getcontext().traps[decimal.Inexact] = True


def ignore_signals() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)


def few_files() -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, (40, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))


# what it does -> what is told of it
DEEDS: dict[str, tuple[Callable[[], Any], str]] = {
    "closes a descriptor": (close_descriptors, "the standard streams"),
    "leads a descriptor elsewhere": (lead_elsewhere, "the standard streams"),
    "loses the streams": (lose_streams, "the standard streams"),
    "goes elsewhere": (lambda: os.chdir("/"), "the working folder"),
    "umask": (lambda: os.umask(0o777), "the umask"),
    "handlers": (ignore_signals, "the handlers of signals"),
    "blocks": (
        lambda: signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM]),
        "signals that are held up",
    ),
    "alarm": (lambda: signal.alarm(100), "a timer"),
    "recursion": (lambda: sys.setrecursionlimit(5000), "the recursion limit"),
    "gc": (gc.disable, "garbage collection"),
    "locale": (lambda: locale.setlocale(locale.LC_ALL, "C.UTF-8"), "the locale"),
    "decimal": (count_by_hundredths, "the context of decimals"),
    "numpy": (lambda: np.seterr(all="raise"), "the errors of numpy"),
    "environment": (lambda: os.environ.pop("OMP_NUM_THREADS"), "variables of the environment"),
    "limits": (few_files, "the limits of the process"),
    "no gradients": (lambda: torch.set_grad_enabled(False), "torch's gradients"),
    "inference": (
        lambda: HELD.append(torch.inference_mode()) or HELD[-1].__enter__(),
        "torch's inference mode",
    ),
    "type": (lambda: torch.set_default_dtype(torch.float64), "torch's default type"),
    "device": (lambda: torch.set_default_device("meta"), "torch's default device"),
    "threads": (lambda: torch.set_num_threads(3), "torch's threads"),
    "autocast": (lambda: torch.set_autocast_enabled("cpu", True), "torch's autocast"),
    "deterministic": (
        lambda: torch.use_deterministic_algorithms(True),
        "torch's deterministic algorithms",
    ),
    "precision": (
        lambda: torch.set_float32_matmul_precision("medium"),
        "torch's precision of products",
    ),
    "new precision": (  # of which torch refuses to tell by its old name
        lambda: setattr(torch.backends.cuda.matmul, "fp32_precision", "tf32"),
        "torch's precision of products",
    ),
    "all precision": (
        lambda: setattr(torch.backends, "fp32_precision", "ieee"),
        "torch's precision of products",
    ),
    "attention": (lambda: torch.backends.cuda.enable_flash_sdp(False), "torch's kernels"),
    "cudnn": (lambda: setattr(torch.backends.cudnn, "benchmark", True), "torch's kernels"),
    "anomaly": (lambda: torch.autograd.set_detect_anomaly(True), "torch's anomaly mode"),
    "oneDNN": (lambda: torch.backends.mkldnn.set_flags(False), "torch's use of oneDNN"),
    "denormals": (lambda: torch.set_flush_denormal(True), "numbers next to 0"),
}
HELD: list[Any] = []


def all_that_is_kept() -> list[Any]:
    parts = [*bits(), *of_process.parts()]
    streams = [(os.fstat(one).st_ino, os.fstat(one).st_dev) for one in (0, 1, 2)]
    return [*(part.read() for part in parts), sys.stdout, sys.stderr, streams]


def judged(deed: Callable[[], Any]) -> Verdict:
    def verifier(problem: Problem, completion: Completion) -> Verdict:
        deed()
        return Verdict(1.0, Status.RIGHT)

    return InlineJudge(verifier).answered([Call(PROBLEM, [Completion("2")])])[0][0]


@pytest.fixture(autouse=True)
def _fresh(monkeypatch: pytest.MonkeyPatch) -> Generator[None]:
    monkeypatch.setattr(telling, "_told", set())
    monkeypatch.setattr(telling, "_opened", set())
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    left, _ = signal.setitimer(signal.ITIMER_REAL, 0)  # of what bounds a test's time
    yield
    signal.setitimer(signal.ITIMER_REAL, left)


@pytest.mark.parametrize("name", DEEDS)
def test_what_a_verifier_changes_is_put_back_and_told(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    deed, part = DEEDS[name]
    before = all_that_is_kept()
    assert judged(deed).score == 1.0
    judged(deed)
    assert all_that_is_kept() == before
    told = capsys.readouterr().err.splitlines()
    assert len(told) == 1, "once is enough"
    assert part in told[0] and "the verifier verifier" in told[0]


POOL = ThreadPoolExecutor(1)  # kept from call to call; Python ends its threads
HARMLESS: dict[str, Callable[[], Any]] = {
    "closes stdout": lambda: sys.stdout.close(),
    "closes stderr": lambda: sys.stderr.close(),
    "wraps": lambda: io.TextIOWrapper(sys.stdout.buffer, encoding="utf-8").close(),
    "detaches": lambda: io.TextIOWrapper(sys.stderr.detach()).close(),
    "has a pool": lambda: POOL.submit(int).result(),
    "warns": lambda: warnings.warn("beware", stacklevel=1),
    "filters": lambda: warnings.simplefilter("error"),
    "draws": lambda: (torch.manual_seed(1), np.random.seed(1)),
    "is quiet": lambda: None,
}


@pytest.mark.parametrize("name", HARMLESS)
def test_what_disturbs_nothing_is_not_told(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    before = all_that_is_kept()
    assert judged(HARMLESS[name]).score == 1.0
    assert all_that_is_kept() == before
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    "error",
    [SystemExit(3), GeneratorExit(), MemoryError(), RecursionError(), BaseException("x")],
    ids=repr,
)
def test_whatever_is_raised_is_a_verdict(error: BaseException) -> None:
    def raises(*_: object) -> float:
        raise error

    for verifier in (raises, as_verifier(raises)):
        answers = InlineJudge(verifier).answered([Call(PROBLEM, [Completion("2")] * 2)])
        assert [verdict.status for verdict in answers[0]] == [Status.ERROR] * 2
        assert type(error).__name__ in answers[0][0].note


def test_an_interrupt_is_the_codes_own_only_where_a_run_handles_signals() -> None:
    def raises() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):  # as Ctrl-C in a notebook may be
        judged(raises)
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        assert judged(raises).status is Status.ERROR
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_second_signal_is_no_failure_of_the_verifier() -> None:
    def leaves() -> None:
        raise Leaving(130)

    with pytest.raises(SystemExit):
        judged(leaves)


@pytest.mark.parametrize("raises", [False, True], ids=["returns", "raises"])
def test_a_child_that_comes_back_ends(raises: bool) -> None:
    children: list[int] = []

    def forks(problem: Problem, text: str) -> float:
        child = os.fork()
        if not child and raises:
            raise KeyboardInterrupt
        children.append(child)
        return 1.0

    calls = [Call(PROBLEM, [Completion("2")] * 3)]
    InlineJudge(as_verifier(forks)).answered(calls)
    assert len(children) == 3, "a child that forks at the next answer would make eight"
    assert [os.waitpid(child, 0)[1] for child in children] == [0] * 3


def test_what_is_left_behind_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    opened: list[int] = []
    end = threading.Event()
    for _ in range(2):  # what opens some once keeps them, as a pool does
        assert capsys.readouterr().err == ""
        judged(lambda: opened.extend(os.open(os.devnull, os.O_RDONLY) for _ in range(20)))
    judged(lambda: threading.Thread(target=end.wait).start())
    end.set()
    for one in opened:
        os.close(one)
    told = capsys.readouterr().err.splitlines()
    assert ["leaves files open" in told[0], "leaves a thread running" in told[1]] == [True, True]


@pytest.mark.parametrize("name", ["stdout", "stderr", "stdout.buffer"])
def test_a_full_log_changes_no_verdict(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def says() -> None:
        stream = attrgetter(name)(sys)
        stream.write(b"x" * 99999 if name.endswith("buffer") else "x")
        stream.flush()

    full = open("/dev/full", "w")  # noqa: SIM115 - closing it fails
    monkeypatch.setattr(sys, "stderr", full)
    assert judged(says).score == 1.0
    with suppress(OSError):
        full.close()


def test_a_file_that_turns_gradients_off_as_it_is_read_leaves_ours_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "off.py"
    file.write_text("import torch\ntorch.set_grad_enabled(False)\ndef grade(p, t): return 1.0\n")
    loaded(f"{file}:grade")
    assert torch.is_grad_enabled()
    assert "off.py:grade is read from changed torch's gradients" in capsys.readouterr().err


def test_columns_of_a_problem_are_copies() -> None:
    def changes(problem: Problem, text: str) -> float:
        problem.columns["notes"].append("b")  # pyright: ignore[reportAttributeAccessIssue]
        problem.columns["more"] = 1  # pyright: ignore[reportIndexIssue]
        return 1.0

    InlineJudge(as_verifier(changes)).answered([Call(PROBLEM, [Completion("2")])])
    assert PROBLEM.columns == {"notes": ["a"], "n": 1}


def test_an_objective_of_ones_own_is_kept_to_its_values(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "mine.py"
    file.write_text(
        "import torch, sys\n"
        "def credit(rewards):\n    torch.set_grad_enabled(False)\n"
        "    return rewards - rewards.mean()\n"
        "def leaves(rewards):\n    sys.exit(3)\n"
    )
    make_objective(credit=f"{file}:credit")
    assert torch.is_grad_enabled()
    assert "objective.credit of your own changed torch's gradients" in capsys.readouterr().err
    with pytest.raises(UsageError, match="SystemExit: 3"):
        make_objective(credit=f"{file}:leaves")


class OwnTask:
    name, levels = "mine", ("one",)

    def __init__(self, deed: Callable[[], Any]) -> None:
        self.deed = deed

    def generate(self, level: int, rng: np.random.Generator) -> Problem:
        self.deed()
        return PROBLEM


def test_a_task_of_ones_own_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(0)
    draw(OwnTask(lambda: torch.set_default_dtype(torch.float64)), [0], rng)
    assert torch.get_default_dtype() is torch.float32
    assert "the task mine changed torch's default type" in capsys.readouterr().err
    with pytest.raises(RunError, match=r"the task mine could not make a problem. Got SystemExit"):
        draw(OwnTask(lambda: sys.exit(1)), [0], rng)


def test_what_a_task_says_in_our_words_is_told_as_it_is() -> None:
    def refuses() -> None:
        raise UsageError("level 0 has no problem. Choose another.")

    with pytest.raises(UsageError, match=r"^level 0 has no problem\."):
        draw(OwnTask(refuses), [0], np.random.default_rng(0))


def test_it_costs_little() -> None:
    def call() -> None:
        with undisturbed("nobody"):
            pass

    call()
    times: list[float] = []
    for _ in range(100):
        began = time.thread_time()
        call()
        times.append(time.thread_time() - began)
    assert sorted(times)[50] < 1e-3  # .12 ms where it was measured; a step is 200 ms and more


def test_a_run_comes_to_the_same_bits_whatever_its_verifier_does(tmp_path: Path) -> None:
    deeds = [deed for deed, _ in DEEDS.values()] + [*HARMLESS.values()]
    asked: list[int] = []

    def grade(problem: Problem, text: str) -> float:
        return float(sum(map(ord, text)) % 2)

    @wraps(grade)
    def disturbs(problem: Problem, text: str) -> float:
        asked.append(len(asked))
        score = grade(problem, text)
        if len(asked) > 20:  # behind the right answers, which are tried first
            with suppress(Exception):  # some deeds stand in the way of each other
                deeds[len(asked) % len(deeds)]()
        return score

    def run(name: str, verifier: Callable[[Problem, str], float]) -> Path:
        ignored = {
            "evaluation.levels": (0,),
            "check.ignore": ["informative", "verdicts", "judging"],
        }
        where = {"run.root": str(tmp_path), "run.name": name, "judge.workers": 0, "run.steps": 2}
        pairs = [(f"{a}*{b}=", str(a * b)) for a in range(2, 8) for b in range(2, 8)]
        evenodds.train(pairs, verifier, {**SMALL, **ignored, **where}, view=Quiet())
        return tmp_path / name

    assert_equal_runs(run("plain", grade), run("disturbed", disturbs))
    assert len(asked) > 20 + 2 * len(deeds), "each of them is done twice"

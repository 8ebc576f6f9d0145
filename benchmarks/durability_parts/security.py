"""S4, S6, S7, S9, S10 and hostile model folders: everything that a stranger can hand over.

What is tried stands in tests/hostile and tests/shape; this runs all of it, where the tests of the
suite run a share.
"""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from benchmarks.durability_parts.rows import Row
from tests.faults.children import tiny
from tests.hostile.escapes import ESCAPES, active
from tests.hostile.folders import HARMLESS, REFUSED
from tests.hostile.pages import ALL
from tests.hostile.reading import added, pages_of, printed_text
from tests.hostile.templates import TEMPLATES
from tests.hostile.trial import faults
from tests.hostile.watching import SECRETS, seen_by_workers, watched
from tests.shape.forbidden import count, found_in, unused
from tests.shape.test_durable_writes import ALLOWED as WRITERS
from tests.viewer.folder import plain, write_run


def forbidden() -> Row:
    found = [*found_in(), *unused()]
    return Row(
        "S4",
        "no call that turns data into code or opens the machine stands in the package: 0",
        f"{count()} files read, {len(found)} offences{_first(found)}; {len(WRITERS)} files write "
        "outside of durable, each with its reason",
        not found,
    )


def folders(budget: float | None) -> Row:
    names = _within([*REFUSED, *HARMLESS], budget, 0.5)
    began = time.monotonic()
    found = [fault for fault in faults(names) if fault]
    return Row(
        "S4",
        "100 hostile model folders: one line and exit 2, or loaded without harm; at most a minute "
        "and 2 GB each, no code run, nothing read outside",
        f"{len(names)} tried in {time.monotonic() - began:.0f} s, {len(found)} not met"
        f"{_first(found)}",
        not found,
    )


def templates() -> Row:
    from evenodds.domain import Message
    from evenodds.policies.chat_template import TooMuch, render_chat

    talk = [Message(role="user", content="hi")]
    found: list[str] = []
    longest = 0.0
    for name, text in TEMPLATES.items():
        began = time.thread_time()
        try:
            render_chat(text, talk, {})
            found.append(name)
        except (TooMuch, Exception):  # whatever it raises, it ended
            pass
        longest = max(longest, time.thread_time() - began)
    return Row(
        "S4",
        "hostile chat templates (loops, bombs, ways out of the sandbox): each ends within 5 s of "
        "processor time, and none gives a prompt",
        f"{len(TEMPLATES)} tried, {len(found)} gave a prompt{_first(found)}, the slowest took "
        f"{longest:.1f} s",
        not found and longest < 5,
    )


def payloads(budget: float | None) -> Row:
    long = "a long plain text\n\n" * 200
    with tempfile.TemporaryDirectory(prefix="evenodds-pages-") as root:
        base = Path(root)
        short = pages_of(base / "a", plain, "plain text")
        more = pages_of(base / "b", lambda _: long, long)
        ordinary = {name: short[name] | more[name] for name in short}
        found: list[str] = []
        texts = _within(ALL, budget, 1.0)
        end = time.monotonic() + (budget or 70)
        tried = 0
        for number, text in enumerate(texts):
            if time.monotonic() > end:
                break
            found += added(base / str(number), ordinary, _always(text), text)
            tried += 1
        fives = _fives(ALL if budget is None else texts)
        for number, text in enumerate(fives):
            found += added(base / f"five-{number}", ordinary, _always(text), text)
        found += added(base / "all", ordinary, _in_turn(ALL), ALL[0])
    return Row(
        "S6",
        "200 XSS payloads in every text of a run, through report.html, report.md, the model card, "
        "the pages of inspect and the figure of a notebook: 0 active",
        f"{tried} alone in every field, {len(fives)} times five in every field, each of {len(ALL)} "
        f"in some field, {len(ordinary)} pages: "
        f"{len(found)} active{_first(found)}",
        not found,
    )


def _fives(texts: Sequence[str]) -> list[str]:
    """Five payloads one after another; fields that are cut after some letters show the first."""
    short = [text for text in texts if len(text) < 1000]
    return [" ".join(short[start : start + 5]) for start in range(0, len(short), 5)]


def _always(text: str) -> Callable[[str], str]:
    return lambda _: text


def _in_turn(texts: Sequence[str]) -> Callable[[str], str]:
    import itertools

    turning = itertools.cycle(texts)
    return lambda _: next(turning)


def escapes() -> Row:
    """Through both streams of the command line, and through every command that reads a run."""
    import contextlib
    import io

    from evenodds import cli
    from evenodds.report.inert import inert_streams

    out = io.StringIO()
    texts = [text.replace("\n", " ")[:500] for text in ESCAPES if _is_text(text)]
    with tempfile.TemporaryDirectory(prefix="evenodds-escapes-") as root:
        run = write_run(Path(root) / "runs" / "r", _in_turn(texts))
        out.write(printed_text(run))
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            with inert_streams():
                for text in ESCAPES:
                    print(text)
            for arguments in _commands(run):
                cli.main(arguments)
    found = sorted(active(out.getvalue()))
    return Row(
        "S7",
        "100 terminal escapes (CSI, OSC-52, DCS, C1, bidi, surrogates) through all that is "
        "printed: 0 active",
        f"{len(ESCAPES)} escapes, {len(_commands(Path()))} commands, "
        f"{len(out.getvalue()):,} characters: {len(found)} active{_first(found)}",
        not found,
    )


def _is_text(text: str) -> bool:
    """Parquet takes no half characters."""
    return all(not "\ud800" <= char <= "\udfff" for char in text)


def _commands(run: Path) -> list[list[str]]:
    folder = str(run)
    return [
        ["inspect", folder, "--text"],
        ["inspect", folder, "--text", "--group", "1/1"],
        ["report", folder, "--md"],
        ["compare", folder],
        ["eval", folder],
        ["chat", folder],
        ["replay", folder, "1/0/0"],
        ["list", "runs", "--root", str(run.parent)],
        ["train", "--resume", folder],
        *[[text[:200].replace("\0", ""), text[:200].replace("\0", "")] for text in ESCAPES],
    ]


def secrets() -> list[Row]:
    """One run with workers for a verifier of one's own: what it leaves, and what listens."""
    with tempfile.TemporaryDirectory(prefix="evenodds-secrets-") as root:
        found = watched(tiny(Path(root), "r"), Path(root))
    leaks = found.leaks() + seen_by_workers()
    listening = sorted(found.listening | found.open_sockets)
    return [
        Row(
            "S9",
            "canary secrets in the environment and on the command line appear nowhere",
            f"exit {found.code}; {len(SECRETS)} in the environment, 3 on the command line; "
            f"{len(found.texts)} texts, what workers and the sandbox are given: "
            f"{len(leaks)} leaks{_first(leaks)}",
            found.code == 0 and not leaks,
        ),
        Row(
            "S10",
            "no listening socket by default",
            f"a run with workers, looked at every 5 ms: {len(listening)} sockets of the internet"
            f"{_first(listening)}; the viewer's guard: tests/hostile/test_secrets.py",
            found.code == 0 and not listening,
        ),
    ]


def _within(names: Iterable[str], budget: float | None, each: float) -> list[str]:
    """All in an order by chance, or as many of them as fit into the seconds."""
    every = list(names)
    if budget is None:
        return random.sample(every, len(every))
    return random.sample(every, min(len(every), max(5, int(budget / 3 / each))))


def _first(found: Sequence[object]) -> str:
    return f", the first: {found[0]}"[:300] if found else ""


def measure(budget: float | None) -> list[Row]:
    return [
        forbidden(),
        folders(budget),
        templates(),
        payloads(budget),
        escapes(),
        *secrets(),
    ]

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from evenodds.report.notebook import NotebookView, in_notebook
from evenodds.report.terminal import make_view


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def row(step: int) -> dict:
    return {
        "step": step,
        "solve_rate": 0.5,
        "entropy": 0.3,
        "groups/mixed": 0.5,
        "groups/all_right": 0.25,
        "groups/all_wrong": 0.25,
        "completions/mean_length": 9.0,
    }


def test_a_figure_is_drawn_once_a_second_and_at_the_end() -> None:
    pages: list[str] = []
    clock = Clock()
    view = NotebookView(pages.append, clock)
    view.start("abacus learns", ["run folder: runs/a"])
    for step in range(1, 41):
        clock.now += 0.1
        view.step(step, 40, clock.now, None, row(step), ("7*8=", "56", "right", "56"))
    view.close()
    assert 5 <= len(pages) <= 7
    assert "step 40 of 40" in pages[-1] and "<svg" in pages[-1] and "Solve rate" in pages[-1]


def test_hostile_text_is_escaped_and_a_lost_page_ends_nothing() -> None:
    pages: list[str] = []
    view = NotebookView(pages.append)
    bad = "<script>alert(1)</script>\x1b[31m"
    view.start(bad, [bad])
    view.note(bad)
    view.step(1, None, 1.0, None, row(1), (bad, bad, bad, bad))
    view.close()
    assert "<script" not in pages[-1] and "\x1b" not in pages[-1]

    def gone(page: str) -> None:
        raise ConnectionError

    NotebookView(gone).note("nobody looks")


def test_only_a_kernel_gets_a_figure(monkeypatch, tmp_path) -> None:
    assert not in_notebook()
    shown: list[str] = []
    handle = SimpleNamespace(update=shown.append)
    display = SimpleNamespace(HTML=lambda page: page, display=lambda page, display_id: handle)
    shell = SimpleNamespace(kernel=object())
    library = SimpleNamespace(get_ipython=lambda: shell, display=display)
    monkeypatch.setitem(sys.modules, "IPython", library)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    with open(tmp_path / "log", "w") as stream:
        view = make_view(stream)
        view.start("a run", [])
        assert "a run" in shown[-1]
        shell.kernel = None  # IPython in a terminal
        assert not isinstance(make_view(stream), NotebookView)


@pytest.mark.parametrize("count", [0, 1, 2])
def test_few_steps_make_a_figure_too(count) -> None:
    pages: list[str] = []
    view = NotebookView(pages.append)
    for step in range(count):
        view.step(step + 1, None, 1.0, None, {"step": step + 1})
    view.close()
    assert pages

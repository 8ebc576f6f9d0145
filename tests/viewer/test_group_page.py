"""The page of a group as text: what it says, what its links keep, what it refuses."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from evenodds.domain import Status, Stop, Verdict
from evenodds.viewer.choice import Choice, choice_of
from evenodds.viewer.data import Source
from evenodds.viewer.group_page import group_page
from evenodds.viewer.group_view import group_view, taught
from evenodds.viewer.loading import torch_is_loaded
from evenodds.viewer.pages import Place
from tests.viewer.folder import write_run
from tests.viewer.recorded import GOLDEN, make_answer, make_group


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    assert torch_is_loaded(60)
    return Place(Source(write_run(tmp_path_factory.mktemp("runs") / "demo")))


def text_of(page: str | None) -> str:
    """What a reader sees: without markup, blanks as one."""
    assert page is not None
    return " ".join(re.sub(r"<[^>]*>", " ", page).split())


def hrefs(page: str | None) -> list[str]:
    assert page is not None
    return [found.replace("&amp;", "&") for found in re.findall(r'href="([^"]*)"', page)]


def test_one_screen_tells_everything_of_a_group(place: Place) -> None:
    page = text_of(group_page(place, 2, 2, {}))
    for said in (
        *(
            "17*6=",
            "right answer 102",
            "right 3 of 7 judged, 8 drawn",
            "level 2×1 digits",
            "multiplication/6*17",
        ),
        *("It taught:", "✓ right", "✗ wrong", "? timeout", "reward 1", "A +0.7", "part 0.5"),
        *("read as 102", "last number; equal exactly", "not in the loss: why", "seed 8"),
        *("end token", "cut by the budget", "policy 2", "⚠ audit differs: wrong, 0 · audit_note"),
        *("d J / d log π at the last pass", "credit centered", "Denominators of the whole step:"),
        *("evenodds replay", "2/2/0"),
    ):
        assert said in page, said


def test_links_keep_the_list_and_what_was_chosen(place: Place) -> None:
    query = {"kind": "mixed", "sort": "oldest", "by": "ratio", "recipe": "dapo", "low": "0.1"}
    page = group_page(place, 2, 2, query)
    nearby = [href for href in hrefs(page) if re.match(r"/group/\d+/[^2]", href)]
    assert nearby == [
        f"/group/2/{group}?kind=mixed&sort=oldest&by=ratio&recipe=dapo&low=0.1" for group in (1, 3)
    ]
    assert "/groups?kind=mixed&sort=oldest" in hrefs(page)
    alone = next(href for href in hrefs(page) if "answer=0" in href)
    assert alone.startswith("/group/2/2?kind=mixed") and "recipe=dapo" in alone


def test_another_recipe_is_named_beside_the_runs_own_numbers(place: Place) -> None:
    page = text_of(group_page(place, 2, 2, {"recipe": "grpo"}))
    assert "A +0.7 grpo: A +" in page and "credit standardized" in page
    assert "other bounds: A" in text_of(group_page(place, 2, 2, {"high": "0.5"}))


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ({"recipe": "nonsense"}, "unknown recipe"),
        ({"recipe": "/tmp/own.py:objective"}, "unknown recipe"),
        ({"recipe": "cispo", "low": "5"}, "clip_low cannot be 5"),
        ({"recipe": "rloo", "low": "0.1"}, "objective.clip_low has no meaning"),
    ],
)
def test_what_cannot_be_applied_is_one_line_and_the_page_stands(
    place: Place, query: dict[str, str], said: str
) -> None:
    page = text_of(group_page(place, 2, 2, query))
    assert said in page and "17*6=" in page and "not measured in this group" in page


def test_what_is_not_there_is_no_page(place: Place) -> None:
    for step, group, query in ((9, 0, {}), (1, 9, {}), (1, 1, {"answer": "99"})):
        assert group_page(place, step, group, query) is None


def test_a_damaged_objective_leaves_the_page(tmp_path: Path) -> None:
    run = write_run(tmp_path / "demo")
    for section in ('objective = "nothing"', '[objective]\nrecipe = "own.py:mine"'):
        (run / "config.toml").write_text(section + "\n")
        page = text_of(group_page(Place(Source(run)), 2, 2, {}))
        assert "17*6=" in page
    assert "not run here" in page


def test_an_address_that_makes_no_sense_chooses_nothing() -> None:
    odd = {"by": "x", "recipe": "", "low": "nan", "high": "-1", "pass": "3", "answer": "-2"}
    assert choice_of(odd) == Choice()
    asked = {"by": "kl", "recipe": "gspo", "low": "0.1", "high": "1", "pass": "first"}
    chosen = choice_of({**asked, "answer": "3"})
    assert chosen == Choice("kl", "gspo", 0.1, 1.0, "first", 3)
    assert choice_of({k: str(v) for k, v in chosen.query().items()}) == chosen


def test_why_a_group_taught_or_not() -> None:
    right, wrong = make_answer(1, 3), make_answer(0, 4)
    assert taught(make_group([right, wrong])) == "It taught: 1 of 2 right, and the rewards differ."
    out = replace(wrong, kept=False, why="cut by the budget")
    assert taught(make_group([right, wrong, out])).endswith(
        "the rewards differ; 1 answer left out."
    )
    assert "all wrong, with one reward" in taught(make_group([wrong, wrong]))
    assert "all right" in taught(make_group([replace(right, kept=False)] * 2))
    gone = replace(right, kept=False, why="cut by the budget")
    assert taught(make_group([gone, out])) == (
        "Its rewards differ, yet nothing of it is in the loss: cut by the budget."
    )
    unjudged = replace(wrong, verdict=Verdict(0.0, Status.TIMEOUT))
    assert taught(make_group([unjudged])) == "It taught nothing: no answer could be judged."


def test_audit_differs_where_both_judged_and_only_one_says_right() -> None:
    answer = make_answer(0, 3, stop=Stop.BUDGET)
    for status, differs in ((Status.NO_ANSWER, False), (Status.RIGHT, True), (Status.ERROR, False)):
        audited = replace(answer, audit=Verdict(0.0, status, note="why"))
        view = group_view(make_group([audited]), None, None, "first")
        audit = view.answers[0].audit
        assert audit is not None and audit.differs == differs, status


def test_a_long_prompt_shows_its_end_and_whole_on_demand() -> None:
    view = group_view(replace(GOLDEN, prompt="begin " + "x" * 900 + " end"), None, None, "first")
    assert view.prompt.startswith("…") and view.prompt.endswith(" end")
    assert view.whole_prompt is not None and view.whole_prompt.startswith("begin")
    assert group_view(GOLDEN, None, None, "first").whole_prompt is None


def test_without_a_tokenizer_ids_are_shown() -> None:
    view = group_view(GOLDEN, None, None, "first")
    first = GOLDEN.answers[0].rollout.ids[0]
    assert f">{first}<i> </i></span>" in view.answers[0].tokens.first

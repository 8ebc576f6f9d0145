"""The page: well-formed, self-contained, inert, and equal in its numbers to the comparison."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evenodds.errors import UsageError
from evenodds.report import compare, write_report
from evenodds.report.samples import sample_groups
from tests.report import synthetic

VOID = {"meta", "br"}
KINDS = {"learned": synthetic.learned, "unfinished": synthetic.unfinished,
         "hostile": synthetic.hostile, "hacked": synthetic.hacked,
         "random": synthetic.random_rewards}  # fmt: skip
SECTIONS = ("The question", "Can the verifier be trusted?", "What was trained", "Did it learn?",
            "Where", "What got better, and what got worse", "Audit and canaries", "What it cost",
            "How training went", "Alarms and stop rules", "Answers from training",
            "Repeat it, or go on")  # fmt: skip


class Reader(HTMLParser):
    """Checks that every element is closed in order, and keeps text, tags and attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += [(name, value or "") for name, value in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += [(name, value or "") for name, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data if self.open and self.open[-1] != "style" else ""


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("runs")
    return {name: write_report(make(root / name)) for name, make in KINDS.items()}


def read(path: Path) -> Reader:
    reader = Reader()
    reader.feed(path.read_text(encoding="utf-8"))
    reader.close()
    return reader


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_well_formed_and_needs_nothing_else(pages: dict[str, Path], kind: str) -> None:
    reader = read(pages[kind])
    assert reader.open == []
    assert not reader.tags & {"script", "img", "link", "iframe", "object", "a", "form"}
    names = {name for name, _ in reader.attributes}
    assert not names & {"src", "href", "srcset", "style"}
    assert not any(name.startswith("on") for name in names)
    assert "@import" not in pages[kind].read_text() and "url(" not in pages[kind].read_text()
    assert reader.tags >= {"figure", "figcaption", "svg", "title", "details", "table"}


def test_hostile_text_is_shown_and_does_nothing(pages: dict[str, Path]) -> None:
    text = pages["hostile"].read_text(encoding="utf-8")
    shown = read(pages["hostile"]).text
    assert not set(text) & {"\x1b", "\x00", "\u202e"}
    assert "<script>alert(1)</script>␛[31m⟨U+202E⟩gnp.exe␀ \"'>" in shown
    assert "{{7*7}}" in shown and "49" not in shown.replace("{{7*7}}", "").split()


def test_its_numbers_are_those_of_the_comparison(pages: dict[str, Path]) -> None:
    found = compare(synthetic.evaluation(1.6, 1), synthetic.evaluation(5.0, 2))
    shown = " ".join(read(pages["learned"]).text.replace("\u00a0", " ").split())
    for row in (*found.levels, found.overall):
        for side in (row.before, row.after):
            assert spaced(str(side.sampled)) in spaced(shown)
        assert spaced(row.gain.points()) in spaced(shown)
    assert str(found.overall.before.sampled) in shown
    summary = json.loads((pages["learned"].parent / "summary.json").read_text())
    assert summary["comparison"] == json.loads(json.dumps(found.to_dict()))
    assert summary["headline"] in shown and summary["finished"] is True


def test_the_story_is_told_in_order(pages: dict[str, Path]) -> None:
    text = pages["hacked"].read_text("utf-8")
    assert re.findall("<h2>(.*?)</h2>", text) == list(SECTIONS)
    learned = re.findall("<h2>(.*?)</h2>", pages["learned"].read_text("utf-8"))
    assert learned == [name for name in SECTIONS if name != "Audit and canaries"]


@pytest.mark.parametrize("kind", KINDS)
def test_page_text_and_numbers_say_the_same(pages: dict[str, Path], kind: str) -> None:
    folder = pages[kind].parent
    summary = json.loads((folder / "summary.json").read_text("utf-8"))
    shown = read(pages[kind]).text.replace("\u00a0", " ")
    conclusion = summary["conclusion"]
    assert summary["format"] == "evenodds-summary-2" and conclusion["sentence"] in shown
    assert conclusion["sentence"] in (folder / "report.md").read_text("utf-8").replace("\\", "")
    for measure in summary["got_worse"]:
        assert measure["what"] in shown


def test_a_page_whose_rates_are_in_doubt_says_so_beside_them(pages: dict[str, Path]) -> None:
    hacked, arm = read(pages["hacked"]).text, read(pages["random"]).text
    assert "Do not believe the reward" in hacked and "I am right: 7" in hacked
    assert "what it pays is in doubt" in hacked and "audit disagreement" in hacked
    assert "control arm" in arm and "A coin paid for the answers in training" in arm
    assert "in doubt" not in read(pages["learned"]).text


def test_the_same_records_give_the_same_bytes(pages: dict[str, Path]) -> None:
    folder = pages["hacked"].parent
    names = ("report.html", "report.md", "summary.json")
    before = [(folder / name).read_bytes() for name in names]
    write_report(folder)
    assert [(folder / name).read_bytes() for name in names] == before


def spaced(text: str) -> str:
    return text.replace(" ", "").replace("\n", "")


def test_an_unfinished_run_claims_nothing(pages: dict[str, Path]) -> None:
    shown = read(pages["unfinished"]).text
    assert "This run is not complete" in shown and "after step 9" in shown
    assert "Before training, the base solves" in shown
    summary = json.loads((pages["unfinished"].parent / "summary.json").read_text())
    assert (summary["finished"], summary["comparison"], summary["headline"]) == (False, None, None)


def test_it_says_how_to_repeat_and_to_go_on(pages: dict[str, Path]) -> None:
    shown = read(pages["learned"]).text
    assert "evenodds train --resume " in shown and "--name learned-again" in shown
    for word in ("dr_grpo", "multiplication", "16 problems × 16 answers", "1:50", "Seed"):
        assert word in shown


@pytest.mark.parametrize("steps", [0, 1])
def test_a_run_that_has_hardly_begun(tmp_path: Path, steps: int) -> None:
    reader = read(write_report(synthetic.write_run(tmp_path, steps=steps)))
    assert reader.open == [] and "base and trained" in reader.text


def test_damaged_records_are_left_out(tmp_path: Path) -> None:
    run = synthetic.learned(tmp_path)
    (run / "evaluation" / "final.json").write_text('{"levels": [')
    (run / "rollouts" / "step-00001.parquet").write_bytes(b"PAR1 torn")
    with (run / "metrics.jsonl").open("a") as file:
        file.write('[1]\nnull\n{"step": 201, "solve_rate": NaN}\n{"step": 202, "solv')
    reader = read(write_report(run))
    assert reader.open == [] and "after step 201" in reader.text


def test_a_folder_that_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no run lies there.*config\.toml"):
        write_report(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_left_beside_the_page(pages: dict[str, Path]) -> None:
    folder = pages["learned"].parent
    assert not [path.name for path in folder.iterdir() if path.name.startswith(".")]


@pytest.mark.parametrize("files", [1, 3, 12, 40])
def test_twelve_groups_are_spread_over_the_run(tmp_path: Path, files: int) -> None:
    run = synthetic.write_run(tmp_path, steps=files, files=files)
    groups = sample_groups(run, synthetic.LEVELS)
    assert len(groups) == min(12, 4 * files)
    steps = [group.step for group in groups]
    assert steps == sorted(steps) and (steps[0], steps[-1]) == (1, files)
    assert len({(group.step, group.prompt) for group in groups}) == len(groups)
    for group in groups:
        marks = [answer.mark for answer in group.answers]
        assert len(marks) == 4
        assert ("right" in marks, "wrong" in marks) == (group.right > 0, group.right < 8)


def test_long_texts_are_shortened_but_whole_prompts_are_kept(tmp_path: Path) -> None:
    run = synthetic.write_run(tmp_path, steps=1, files=1, text="x" * 5000)
    group = sample_groups(run)[0]
    assert len(group.prompt) < 300 and group.whole_prompt == "x" * 5000
    assert "3500 characters left out" in group.answers[0].text


def test_a_function_that_does_not_say_what_it_read(tmp_path: Path) -> None:
    run = synthetic.write_run(tmp_path, steps=1, files=0)
    row = {"group": 0, "level": 0, "gold": "7", "prompt": "3+4=", "completion": "7"}
    said = {"right": "", "wrong": "", "no_answer": "nothing", "timeout": "nothing"}
    rows = [row | {"status": status, "extracted": None} for status in said]
    pq.write_table(pa.Table.from_pylist(rows), run / "rollouts" / "step-00001.parquet")
    shown = {a.status.replace(" ", "_"): a.extracted for a in sample_groups(run)[0].answers}
    assert shown == said
    assert "read as <code></code>" not in write_report(run).read_text("utf-8")


def test_any_json_can_be_a_passport() -> None:
    from evenodds.report.facts import flattened

    values: dict[str, Any] = {"a": {"b": [1, "x"], "c": None}, "d": 1e-8, "e": True}
    assert flattened(values) == [
        ("a.b", '[1, "x"]'), ("a.c", "null"), ("d", "1e-08"), ("e", "true"),
    ]  # fmt: skip


@pytest.mark.parametrize(("idle", "warned"), [(20, False), (21, True)])
def test_a_run_that_hardly_updated_says_so_first(tmp_path: Path, idle: int, warned: bool) -> None:
    run = synthetic.learned(tmp_path)
    rows = synthetic.metrics(40)
    for row in rows[:idle]:
        row["skipped"] = "every group agreed"
    rows[0]["skipped"] = "another reason"
    synthetic.write_metrics(run, rows)
    told = f"{idle} of 40 steps made no update, most often because: every group agreed."
    shown = " ".join(read(write_report(run)).text.split())
    assert (told in shown.partition("Held-out sampled accuracy")[0]) == warned


def test_few_problems_are_told_first(tmp_path: Path) -> None:
    few = [synthetic.evaluation(skill, 1, problems=8) for skill in (1.6, 5.0)]
    shown = read(write_report(synthetic.write_run(tmp_path, base=few[0], final=few[1]))).text
    assert "Fewer than 20 held-out problems were compared at all 8 levels" in shown
    assert shown.count("too few problems") == 8  # a row each
    assert "8 are of fewer than 20 problems" in shown  # nor is it said of these that none fell


def test_a_single_level_is_told_once(tmp_path: Path) -> None:
    shown = read(write_report(synthetic.one_level(tmp_path))).text
    for words in ("all levels", "at all", "no level", "(all)", "Difficulty of the problems"):
        assert words not in shown


@pytest.mark.parametrize("away", [3e-5, 2e-3])
def test_a_ratio_of_one_is_a_sentence_and_no_picture(tmp_path: Path, away: float) -> None:
    run = synthetic.learned(tmp_path)
    rows = synthetic.metrics(40)
    for row in rows:
        row |= {f"ratio/{name}": 1.0 for name in ("p01", "mean", "p99", "max")}
        row["ratio/min"] = 1.0 - away
    synthetic.write_metrics(run, rows)
    shown = read(write_report(run)).text
    assert ("largest deviation from 1 was 3.0e-05" in shown) == (away < 1e-4)
    assert ("ratio, logarithmic" in shown) == (away > 1e-4)

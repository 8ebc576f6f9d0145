"""report.md and the model card: short, inert whatever a run holds, and free of places and paths."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from evenodds.report.card import CARD, HUB, Saved, card, head, saved_of, write_card
from evenodds.report.escape import BREAK, md_block, md_code, md_text, without_paths
from evenodds.report.findings import findings_of
from evenodds.report.markdown import markdown
from tests.report import synthetic
from tests.report.synthetic import HOSTILE

HOSTILE_NAME = (
    "| `x` [a](http://evil.example/) ![b](//evil.example) <b>@someone #12 $x$ **z** www.e.x"
)
KINDS = {
    "learned": synthetic.learned,
    "hacked": synthetic.hacked,
    "random": synthetic.random_rewards,
    "unfinished": synthetic.unfinished,
    "hostile": synthetic.hostile,
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("runs")
    return {name: make(root / name) for name, make in KINDS.items()}


@pytest.mark.parametrize(("text", "inert"), [
    ("plain 12.5 % [10.0, 15.1] and +3.0 points", "plain 12.5 % [10.0, 15.1] and +3.0 points"),
    ("pass@8, maj@16, dr_grpo, 2×2", "pass@8, maj@16, dr_grpo, 2×2"),
    ("<script>&", "&lt;script&gt;&amp;"),
    ("![a](b)", "!\\[a\\](b)"),
    ("[1.0, 2.0](http://x)", f"[1.0, 2.0\\](http:{BREAK}//x)"),
    ("@name a@b.c", f"@{BREAK}name a@{BREAK}b.c"),
    ("#12 and GH-12", f"#{BREAK}12 and G{BREAK}H-12"),
    ("a|b`c`", "a\\|b\\`c\\`"),
    ("__a__ *b* ~~c~~ $d$", "\\_\\_a\\_\\_ \\*b\\* \\~\\~c\\~\\~ \\$d\\$"),
    ("- item", "\\- item"), ("1. item", "1\\. item"), ("# head", f"\\#{BREAK} head"),
    ("--- ", "\\---"), ("two\nlines", "two⏎lines"), ("\x1b[0m", "␛\\[0m"),
])  # fmt: skip
def test_text_is_inert(text: str, inert: str) -> None:
    assert md_text(text) == inert


def test_code_cannot_be_left() -> None:
    assert (
        md_code("a`b``c") == "```a`b``c```" and md_code("`") == "`` ` ``" and md_code("") == "` `"
    )
    assert md_code("a|b") == "`a\\|b`"
    assert md_block(["```", "x"], "sh") == ["````sh", "```", "x", "````"]


@pytest.mark.parametrize(("text", "kept"), [
    ("/home/me/data/x.jsonl", "x.jsonl"), ("at /a/b/c.py:f, ok", "at c.py:f, ok"),
    ("~/secret/model", "model"), ("C:\\Users\\me\\x.txt", "x.txt"), ("(/tmp/a/b)", "(b)"),
    ("file:///home/me/x", "x"), ("'/srv/models/'", "'a folder'"),
    ("https://huggingface.co/a/b/c", "https://huggingface.co/a/b/c"),
    ("org/name, 3/4 and 0.2/0.28 a/b/c", "org/name, 3/4 and 0.2/0.28 a/b/c"),
])  # fmt: skip
def test_paths_of_a_machine_are_cut_to_their_names(text: str, kept: str) -> None:
    assert without_paths(text) == kept


@pytest.mark.parametrize("kind", KINDS)
def test_the_report_is_short_and_the_same_each_time(runs: dict[str, Path], kind: str) -> None:
    text = markdown(findings_of(runs[kind]))
    assert text == markdown(findings_of(runs[kind]))
    assert 12 <= len(text.splitlines()) <= 80 and text.endswith("\n")
    conclusion = findings_of(runs[kind]).conclusion
    assert text.startswith(f"## {kind}: {conclusion.kind.replace('_', ' ')}\n")
    assert f"**{md_text(conclusion.sentence)}**" in text
    assert f"evenodds train runs/{kind}/config.toml --name {kind}-again" in text
    assert str(runs[kind].parent) not in text


def test_it_does_not_depend_on_where_it_is_written_from(
    runs: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    from evenodds.report.html import render

    found = findings_of(runs["learned"])
    before = markdown(found), render(found)
    monkeypatch.chdir(runs["learned"])
    moved = findings_of(Path("."))
    assert (markdown(moved), render(moved)) == before


def test_tables_have_the_same_cells_in_each_row(runs: dict[str, Path]) -> None:
    for kind in ("learned", "hostile", "unfinished"):
        rows = [row for row in markdown(findings_of(runs[kind])).splitlines() if row[:1] == "|"]
        assert len({len(re.findall(r"(?<!\\)\|", row)) for row in rows}) == 1 and len(rows) > 8


def test_hostile_text_does_nothing(runs: dict[str, Path], tmp_path: Path) -> None:
    run = shutil.copytree(runs["hostile"], tmp_path / "run")
    for name in ("base", "final"):
        path = run / "evaluation" / f"{name}.json"
        path.write_text(path.read_text("utf-8").replace(json.dumps(HOSTILE)[1:-1], HOSTILE_NAME))
    found = findings_of(run)
    for text in (markdown(found), card(found, Saved("transformers"))):
        body = text.split("---\n")[-1]
        assert "evil" in body and "http://evil" not in body and "@someone" not in body
        assert not re.search(r"<(?!/?br)[a-z]", body) and "](" not in body.replace("\\](", "")
        assert not set(text) & {"\x1b", "\x00", "\u202e"}


def test_the_card_has_a_head_that_yaml_reads(runs: dict[str, Path]) -> None:
    yaml = pytest.importorskip("yaml")
    for saved in (Saved("peft", "owner/model"), Saved("transformers"), Saved("")):
        text = card(findings_of(runs["learned"]), saved)
        parts = text.split("---\n")
        found = yaml.safe_load(parts[1])
        assert parts[0] == "" and found["tags"] and found["pipeline_tag"] == "text-generation"
        assert found.get("library_name", "") == saved.library
        assert found.get("base_model", "") == saved.base
    assert 'base_model: "owner/model"' in head(Saved("peft", "owner/model"))


def test_the_card_says_what_was_measured_and_what_was_not(runs: dict[str, Path]) -> None:
    found = findings_of(runs["learned"])
    text = card(found, Saved("transformers"))
    for part in (found.conclusion.sentence, "One run with one seed", "No second verifier",
                 "none was measured", "AutoModelForCausalLM", "all levels | 320"):  # fmt: skip
        assert part in text
    hacked = card(findings_of(runs["hacked"]), Saved("transformers"))
    assert "Do not believe the reward" in hacked and "what it pays is in doubt" in hacked
    assert "No second verifier" not in hacked
    arm = card(findings_of(runs["random"]), Saved("transformers"))
    assert "a coin paid for its answers" in arm


def test_the_files_say_what_kind_of_model_it_is(runs: dict[str, Path], tmp_path: Path) -> None:
    found = findings_of(runs["learned"])
    assert saved_of(tmp_path, found) == Saved("")
    (tmp_path / "config.json").write_text('{"architectures": ["X"]}')
    assert saved_of(tmp_path, found) == Saved("transformers")
    for base, kept in (("owner/model", "owner/model"), ("/home/me/models/x", ""), ("abacus", "")):
        adapter = {"base_model_name_or_path": base}
        (tmp_path / "adapter_config.json").write_text(json.dumps(adapter))
        assert saved_of(tmp_path, found) == Saved("peft", kept)
    assert not HUB.fullmatch("a/b\nlicense: mit") and not HUB.fullmatch("../x/y")


def test_the_card_of_a_run_names_no_place_and_no_secret(
    runs: dict[str, Path], tmp_path: Path
) -> None:
    run = shutil.copytree(runs["learned"], tmp_path / "run")
    text = (run / "config.toml").read_text("utf-8")
    text = text.replace('name = "multiplication"', 'name = "/home/me/tasks/mine.py"')
    (run / "config.toml").write_text(text.replace('name = "abacus"', 'name = "/srv/models/base"'))
    passport = {"command": ["evenodds", "train", "--token", "hf_abcdefgh"], "cpu": "x"}
    (run / "passports" / "environment.json").write_text(json.dumps(passport))
    (run / "passports" / "data.json").write_text('{"source": "rows of /home/me/data.jsonl"}')
    (tmp_path / "model").mkdir()
    write_card(run, tmp_path / "model")
    said = (tmp_path / "model" / CARD).read_text("utf-8")
    assert "hf_abcdefgh" not in said and "/home" not in said and "/srv" not in said
    assert "mine.py" in said and "rows of data.jsonl" in said and "policy: base" in said
    assert "hf_abcdefgh" not in markdown(findings_of(run))


def test_cutting_paths_leaves_no_mark_without_its_backslash() -> None:
    """What is escaped looks like a path of Windows; cut after escaping, it became a live link."""
    hostile = "*q[! *q](javascript:alert) /home/me/secret/notes.txt"
    shown = md_text(hostile)
    assert "secret" not in shown and "notes.txt" in shown
    assert not re.search(r"(?<!\\)[\[*]|(?<!\\)\]\(", shown)

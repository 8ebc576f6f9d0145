"""Pages in files say nothing of where things lay on the machine that wrote them."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from evenodds.viewer.export import export
from evenodds.viewer.portable import without_places
from tests.viewer.folder import write_run


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("/home/me/My runs", "My runs"),
        ("~/runs/", "runs"),
        (r"C:\Users\me\data.jsonl", "data.jsonl"),
        ("/home/me/own.py:judge", "own.py:judge"),
        ("--data=/home/me/my data.jsonl", "--data=my data.jsonl"),
        ("train from '/home/me/a.toml' and data=/b/c", "train from 'a.toml' and data=c"),
        ("https://example.org/a/b", "https://example.org/a/b"),
        ("runs/demo", "runs/demo"),
        ("/", "/"),
        ("\\boxed{", "\\boxed{"),
        (r"\\server\share\d.jsonl", "d.jsonl"),
        (3, 3),
        ({"a": ["/b/c", None]}, {"a": ["c", None]}),
    ],
)
def test_of_an_absolute_path_the_last_part_is_left(said: object, shown: object) -> None:
    assert without_places(said) == shown


def test_no_file_names_a_place(tmp_path: Path) -> None:
    run = write_run(tmp_path / "some runs" / "demo")
    here = json.dumps(str(tmp_path / "some runs"))
    config = run / "config.toml"
    text = config.read_text().replace("[run]", f"[run]\nroot = {here}")
    text = text.replace('[policy]\nname = "policy"', f"[policy]\nname = {here}")
    config.write_text(text.replace("[task]", f"[task]\ndata = {here}"))
    words = ["/opt/bin/evenodds", "train", str(config), f"--data={tmp_path}/d.jsonl"]
    passport = {"command": words, "typed": shlex.join(words), "device": str(tmp_path / "dev")}
    (run / "passports" / "environment.json").write_text(json.dumps(passport))
    for name in ("base", "final"):
        path = run / "evaluation" / f"{name}.json"
        found = json.loads(path.read_text())
        found |= {"policy": str(tmp_path / "m"), "settings": {"data": str(tmp_path / "d.jsonl")}}
        path.write_text(json.dumps(found))
    (run / "rollouts" / "step-00003.parquet").write_bytes(b"damaged")
    export(run, tmp_path / "pages")
    pages = list((tmp_path / "pages").iterdir())
    assert len(pages) > 10
    for page in pages:
        text = page.read_text()
        assert str(tmp_path) not in text and "/opt/" not in text, page.name
    settings = (tmp_path / "pages" / "settings.html").read_text()
    assert "--data=d.jsonl" in settings and "some runs" in settings

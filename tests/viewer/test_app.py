"""Every page of a run: whole, young, old, damaged, growing; and nothing is ever written."""

from __future__ import annotations

import json
import os
import shutil
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from starlette.testclient import TestClient

from evenodds.viewer.app import PAGES, make_app
from evenodds.viewer.data import Source
from evenodds.viewer.library import Library
from evenodds.viewer.pages import environment
from tests.viewer.folder import GROUPS, SIZE, STEPS, write_run

FIRST = [f"/{name}" for name in PAGES if name != "evaluation/answers"]


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Path:
    return write_run(tmp_path_factory.mktemp("runs") / "whole")


@pytest.fixture
def run(whole, tmp_path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "runs" / "mine"))


def client_of(run: Path) -> TestClient:
    app = make_app(Library(Source(run)))
    return TestClient(app, base_url="http://127.0.0.1", follow_redirects=False)


def state_of(folder: Path) -> dict[str, tuple[int, int]]:
    return {str(path): (path.stat().st_size, path.stat().st_mtime_ns) for path in folder.rglob("*")}


def settled(client: TestClient) -> None:
    """Until base and trained are compared, which changes a page by itself."""
    until = time.monotonic() + 30
    while not client.app.state.library.main.learned().ready and time.monotonic() < until:
        time.sleep(0.05)


def waited(client: TestClient, run: Path) -> None:
    """Until what is counted beside the pages is there."""
    source = client.app.state.library.main
    source.groups()
    if source.index.thread is not None:
        source.index.thread.join(20)


@pytest.mark.parametrize("path", ["/", *FIRST])
def test_every_page_of_a_whole_run(whole, path) -> None:
    before = state_of(whole)
    answer = client_of(whole).get(path)
    assert answer.status_code == 200
    assert "</html>" in answer.text
    assert "None" not in answer.text
    assert state_of(whole) == before


def test_the_overview_says_what_is_known(whole) -> None:
    client = client_of(whole)
    settled(client)
    text = client.get("/run").text
    assert "finished" in text
    assert "entropy falling" in text
    assert "entropy fell from 0.4 to 0.1 nats" in text
    assert "ended the run" in text
    assert f"step {STEPS} of {STEPS}" in text
    assert text.count("<figure>") >= 8


@pytest.mark.parametrize(
    "query",
    ["kind=mixed", "kind=wrong&sort=hardest", "level=1&truncated=1", "duplicates=1", "disagree=1"],
)
def test_lists_link_to_groups_and_keep_their_filters(whole, query) -> None:
    client = client_of(whole)
    text = client.get(f"/groups?{query}").text
    assert "/group/" in text
    link = text.split('<a href="/group/')[1].split('"')[0].replace("&amp;", "&")
    assert link.endswith("?" + query)
    assert client.get(f"/group/{link}").status_code == 200


def test_long_lists_come_page_by_page(whole, monkeypatch) -> None:
    monkeypatch.setattr("evenodds.viewer.groups_page.PAGE", 4)
    client = client_of(whole)
    first, last = client.get("/groups").text, client.get("/groups?page=4").text
    assert "page 1 of 4" in first
    assert "/groups?page=2" in first
    assert "page 4 of 4" in last
    assert client.get("/groups?page=999").text == last
    assert "/groups?sort=oldest&amp;page=2" in client.get("/groups?sort=oldest").text


def test_search_says_how_far_it_looked_and_goes_on(whole, monkeypatch) -> None:
    client = client_of(whole)
    monkeypatch.setattr("evenodds.viewer.groups_page.listing.__defaults__", (-1.0, 0))
    begun = client.get("/groups?q=17*6").text
    assert f"Looked at 0 of {STEPS} steps" in begun
    assert 'href="/groups?q=17%2A6"' in begun
    monkeypatch.undo()
    assert f"of {STEPS * GROUPS}" in client.get("/groups?q=17*6").text
    assert "No group remains" in client.get("/groups?q=no such words").text
    assert client.get("/groups?q=LAST NUMBER").status_code == 200


def test_held_out_problems_one_by_one(whole) -> None:
    client = client_of(whole)
    text = client.get("/evaluation?kind=gained").text
    assert text.count('class="kind gained"') == text.count('<td class="problem"') > 0
    assert "0 of 8" in text
    assert client.get("/evaluation?kind=lost&sort=down&level=2&q=6*17").status_code == 200


def test_a_number_of_the_conclusion_keeps_its_sign() -> None:
    pieces: Any = environment().get_template("pieces.html.j2").module
    said = SimpleNamespace(mood="good", kind="learned", sentence="from 6.6 % to 7 %")
    assert "from 6.6\u00a0% to 7\u00a0%</p>" in pieces.conclusion(said)


def test_the_answers_to_a_held_out_problem(run) -> None:
    key = "multiplication/6*17"
    for name in ("base", "final"):
        path = run / "evaluation" / f"{name}.json"
        record = json.loads(path.read_text())
        record["levels"][1]["problems"][0]["key"] = key
        path.write_text(json.dumps(record))
    path = run / "evaluation" / "base.parquet"
    table = pq.read_table(path)
    kinds = ["greedy" if at % SIZE == 0 else "sampled" for at in range(table.num_rows)]
    table = table.append_column("kind", pa.array(kinds))
    parts = ["task" if group == 1 else "control" for group in table.column("group").to_pylist()]
    pq.write_table(table.append_column("of", pa.array(parts)), path)
    client = client_of(run)
    answer = client.get(f"/evaluation/answers?level=1&key={key}")
    assert answer.status_code == 200
    before, after = answer.text.split("<h2>after")
    assert before.count("<article") == SIZE
    assert before.count("greedy</span>") == 1
    statuses = table.filter(pc.equal(table["group"], 1)).to_pylist()[1:]
    judged = [row["status"] for row in statuses if row["status"] != "timeout"]
    assert f"{judged.count('right')} of {len(judged)} sampled right" in before
    assert after.count("<article") > SIZE
    assert client.get("/evaluation/answers?level=1&key=../../config.toml").status_code == 404
    listed = client.get("/evaluation?q=17*6=").text  # by its prompt: a key may be a hash
    assert listed.count('<td class="problem"') == listed.count(f'title="{key}"') == 1
    assert ">3*4=⏎12⏎20*3=⏎60⏎17*6=</code>" in listed
    path.write_bytes(b"PAR1 nothing")
    assert "No answers were recorded" in client.get(str(answer.url)).text


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/nothing", 404),
        ("/group/1/99", 404),
        ("/group/99/0", 404),
        ("/group/1/0x", 404),
        ("/group/-1/0", 404),
        (f"/group/{'9' * 400}/0", 404),
        ("/evaluation/answers", 404),
        ("/r/other/run", 404),
        ("/r/..%2f..%2fetc/run", 404),
        ("/r/%00/run", 404),
        ("/static/style.css", 200),
        ("/static/..%2fapp.py", 404),
        ("/static/style.css%00", 404),
    ],
)
def test_addresses_reach_only_what_is_there(whole, path, status) -> None:
    answer = client_of(whole).get(path)
    assert answer.status_code == status
    assert "Traceback" not in answer.text


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")
@pytest.mark.parametrize("name", ["metrics.jsonl", "config.toml", "summary.json", "alarms.jsonl"])
def test_a_pipe_in_a_run_beside_it_holds_no_page_up(run, name) -> None:
    other = Path(shutil.copytree(run, run.parent / "other"))
    (other / name).unlink(missing_ok=True)
    os.mkfifo(other / name)
    client = client_of(run)
    assert client.get("/").status_code == 200
    assert "is a device or a pipe" in client.get("/r/other/run").text


def test_a_link_out_of_a_run_beside_it_is_not_followed(run) -> None:
    other = Path(shutil.copytree(run, run.parent / "other"))
    (other / "passports" / "data.json").rename(run.parents[1] / "private.json")
    (other / "passports" / "data.json").symlink_to(run.parents[1] / "private.json")
    answer = client_of(run).get("/r/other/settings")
    assert answer.status_code == 404
    assert "is a link out of the run" in answer.text


def test_runs_beside_it_have_the_same_pages(run) -> None:
    shutil.copytree(run, run.parent / "second")
    (run.parent / "no-run").mkdir()
    os.symlink(run, run.parent / "-bad name")
    client = client_of(run)
    text = client.get("/").text
    assert 'href="/run"' in text
    assert 'href="/r/second/run"' in text
    assert "no-run" not in text
    assert "-bad name" not in text
    page = client.get("/r/second/groups?kind=mixed").text
    assert 'href="/r/second/group/' in page
    assert 'data-live="/r/second/live"' in page
    assert client.get("/r/no-run/run").status_code == 404
    for path in ("/r/second", "/r/second/"):
        answer = client.get(path)
        assert (answer.status_code, answer.headers["location"]) == (307, "/r/second/run")
    for path in ("/r/no-run", "/r/no-run/", "/r/..%2f..", "/r/", "/r/%0d%0ax"):
        assert client.get(path).status_code == 404, path


def test_a_run_that_has_only_begun(tmp_path) -> None:
    run = tmp_path / "young"
    run.mkdir()
    (run / "config.toml").write_text("")
    client = client_of(run)
    for path in ("/", *FIRST):
        assert client.get(path).status_code == 200, path
    assert "No step has been recorded yet" in client.get("/run").text
    assert client.get("/group/1/0").status_code == 404


def test_an_older_run_is_counted_beside_the_pages(run) -> None:
    known = client_of(run).get("/groups?sort=oldest").text
    (run / "groups.jsonl").unlink()
    (run / "alarms.jsonl").unlink()
    before = state_of(run)
    client = client_of(run)
    assert client.get("/groups").status_code == 200
    waited(client, run)
    table = "<table" + client.get("/groups?sort=oldest").text.split("<table")[1].split("</table")[0]
    assert table in known
    assert state_of(run) == before


def test_a_live_run_grows_into_its_pages(run) -> None:
    lines = {name: (run / name).read_text() for name in ("metrics.jsonl", "groups.jsonl")}
    for name, text in lines.items():
        (run / name).write_text("".join(text.splitlines(keepends=True)[:2]))
    held = run / "rollouts" / f"step-{STEPS:05d}.parquet"
    held.rename(run / "away")
    client = client_of(run)
    settled(client)
    assert f"step 2 of {STEPS}" in client.get("/run").text
    first = client.get("/live")
    tag = {"If-None-Match": first.headers["etag"]}
    assert client.get("/live", headers=tag).status_code == 304
    (run / "away").rename(held)
    for name, text in lines.items():
        (run / name).write_text(text[:-9])  # the last line is half there
    assert client.get("/live", headers=tag).status_code == 200
    assert f"step 2 of {STEPS}" in client.get("/run").text
    for name, text in lines.items():
        (run / name).write_text(text)
    assert client.get("/live").headers["etag"] != first.headers["etag"]
    assert f"step {STEPS} of {STEPS}" in client.get("/run").text
    assert f"/group/{STEPS}/0" in client.get("/groups").text


def test_damage_is_said_and_hides_nothing_else(run) -> None:
    (run / "rollouts" / "step-00002.parquet").write_bytes(b"PAR1 half of it")
    with open(run / "metrics.jsonl", "a") as file:
        file.write("{broken\n")
    (run / "alarms.jsonl").write_text('{"step": "x", "name": ["odd"], "reason": null}\n[]\n')
    (run / "passports" / "data.json").write_text('{"a": [{"b": 1}, {"c": [{"d": 2}]}]}')
    client = client_of(run)
    text = client.get("/run").text
    assert "1 line of metrics.jsonl could not be read" in text
    for path in ("/", *FIRST, "/groups?q=17", "/group/1/1"):
        assert client.get(path).status_code == 200, path
    answer = client.get("/group/2/1")
    assert answer.status_code == 404
    assert "is damaged" in answer.text


def test_a_run_that_was_taken_away_is_said_in_one_line(run) -> None:
    client = client_of(run)
    assert client.get("/run").status_code == 200
    shutil.rmtree(run)
    answer = client.get("/run")
    assert answer.status_code == 404
    assert "no run lies there" in answer.text


def test_a_fault_of_ours_is_a_page_and_no_traceback(whole, monkeypatch) -> None:
    def broken(place, query) -> str:
        raise ZeroDivisionError("secret")

    monkeypatch.setitem(PAGES, "why", broken)
    app = make_app(Library(Source(whole)))
    client = TestClient(app, base_url="http://127.0.0.1", raise_server_exceptions=False)
    answer = client.get("/why")
    assert answer.status_code == 500
    assert "should not happen: ZeroDivisionError" in answer.text
    assert "secret" not in answer.text

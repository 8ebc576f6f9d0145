"""The pages as files: which groups get one, and which folders are left alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from evenodds.errors import UsageError
from evenodds.viewer.export import MARK, choose, export
from evenodds.viewer.table import COUNTS, Groups
from tests.viewer.folder import GROUPS, STEPS, write_run


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_run(tmp_path_factory.mktemp("runs") / "demo")


def table(steps: int, size: int = 8) -> Groups:
    """Groups of which every seventh is all wrong, every eleventh at even odds, others nearly."""
    at = np.arange(steps * 16)
    columns = {name: np.zeros(at.size, np.int32) for name in ("level", *COUNTS)}
    columns |= {"step": at // 16 + 1, "group": at % 16, "key": at.astype(object)}
    columns |= {"reward": at / at.size, "mixed": at % 7 > 0, "tokens": 100 + at % 5}
    columns |= {"size": at * 0 + size, "judged": at * 0 + size}
    columns["right"] = np.where(at % 7 == 0, 0, np.where(at % 11 == 0, size // 2, 1))
    columns["disagree"] = np.where(at == 777, 3, 0)
    return Groups(columns)


def test_groups_are_spread_and_the_telling_ones_are_among_them() -> None:
    groups = table(2000)
    found = choose(groups, 200)
    assert len(found) == len(set(found)) == 200
    assert found == sorted(found)
    assert (777 // 16 + 1, 777 % 16) in found  # the only one that the verifiers disagree about
    steps = np.array([step for step, _ in found])
    assert np.diff(steps).max() <= 45 and steps[0] == 1 and steps[-1] == 2000
    at = np.array([(step - 1) * 16 + group for step, group in found])
    assert (at % 7 == 0).sum() > 33 and ((at % 11 == 0) & (at % 7 > 0)).sum() > 33


@pytest.mark.parametrize("count", [1, 2, 3, 7, 31, 32, 500])
def test_no_more_than_was_asked_for(count: int) -> None:
    assert len(choose(table(2), count)) == min(count, 32)


def test_pages_of_long_answers_are_bounded() -> None:
    groups = table(100)
    long = Groups({**groups.columns, "tokens": groups["tokens"] * 0 + 8 * 100_000})
    assert 50 < len(choose(long, 1000)) < 200
    assert len(choose(groups, 1000)) == 1000


def test_a_folder_of_someone_elses_is_left_alone(run: Path, tmp_path: Path) -> None:
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "index.html").write_text("mine")
    with pytest.raises(UsageError, match="not empty"):
        export(run, theirs)
    assert [path.name for path in theirs.iterdir()] == ["index.html"]
    with pytest.raises(UsageError, match="not a folder"):
        export(run, theirs / "index.html")
    with pytest.raises(UsageError, match="into the run itself"):
        export(run, run)
    with pytest.raises(UsageError, match="not a folder"):
        (tmp_path / "link").symlink_to(theirs)
        export(run, tmp_path / "link")


def test_pages_are_written_again_and_old_ones_go(run: Path, tmp_path: Path) -> None:
    folder = tmp_path / "new" / "pages"
    assert export(run, folder).groups == STEPS * GROUPS
    before = {path.name for path in folder.iterdir()}
    assert {"index.html", "groups.html", "group-1-0.html", "style.css", MARK} <= before
    found = export(run, folder, spot=(2, 3), groups=2)
    pages = {path.name for path in folder.glob("group-*.html")}
    assert len(pages) == found.groups <= 3 and "group-2-3.html" in pages
    assert found.index == folder / "index.html"


def test_nothing_is_written_for_what_is_not_there(run: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no group 9/9"):
        export(run, tmp_path / "pages", spot=(9, 9))
    with pytest.raises(UsageError, match="1 or more"):
        export(run, tmp_path / "pages", groups=0)
    assert not (tmp_path / "pages").exists()


def test_a_link_in_the_folder_is_not_written_through(tmp_path) -> None:
    run, folder, victim = write_run(tmp_path / "mine"), tmp_path / "pages", tmp_path / "victim"
    folder.mkdir()
    victim.write_text("mine")
    for name in ("index.html", "style.css", "evenodds-pages.txt"):
        (folder / name).symlink_to(victim)
    export(run, folder, groups=1)
    (page,) = folder.glob("group-*.html")
    assert "evenodds replay mine " in page.read_text()
    assert str(tmp_path) not in page.read_text()
    assert victim.read_text() == "mine"
    assert not (folder / "index.html").is_symlink()


def test_pages_do_not_go_below_the_run(tmp_path) -> None:
    run = write_run(tmp_path / "mine")
    with pytest.raises(UsageError, match="the run itself"):
        export(run, run / "pages" / "deep")
    assert not (run / "pages").exists()

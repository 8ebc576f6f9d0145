"""The pages of a run as files in a folder, to look at without a server or to send to someone."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from evenodds.errors import EvenoddsError, RunError, UsageError
from evenodds.report.series import spread
from evenodds.viewer.app import PAGES
from evenodds.viewer.data import Source
from evenodds.viewer.group_page import group_page
from evenodds.viewer.marks import FIRST, LAST
from evenodds.viewer.pages import NAV, Place, render, static_files
from evenodds.viewer.portable import without_folder
from evenodds.viewer.table import KINDS, Groups

MARK = "evenodds-pages.txt"
MOST = 200  # groups that get a page when nothing is said
BYTES = 64 << 20  # of all group pages; long answers to large groups are not all written
PATIENCE = 600.0  # seconds that are waited for what is worked out beside the pages
TOKEN = 120  # bytes of a token, with its colours and numbers
Spot = tuple[int, int]


@dataclass(frozen=True)
class Exported:
    """What was written. groups: pages of groups, of `total` in the run. index: to open."""

    index: Path
    groups: int
    total: int


def export(run: Path, folder: Path, spot: Spot | None = None, groups: int = MOST) -> Exported:
    """Write the pages of a run into a folder, at most so many groups among them.

    spot: a group that is to be there. The folder must be new, empty, or one that this has written
    before. Raises `UsageError` where it is something else or the group is not there, and
    `RunError` where it cannot be written.
    """
    if groups < 1:
        raise UsageError(f"--groups takes 1 or more. Got {groups}.")
    source = Source(run)
    _settle(source)
    known = source.groups()
    chosen = choose(known, groups)
    if spot is not None:
        if known.place(*spot) is None:
            raise UsageError(f"the run has no group {spot[0]}/{spot[1]}. Choose another --group.")
        chosen = sorted({*chosen, spot})
    try:
        _prepare(folder, run)
        _write(source, folder, chosen)
    except OSError as error:
        _clear(folder)
        raise RunError(
            f"the pages cannot be written to {str(folder)!r}: {error.strerror or error}. "
            "Name another folder."
        ) from error
    return Exported(folder / "index.html", len(chosen), len(known))


def _settle(source: Source) -> None:
    """Wait for what the pages would show later: a list of groups, the comparison with the base."""
    end = time.monotonic() + PATIENCE
    source.groups()
    while time.monotonic() < end and (source.index.is_busy or not source.learned().ready):
        time.sleep(0.05)
        source.groups()


def choose(groups: Groups, count: int) -> list[Spot]:
    """Groups worth a page, at most `count`: half of them spread over the run by place alone; then
    those that the verifiers disagree about most, those that are all wrong, and those nearest to
    even odds. In the order of the run."""
    total = len(groups)
    picked = dict.fromkeys(spread(total, max(2, count // 2)) if total > count else range(total))
    for order in _worth_a_page(groups):
        picked |= dict.fromkeys(order[: count // 6])
    picked |= dict.fromkeys(spread(total, max(2, count)))
    kept = _fitting(groups, [int(at) for at in picked][:count])
    return [(int(groups["step"][at]), int(groups["group"][at])) for at in sorted(kept)]


def _worth_a_page(groups: Groups) -> Iterator[list[int]]:
    """Places by how much there is to see, each kind for itself."""
    disagree, kinds = groups["disagree"], groups.kind()
    yield [at for at in np.argsort(-disagree, kind="stable").tolist() if disagree[at] > 0]
    wrong = np.flatnonzero(kinds == KINDS.index("wrong"))
    yield wrong[np.argsort(-groups["tokens"][wrong], kind="stable")].tolist()
    mixed = np.flatnonzero(kinds == KINDS.index("mixed"))
    distance = np.abs(groups.rate()[mixed] - 0.5)
    yield mixed[np.argsort(distance, kind="stable")].tolist()


def _fitting(groups: Groups, places: Sequence[int]) -> list[int]:
    """The first of these places whose pages are `BYTES` together, by their answers and tokens."""
    answers = np.maximum(groups["size"][places], 1).astype(np.int64)
    tokens = np.minimum(np.maximum(groups["tokens"][places], 0), answers * (FIRST + LAST))
    sizes = 6_000 + 1_500 * answers + TOKEN * tokens
    count = int(np.searchsorted(sizes.cumsum(), BYTES, side="right"))
    return list(places[: max(1, count)])


def _prepare(folder: Path, run: Path) -> None:
    """A folder to write to: new, empty, or one of ours, of which the old pages go."""
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise UsageError(f"{str(folder)!r} is not a folder. Name another one for the pages.")
    if run.resolve() in (folder.resolve(), *folder.resolve().parents):
        raise UsageError("the pages cannot go into the run itself. Name another folder.")
    folder.mkdir(parents=True, exist_ok=True)
    found = list(folder.iterdir())
    if found and not (folder / MARK).is_file():
        raise UsageError(
            f"{str(folder)!r} is not empty, and not of `evenodds inspect --html`. "
            "Name a new folder."
        )
    _put(folder / MARK, "Pages of `evenodds inspect --html`, which may replace them.\n")
    for path in found:
        if path.suffix == ".html" and path.is_file() and not path.is_symlink():
            path.unlink()


def _clear(folder: Path) -> None:
    """Take away what was begun, and the folder with it where nothing else is in it."""
    if folder.is_symlink() or not (folder / MARK).is_file():
        return
    with suppress(OSError):
        for path in folder.iterdir():
            if path.suffix == ".html" or path.name in static_files():
                path.unlink()
        (folder / MARK).unlink()
        folder.rmdir()


def _write(source: Source, folder: Path, spots: Sequence[Spot]) -> None:
    for name, (_, text) in static_files().items():
        _put(folder / name, text)
    pages = [path for path, _ in NAV]
    groups = {f"group/{step}/{group}": (step, group) for step, group in spots}
    place = Place(source, static="", live=False, written=frozenset([*pages, *groups]))
    for name, spot in groups.items():
        _put(folder / place.to(name), without_folder(_group(place, spot), source.folder))
    for name in [*pages[1:], pages[0]]:  # what is opened first is written last
        page = PAGES[name](place, {}) or ""
        _put(folder / place.to(name), without_folder(page, source.folder))


def _group(place: Place, spot: Spot) -> str:
    """The page of a group; of a damaged file, a page that says so."""
    try:
        found = group_page(place, *spot, {})
    except EvenoddsError as error:
        return message(place, "This cannot be shown", str(error))
    return found or message(place, "Not here", "This group is no longer in the run.")


def message(place: Place, title: str, words: str) -> str:
    return render(place, "message.html.j2", "groups", title=title, words=words)


def _put(path: Path, text: str) -> None:
    """Write a page. A link that someone laid in its place is not followed to what it names."""
    if path.is_symlink():
        path.unlink()
    path.write_text(text, encoding="utf-8", errors="replace")

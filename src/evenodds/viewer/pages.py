"""Templates, and what every page has in common."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any
from urllib.parse import urlencode

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from evenodds.report.pictures import Picture
from evenodds.report.record import RunRecord
from evenodds.report.text import counted, duration, one_line, safe, short
from evenodds.statistics import percent
from evenodds.viewer.data import Source
from evenodds.viewer.portable import portable

HERE = files("evenodds.viewer")
NAV = (
    ("run", "Overview"),
    ("groups", "Groups"),
    ("evaluation", "Held-out"),
    ("why", "Why flat?"),
    ("settings", "Settings"),
)
KINDS = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}


@dataclass(frozen=True)
class Place:
    """Where a page stands. base: what the addresses of its run begin with, empty or `/r/NAME`.

    static: what the addresses of style sheet and script begin with; live: whether there is a
    server to ask for news. A page written to a file has other values of these three. version: what
    `Source.refresh` said before anything was read for the page. written: the pages that stand in
    files beside this one, where there is no server.
    """

    source: Source
    base: str = ""
    static: str = "/static/"
    live: bool = True
    version: str = ""
    written: frozenset[str] = frozenset()

    def to(self, page: str, query: Mapping[str, Any] | None = None) -> str:
        """The address of a page of this run, such as `group/3/4`: every link is made here.

        query: what follows the `?`; entries that are None or empty are left out. Pages in files
        lie flat in one folder, as `group-3-4.html`, and have no query; one that was not written has
        no address.
        """
        if not self.live:
            name = "index.html" if page == "run" else f"{page.replace('/', '-')}.html"
            return name if page in self.written else ""
        kept = {name: value for name, value in (query or {}).items() if value not in (None, "")}
        return f"{self.base}/{page}" + (f"?{urlencode(kept)}" if kept else "")


@cache
def environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(str(HERE / "templates")),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    ours: dict[str, Any] = {
        "safe_text": safe,
        "one_line": one_line,
        "number": short,
        "duration": duration,
        "counted": counted,
        "percent": _percent,
        "unbroken": on_one_line,
    }
    made.filters.update(ours)
    return made


def compile_templates() -> None:
    """Make every template ready, so that no page waits for its own."""
    for name in environment().list_templates():
        environment().get_template(name)


def _percent(share: float | None) -> str:
    return on_one_line(percent(share))


def on_one_line(words: str) -> str:
    """A number and its percent sign stay together where a page breaks its lines."""
    return words.replace(" %", "\u00a0%")


def picture_values(picture: Picture) -> Mapping[str, Any]:
    """A picture for a template. Its SVG is the only markup that is not made there."""
    return {
        "title": picture.title,
        "svg": Markup(picture.svg),
        "caption": on_one_line(picture.caption),
    }


def shown_record(place: Place) -> RunRecord:
    """The record whose settings a page shows: in files without where things lay."""
    run = place.source.record()
    return run if place.live else portable(run)


def render(place: Place, template: str, here: str, **values: Any) -> str:
    """A whole page. here: the part of `NAV` that it belongs to. All text is escaped on its way."""
    common: Mapping[str, Any] = {"place": place, "nav": NAV, "here": here, "run": place.source.name}
    return environment().get_template(template).render(**common, **values)


@cache
def static_files() -> Mapping[str, tuple[str, str]]:
    """Name -> media type and text of every style sheet and script of the package."""
    found = {}
    for path in (HERE / "static").iterdir():
        kind = KINDS.get(path.name[path.name.rfind(".") :])
        if kind:
            found[path.name] = (kind, path.read_text(encoding="utf-8"))
    return found

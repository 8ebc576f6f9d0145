"""Every page that can come out of a run, and what in it would be active, without a browser."""

from __future__ import annotations

import io
import re
import time
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path

from markdown_it import MarkdownIt

from tests.viewer.folder import GROUPS, write_run

SAFE_ADDRESS = re.compile(r"[\w./?=&;%#~+*-]*")
ADDRESSES = {"href", "src", "action", "formaction", "data", "srcdoc", "xlink:href", "poster"}
NEVER = {"iframe", "object", "embed", "base", "video", "math", "audio", "frame", "applet", "b", "i"}


class Active(HTMLParser):
    """Collects tags, names of attributes and addresses, as a browser would see them."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.add(f"<{tag}>")
        for name, value in attrs:
            self.found.add(f"<{tag} {name}>" if name.startswith("on") or tag in NEVER else name)
            if name in ADDRESSES and not SAFE_ADDRESS.fullmatch(value or ""):
                self.found.add(f"address {value}")
            if name == "style":
                self.found.add(re.sub(r"[\d.%-]+", "0", value or ""))

    def handle_comment(self, data: str) -> None:
        self.found.add(f"comment {data[:40]}")

    def unknown_decl(self, data: str) -> None:
        self.found.add(f"declaration {data[:40]}")

    def handle_pi(self, data: str) -> None:
        self.found.add(f"instruction {data[:40]}")


def parts_of(page: str) -> set[str]:
    """What a page is built of: a payload that is active adds to it."""
    reader = Active()
    reader.feed(page)
    reader.close()
    return reader.found


def as_html(markdown: str) -> str:
    """As a renderer shows it that lets HTML through and makes addresses into links."""
    body = markdown.split("---\n", 2)[-1] if markdown.startswith("---\n") else markdown
    return MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).render(body)


def cards(run: Path) -> Iterator[tuple[str, str]]:
    from evenodds.report.card import Saved, card
    from evenodds.report.findings import findings_of
    from evenodds.report.html import render
    from evenodds.report.markdown import markdown

    found = findings_of(run)
    yield "report.html", render(found)
    yield "report.md", as_html(markdown(found))
    yield "model card", as_html(card(found, Saved("transformers")))


def served(run: Path, groups: int = GROUPS) -> Iterator[tuple[str, str]]:
    """The pages of the viewer, of the first step."""
    from starlette.testclient import TestClient

    from evenodds.viewer.app import PAGES, make_app
    from evenodds.viewer.data import Source
    from evenodds.viewer.library import Library

    source, end = Source(run), time.monotonic() + 30
    while not source.learned().ready and time.monotonic() < end:
        pass  # each look waits a little; before it is there, a page says that it is awaited
    client = TestClient(make_app(Library(source)), base_url="http://127.0.0.1")
    paths = ["/", *(f"/{name}" for name in PAGES if name != "evaluation/answers")]
    for path in [*paths, *(f"/group/1/{group}" for group in range(groups))]:
        yield path, client.get(path).text


def notebook(text: str) -> Iterator[tuple[str, str]]:
    from evenodds.report.notebook import NotebookView

    pages: list[str] = []
    view = NotebookView(pages.append)
    view.start(text, [text], [text])
    view.note(text)
    row = {"step": 1, "solve_rate": 0.5, "entropy": 0.3, "difficulty": 0.0}
    view.step(1, 2, 1.0, None, row, (text, text, text, text))
    view.close()
    yield "notebook", pages[-1]


def pages_of(root: Path, say: Callable[[str], str], text: str) -> dict[str, set[str]]:
    """What every page of a run is built of, whose every text `say` gives."""
    run = write_run(root / "run", say)
    pages = [*cards(run), *served(run, 2), *notebook(text)]
    return {name: parts_of(page) for name, page in pages}


def added(
    root: Path, plain: dict[str, set[str]], say: Callable[[str], str], text: str
) -> list[str]:
    """What stands in a hostile page that does not stand in a plain one."""
    found = pages_of(root, say, text)
    return [f"{name}: {part}" for name in found for part in sorted(found[name] - plain[name])]


def printed_text(run: Path) -> str:
    """What `inspect --text` prints."""
    from evenodds.viewer.data import Source
    from evenodds.viewer.text_pages import group_lines, overview_lines

    source = Source(run)
    out = io.StringIO()
    out.writelines(f"{line}\n" for line in overview_lines(source))
    out.writelines(f"{line}\n" for line in group_lines(source.group(1, 1)))
    return out.getvalue()

"""The pages in a real browser: they load cleanly, obey the keyboard, can be read by everyone, fit
a phone, and run nothing that a model wrote."""

from __future__ import annotations

import itertools
import json
import re
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import uvicorn

from evenodds.viewer.app import make_app
from evenodds.viewer.data import Source
from evenodds.viewer.export import export
from evenodds.viewer.guard import Guard
from evenodds.viewer.library import Library
from evenodds.viewer.loading import torch_is_loaded
from evenodds.viewer.serve import listening
from tests.hostile.pages import PAYLOADS
from tests.viewer.folder import GROUPS, LONG, STEPS, write_run

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
CHROMIUM = next(filter(None, map(shutil.which, NAMES)), None)
pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here: see scripts/browser"),
    pytest.mark.timeout(120),
]
FLAGS = [
    *("--no-sandbox", "--disable-gpu", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--no-first-run"),
]
TOKEN = "t" * 32
LAPTOP, PHONE = {"width": 1366, "height": 768}, {"width": 390, "height": 844}
MISSING = "/group/9/9"
PAGES = (
    *("/", "/run", "/groups?kind=mixed&q=17", "/group/2/2?recipe=gspo&by=clip"),
    *("/group/3/3?answer=1&by=logprob", "/evaluation", "/why", "/settings", MISSING),
)
WATCH = """
window.broken = [];
const noted = (event) => window.broken.push(event.violatedDirective);
document.addEventListener("securitypolicyviolation", noted);
"""


class Site:
    """A run served as `evenodds inspect` serves it."""

    def __init__(self, run: Path) -> None:
        assert torch_is_loaded(60)  # or a page would show itself again while it is looked at
        self.socket = listening(0)
        port = self.socket.getsockname()[1]
        self.address = f"http://127.0.0.1:{port}"
        guard = Guard(make_app(Library(Source(run))), TOKEN, port)
        config = uvicorn.Config(guard, lifespan="off", log_config=None, ws="none")
        self.server = uvicorn.Server(config)
        self.thread = threading.Thread(target=self.server.run, args=([self.socket],), daemon=True)
        self.thread.start()

    def close(self) -> None:
        self.server.should_exit = True
        self.thread.join(10)
        self.socket.close()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield found
        found.close()


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_run(tmp_path_factory.mktemp("runs") / "demo")


@pytest.fixture(scope="module")
def site(run: Path) -> Iterator[Site]:
    found = Site(run)
    yield found
    found.close()


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run whose every text is a payload, its own name included."""
    name = "<img src=x pwned onerror=alert(1)>"
    texts = itertools.cycle(PAYLOADS)
    return write_run(tmp_path_factory.mktemp("runs") / name, lambda _: next(texts), PAYLOADS)


@pytest.fixture
def page(browser: Any, site: Site) -> Iterator[Any]:
    """A page that was let in, with everything that goes wrong in `page.faults`."""
    context = browser.new_context(viewport=LAPTOP)
    context.add_init_script(WATCH)
    found = context.new_page()
    found.faults = []
    found.on("console", lambda m: m.type == "error" and found.faults.append(m.text))
    found.on("pageerror", lambda error: found.faults.append(str(error)))
    found.on("response", lambda r: r.status >= 400 and found.faults.append(f"{r.status} {r.url}"))
    found.goto(f"{site.address}/run?token={TOKEN}")
    yield found
    context.close()


def axe() -> str:
    import axe_core_python

    (script,) = Path(axe_core_python.__file__).parent.rglob("axe.min.js")
    return script.read_text(encoding="utf-8")


AXE = """async ([only, within]) => {
  const tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"];
  const runOnly = only.length ? { type: "rule", values: only } : { type: "tag", values: tags };
  const found = await axe.run(within, { runOnly, resultTypes: ["violations"] });
  const told = (violation) => violation.nodes.map((node) => node.html.slice(0, 120)).join(" | ");
  return found.violations.map((violation) => `${violation.id}: ${told(violation)}`);
}"""
OF_COLOUR = ["color-contrast", "link-in-text-block"]
OF_SPACE = ["scrollable-region-focusable"]


def widths(page: Any) -> tuple[int, int]:
    wide, there = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    return wide, there


def complaints(page: Any, address: str, script: str) -> list[str]:
    """What axe says of a page in both themes and widths, and whether it is too wide."""
    page.set_viewport_size(LAPTOP)
    page.emulate_media(color_scheme="light")
    page.goto(address)
    page.evaluate(script)
    said = page.evaluate(AXE, [[], "html"])
    for size, theme, rules in (
        (LAPTOP, "dark", OF_COLOUR),
        (PHONE, "dark", OF_COLOUR),
        (PHONE, "light", [*OF_COLOUR, *OF_SPACE]),
    ):
        page.set_viewport_size(size)
        page.emulate_media(color_scheme=theme)
        found = page.evaluate(AXE, [rules, "html"])
        said += [f"{theme} {size['width']} {what}" for what in found]
        wide, there = widths(page)
        said += [f"{wide} wide on {there}"] if wide > there else []
    return said + page.evaluate("window.broken")


def test_every_page_is_whole_readable_and_fits(page: Any, site: Site) -> None:
    """No error, nothing refused by the policy; axe has nothing to say of levels A and AA, light and
    dark, on a laptop and on a phone; nothing is wider than the screen."""
    script = axe()
    found = {path: complaints(page, site.address + path, script) for path in PAGES}
    assert {path: said for path, said in found.items() if said} == {}
    assert {f"404 {site.address}{MISSING}"} == {
        fault for fault in page.faults if "404" in fault[:3]
    }
    assert all("404" in fault for fault in page.faults)


def test_the_held_out_results_are_whole_on_a_phone(page: Any, site: Site) -> None:
    page.set_viewport_size(PHONE)
    for path in ("/run", "/evaluation"):
        page.goto(site.address + path)
        table = page.wait_for_selector(".stacked")
        shown = table.inner_text()
        assert table.evaluate("e => e.parentElement.scrollWidth <= e.parentElement.clientWidth")
        assert "+30.5 points" in shown, "the result, not only the base"


def test_the_report_is_readable_and_fits(page: Any, run: Path) -> None:
    from evenodds.report.files import write_page

    assert complaints(page, write_page(run).as_uri(), axe()) == []
    assert page.faults == []


def test_each_measure_can_be_read_in_both_themes(page: Any, site: Site) -> None:
    page.goto(f"{site.address}/group/2/2")
    page.evaluate(axe())
    for key in "136":
        page.keyboard.press(key)
        for theme in ("light", "dark"):
            page.emulate_media(color_scheme=theme)
            assert page.evaluate(AXE, [["color-contrast"], "#a1"]) == [], (key, theme)


def shown(page: Any) -> str:
    return page.evaluate("document.querySelector('input[name=by]:checked').value")


def coloured(page: Any) -> int:
    """Tokens with a background."""
    return page.evaluate(
        "[...document.querySelectorAll('.tokens span')].filter((t) => "
        "getComputedStyle(t).backgroundColor !== 'rgba(0, 0, 0, 0)').length"
    )


def test_the_keyboard_does_everything(page: Any, site: Site) -> None:
    page.goto(f"{site.address}/groups?kind=mixed&sort=oldest")
    first = page.get_attribute("td.name a", "href")
    page.click("td.name a")
    page.wait_for_url(site.address + first)
    assert "kind=mixed" in page.url
    seen = [page.url]
    for key in ("j", "ArrowRight"):
        page.keyboard.press(key)
        page.wait_for_url(lambda url: url not in seen)
        seen.append(page.url)
        assert "kind=mixed" in page.url and "sort=oldest" in page.url
    for key in ("k", "ArrowLeft"):
        seen.pop()
        page.keyboard.press(key)
        page.wait_for_url(seen[-1])
    assert not page.query_selector("[data-key=k]")  # the first of its list
    before = shown(page)
    page.keyboard.press("m")
    assert shown(page) != before
    for key, name in zip("126", ("logprob", "ratio", "weight"), strict=True):
        page.keyboard.press(key)
        assert shown(page) == name and f"by={name}" in page.url and coloured(page) > 10
    page.keyboard.press("?")
    assert page.is_visible("dialog#keys") and page.is_visible("dialog >> text=next measure")
    page.keyboard.press("Escape")
    assert not page.is_visible("dialog#keys")
    page.keyboard.press("j")
    page.wait_for_url(lambda url: "by=weight" in url and "/group/1/1?" not in url)
    assert shown(page) == "weight"  # what was chosen goes along
    page.keyboard.press("l")
    page.wait_for_url(re.compile(r"/groups\?"))
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.type") == "search"
    page.keyboard.type("j?m1")  # what is typed into a field is no command
    assert page.input_value("input[type=search]") == "j?m1"
    assert page.faults == []


def test_a_token_says_its_numbers_to_mouse_and_keyboard(page: Any, site: Site) -> None:
    page.goto(f"{site.address}/group/2/2?by=ratio")
    page.hover("#a1 .tokens span:nth-child(2)")
    words = page.inner_text(".readout")
    for name in ("token 2", "log-prob", "learner", "ratio", "last pass", "entropy", "weight"):
        assert name in words
    page.focus("#a4 .tokens")
    assert page.inner_text(".readout").startswith("token 1")
    page.keyboard.press("ArrowRight")
    assert page.inner_text(".readout").startswith("token 2")
    assert "/group/2/2" in page.url  # the arrow moved within the answer
    page.keyboard.press("Escape")
    assert not page.is_visible(".readout")


def test_a_long_answer_is_cut_and_can_be_seen_whole(page: Any, site: Site) -> None:
    page.goto(f"{site.address}/group/1/1")
    assert page.locator("#a1 .tokens span").count() == 600
    page.hover("#a1 .tokens[data-after] span:last-child")
    assert page.inner_text(".readout").startswith("token 640")
    page.click("#a1 summary")
    page.click("#a1 details a")
    page.wait_for_url(re.compile("answer=1"))
    assert page.locator(".tokens span").count() == LONG
    assert page.locator("table.numbers tbody tr").count() == LONG
    page.click("article .number")
    page.wait_for_url(lambda url: "answer=" not in url)


def test_everything_can_be_reached_by_tab_and_is_seen_there(page: Any, site: Site) -> None:
    page.goto(f"{site.address}/group/2/4")
    outlines: set[str] = set()
    count = page.evaluate("document.querySelectorAll('.tokens').length")
    inside = 0
    for _ in range(90):
        page.keyboard.press("Tab")
        tag, width = page.evaluate(
            "[document.activeElement.className || document.activeElement.tagName, "
            "getComputedStyle(document.activeElement).outlineWidth]"
        )
        inside += "tokens" in tag
        if tag != "BODY":
            outlines.add(width)
    assert inside >= count
    assert "0px" not in outlines


def test_a_page_without_script_still_colours_and_switches(browser: Any, site: Site) -> None:
    context = browser.new_context(viewport=LAPTOP, java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{site.address}/group/2/2?token={TOKEN}")
    page.check("#by-ratio")
    assert [page.is_visible(f".of-{name}") for name in ("ratio", "weight")] == [True, False]
    context.close()


ADDED = """() => {
  const all = [...document.querySelectorAll("*")];
  const ours = (script) => /(viewer|keys|group)[.]js$/.test(script.src);
  const foreign = "iframe, object, embed, base, video, math, img, body body";
  return {
    ran: window.ran || 0,
    marked: document.querySelectorAll("[pwned]").length,
    handlers: all.filter((one) => one.getAttributeNames().some((n) => n.startsWith("on"))).length,
    scripts: [...document.scripts].filter((script) => !ours(script)).length,
    foreign: document.querySelectorAll(foreign).length,
    links: [...document.links].filter((link) => link.protocol === "javascript:").length,
    shown: document.body.textContent.includes("pwned"),
  };
}"""
CLEAN = {"ran": 0, "marked": 0, "handlers": 0, "scripts": 0, "foreign": 0, "links": 0}
SHOWN = (
    *("/", "/run", "/groups", "/evaluation", "/why", "/settings", "/groups?q=pwned"),
    *(f"/group/{step + 1}/{group}" for step in range(STEPS) for group in range(GROUPS)),
    "/group/1/1?answer=1",
)


def watched(browser: Any) -> tuple[Any, list[str]]:
    """A page without the policy that would stop a script: escaping alone must hold."""
    context = browser.new_context(viewport=LAPTOP, bypass_csp=True)
    page = context.new_page()
    dialogs: list[str] = []

    def noted(dialog: Any) -> None:
        dialogs.append(dialog.message)
        dialog.dismiss()

    page.on("dialog", noted)
    return page, dialogs


def poked(page: Any) -> dict[str, Any]:
    """What is in the page after the mouse went over it."""
    page.mouse.move(300, 420)
    page.mouse.move(310, 520)
    return page.evaluate(ADDED)


def test_two_hundred_payloads_do_nothing(browser: Any, hostile: Path) -> None:
    site = Site(hostile)
    page, dialogs = watched(browser)
    unseen = set(PAYLOADS)
    page.goto(f"{site.address}/run?token={TOKEN}")
    for path in SHOWN:
        page.goto(site.address + path)
        found = poked(page)
        assert {**CLEAN, "shown": found["shown"]} == found, path
        text = page.evaluate("document.documentElement.textContent")
        unseen -= {payload for payload in unseen if payload in text}
    assert page.evaluate("document.title").count("pwned") == 1
    assert dialogs == []
    assert all(re.search("[\u202e\x1b\u2028\ufeff]", payload) for payload in unseen)  # made visible
    assert len(unseen) == 8
    page.context.close()
    site.close()


def test_the_same_pages_as_files_do_nothing_either(
    browser: Any, hostile: Path, tmp_path: Path
) -> None:
    index = export(hostile, tmp_path / "pages").index
    page, dialogs = watched(browser)
    for path in sorted(index.parent.glob("*.html")):
        page.goto(path.as_uri())
        found = poked(page)
        assert found == {**CLEAN, "shown": True}, path.name
    assert dialogs == []
    page.context.close()


def test_pages_as_files_work_without_a_server(browser: Any, run: Path, tmp_path: Path) -> None:
    found = export(run, tmp_path / "pages", groups=6)
    assert (found.groups, found.total) == (6, STEPS * GROUPS)
    context = browser.new_context(viewport=PHONE)
    context.add_init_script(WATCH)
    page = context.new_page()
    faults: list[str] = []
    page.on("console", lambda m: m.type == "error" and faults.append(m.text))
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.goto(found.index.as_uri())
    links = page.evaluate("[...document.querySelectorAll('nav a')].map((a) => a.href)")
    for address in links:
        page.goto(address)
        assert widths(page)[0] <= PHONE["width"], address
        hrefs = page.evaluate(
            "[...document.querySelectorAll('a')].map((a) => a.getAttribute('href'))"
        )
        files = {href.split("#")[0].split("?")[0] for href in hrefs if not href.startswith("#")}
        assert all((found.index.parent / name).is_file() for name in files), (address, files)
        assert page.evaluate("window.broken") == []
    page.goto((found.index.parent / "groups.html").as_uri())
    assert "6 of 15 groups are in this folder" in page.inner_text("main")
    page.click("td.name a")
    page.wait_for_load_state()
    page.keyboard.press("1")
    before = page.url
    page.keyboard.press("j")
    page.wait_for_url(lambda url: "by=logprob" in url and url != before)
    assert shown(page) == "logprob" and coloured(page) > 10
    assert faults == []
    context.close()


def test_a_report_runs_nothing_either(browser: Any, hostile: Path) -> None:
    from evenodds.report.files import write_page

    page, dialogs = watched(browser)
    page.goto(write_page(hostile).as_uri())
    found = page.evaluate(ADDED)
    assert found == {**CLEAN, "shown": True}
    assert dialogs == []
    page.context.close()


def test_numbers_of_the_page_are_those_of_the_record(page: Any, site: Site, run: Path) -> None:
    from evenodds.records.reader import read_rows

    page.goto(f"{site.address}/group/2/2?pass=first")
    row = read_rows(run / "rollouts" / "step-00002.parquet", group=2)[1]
    found = json.loads(page.get_attribute("#a1 .tokens", "data-numbers"))
    assert found["logprob"] == pytest.approx(row["logprobs"], rel=1e-4)
    assert found["entropy"] == pytest.approx(row["entropy"], rel=1e-4)

"""The routes: an address to a page. Nothing of an address reaches the disk but whole numbers, and
names that were found there first."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Mount, Route

from evenodds.errors import EvenoddsError
from evenodds.viewer.evaluation_page import answers_page, evaluation_page
from evenodds.viewer.group_page import group_page
from evenodds.viewer.groups_page import groups_page
from evenodds.viewer.library import Library
from evenodds.viewer.overview_page import overview_page
from evenodds.viewer.pages import Place, render, static_files
from evenodds.viewer.runs_page import runs_page
from evenodds.viewer.settings_page import settings_page
from evenodds.viewer.why_page import why_page

Query = Mapping[str, str]
PAGES: dict[str, Callable[[Place, Query], str | None]] = {
    "run": lambda place, query: overview_page(place),
    "groups": groups_page,
    "evaluation": evaluation_page,
    "evaluation/answers": answers_page,
    "why": lambda place, query: why_page(place),
    "settings": lambda place, query: settings_page(place),
}
"""Every page of a run but that of one group; None stands for what is not there."""


def make_app(library: Library) -> Starlette:
    """The pages of a library. Nothing here checks who asks: `guard.Guard` stands before it."""
    app = Starlette(
        routes=[
            Route("/", runs),
            Route("/static/{name}", static),
            *of_run(),
            Route("/r/{run}", alone),
            Mount("/r/{run}", routes=[Route("/", alone), *of_run()]),
        ],
        exception_handlers={
            HTTPException: refused,
            EvenoddsError: failed,
            Exception: broken,
        },
    )
    app.state.library = library
    return app


def of_run() -> list[BaseRoute]:
    """The routes below one run: of the one that was named, and of each beside it."""
    pages: list[BaseRoute] = [Route(f"/{name}", _page(name)) for name in PAGES]
    group = Route("/group/{step:int}/{group:int}", one_group)
    return [*pages, group, Route("/live", live)]


def place_of(request: Request) -> Place:
    """The run that an address means; a 404 where there is no such run."""
    library: Library = request.app.state.library
    name = request.path_params.get("run")
    source = library.source(name)
    if source is None:
        raise HTTPException(404, "There is no such run.")
    return Place(source, f"/r/{name}" if name else "", version=source.refresh())


def _page(name: str) -> Callable[[Request], Response]:
    def page(request: Request) -> Response:
        text = PAGES[name](place_of(request), dict(request.query_params))
        if text is None:
            raise HTTPException(404, "The records of this run hold nothing of the kind.")
        return HTMLResponse(text)

    return page


def one_group(request: Request) -> Response:
    place, at = place_of(request), request.path_params
    page = group_page(place, at["step"], at["group"], dict(request.query_params))
    if page is None:
        raise HTTPException(404, f"There is no group {at['group']} in step {at['step']}.")
    return HTMLResponse(page)


def runs(request: Request) -> Response:
    return HTMLResponse(runs_page(place_of(request), request.app.state.library))


def alone(request: Request) -> Response:
    """The address of a run without a page: its overview."""
    return RedirectResponse(place_of(request).to("run"), 307)


def live(request: Request) -> Response:
    """Whether anything changed since the version that the asker names, and what is going on."""
    place = place_of(request)
    tag = {"ETag": f'"{place.version}"'}
    if request.headers.get("if-none-match") == tag["ETag"]:
        return Response(status_code=304, headers=tag)
    state = place.source.state()
    return JSONResponse(
        {"live": state.is_live, "step": state.step, "state": state.kind}, headers=tag
    )


def static(request: Request) -> Response:
    found = static_files().get(request.path_params["name"])
    if found is None:
        raise HTTPException(404, "There is no such file.")
    kind, text = found
    return Response(text, media_type=kind)


def refused(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 404
    words = error.detail if isinstance(error, HTTPException) else ""
    return _message(request, status, "Not here", words)


def failed(request: Request, error: Exception) -> Response:
    """What a record cannot tell, in its own line: a damaged file, say."""
    return _message(request, 404, "This cannot be shown", str(error))


def broken(request: Request, error: Exception) -> Response:
    """A fault of ours. The page says so, and the server goes on."""
    what = f"This should not happen: {type(error).__name__}. The other pages may well work."
    return _message(request, 500, "A fault of this page", what)


def _message(request: Request, status: int, title: str, words: str) -> Response:
    place = Place(request.app.state.library.main)
    page = render(place, "message.html.j2", "", title=title, words=words)
    return HTMLResponse(page, status)

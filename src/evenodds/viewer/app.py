"""The routes: an address to a page. Nothing of an address reaches the disk but whole numbers, and
names that were found there first."""

from __future__ import annotations

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Mount, Route

from evenodds.viewer.group_page import group_page
from evenodds.viewer.library import Library
from evenodds.viewer.pages import Place, render, static_files


def make_app(library: Library) -> Starlette:
    """The pages of a library. Nothing here checks who asks: `guard.Guard` stands before it."""
    app = Starlette(
        routes=[
            Route("/", runs),
            Route("/static/{name}", static),
            *of_run(),
            Mount("/r/{run}", routes=of_run()),
        ],
        exception_handlers={HTTPException: refused},
    )
    app.state.library = library
    return app


def of_run() -> list[BaseRoute]:
    """The routes below one run: of the one that was named, and of each beside it."""
    return [
        Route("/run", overview),
        Route("/group/{step:int}/{group:int}", one_group),
    ]


def place_of(request: Request) -> Place:
    library: Library = request.app.state.library
    name = request.path_params.get("run")
    source = library.source(name)
    if source is None:
        raise HTTPException(404, "There is no such run.")
    return Place(source, f"/r/{name}" if name else "")


def runs(request: Request) -> Response:
    return RedirectResponse("/run", 303)


def overview(request: Request) -> Response:
    return HTMLResponse(render(place_of(request), "overview.html.j2", "run"))


def one_group(request: Request) -> Response:
    place, at = place_of(request), request.path_params
    page = group_page(place, at["step"], at["group"], dict(request.query_params))
    if page is None:
        raise HTTPException(404, f"There is no group {at['group']} in step {at['step']}.")
    return HTMLResponse(page)


def static(request: Request) -> Response:
    found = static_files().get(request.path_params["name"])
    if found is None:
        raise HTTPException(404, "There is no such file.")
    kind, text = found
    return Response(text, media_type=kind)


def refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    place = Place(request.app.state.library.main)
    page = render(place, "message.html.j2", "", title="Not here", words=error.detail)
    return HTMLResponse(page, error.status_code)

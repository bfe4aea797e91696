"""The server, put together from its parts."""

from __future__ import annotations

from collections.abc import Sequence

from fastapi import FastAPI, Request
from fastapi.responses import Response
from starlette.routing import Match, Route
from starlette.types import ASGIApp, Scope

from regard.serve import libretranslate, operation, uploads, v1
from regard.serve.answers import add_handlers, error_answer
from regard.serve.bodies import Bodies
from regard.serve.catalogue import read_catalogue
from regard.serve.gate import Gate
from regard.serve.keys import Keys
from regard.serve.logs import Log
from regard.serve.metrics import Metrics
from regard.serve.page_files import mount_page
from regard.serve.reference import reference_router
from regard.serve.serve_settings import ServeSettings
from regard.serve.service import Service
from regard.serve.state import State
from regard.serve.uploads import Uploads


def open_state(models: Sequence[str], settings: ServeSettings, log: Log | None = None) -> State:
    """Loads the models and everything around them."""
    metrics, keys = Metrics(), Keys(settings.keys)
    state = State(
        settings=settings,
        names=tuple(models),
        catalogue=read_catalogue(models, settings, metrics.seen),
        keys=keys,
        log=log or Log(),
        metrics=metrics,
        service=Service(settings),
        uploads=Uploads(settings),
    )
    metrics.watch(state.service.admission, lambda: state.catalogue)
    return state


def build_app(state: State) -> ASGIApp:
    """The ASGI application of a server."""
    app = FastAPI(title="Regard", docs_url=None, redoc_url=None, openapi_url=None)
    add_handlers(app)
    app.add_exception_handler(Exception, _failed)
    app.state.regard = state
    app.router.routes.append(_Direct("/translate", libretranslate.translate, methods=["POST"]))
    theirs, ours = [libretranslate.router, uploads.router], [v1.router, operation.router]
    for router in (*theirs, *ours, reference_router(theirs, ours)):
        app.include_router(router)
    mount_page(app)
    return Gate(Bodies(app, state.settings), state)


class _Direct(Route):
    """A route for the address that most requests go to: it spares FastAPI's resolution of dependencies."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Whether it is this one; the log and the metrics name it."""
        match, found = super().matches(scope)
        return match, {**found, "route": self}


def _failed(_: Request, __: Exception) -> Response:
    return error_answer(500, "The server has failed; its log has more under the id of this request")

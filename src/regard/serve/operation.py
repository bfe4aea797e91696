"""What an operator's programs ask: whether the server is alive and ready, and to load its models again."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response
from starlette.concurrency import run_in_threadpool

from regard.errors import RegardError
from regard.serve.answers import ApiError
from regard.serve.state import State


def operation_router(state: State) -> APIRouter:
    """The routes for programs that watch the server."""
    router = APIRouter(tags=["Operation"])

    @router.get("/health/live", summary="Whether the process works")
    async def live() -> Response:
        return JSONResponse({"status": "ok"})

    @router.get("/health/ready", summary="Whether requests are accepted")
    async def ready() -> Response:
        if state.draining:
            raise ApiError(503, "The server is stopping")
        return JSONResponse({"status": "ok", "models": [model.name for model in state.catalogue.models]})

    @router.post("/admin/reload", summary="Load models and keys again, without a gap")
    async def reload(request: Request) -> Response:
        state.admit_admin(request)
        try:
            await run_in_threadpool(state.reload)
        except (RegardError, OSError) as error:
            raise ApiError(500, f"The models stay as they were: {error}") from None
        return JSONResponse({"models": [model.name for model in state.catalogue.models]})

    return router

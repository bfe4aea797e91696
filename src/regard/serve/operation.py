"""What an operator's programs ask: whether the server is alive and ready, and to load its models again."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response
from starlette.concurrency import run_in_threadpool

from regard.errors import RegardError
from regard.serve.answers import ApiError
from regard.serve.state import state_of

router = APIRouter(tags=["Operation"])


@router.get("/health/live")
async def live() -> Response:
    """Whether the process works."""
    return JSONResponse({"status": "ok"})


@router.get("/health/ready")
async def ready(request: Request) -> Response:
    """Whether requests are accepted."""
    state = state_of(request)
    if state.draining:
        raise ApiError(503, "The server is stopping")
    return JSONResponse({"status": "ok", "models": [model.name for model in state.catalogue.models]})


@router.post("/admin/reload")
async def reload(request: Request) -> Response:
    """Load models and keys again, without a gap."""
    state = state_of(request)
    state.admit_admin(request)
    try:
        await run_in_threadpool(state.reload)
    except (RegardError, OSError) as error:
        raise ApiError(500, f"The models stay as they were: {error}") from None
    return JSONResponse({"models": [model.name for model in state.catalogue.models]})

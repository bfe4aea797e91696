"""Errors as clients see them: a status, and `{"error": text}`, as LibreTranslate answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from regard.errors import LengthError, RegardError, SettingsError, TextError
from regard.serve.calls import Cancelled

CLIENT_GONE = 499  # no client sees it; it stands in logs and metrics
_MENDED_BY_CLIENTS = (TextError, SettingsError, LengthError)
_WORDS = {
    404: "Not found: there is no such address. The addresses are listed at /docs and /v1/docs",
    405: "The method is not allowed for this address. The methods are listed at /docs and /v1/docs",
}


class ApiError(HTTPException):
    """An error that the client can mend, with its status."""

    def __init__(self, status: int, text: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(status, text, dict(headers or {}))


def slow_down(text: str, seconds: float) -> ApiError:
    """429, and when to try again."""
    return ApiError(429, f"Slowdown: {text}", {"Retry-After": str(max(1, round(seconds)))})


def error_answer(status: int, text: str, headers: Mapping[str, str] | None = None) -> JSONResponse:
    """The answer for an error."""
    return JSONResponse({"error": text}, status_code=status, headers=dict(headers or {}))


def add_handlers(app: FastAPI) -> None:
    """Makes the app answer every error in this form."""

    def http(_: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        ours = isinstance(error, ApiError)
        text = str(error.detail) if ours else _WORDS.get(error.status_code, str(error.detail))
        return error_answer(error.status_code, text, error.headers)

    def invalid(_: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        return error_answer(400, f"Invalid request: {explained(error.errors())}")

    def ours(_: Request, error: Exception) -> Response:
        return error_answer(400 if isinstance(error, _MENDED_BY_CLIENTS) else 500, str(error))

    def gone(_: Request, __: Exception) -> Response:
        return error_answer(CLIENT_GONE, "The client has closed the connection.")

    app.add_exception_handler(HTTPException, http)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(RegardError, ours)
    app.add_exception_handler(ClientDisconnect, gone)
    app.add_exception_handler(Cancelled, gone)


def explained(problems: Sequence[Any]) -> str:
    """Each mistake of a request with its place in the body."""
    lines = []
    for problem in problems[:5]:
        place = ".".join(str(part) for part in problem["loc"] if part != "body")
        reason = problem.get("ctx", {}).get("error", "")
        lines.append(": ".join(part for part in (place, problem["msg"], str(reason)) if part))
    return "; ".join(lines)

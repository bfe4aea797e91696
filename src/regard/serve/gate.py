"""What surrounds every request: its id, headers for browsers, a line in the log, and its share of the metrics."""

from __future__ import annotations

import random
import re
import time
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from regard.serve.answers import CLIENT_GONE, error_answer
from regard.serve.state import State

_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}")
_POLICY = (
    b"default-src 'self'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    b"object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
    (b"content-security-policy", _POLICY),
)
_PREFLIGHT = (
    (b"access-control-allow-methods", b"GET, POST"),
    (b"access-control-allow-headers", b"Authorization, Content-Type, X-Request-ID"),
    (b"access-control-max-age", b"86400"),
)


class Gate:
    """Middleware around the whole app."""

    def __init__(self, app: ASGIApp, state: State) -> None:
        self._app, self._state = app, state

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes a request on and its answer back."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        passage = _Passage(self._state, scope, send)
        try:
            if scope["method"] == "OPTIONS":
                await passage.preflight()
            else:
                await self._app(scope, receive, passage.send)
        except Exception as error:  # noqa: BLE001 the client has its answer, and the operator a line in the log
            self._state.log.error("failed", error, id=passage.id)
            await passage.send_failure(scope, receive)
        finally:
            passage.end()


class _Passage:
    def __init__(self, state: State, scope: Scope, send: Send) -> None:
        self._state, self._scope, self._send = state, scope, send
        self._began, self._status = time.monotonic(), CLIENT_GONE
        self._started = False
        given = next((value for name, value in scope["headers"] if name == b"x-request-id"), b"")
        self.id = given.decode() if _ID.fullmatch(given) else f"{random.getrandbits(128):032x}"
        scope["regard.log"] = {}

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._started, self._status = True, message["status"]
            headers = [*message.get("headers", ()), *self._headers()]
            message = {**message, "headers": headers}
        await self._send(message)

    def _headers(self) -> list[tuple[bytes, bytes]]:
        own: list[tuple[bytes, bytes]] = [*_HEADERS, (b"x-request-id", self.id.encode())]
        own.append((b"access-control-allow-origin", self._state.settings.origins.encode("latin-1")))
        own.append((b"access-control-expose-headers", b"X-Request-ID, Retry-After"))
        if self._state.draining:
            own.append((b"connection", b"close"))
        return own

    async def preflight(self) -> None:
        """The answer to a browser that asks whether a page may call this."""
        headers: Any = [*_PREFLIGHT, (b"content-length", b"0")]
        await self.send({"type": "http.response.start", "status": 200, "headers": headers})
        await self.send({"type": "http.response.body", "body": b""})

    async def send_failure(self, scope: Scope, receive: Receive) -> None:
        """500, unless an answer has begun."""
        if not self._started:
            answer = error_answer(500, f"The server has failed; the operator finds request {self.id} in the log")
            await answer(scope, receive, self.send)

    def end(self) -> None:
        """Counts the request and writes its line in the log."""
        seconds = time.monotonic() - self._began
        route = getattr(self._scope.get("route"), "path", None) or ("page" if self._status < 400 else "unknown")
        self._state.metrics.requests.labels(route, str(self._status)).inc()
        self._state.metrics.seconds.labels(route).observe(seconds)
        fields: dict[str, Any] = self._scope["regard.log"]
        self._state.log.info(
            "request",
            id=self.id,
            method=self._scope["method"] if self._scope["method"].isalpha() else "unknown",
            route=route,
            status=self._status,
            milliseconds=round(1000 * seconds, 1),
            **fields,
        )

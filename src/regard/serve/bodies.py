"""Bodies that are too large, too slow or broken off: each is answered with what is wrong, and costs little memory."""

from __future__ import annotations

import asyncio
import time

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from regard.serve.answers import ApiError
from regard.serve.serve_settings import ServeSettings

_DRAINED = 64 << 20  # bytes that are read and dropped, so that a client that is still sending sees the answer
_TAIL = 256  # bytes that are kept, to see whether a multipart body came to its end
UPLOADS = ("/translate_file",)


class Bodies:
    """Middleware that counts and times what arrives."""

    def __init__(self, app: ASGIApp, settings: ServeSettings) -> None:
        self._app, self._settings = app, settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes the request on, its body watched."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        limit = self._settings.max_file + (1 << 16) if scope["path"] in UPLOADS else self._settings.max_body
        body = _Body(scope, receive, limit, self._settings.body_seconds)
        try:
            await self._app(scope, body.receive, send)
        finally:
            if "regard.form" in scope:
                await scope["regard.form"].close()


class _Body:
    def __init__(self, scope: Scope, receive: Receive, limit: int, seconds: float) -> None:
        self._scope, self._receive, self._limit, self._seconds = scope, receive, limit, seconds
        self._count, self._whole, self._began = 0, False, time.monotonic()
        headers = dict(scope["headers"])
        self._multipart = headers.get(b"content-type", b"").lower().startswith(b"multipart/")
        declared = headers.get(b"content-length", b"0")
        self._declared = int(declared) if declared.isdigit() else 0
        self._waits = headers.get(b"expect", b"").lower() == b"100-continue"

    async def receive(self) -> Message:
        """The next part of the body; once it is whole, whatever follows, at any time.

        A multipart body that is refused ends here, so that its parser closes its files; the reason then stands
        under `regard.refused`.
        """
        try:
            return await self._part()
        except ApiError as error:
            if not self._multipart:
                raise
            self._scope["regard.refused"] = error
            return {"type": "http.request", "body": b"", "more_body": False}

    async def _part(self) -> Message:
        if self._whole:
            return await self._receive()
        if self._declared > self._limit:
            await self._refuse()
        message = await self._next()
        if message["type"] == "http.request":
            part = message.get("body", b"")
            self._count += len(part)
            self._scope["regard.tail"] = (self._scope.get("regard.tail", b"") + part[-_TAIL:])[-_TAIL:]
            self._whole = not message.get("more_body")
            if self._count > self._limit:
                await self._refuse()
        return message

    async def _next(self) -> Message:
        left = self._began + self._seconds - time.monotonic()
        try:
            async with asyncio.timeout(max(0.001, left)):
                return await self._receive()
        except TimeoutError:
            self._whole = True
            raise ApiError(
                408,
                f"Invalid request: the body did not arrive within {self._seconds:g} seconds",
                {"Connection": "close"},
            ) from None

    async def _refuse(self) -> None:
        """Drops the rest of the body, then answers; a client that waits for a go-ahead is answered at once."""
        if not self._waits:
            while not self._whole and self._count < _DRAINED:
                message = await self._next()
                self._count += len(message.get("body", b""))
                self._whole = message["type"] != "http.request" or not message.get("more_body")
        self._whole = True
        raise ApiError(
            413,
            f"Invalid request: the body is larger than {self._limit:,} bytes, the limit of this server",
            {"Connection": "close"},
        )

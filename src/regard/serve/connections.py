"""Connections: an answer leaves at once, and those on which no request comes are told so and closed."""

from __future__ import annotations

import asyncio
import json
import socket
import time

from uvicorn.protocols.http.h11_impl import H11Protocol

KEEP_ALIVE = 30  # seconds between two requests
_TEXT = json.dumps({"error": "Invalid request: the headers did not arrive in time"}).encode()
_ANSWER = (
    b"HTTP/1.1 408 Request Timeout\r\ncontent-type: application/json\r\nconnection: close\r\n"
    b"content-length: %d\r\n\r\n%s" % (len(_TEXT), _TEXT)
)


class Connection(H11Protocol):
    """uvicorn's, which also knows how long it has waited for the headers of a request."""

    waits_since = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A client has connected.

        The head and the body of an answer are written one after the other. Unless told otherwise, the system holds the
        body back until the client has confirmed the head, which on Linux takes 40 ms.
        """
        self.waits_since = time.monotonic()
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        super().connection_made(transport)

    def on_response_complete(self) -> None:
        """The next request may come."""
        self.waits_since = time.monotonic()
        super().on_response_complete()

    def close_if_late(self, seconds: float) -> None:
        """Closes the connection if the headers of a request have not arrived for so long."""
        first = self.cycle is None
        if not first and not self.cycle.response_complete:
            return
        if time.monotonic() - self.waits_since > (seconds if first else seconds + KEEP_ALIVE):
            self.transport.write(_ANSWER)
            self.transport.close()

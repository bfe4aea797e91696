"""Connections: an answer leaves at once and whole, and those on which no request comes are told so and closed.

uvicorn parses HTTP with httptools where that is installed, as the extra `serve` does, and otherwise with h11, which is
slower.
"""

from __future__ import annotations

import asyncio
import json
import socket
import time
from typing import TYPE_CHECKING, Any, cast

from uvicorn.protocols.http.auto import AutoHTTPProtocol

if TYPE_CHECKING:
    from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol as Protocol
else:
    Protocol = AutoHTTPProtocol

KEEP_ALIVE = 30  # seconds between two requests
LONGEST_HEADERS = 1 << 18  # bytes; some clients put texts into the query string


def _refusal(status: str, reason: str) -> bytes:
    text = json.dumps({"error": f"Invalid request: {reason}"}).encode()
    head = f"HTTP/1.1 {status}\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: {len(text)}"
    return head.encode() + b"\r\n\r\n" + text


_LATE = _refusal("408 Request Timeout", "the headers did not arrive in time")
_LONG = _refusal("431 Request Header Fields Too Large", f"the headers are longer than {LONGEST_HEADERS:,} bytes")


class Connection(Protocol):
    """uvicorn's, which also knows how long, and for how many bytes, it has waited for the headers of a request."""

    waits_since = 0.0
    _unread = 0  # bytes that came while no request was being answered

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A client has connected.

        Unless told otherwise, the system holds small packets back until the client has confirmed the one before, which
        on Linux takes 40 ms.
        """
        self.waits_since = time.monotonic()
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        super().connection_made(cast("asyncio.Transport", _Joined(transport)))

    def data_received(self, data: bytes) -> None:
        """More of a request."""
        super().data_received(data)
        self._unread = self._unread + len(data) if self._is_idle else 0
        if self._unread > LONGEST_HEADERS:
            self._refuse(_LONG)

    def on_headers_complete(self) -> None:
        """The headers are read (httptools). It takes no address of more than 64 KiB, so it gets one without a query."""
        self.url, _, query = self.url.partition(b"?")
        super().on_headers_complete()
        self.scope["query_string"] = query

    def on_response_complete(self) -> None:
        """The next request may come."""
        self.waits_since = time.monotonic()
        super().on_response_complete()

    def close_if_late(self, seconds: float) -> None:
        """Closes the connection if the headers of a request have not arrived for so long."""
        patience = seconds if self.cycle is None else seconds + KEEP_ALIVE
        if self._is_idle and time.monotonic() - self.waits_since > patience:
            self._refuse(_LATE)

    @property
    def _is_idle(self) -> bool:
        """Whether the headers of the next request have not arrived."""
        return self.cycle is None or self.cycle.response_complete

    def _refuse(self, answer: bytes) -> None:
        if not self.transport.is_closing():
            self.transport.write(answer)
            self.transport.close()


class _Joined:
    """A transport that sends at once what is written in one turn of the event loop: an answer's head and its body."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport, self._loop = transport, asyncio.get_running_loop()
        self._parts: list[bytes] = []

    def write(self, data: bytes) -> None:
        """Sends this at the end of the turn."""
        if not self._parts:
            self._loop.call_soon(self._send)
        self._parts.append(data)

    def close(self) -> None:
        """Closes the connection once everything is sent."""
        self._send()
        self._transport.close()

    def _send(self) -> None:
        if self._parts:
            parts, self._parts = self._parts, []
            self._transport.write(b"".join(parts))

    def __getattr__(self, name: str) -> Any:
        """Everything else is the transport's."""
        return getattr(self._transport, name)

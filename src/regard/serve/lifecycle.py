"""The life of a server: it listens, answers signals, finishes what it has, and stops.

SIGTERM or SIGINT: it says so at /health/ready, goes on for `drain_seconds`, stops listening, and answers every request
that it has accepted. A second one stops it at once. SIGHUP: it loads its models and keys again.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
import socket
import time
from types import FrameType

import uvicorn

from regard.errors import RegardError, SettingsError
from regard.serve.app import build_app
from regard.serve.connections import KEEP_ALIVE, LONGEST_HEADERS, Connection
from regard.serve.logs import Log
from regard.serve.serve_settings import ServeSettings
from regard.serve.state import State

_BACKLOG = 2048
_TICKS = 10  # a second
_YOUNG, _ALL = 5 * _TICKS, 60 * _TICKS  # ticks between two looks for cyclic garbage


class Server(uvicorn.Server):
    """uvicorn with another way to stop."""

    def __init__(self, state: State, listener: socket.socket) -> None:
        self.state, self._listener = state, listener
        settings = state.settings
        super().__init__(
            uvicorn.Config(
                build_app(state),
                http=Connection,
                ws="none",
                loop="asyncio",
                lifespan="off",
                log_config=None,
                access_log=False,
                server_header=False,
                timeout_keep_alive=KEEP_ALIVE,
                proxy_headers=True,
                forwarded_allow_ips=settings.forwarded_allow_ips,
                backlog=_BACKLOG,
                h11_max_incomplete_event_size=LONGEST_HEADERS,
            )
        )
        self._reloading: asyncio.Task[None] | None = None
        self._stop_at: float | None = None

    @property
    def address(self) -> str:
        """Where it listens."""
        host, port = self._listener.getsockname()[:2]
        return f"http://{f'[{host}]' if ':' in host else host}:{port}"

    def run(self, sockets: list[socket.socket] | None = None) -> None:
        """Serves until it is stopped."""
        assert sockets is None
        super().run([self._listener])

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Starts to accept connections."""
        if hasattr(signal, "SIGHUP"):
            try:
                asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, self._reload)
            except (RuntimeError, ValueError):  # not the main thread: POST /admin/reload does the same
                self.state.log.info("no signals", reason="the server runs in a thread")
        await super().startup(sockets)
        self.state.log.info("listening", address=self.address)
        self.state.log.delays = True  # `on_tick` writes: a line for each request at once would take much of its time

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002
        """A signal to stop; the second one stops the server at once."""
        if self.state.draining:
            self.force_exit = self.should_exit = True
        self.stop()

    def stop(self) -> None:
        """Lets the server stop once it has answered what it has accepted; any thread may call this."""
        self._stop_at = self._stop_at or time.monotonic() + self.state.settings.drain_seconds
        self.state.draining = True

    async def on_tick(self, counter: int) -> bool:
        """Ten times a second: whether it is time to stop listening."""
        if counter % _TICKS == 0:
            for connection in list(self.server_state.connections):
                assert isinstance(connection, Connection)
                connection.close_if_late(self.state.settings.header_seconds)
        self.state.log.write()
        _collect_garbage(counter)
        stops = await super().on_tick(counter)
        return stops or (self._stop_at is not None and time.monotonic() >= self._stop_at)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Answers what was accepted, then ends."""
        self.state.log.delays = False
        self.state.log.info("stopping", requests=self.state.service.admission.requests)
        await super().shutdown(sockets)
        self.state.log.info("stopped")

    def _reload(self) -> None:
        if self._reloading is None or self._reloading.done():
            self._reloading = asyncio.ensure_future(self._reload_in_a_thread())

    async def _reload_in_a_thread(self) -> None:
        try:
            await asyncio.to_thread(self.state.reload)
        except (RegardError, OSError) as error:
            self.state.log.warning("reload failed", message=str(error))


def _collect_garbage(tick: int) -> None:
    """Looks for cyclic garbage now and then.

    Python does not look while texts are translated (`no_garbage`), and under load there is always a text.
    """
    if tick % _ALL == 0:
        gc.collect()
    elif tick % _YOUNG == 0:
        gc.collect(1)


class _Forward(logging.Handler):
    """What libraries log, in our form: every line on standard error is one JSON object."""

    def __init__(self, log: Log) -> None:
        super().__init__(logging.WARNING)
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        """One event."""
        self._log.warning("library", name=record.name, message=record.getMessage())


def prefer_throughput() -> None:
    """Lets a search go on when a thread of a request wakes up; call this before other threads are started.

    By default, Linux interrupts a search for every such thread, several times a sentence. As a batch process, the
    server does the work for several requests in one go, and the caches of a core keep the model for longer.
    """
    if hasattr(os, "SCHED_BATCH"):
        try:
            os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
        except OSError:  # a container may forbid it
            return


def bound(settings: ServeSettings) -> socket.socket:
    """A socket at the host and port that were chosen."""
    try:
        found = socket.getaddrinfo(settings.host, settings.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, _, _, _, address = found[0]
        return socket.create_server(address[:2], family=family, backlog=_BACKLOG)
    except OSError as error:
        raise SettingsError(
            f"{settings.host}:{settings.port}: the server cannot listen there: {error.strerror or error}.\n"
            "  Stop the program that uses this port, or give another one with --port."
        ) from None


def serve(state: State, listener: socket.socket) -> None:
    """Serves until a signal ends it."""
    handler = _Forward(state.log)
    logging.getLogger().addHandler(handler)
    if not state.settings.is_local and not state.keys.required:
        state.log.warning(
            "open to others",
            message=f"The server listens at {state.settings.host} and needs no API key. Others can use it. "
            "Give a file of keys with --keys, or listen at 127.0.0.1",
        )
    try:
        with state.service.closing():
            Server(state, listener).run()
    finally:
        state.catalogue.close()
        state.uploads.remove()
        logging.getLogger().removeHandler(handler)

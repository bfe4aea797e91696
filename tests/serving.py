"""A server for tests: in a thread of this process, with a small model under two pairs of languages."""

import io
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from regard import modelfolder
from regard.models import read_settings
from regard.serve.app import open_state
from regard.serve.lifecycle import Server, bound
from regard.serve.logs import Log
from regard.serve.serve_settings import ServeSettings
from regard.serve.state import State


@dataclass
class Running:
    """A server that runs."""

    url: str
    server: Server
    state: State
    log: io.StringIO

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    def post(self, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
        """A JSON body in, the status and the answer out."""
        names = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.send(path, json.dumps(body).encode(), {"Content-Type": "application/json", **names})

    def get(self, path: str, **headers: str) -> tuple[int, Any]:
        return self.send(path, None, {name.replace("_", "-"): value for name, value in headers.items()})

    def send(self, path: str, body: bytes | None, headers: dict[str, str], method: str = "") -> tuple[int, Any]:
        answer = self.request(method or ("GET" if body is None else "POST"), path, content=body, headers=headers)
        return answer.status_code, answer.json() if "json" in answer.headers["content-type"] else answer.content

    def request(self, method: str, path: str, **options: Any) -> httpx.Response:
        """A request with all that httpx can send."""
        with httpx.Client(trust_env=False, timeout=60) as client:
            return client.request(method, self.url + path, **options)

    def written(self) -> str:
        """The log, with the lines that wait to be written."""
        self.state.log.write()
        return self.log.getvalue()

    def raw(self, sent: bytes, *, end: bool = False) -> bytes:
        """Bytes in, all bytes out until the server closes the connection."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=30) as connection:
            connection.sendall(sent)
            if end:
                connection.shutdown(socket.SHUT_WR)
            received = b""
            while part := connection.recv(65536):
                received += part
            return received


@contextmanager
def running(models: list[Path], **settings: Any) -> Iterator[Running]:
    """Serves until the end of the context."""
    table = {"port": 0, "engine": "torch", "device": "cpu", "drain_seconds": 0.0, **settings}
    chosen, log = ServeSettings(**table), io.StringIO()
    state = open_state([str(model) for model in models], chosen, Log(log))
    server = Server(state, bound(chosen))
    thread = threading.Thread(target=server.run)
    with state.service.closing():
        thread.start()
        try:
            yield Running(server.address, server, state, log)
        finally:
            server.stop()
            thread.join()
    state.catalogue.close()
    state.uploads.remove()


def renamed(folder: Path, out: Path, source: str, target: str) -> Path:
    """The same model for other languages."""
    loaded = modelfolder.load(folder)
    description = loaded.description
    modelfolder.save(
        out,
        loaded.model,
        architecture=description.architecture,
        settings=read_settings(description.settings, where="a test"),
        languages={"source": source, "target": target},
        tokeniser=loaded.tokeniser,
        card=f"# {source} to {target}\n",
    )
    return out

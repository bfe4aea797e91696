"""A server for tests: in a thread of this process, with a small model under two pairs of languages."""

import io
import json
import socket
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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
        return self.send(path, json.dumps(body).encode(), {"Content-Type": "application/json", **headers})

    def get(self, path: str, **headers: str) -> tuple[int, Any]:
        return self.send(path, None, headers)

    def send(self, path: str, body: bytes | None, headers: dict[str, str]) -> tuple[int, Any]:
        request = urllib.request.Request(
            self.url + path, body, {name.replace("_", "-"): v for name, v in headers.items()}
        )
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, _read(answer)
        except urllib.error.HTTPError as error:
            with error:
                return error.code, _read(error)

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


def _read(answer: Any) -> Any:
    content = answer.read()
    return json.loads(content) if "json" in (answer.headers["content-type"] or "") else content


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

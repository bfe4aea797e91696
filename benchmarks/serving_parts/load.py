"""Clients that send one request after the other, in one asyncio loop, and what they measure."""

from __future__ import annotations

import asyncio
import json
import socket
import time
import urllib.request
from dataclasses import dataclass, field


@dataclass
class Measured:
    """What all clients saw in some seconds."""

    seconds: float
    sentences: int = 0
    latencies: list[float] = field(default_factory=list)
    failures: int = 0

    @property
    def rate(self) -> float:
        """Sentences/s."""
        return self.sentences / self.seconds

    def percentile(self, percent: float) -> float:
        """Seconds that so many of the requests took at most."""
        ordered = sorted(self.latencies)
        return ordered[min(len(ordered) - 1, int(len(ordered) * percent / 100))] if ordered else float("nan")

    def __str__(self) -> str:
        shown = f"{self.rate:.1f} sentences/s, p50 {self.percentile(50):.2f} s, p95 {self.percentile(95):.2f} s"
        return f"{shown}, {self.failures} failures" if self.failures else shown


class Load:
    """Requests to a server's /translate, with `size` texts each."""

    def __init__(self, port: int, texts: list[str], *, source: str, target: str, size: int) -> None:
        self._port, self._texts, self._size = port, texts, size
        self._languages = {"source": source, "target": target}
        self._next = 0

    def run(self, *, clients: int, seconds: float) -> Measured:
        """So many clients for some seconds; requests that have begun are waited for, and count by their share."""
        return asyncio.run(self._run(clients, seconds))

    async def _run(self, clients: int, seconds: float) -> Measured:
        began = time.monotonic()
        measured = Measured(seconds)
        await asyncio.gather(*(self._client(began + seconds, measured) for _ in range(clients)))
        measured.seconds = time.monotonic() - began
        return measured

    async def _client(self, end: float, measured: Measured) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        while time.monotonic() < end:
            began = time.monotonic()
            status, answer = await post(reader, writer, "/translate", self._body())
            found = json.loads(answer).get("translatedText")
            texts = [found] if isinstance(found, str) else found or []
            if status == 200 and all(texts):
                measured.sentences += len(texts)
                measured.latencies.append(time.monotonic() - began)
            else:
                measured.failures += 1
        writer.close()

    def _body(self) -> bytes:
        chosen = [self._texts[(self._next + n) % len(self._texts)] for n in range(self._size)]
        self._next += self._size
        query = chosen if self._size > 1 else chosen[0]
        return json.dumps({"q": query, **self._languages}).encode()


async def post(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, path: str, body: bytes) -> tuple[int, bytes]:
    """A request with a JSON body on an open connection; the status and the body of the answer."""
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
    writer.write(head.encode() + b"\r\n\r\n" + body)
    return await answer(reader)


async def answer(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    """The status and the body of an answer."""
    header = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
    length = next(int(line.split(":")[1]) for line in header.splitlines() if line.startswith("content-length:"))
    return int(header.split()[1]), await reader.readexactly(length)


def free_port() -> int:
    """A port that nothing listens at."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def wait_for(port: int, *, seconds: float) -> None:
    """Waits until a server answers."""
    end = time.monotonic() + seconds
    while True:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/languages", timeout=5):  # noqa: S310
                return
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.3)

"""Clients that send one request after the other, in one asyncio loop, and what they measure.

They share the cores with the server, so they compute little: requests are put together before, and answers read after.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast


@dataclass
class Measured:
    """What all clients saw in some seconds."""

    seconds: float
    sentences: int = 0
    latencies: list[float] = field(default_factory=list)
    failures: int = 0
    cpu: float = 0.0  # seconds that the server computed

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
        if self.cpu and self.sentences:
            shown += f", {1000 * self.cpu / self.sentences:.0f} ms of CPU a sentence"
        return f"{shown}, {self.failures} failures" if self.failures else shown


class Load:
    """Requests to a server's /translate, with `size` texts each."""

    def __init__(
        self, port: int, texts: list[str], *, source: str, target: str, size: int, process: int | None = None
    ) -> None:
        self._port, self._texts, self._size, self._process = port, texts, size, process
        self._languages = {"source": source, "target": target}
        self._next = 0
        self._made: list[bytes] = []

    def run(self, *, clients: int, seconds: float) -> Measured:
        """So many clients for some seconds; requests that have begun are waited for, and their seconds count."""
        return asyncio.run(self._run(clients, seconds))

    async def _run(self, clients: int, seconds: float) -> Measured:
        loop = asyncio.get_running_loop()
        turns = _Turns(self._requests(), end=time.monotonic() + seconds)
        began, cpu = time.monotonic(), cpu_seconds(self._process)
        opened = [await loop.create_connection(lambda: _Client(turns), "127.0.0.1", self._port) for _ in range(clients)]
        await asyncio.gather(*(client.over for _, client in opened))
        measured = Measured(time.monotonic() - began, latencies=turns.latencies)
        measured.cpu = cpu_seconds(self._process) - cpu
        for status, body in turns.answers:
            found = json.loads(body).get("translatedText") if status == 200 else None
            texts = [found] if isinstance(found, str) else found or []
            if len(texts) == self._size and all(texts):
                measured.sentences += len(texts)
            else:
                measured.failures += 1
        return measured

    def _requests(self) -> Iterator[bytes]:
        """All different ones, again and again; the next run goes on where this one ends."""
        if not self._made:
            texts = self._texts * self._size
            groups = [texts[first : first + self._size] for first in range(0, len(texts), self._size)]
            self._made = [self._request(group) for group in groups]
        while True:
            self._next += 1
            yield self._made[self._next % len(self._made)]

    def _request(self, texts: list[str]) -> bytes:
        query = texts if self._size > 1 else texts[0]
        return request("/translate", json.dumps({"q": query, **self._languages}).encode())


@dataclass
class _Turns:
    """What all clients of a run share."""

    requests: Iterator[bytes]
    end: float  # when no more requests are sent
    latencies: list[float] = field(default_factory=list)
    answers: list[tuple[int, bytes]] = field(default_factory=list)  # status and body


class _Client(asyncio.Protocol):
    """A connection that sends the next request when the last one is answered."""

    def __init__(self, turns: _Turns) -> None:
        self.over = asyncio.get_running_loop().create_future()
        self._turns, self._received, self._needed = turns, b"", 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._send()

    def data_received(self, data: bytes) -> None:
        self._received += data
        if not self._needed:
            head = self._received.find(b"\r\n\r\n") + 4
            if head < 4:
                return
            self._head, self._needed = head, head + _length_in(self._received[:head])
        if len(self._received) >= self._needed:
            self._turns.latencies.append(time.monotonic() - self._began)
            self._turns.answers.append((int(self._received[9:12]), self._received[self._head : self._needed]))
            self._received, self._needed = self._received[self._needed :], 0
            self._send()

    def connection_lost(self, _: Exception | None) -> None:
        if not self.over.done():
            self._turns.answers.append((0, b""))  # a failure
            self.over.set_result(None)

    def _send(self) -> None:
        self._began = time.monotonic()
        if self._began < self._turns.end:
            self._transport.write(next(self._turns.requests))
        else:
            self.over.set_result(None)
            self._transport.close()


def request(path: str, body: bytes) -> bytes:
    """A request with a JSON body."""
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
    return head.encode() + b"\r\n\r\n" + body


def _length_in(head: bytes) -> int:
    """The length of the body that the lines of a head tell."""
    lines = head.lower().split(b"\r\n")
    return next(int(line[15:]) for line in lines if line.startswith(b"content-length:"))


async def post(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, path: str, body: bytes) -> tuple[int, bytes]:
    """A request with a JSON body on an open connection; the status and the body of the answer."""
    writer.write(request(path, body))
    return await answer(reader)


async def answer(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    """The status and the body of an answer."""
    header = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
    length = next(int(line.split(":")[1]) for line in header.splitlines() if line.startswith("content-length:"))
    return int(header.split()[1]), await reader.readexactly(length)


def cpu_seconds(process: int | None) -> float:
    """How long a process has computed, where the system says so."""
    if process is None or not Path(f"/proc/{process}/stat").exists():
        return 0.0
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


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
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/languages", timeout=5):
                return
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.3)

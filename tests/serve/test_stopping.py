"""The server as a process: it stops with every accepted request answered, reloads on a signal, and lasts."""

import asyncio
import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from regard import load
from trained import sentence, translation

_JSON, _MULTIPART = "application/json", "multipart/form-data; boundary=x"
_HEAD = "POST /translate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n"


@contextmanager
def process(models: list[Path]) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """`regard serve` as a process of its own, and its port."""
    command = [sys.executable, "-m", "regard", "serve", *map(str, models), "--port", "0", "--engine", "torch"]
    surroundings = {**os.environ, "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=surroundings) as server:
        try:
            assert server.stderr is not None
            line = json.loads(server.stderr.readline())
            assert line["event"] == "listening"
            yield server, int(line["address"].rpartition(":")[2])
        finally:
            if server.poll() is None:
                server.kill()


@asynccontextmanager
async def connected(port: int) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        yield reader, writer
    finally:
        writer.close()


def send(writer: asyncio.StreamWriter, text: str | list[str]) -> None:
    body = json.dumps({"q": text, "source": "en", "target": "de"}).encode()
    writer.write(_HEAD.format(len(body)).encode() + body)


async def answered(reader: asyncio.StreamReader) -> tuple[int, dict[str, object]]:
    header = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
    length = int(header.partition("content-length:")[2].split()[0])
    return int(header.split()[1]), json.loads(await reader.readexactly(length))


def events(server: subprocess.Popen[str]) -> list[str]:
    assert server.stderr is not None
    return [json.loads(line)["event"] for line in server.stderr]


def test_a_signal_to_stop_under_load_leaves_no_accepted_request_without_its_answer(both_ways: list[Path]) -> None:
    draw = random.Random(2)  # noqa: S311
    texts = [[sentence(draw, longest=3) for _ in range(4)] for _ in range(24)]

    async def load(server: subprocess.Popen[str], port: int) -> list[tuple[int, dict[str, object]]]:
        readers = []
        for asked in texts:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            send(writer, asked)
            readers.append((reader, writer))
        first = await answered(readers[0][0])
        server.send_signal(signal.SIGTERM)
        answers = [first, *[await answered(reader) for reader, _ in readers[1:]]]
        for _, writer in readers:
            writer.close()
        return answers

    with process(both_ways[:1]) as (server, port):
        answers = asyncio.run(load(server, port))
        assert [status for status, _ in answers] == [200] * len(texts)
        assert [answer["translatedText"] for _, answer in answers] == [list(map(translation, asked)) for asked in texts]
        assert "stopped" in events(server)
        assert server.wait(20) == 0


def test_a_hangup_reloads_while_it_serves_and_a_short_soak_loses_no_good_request(both_ways: list[Path]) -> None:
    """Some seconds of good clients among bad ones; benchmarks/soak.py does this for ten minutes."""
    draw = random.Random(5)  # noqa: S311
    rubbish = [
        b"\x00\xff rubbish\r\n\r\n",
        _HEAD.format(8).encode() + b'{"q": "a',
        _HEAD.format(300_000).encode() + b"[" * 300_000,
        _HEAD.format(13).replace("/translate", "/translate_file").replace(_JSON, _MULTIPART).encode()
        + b"--x\r\nhalf a b",
    ]

    drawn = [sentence(draw, longest=3) for _ in range(20)]
    alone = {
        text: one.text for text, one in zip(drawn, load(both_ways[0], engine="torch").translate(drawn), strict=True)
    }

    async def good(port: int, count: int) -> int:
        right = 0
        async with connected(port) as (reader, writer):
            for _ in range(count):
                text = draw.choice(drawn)
                send(writer, text)
                right += await answered(reader) == (200, {"translatedText": alone[text]})
        return right

    async def bad(port: int, sent: bytes) -> bool:
        async with connected(port) as (reader, writer):
            writer.write(sent)
            return (await reader.readuntil(b"\r\n")).split()[1] in (b"400", b"413")

    async def leaving(port: int) -> None:
        async with connected(port) as (_, writer):
            send(writer, [sentence(draw) for _ in range(50)])
            await writer.drain()

    async def soak(server: subprocess.Popen[str], port: int) -> tuple[list[int], list[bool]]:
        hanging = await asyncio.open_connection("127.0.0.1", port)
        server.send_signal(signal.SIGHUP)
        await asyncio.gather(*(leaving(port) for _ in range(4)))
        counted, _ = await asyncio.gather(
            asyncio.gather(*(good(port, 6) for _ in range(8))), asyncio.gather(*(leaving(port) for _ in range(4)))
        )
        refused = await asyncio.gather(*(bad(port, sent) for sent in rubbish for _ in range(3)))
        hanging[1].close()
        return list(counted), list(refused)

    with process(both_ways) as (server, port):
        counted, refused = asyncio.run(soak(server, port))
        assert counted == [6] * 8
        assert all(refused)
        server.send_signal(signal.SIGTERM)
        seen = events(server)
        assert server.wait(20) == 0
    assert "reloaded" in seen
    assert "failed" not in seen

"""A soak of the server: good clients among clients that hang, send rubbish, send too much, or leave in the middle.

    python benchmarks/soak.py --minutes 10 --clients 64 --texts FILE

Every good request must be answered, and with the translation that its text had before the soak. Every bad one must be
answered with an error that says why. The memory of the server is read every ten seconds; it must not grow.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from serving_parts.load import answer, free_port, post, wait_for

_HEAD = "POST {} HTTP/1.1\r\nHost: x\r\nContent-Type: {}\r\nContent-Length: {}\r\n\r\n"
_JSON = "application/json"


def _bad() -> dict[str, tuple[bytes, set[int]]]:
    """What bad clients send, and the answers that they may get."""

    def body(content: bytes, kind: str = _JSON, path: str = "/translate", length: int | None = None) -> bytes:
        return _HEAD.format(path, kind, len(content) if length is None else length).encode() + content

    half = b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\nhalf'
    return {
        "rubbish": (b"\x00\xff\x80 rubbish\r\n\r\n", {400}),
        "broken JSON": (body(b'{"q": "a", '), {400}),
        "a list": (body(b"[1, 2]"), {400}),
        "10 MB": (body(b'{"q": "' + b"a" * 10_000_000 + b'"}'), {413}),
        "half a multipart": (body(half, "multipart/form-data; boundary=x", "/translate_file"), {400}),
        "Latin-1": (body('{"q": "ä", "source": "en", "target": "de"}'.encode("latin-1")), {400}),
        "UTF-16": (body('{"q": "a"}'.encode("utf-16")), {400}),
        "no parameters": (body(b"{}"), {400}),
        "slow body": (body(b"{", length=1000), {408}),
    }


class Soak:
    """Clients of all kinds, and what they saw."""

    def __init__(self, port: int, expected: dict[str, str], end: float) -> None:
        self._port, self._expected, self._end = port, expected, end
        self._texts, self.seen = list(expected), Counter[str]()

    async def run(self, clients: int) -> None:
        """Half of the clients are good; the others take turns."""
        kinds = [self._hanging, self._leaving, self._rubbish, self._rubbish]
        tasks = [self._good(n) for n in range(clients // 2)]
        tasks += [kinds[n % len(kinds)](n) for n in range(clients - clients // 2)]
        await asyncio.gather(*tasks)

    async def _good(self, number: int) -> None:
        draw = random.Random(number)  # noqa: S311
        while time.monotonic() < self._end:
            reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
            for _ in range(draw.randint(1, 20)):
                texts = draw.sample(self._texts, draw.choice([1, 1, 1, 4]))
                asked = json.dumps({"q": texts, "source": "en", "target": "de"}).encode()
                status, content = await post(reader, writer, "/translate", asked)
                said = json.loads(content).get("translatedText")
                right = status == 200 and said == [self._expected[text] for text in texts]
                self.seen["good"] += 1
                verdict = "good and right" if right else f"LOST OR WRONG: {status}"
                self.seen["told to come back" if status == 429 else verdict] += 1
                if not right:
                    wanted = [self._expected[text] for text in texts]
                    print(status, content[:200] if said is None else list(zip(texts, said, wanted, strict=True)))
            writer.close()

    async def _rubbish(self, number: int) -> None:
        draw, bad = random.Random(number), _bad()  # noqa: S311
        while time.monotonic() < self._end:
            name = draw.choice(sorted(bad))
            sent, allowed = bad[name]
            reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
            try:
                writer.write(sent)
                await writer.drain()
                if name == "rubbish":
                    status = int((await reader.readuntil(b"\r\n")).split()[1])
                else:
                    status, content = await answer(reader)
                    assert json.loads(content)["error"]
                self.seen["bad and told why" if status in allowed else f"BAD, ANSWERED {status}: {name}"] += 1
            except (OSError, asyncio.IncompleteReadError) as error:
                self.seen[f"BAD, NOT ANSWERED: {name}: {type(error).__name__}"] += 1
            writer.close()
            await asyncio.sleep(draw.random())

    async def _hanging(self, number: int) -> None:
        while time.monotonic() < self._end:
            _, writer = await asyncio.open_connection("127.0.0.1", self._port)
            writer.write(b"POST /transl" if number % 2 else b"")
            await asyncio.sleep(min(10, max(0, self._end - time.monotonic())))
            writer.close()
            self.seen["hung"] += 1

    async def _leaving(self, number: int) -> None:
        draw = random.Random(number)  # noqa: S311
        while time.monotonic() < self._end:
            _, writer = await asyncio.open_connection("127.0.0.1", self._port)
            asked = json.dumps({"q": draw.sample(self._texts, 8), "source": "en", "target": "de"}).encode()
            writer.write(_HEAD.format("/translate", _JSON, len(asked)).encode() + asked)
            await asyncio.sleep(draw.random())
            writer.close()
            self.seen["left"] += 1


async def _memory(process: int, end: float) -> list[float]:
    """MB of the server, every ten seconds."""
    found = []
    while time.monotonic() < end:
        pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
        found.append(pages * 4096 / 1e6)
        await asyncio.sleep(10)
    return found


async def _soaked(port: int, process: int, texts: list[str], options: argparse.Namespace) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    asked = json.dumps({"q": texts, "source": "en", "target": "de"}).encode()
    _, content = await post(reader, writer, "/translate", asked)
    expected = dict(zip(texts, json.loads(content)["translatedText"], strict=True))
    writer.close()
    end = time.monotonic() + options.minutes * 60
    soak = Soak(port, expected, end)
    _, memory = await asyncio.gather(soak.run(options.clients), _memory(process, end))
    for name, count in sorted(soak.seen.items()):
        print(f"{count:8,d} {name}")
    half = memory[len(memory) // 3 :]
    print(f"memory: {memory[0]:.0f} MB at first, {half[0]:.0f} MB after a third, {half[-1]:.0f} MB at the end")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--texts", type=Path, required=True, help="English sentences, one a line")
    parser.add_argument("--engine", default="auto")
    options = parser.parse_args()
    texts = list(dict.fromkeys(options.texts.read_text(encoding="utf-8").splitlines()))[:60]
    port = free_port()
    command = [sys.executable, "-m", "regard", "serve", "en-de", "--port", str(port), "--engine", options.engine]
    with tempfile.TemporaryFile() as log, subprocess.Popen(command, stderr=log) as server:
        try:
            wait_for(port, seconds=180)
            asyncio.run(_soaked(port, server.pid, texts, options))
        finally:
            server.terminate()
            print(f"exit status {server.wait()}")
            log.seek(0)
            print("failures in the log:", sum(b'"failed"' in line for line in log))


if __name__ == "__main__":
    main()

"""What a connection sends and refuses, and how the results of threads reach the event loop."""

import asyncio
import io
import json
import os
import threading
from pathlib import Path
from typing import Any, cast

import pytest

from regard.serve.connections import LONGEST_HEADERS, Connection, _Joined
from regard.serve.lifecycle import prefer_throughput
from regard.serve.logs import Log
from regard.serve.serve_settings import ServeSettings
from regard.serve.service import Service
from serving import running


class Wire:
    """A transport that keeps what is sent."""

    def __init__(self) -> None:
        self.sent: list[bytes] = []
        self.closed = False

    def write(self, data: bytes) -> None:
        self.sent.append(data)

    def close(self) -> None:
        self.closed = True

    def is_closing(self) -> bool:
        return self.closed


def test_what_is_written_in_one_turn_of_the_loop_is_sent_at_once_and_before_the_connection_closes() -> None:
    wire = Wire()

    async def write() -> None:
        transport = _Joined(cast("asyncio.Transport", wire))
        transport.write(b"head ")
        transport.write(b"body")
        assert not wire.sent
        await asyncio.sleep(0)
        transport.write(b"next")
        assert not transport.is_closing()
        transport.close()
        assert transport.is_closing()

    asyncio.run(write())
    assert wire.sent == [b"head body", b"next"]


def test_headers_that_do_not_end_are_refused_and_long_ones_are_read(both_ways: list[Path]) -> None:
    with running(both_ways[:1]) as server:
        endless = b"GET /health HTTP/1.1\r\nHost: x\r\nX-Long: ".ljust(LONGEST_HEADERS + 1, b"a")
        assert int(server.raw(endless).split()[1]) in (400, 431)
        long = b"GET /health?q=" + b"a" * (LONGEST_HEADERS // 2) + b" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
        assert server.raw(long).startswith(b"HTTP/1.1 200")


def test_a_connection_that_is_late_is_told_so_once() -> None:
    wire, connection = Wire(), cast("Any", Connection.__new__(Connection))
    connection.cycle, connection.transport, connection.waits_since = None, wire, 0.0
    connection.close_if_late(20)
    connection.close_if_late(20)
    (answer,) = wire.sent
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 408")
    assert f"content-length: {len(body)}".encode() in head
    assert "headers" in json.loads(body)["error"]


def test_ordinary_lines_wait_to_be_written_and_warnings_bring_them_along() -> None:
    stream = io.StringIO()
    log = Log(stream)
    log.info("first")
    assert stream.getvalue().count("\n") == 1
    log.delays = True
    log.info("second")
    assert stream.getvalue().count("\n") == 1
    log.warning("third")
    assert [json.loads(line)["event"] for line in stream.getvalue().splitlines()] == ["first", "second", "third"]
    log.info("fourth")
    log.write()
    assert stream.getvalue().count("\n") == 4


def test_results_and_errors_of_many_threads_reach_the_futures_they_belong_to() -> None:
    service = Service(ServeSettings(max_requests=64))

    def work(number: int) -> int:
        if number % 5 == 0:
            raise ValueError(str(number))
        return number

    async def ask() -> list[int | BaseException]:
        futures = [service.submit(service.start(1), lambda n=number: work(n), 1) for number in range(60)]  # type: ignore[misc]
        return await asyncio.gather(*futures, return_exceptions=True)

    with service.closing():
        found = asyncio.run(ask())
    assert [str(one) for one in found] == [str(number) for number in range(60)]
    assert [isinstance(one, ValueError) for one in found] == [number % 5 == 0 for number in range(60)]
    assert service.admission.requests == 0


@pytest.mark.skipif(not hasattr(os, "SCHED_BATCH"), reason="only Linux has batch processes")
def test_threads_that_start_later_are_those_of_a_batch_process() -> None:
    found: list[int] = []

    def start() -> None:  # in a thread, so that the tests themselves stay as they are
        prefer_throughput()
        later = threading.Thread(target=lambda: found.append(os.sched_getscheduler(0)))
        later.start()
        later.join()

    outer = threading.Thread(target=start)
    outer.start()
    outer.join()
    assert found == [os.SCHED_BATCH]
    assert os.sched_getscheduler(0) != os.SCHED_BATCH

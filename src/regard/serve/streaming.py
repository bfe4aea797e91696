"""Long texts as server-sent events: each part as soon as it is translated, the whole at the end.

The parts are those that a Translator would make: lines, and the sentences of long lines. So the whole is the same as
without a stream. The first part is sent alone, so that something is there soon; later ones go in larger groups.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import replace
from typing import Any

from fastapi import Request

from regard.errors import RegardError
from regard.serve.calls import Job
from regard.serve.service import ignore_error
from regard.serve.state import State
from regard.serve.translating import Chosen, Options, Outcome
from regard.text.sentences import lines, sentences
from regard.text.word_spans import count_words

_SPLIT_OVER = 40  # words, as a Translator does
_MOST_TOGETHER = 32


def parts_of(text: str) -> list[str]:
    """The parts of a text; joined, the text."""
    found: list[str] = []
    for line in lines(text):
        found += sentences(line) if count_words(line) > _SPLIT_OVER else [line]
    return found or [text]


def events(
    state: State, request: Request, chosen: Chosen, parts: Sequence[str], options: Options, load: int
) -> AsyncIterator[str]:
    """Starts the work, or raises 429; gives the events: `part` for each part, then `done`, or `error`."""
    queue: asyncio.Queue[list[Outcome] | None] = asyncio.Queue()
    loop, job = asyncio.get_running_loop(), state.service.start(load)

    def work() -> None:
        try:
            for group in _groups(parts):
                job.raise_if_cancelled()
                some = [replace(chosen, text=part) for part in group]
                found = state.translated(request, some, options)()
                loop.call_soon_threadsafe(queue.put_nowait, found)
        finally:
            loop.call_soon_threadsafe(queue.put_nowait, None)

    return _sent(queue, state.service.submit(job, work, load), job, chosen)


async def _sent(
    queue: asyncio.Queue[list[Outcome] | None], future: asyncio.Future[None], job: Job, chosen: Chosen
) -> AsyncIterator[str]:
    whole: list[str] = []
    try:
        while (found := await queue.get()) is not None:
            for one in found:
                yield _event("part", {"number": len(whole), "source": one.chosen.text, "text": one.text})
                whole.append(one.text)
        await future
        name = chosen.model.name if chosen.model else None
        yield _event("done", {"text": "".join(whole), "language": chosen.detected.language, "model": name})
    except RegardError as error:
        yield _event("error", {"error": str(error)})
    finally:
        job.cancel()
        future.add_done_callback(ignore_error)


def _groups(parts: Sequence[str]) -> Iterator[list[str]]:
    start, count = 0, 1
    while start < len(parts):
        yield list(parts[start : start + count])
        start, count = start + count, min(_MOST_TOGETHER, count * 2)


def _event(name: str, data: dict[str, Any]) -> str:
    return f"event: {name}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n"

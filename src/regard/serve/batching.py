"""The engine that all requests share: the sentences of all of them are searched together.

A request runs through the Translator in a thread of its own: its texts are cut, checked, aligned and joined there. Only
the search is shared, so no part of the Translator knows of the others, and a translation does not depend on them.
"""

from __future__ import annotations

from collections.abc import Sequence

from regard.search import Request, Result, SearchSettings
from regard.serve.calls import Call, Item, current_job
from regard.serve.lanes import Seen, lane_for
from regard.translation.engines import Engine, Loaded, open_engine
from regard.translation.engines.engine import plain_requests


class SharedEngine:
    """An engine whose `search` may be called by any number of threads, each of which waits for its own results."""

    def __init__(self, engine: Engine, *, workers: int, seen: Seen) -> None:
        self.name = engine.name
        self._lane = lane_for(engine, workers=workers, seen=seen)

    def search(
        self, sentences: Sequence[Sequence[int]], settings: SearchSettings, *, requests: Sequence[Request] | None = None
    ) -> list[Result]:
        """What is found for each sentence, in order."""
        if not sentences:
            return []
        asked = plain_requests(sentences) if requests is None else requests
        call = Call(len(sentences))
        items = [
            Item(call, number, ids, settings, request)
            for number, (ids, request) in enumerate(zip(sentences, asked, strict=True))
        ]
        with current_job().calling(call):
            self._lane.put(items)
            return call.results()

    def close(self) -> None:
        """Ends its threads once nothing waits."""
        self._lane.close()

    @property
    def waiting(self) -> int:
        """How many sentences have no place yet."""
        return self._lane.waiting


class Sharing:
    """Opens a shared engine for a Translator, and keeps it: `regard.load(model, engine=Sharing(...))`."""

    def __init__(self, name: str, *, workers: int, seen: Seen) -> None:
        self._name, self._workers, self._seen = name, workers, seen
        self.engine: SharedEngine | None = None

    def __call__(self, loaded: Loaded) -> SharedEngine:
        """The engine of that name, shared."""
        self.engine = SharedEngine(open_engine(self._name, loaded), workers=self._workers, seen=self._seen)
        return self.engine

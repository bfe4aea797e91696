"""Places for sentences whose steps are captured once, kept, and replayed by all searches that have the same shapes."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, NamedTuple

from regard.batches.rows import Rows
from regard.search import Board, Search, Session, build
from regard.translation.engines.captured_board import CapturedBoard
from regard.translation.engines.engine import Decoding
from regard.translation.engines.ensemble import in_place

SHARE = 1 / 8  # of the places is filled at a time
_MOST = 4  # kept at a time; with a base model in float32 and thousands of places each takes about 9 GB


class Bench(NamedTuple):
    """Places for sentences, and the search that moves them on."""

    places: int
    search: Search
    room: int | None
    board: Board

    def session(self) -> Session:
        """A session on these places, which are all free."""
        return Session(self.board, self.search, places=self.places, free=SHARE, fixed=True, room=self.room)


class Benches(dict[Hashable, Bench]):
    """Those that can be captured, by all that their shapes depend on; the last is the one used most recently."""

    def again(self, key: Hashable) -> Bench | None:
        """The one with this key, if it is kept."""
        if key in self:
            self[key] = self.pop(key)
        return self.get(key)

    def made(
        self,
        key: Hashable,
        model: Decoding,
        search: Search,
        *,
        start: Callable[[Rows], Any],
        nothing: Rows,
        room: int,
    ) -> Bench | None:
        """A new one, which is kept; the one that was not used for longest goes. None if such steps are not captured.

        `start` makes the state of rows, and `nothing` are the rows of all places, without a text.
        """
        fixed = in_place(start(nothing), room) if search.may_stay_in_place else None
        if fixed is None:
            return None
        while len(self) >= _MOST:
            del self[next(iter(self))]
        own = build(search.settings, begin=search.begin, end=search.end, device=search.device)
        places = len(nothing.tokens)
        group = Rows(*(tensor[: max(1, int(places * SHARE))] for tensor in nothing))
        self[key] = Bench(places, own, room, CapturedBoard(model, own, fixed, start=start, nothing=group))
        return self[key]

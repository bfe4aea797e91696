"""A search session: requests enter and leave at any time. The models are made up, in float64."""

from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_search import board_of, kinds, run, search_of, seeds

from made_up import END, MadeUp
from regard.errors import SettingsError
from regard.search import Request, Session


@given(seeds, kinds, st.integers(1, 4))
def test_requests_that_enter_and_leave_a_session_at_any_time_find_what_they_find_alone(
    seed: int, kind: dict[str, Any], places: int
) -> None:
    random = Random(seed)  # noqa: S311
    model, search = MadeUp(seed=seed, vocabulary=6), search_of(**kind, max_length_offset=6)
    requests = [Request(source_length=n % 4, number=n) for n in range(8)]
    session = Session(board_of(model, search), search, places=places, free=0)
    waiting, found, cancelled = list(range(8)), {}, set()
    while waiting or not session.is_idle:
        for n in waiting[: random.randint(0, 3)]:
            session.submit(n, n, requests[n])
            waiting.remove(n)
        if random.random() < 0.2:
            cancelled.add(gone := random.randrange(8))
            session.cancel(gone)
            waiting = [n for n in waiting if n != gone]
        new = dict(session.step())
        assert not cancelled & new.keys()
        found |= new
    assert set(found) | cancelled == set(range(8))
    for n, result in found.items():
        assert result == run(model, [requests[n]], search_of(**kind, max_length_offset=6), [n])[0]


def test_a_request_that_cannot_be_fulfilled_is_refused_when_it_is_submitted_and_the_others_go_on() -> None:
    model, search = MadeUp(seed=1, vocabulary=6), search_of(max_length_offset=3)
    session = Session(board_of(model, search), search, places=2)
    session.submit("good", 0, Request(source_length=1))
    with pytest.raises(SettingsError, match="ends a sentence"):
        session.submit("bad", 1, Request(source_length=1, prefix=(END,)))
    assert [key for key, _ in session.results()] == ["good"]

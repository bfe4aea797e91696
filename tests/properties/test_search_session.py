"""A search session: requests enter and leave at any time. The models are made up, in float64."""

from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_search import board_of, kinds, results, run, search_of, seeds
from torch import Tensor

from made_up import END, MadeUp
from regard.errors import SettingsError
from regard.search import Request, Search, Session
from regard.search.search import Dismissed


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


def paced(model: MadeUp, *, places: int) -> tuple[Session, Search]:
    """A session on a board of so many places, in which four sentences enter at a time, and its search."""
    search = search_of(max_length_offset=4, repetition_cycle=0)
    board = board_of(model, search, places=places)
    return Session(board, search, places=places, free=4 / places, fixed=True, room=20), search


@given(seeds, kinds, st.integers(1, 4), st.booleans())
def test_requests_that_are_made_one_by_one_find_what_they_find_when_all_are_there_from_the_start(
    seed: int, kind: dict[str, Any], places: int, fixed: bool
) -> None:
    model, searches = MadeUp(seed=seed, vocabulary=6), [search_of(**kind, max_length_offset=6) for _ in range(2)]
    requests = [Request(source_length=n % 4, number=n) for n in range(9)]
    boards = [board_of(model, search, places=places if fixed else 0) for search in searches]
    sessions = [
        Session(board, search, places=places, fixed=fixed) for board, search in zip(boards, searches, strict=True)
    ]
    expected = results(sessions[0], requests)
    assert dict(sessions[1].results((n, n, request) for n, request in enumerate(requests))) == expected


def test_some_requests_are_made_before_there_is_a_place_for_them_and_no_more_than_there_are_places() -> None:
    session, _ = paced(MadeUp(seed=1, vocabulary=6), places=8)
    coming = ((n, n, Request(source_length=2)) for n in range(40))
    wait = [8 - len(session.running()) - session.vacancies for _ in session.results(coming)]
    assert len(wait) == 40
    assert 0 < max(wait) <= 8


def test_a_result_is_given_between_the_beginning_of_a_step_and_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    session, search = paced(MadeUp(seed=1, vocabulary=6), places=8)
    events: list[str] = []
    move, dismiss = search.move, search.dismiss

    def begins(logits: Tensor) -> Tensor | None:
        events.append("begins")
        return move(logits)

    def ends(*, moves: int) -> Dismissed:
        events.append("ends")
        return dismiss(moves=moves)

    monkeypatch.setattr(search, "move", begins)
    monkeypatch.setattr(search, "dismiss", ends)
    found = session.results((n, n, Request(source_length=n % 3)) for n in range(30))
    events.extend("given" if search.is_busy else "given at last" for _ in found)
    assert events.count("given") > 8
    while "given" in events:
        place = events.index("given")
        assert events[place - 1] == "begins"
        del events[place]


def test_more_results_than_the_fewest_are_made_only_while_the_device_computes(monkeypatch: pytest.MonkeyPatch) -> None:
    most = {}
    for moving in (False, True):
        session, search = paced(MadeUp(seed=1, vocabulary=6), places=32)
        monkeypatch.setattr(Search, "is_moving", moving)
        for n in range(200):
            session.submit(n, n, Request(source_length=n % 3))
        given, found = [], set()
        while not session.is_idle:
            found |= (new := dict(session.step())).keys()
            if search.is_busy:
                given.append(len(new))
        assert found == set(range(200))
        most[moving] = max(given)
    assert most[False] == 1
    assert 4 < most[True] <= 32

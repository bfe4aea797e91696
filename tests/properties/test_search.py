"""What must be true of every search, whatever the model says. The models are made up, in float64."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any

import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from made_up import BEGIN, END, MadeUp, Told, brute_force
from regard.search import Request, Result, Search, SearchSettings, Session, StateBoard, build, decode, penalties
from regard.search.beam import Beam
from regard.search.greedy import Greedy
from regard.search.length import limit
from regard.search.request import contains

LONGEST = 4
EXHAUSTIVE: dict[str, Any] = {"beam_size": 3**LONGEST, "max_length": LONGEST}  # three words beside the end

seeds = st.integers(0, 10_000)
kinds = st.sampled_from(
    [
        {"beam_size": 1},
        {"beam_size": 3, "n_best": 2},
        {"beam_size": 4, "length_penalty": 0.0},
        {"method": "sampling", "n_best": 2, "seed": 5},
        {"method": "sampling", "top_k": 3},
        {"method": "sampling", "top_p": 0.7, "temperature": 1.5},
    ]
)
words = st.sampled_from([0, 2, 3, 4, 5])
phrases = st.lists(words, min_size=1, max_size=3).map(tuple)


def search_of(**settings: Any) -> Search:
    return build(SearchSettings(**settings), begin=BEGIN, end=END)


def run(model: MadeUp, requests: Sequence[Request], search: Search, sentences: list[int] | None = None) -> list[Result]:
    """Sentence n of the model for the n-th request, unless said otherwise."""
    sentences = list(range(len(requests))) if sentences is None else sentences
    return decode(model.step, model.start(sentences, width=search.width), requests, search)


def board_of(model: MadeUp, search: Search, *, places: int = 0, step: Any = None) -> StateBoard[Told]:
    """The made-up model's side of a session; with `places`, all of them are there from the start."""
    state = model.start([0] * places, width=search.width) if places else None
    start = partial(_started, model, search.width)
    return StateBoard(step or model.step, start, device=search.device, state=state, places=places)


def _started(model: MadeUp, width: int, numbers: Sequence[int]) -> Told:
    return model.start(list(numbers), width=width)


def results(session: Session, requests: Sequence[Request]) -> dict[int, Result]:
    for n, request in enumerate(requests):
        session.submit(n, n, request)
    return dict(session.results())


def one(model: MadeUp, request: Request, **settings: Any) -> Result:
    (result,) = run(model, [request], search_of(**settings))
    return result


@given(seeds, st.sampled_from([0.0, 0.6, 1.5]), st.integers(1, 5), st.integers(0, 3))
def test_a_beam_that_is_wide_enough_finds_what_brute_force_finds(
    seed: int, alpha: float, n_best: int, minimum: int
) -> None:
    model, request = MadeUp(seed=seed, vocabulary=4), Request(source_length=1)
    chosen = EXHAUSTIVE | {"length_penalty": alpha, "n_best": n_best, "min_length": minimum}
    expected = brute_force(model, 0, request, SearchSettings(**chosen))[:n_best]
    found = one(model, request, **chosen).hypotheses
    assert [hypothesis.ids for hypothesis in found] == [ids for _, ids in expected]
    assert [hypothesis.score for hypothesis in found] == pytest.approx([score for score, _ in expected])


@given(seeds, st.sampled_from([(0,), (2, 2), (3, 0)]), st.sampled_from([((2,),), ((2, 3),), ((2,), (0, 3))]))
def test_a_beam_that_is_wide_enough_finds_the_best_sentences_that_the_constraints_allow(
    seed: int, prefix: tuple[int, ...], required: tuple[tuple[int, ...], ...]
) -> None:
    """No two of the required phrases overlap; of phrases that do, a search may miss ways to say them in less room."""
    model = MadeUp(seed=seed, vocabulary=4)
    for request in (
        Request(source_length=1, required=required),
        Request(source_length=1, banned=(prefix, (2, 0))),
        Request(source_length=1, prefix=prefix[:1], banned=((2, 3, 2), (3, 3)), required=required[:1]),
    ):
        expected = brute_force(model, 0, request, SearchSettings(**EXHAUSTIVE))[:3]
        found = one(model, request, **EXHAUSTIVE, n_best=3).hypotheses
        assert [(answer.ids, answer.constraints_met) for answer in found] == [(ids, True) for _, ids in expected]
        assert [answer.score for answer in found] == pytest.approx([score for score, _ in expected])


@settings(max_examples=15)
@given(seeds, st.integers(2, 5), st.sampled_from([None, 3]))
def test_one_search_for_several_length_penalties_finds_what_a_search_for_each_finds(
    seed: int, width: int, levels: int | None
) -> None:
    model = MadeUp(seed=seed, vocabulary=6, levels=levels)
    requests = [Request(source_length=3, number=n) for n in range(3)]
    several = penalties.settings(beam_size=width).model_copy(update={"max_length": 8})
    together = run(model, requests, build(several, begin=BEGIN, end=END))
    for number, alpha in enumerate(penalties.PENALTIES):
        alone = run(model, requests, search_of(beam_size=width, length_penalty=alpha, max_length=8))
        assert [each.hypotheses[number].ids for each in together] == [each.hypotheses[0].ids for each in alone]


@given(seeds, st.integers(2, 6), st.sampled_from([0.0, 0.6, 1.0, 2.5]), st.data(), st.sampled_from([None, 3]))
def test_stopping_early_finds_what_going_on_to_the_limit_finds(
    seed: int, width: int, alpha: float, data: Any, levels: int | None
) -> None:
    n_best = data.draw(st.integers(1, width))
    chosen = {"beam_size": width, "length_penalty": alpha, "n_best": n_best, "max_length": 9}
    requests = [Request(source_length=1, required=required) for required in ((), (), ((3, 4),))]
    stopping, going_on = (MadeUp(seed=seed, vocabulary=6, spread=6.0, levels=levels) for _ in range(2))
    early = run(stopping, requests, search_of(**chosen))
    late = run(going_on, requests, search_of(**chosen, early_stop=False))
    assert early == late
    assert stopping.rows <= going_on.rows
    assert going_on.steps == 10


def test_stopping_early_saves_steps() -> None:
    stopping, going_on = (MadeUp(seed=1, vocabulary=6) for _ in range(2))
    requests = [Request(source_length=1)] * 5
    run(stopping, requests, search_of())
    run(going_on, requests, search_of(early_stop=False))
    assert stopping.rows < going_on.rows / 2


@given(seeds, st.sampled_from([None, 2]))
def test_greedy_search_is_a_beam_of_one(seed: int, levels: int | None) -> None:
    """Exactly, if scores are not divided by a length penalty; otherwise the beam may go on and find a better one."""
    model = MadeUp(seed=seed, vocabulary=6, levels=levels)
    requests = [Request(source_length=3)] * 3
    plain = SearchSettings(beam_size=1, length_penalty=0.0)
    greedy, beam = Greedy(plain, begin=BEGIN, end=END), Beam(plain, begin=BEGIN, end=END)
    assert run(model, requests, greedy) == run(model, requests, beam)
    penalised = SearchSettings(beam_size=1)
    for one, other in zip(
        run(model, requests, Greedy(penalised, begin=BEGIN, end=END)),
        run(model, requests, Beam(penalised, begin=BEGIN, end=END)),
        strict=True,
    ):
        assert one.hypotheses[0].score <= other.hypotheses[0].score


@given(seeds)
def test_greedy_search_always_says_the_likeliest_word(seed: int) -> None:
    model = MadeUp(seed=seed, vocabulary=6)
    (hypothesis,) = one(model, Request(source_length=1), beam_size=1, max_length_offset=5).hypotheses
    told: tuple[int, ...] = (BEGIN,)
    for token in (*hypothesis.ids, END)[:6]:
        logits = model.logits(0, told)
        assert token == logits.index(max(logits))
        told = (*told, token)


@given(seeds, kinds)
def test_scores_are_the_models_log_probabilities(seed: int, kind: dict[str, Any]) -> None:
    model = MadeUp(seed=seed, vocabulary=6)
    request = Request(source_length=2, prefix=(3,), banned=((2, 2),), required=((4,),))
    for hypothesis in one(model, request, **kind, min_length=2).hypotheses:
        expected = model.logprobs(0, hypothesis.ids)
        assert hypothesis.logprobs == pytest.approx(expected)
        assert hypothesis.total == pytest.approx(sum(expected))
        alpha = kind.get("length_penalty", 0.6)
        assert hypothesis.score == pytest.approx(sum(expected) / ((5 + len(expected)) / 6) ** alpha)


@given(seeds, st.integers(2, 8), st.data())
def test_the_n_best_are_sorted_and_distinct(seed: int, width: int, data: Any) -> None:
    """With required phrases and little room, they may be fewer."""
    n_best = data.draw(st.integers(1, width))
    model = MadeUp(seed=seed, vocabulary=20)
    for required in ((), ((2, 3), (2, 4))):
        request = Request(source_length=3, required=required)
        found = one(model, request, beam_size=width, n_best=n_best, max_length_offset=7).hypotheses
        assert len(found) == n_best or (required and 0 < len(found) < n_best)
        assert len(found) == len({hypothesis.ids for hypothesis in found})
        assert all(better.score >= worse.score for better, worse in pairwise(found))


@given(seeds, kinds, st.sampled_from([None, 2]), st.randoms(use_true_random=False))
def test_a_sentence_never_depends_on_its_neighbours(
    seed: int, kind: dict[str, Any], levels: int | None, random: Any
) -> None:
    """Alone, with others, in any order: exactly the same, ties and samples included."""
    model = MadeUp(seed=seed, vocabulary=6, levels=levels)
    requests = [
        Request(source_length=2, number=0),
        Request(source_length=5, number=1, banned=((2,), (3, 4))),
        Request(source_length=1, number=2, prefix=(5, 5)),
        Request(source_length=4, number=3, required=((2, 3), (4,))),
    ]
    settings = kind | {"max_length_offset": 4}
    alone = [run(model, [request], search_of(**settings), [n])[0] for n, request in enumerate(requests)]
    assert run(model, requests, search_of(**settings)) == alone
    order = random.sample(range(4), 4)
    shuffled = run(model, [requests[n] for n in order], search_of(**settings), order)
    assert shuffled == [alone[n] for n in order]


@given(seeds, kinds, st.lists(st.integers(0, 3), min_size=5, max_size=5))
def test_sentences_that_enter_at_different_times_find_what_they_find_alone(
    seed: int, kind: dict[str, Any], pauses: list[int]
) -> None:
    model, search = MadeUp(seed=seed, vocabulary=6), search_of(**kind, max_length_offset=6)
    requests = [
        Request(source_length=n, number=n, prefix=(4,) * (n % 2), required=((2, 3),) * (n % 3 == 1)) for n in range(5)
    ]
    alone = [
        run(model, [request], search_of(**kind, max_length_offset=6), [n])[0] for n, request in enumerate(requests)
    ]
    entry = [sum(pauses[: n + 1]) for n in range(5)]
    state = Told([], search.width)
    inside: list[int] = []
    found: dict[int, Result] = {}
    for time in range(100):
        entering = [n for n in range(5) if entry[n] == time]
        search.admit([requests[n] for n in entering])
        state = Told(state.rows + model.start(entering, width=search.width).rows, search.width)
        inside += entering
        if inside:
            logits, state = model.step(search.tokens, state)
            decision = search.advance(logits)
            found |= {inside[place]: result for place, result in decision.finished.items()}
            state = state if decision.rows is None else state.reorder(decision.rows)
            busy = search.busy
            inside = [inside[place] for place in busy]
            search.keep(busy)
            state = state.keep(torch.tensor(busy, dtype=torch.long))
    assert [found[n] for n in range(5)] == alone


@given(seeds, st.integers(1, 4), st.integers(2, 4), st.booleans())
def test_a_search_that_stays_in_place_finds_the_same(seed: int, places: int, width: int, limited: bool) -> None:
    settings: dict[str, Any] = {"beam_size": width, "max_length_offset": 3 if limited else 12, "repetition_copies": 2}
    model, search = MadeUp(seed=seed, vocabulary=5, spread=4.0), search_of(**settings)
    requests = [Request(source_length=n % 3, number=n) for n in range(7)]
    alone = [run(model, [request], search_of(**settings), [n])[0] for n, request in enumerate(requests)]
    tensors: set[int] = set()

    def step(tokens: torch.Tensor, state: Told) -> tuple[torch.Tensor, Told]:
        tensors.update(tensor.data_ptr() for tensor in (*search.live, *search.finished, search.tokens, search.limits))
        return model.step(tokens, state)

    board = board_of(model, search, places=places, step=step)
    session = Session(board, search, places=places, fixed=True, room=20)
    found = results(session, requests)
    for n, result in enumerate(alone):
        (one,), (other,) = result.hypotheses, found[n].hypotheses
        assert other.logprobs == pytest.approx(one.logprobs, abs=1e-5)  # in float32
        rounded = {"logprobs": one.logprobs, "score": one.score, "total": one.total}
        assert replace(other, **rounded) == one
    assert len(tensors) == 12


@given(seeds, kinds, st.integers(1, 4), st.sampled_from([0, 0.25, 0.5]), st.booleans())
def test_sentences_that_wait_for_a_place_find_what_they_find_alone(
    seed: int, kind: dict[str, Any], places: int, free: float, fixed: bool
) -> None:
    model, search = MadeUp(seed=seed, vocabulary=6), search_of(**kind, max_length_offset=6)
    requests = [
        Request(source_length=n % 4, number=n, prefix=(4,) * (n % 2), required=((2, 3),) * (n % 3 == 1))
        for n in range(9)
    ]
    alone = [
        run(model, [request], search_of(**kind, max_length_offset=6), [n])[0] for n, request in enumerate(requests)
    ]
    board = board_of(model, search, places=places if fixed else 0)
    found = results(Session(board, search, places=places, free=free, fixed=fixed), requests)
    assert found == dict(enumerate(alone))
    assert not search.sentences


@given(seeds, kinds)
def test_a_finished_sentence_leaves_at_once(seed: int, kind: dict[str, Any]) -> None:
    """Together, sentences cost the model as many rows as they cost one by one."""
    requests = [Request(source_length=length, number=length) for length in range(4)]
    together, single = (MadeUp(seed=seed, vocabulary=6) for _ in range(2))
    run(together, requests, search_of(**kind))
    for n, request in enumerate(requests):
        run(single, [request], search_of(**kind), [n])
    assert together.rows == single.rows
    assert together.steps < single.steps


@given(seeds, kinds, st.integers(0, 4), st.integers(0, 6), st.integers(0, 4))
def test_lengths_stay_within_their_limits(
    seed: int, kind: dict[str, Any], length: int, offset: int, minimum: int
) -> None:
    settings = kind | {"max_length_factor": 1.5, "max_length_offset": offset, "min_length": minimum, "max_length": 8}
    most = max(min(int(1.5 * length) + offset, 8), minimum)
    for hypothesis in one(MadeUp(seed=seed, vocabulary=6), Request(source_length=length), **settings).hypotheses:
        assert minimum <= len(hypothesis.ids) <= most
        assert hypothesis.length_limited == (len(hypothesis.ids) == most)
        assert hypothesis.constraints_met


@given(seeds, kinds, st.lists(words, max_size=4).map(tuple))
def test_a_forced_prefix_comes_first(seed: int, kind: dict[str, Any], prefix: tuple[int, ...]) -> None:
    for hypothesis in one(MadeUp(seed=seed, vocabulary=6), Request(source_length=4, prefix=prefix), **kind).hypotheses:
        assert hypothesis.ids[: len(prefix)] == prefix
        assert hypothesis.constraints_met


@given(seeds, kinds, st.lists(phrases, min_size=1, max_size=4).map(tuple), st.sampled_from([None, 1, 2]))
def test_a_banned_phrase_never_appears(
    seed: int, kind: dict[str, Any], banned: tuple[tuple[int, ...], ...], levels: int | None
) -> None:
    model = MadeUp(seed=seed, vocabulary=6, levels=levels)
    for hypothesis in one(model, Request(source_length=8, banned=banned), **kind).hypotheses:
        assert not any(contains(hypothesis.ids, phrase) for phrase in banned)
        assert hypothesis.constraints_met


@given(
    seeds, kinds, st.lists(phrases, min_size=1, max_size=3).map(tuple), st.integers(0, 3), st.sampled_from([None, 1])
)
def test_every_required_phrase_appears_wherever_the_limit_allows_it(
    seed: int, kind: dict[str, Any], required: tuple[tuple[int, ...], ...], spare: int, levels: int | None
) -> None:
    """Also by a beam of one, and with not a word to spare."""
    model = MadeUp(seed=seed, vocabulary=6, levels=levels)
    room = sum(len(phrase) for phrase in set(required)) + spare
    request = Request(source_length=room, required=required)
    settings = SearchSettings(**kind, max_length_offset=0)
    searches = [build(settings, begin=BEGIN, end=END)]
    if settings.method == "beam":
        searches.append(Beam(settings, begin=BEGIN, end=END))
    for search in searches:
        for hypothesis in run(model, [request], search)[0].hypotheses:
            assert all(contains(hypothesis.ids, phrase) for phrase in required)
            assert len(hypothesis.ids) <= room
            assert hypothesis.constraints_met


@given(seeds, kinds, st.lists(words, max_size=2).map(tuple), phrases, phrases, phrases)
def test_together_a_prefix_and_a_ban_always_hold_and_it_is_told_whether_all_does(
    seed: int,
    kind: dict[str, Any],
    prefix: tuple[int, ...],
    banned: tuple[int, ...],
    one_phrase: tuple[int, ...],
    other: tuple[int, ...],
) -> None:
    required = (one_phrase, other)
    assume(not any(contains(phrase, banned) for phrase in (prefix, *required)))
    request = Request(source_length=6, prefix=prefix, banned=(banned,), required=required)
    for hypothesis in one(MadeUp(seed=seed, vocabulary=6), request, **kind, max_length_offset=0).hypotheses:
        assert hypothesis.ids[: len(prefix)] == prefix
        assert not contains(hypothesis.ids, banned)
        assert hypothesis.constraints_met == all(contains(hypothesis.ids, phrase) for phrase in required)


@given(seeds, kinds)
def test_a_phrase_for_which_there_is_no_room_is_reported_and_not_fatal(seed: int, kind: dict[str, Any]) -> None:
    request = Request(source_length=3, required=((2, 3, 4, 5), (3,)))
    for hypothesis in one(MadeUp(seed=seed, vocabulary=6), request, **kind, max_length_offset=0).hypotheses:
        assert contains(hypothesis.ids, (3,))
        assert not hypothesis.constraints_met


@given(seeds, kinds)
def test_where_nothing_may_be_said_a_sentence_ends_and_the_result_says_so(seed: int, kind: dict[str, Any]) -> None:
    request = Request(source_length=4, banned=tuple((word,) for word in (0, 2, 3, 4, 5)))
    for hypothesis in one(MadeUp(seed=seed, vocabulary=6), request, **kind, min_length=2).hypotheses:
        assert hypothesis.ids == ()
        assert not hypothesis.constraints_met


@given(seeds, kinds, st.integers(1, 4), st.integers(2, 4), st.sampled_from([1, 2]))
def test_no_cycle_is_repeated_more_often_than_the_guard_allows(
    seed: int, kind: dict[str, Any], cycle: int, copies: int, levels: int
) -> None:
    """With few levels, models say the same again and again."""
    model = MadeUp(seed=seed, vocabulary=3, levels=levels)
    settings = kind | {"repetition_cycle": cycle, "repetition_copies": copies, "min_length": 20, "max_length": 25}
    for hypothesis in one(model, Request(source_length=4), **settings).hypotheses:
        ids = hypothesis.ids
        for length in range(1, cycle + 1):
            span = length * copies + 1
            for start in range(len(ids) - span + 1):
                said = ids[start : start + span]
                assert any(said[i] != said[i + length] for i in range(span - length))


def drawn(count: int, **settings: Any) -> Counter[int]:
    """The first words of many samples from one distribution."""
    model, request = MadeUp(seed=3, vocabulary=5), Request(source_length=1)
    search = search_of(method="sampling", n_best=40, max_length=1, min_length=1, **settings)
    requests = [replace(request, number=number) for number in range(count // 40)]
    results = run(model, requests, search, [0] * len(requests))
    return Counter(hypothesis.ids[0] for result in results for hypothesis in result.hypotheses)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"temperature": 0.5},
        {"temperature": 3.0},
        {"top_k": 2},
        {"top_p": 0.8},
        {"top_k": 3, "top_p": 0.9, "seed": 9},
    ],
    ids=str,
)
def test_words_are_drawn_by_their_probabilities(settings: dict[str, Any]) -> None:
    """Pearson's chi-square of 8,000 draws; 20 is exceeded by chance once in 2,000 times at 4 degrees of freedom."""
    logits = torch.tensor(MadeUp(seed=3, vocabulary=5).logits(0, (BEGIN,)), dtype=torch.float64)
    logits[END] = -torch.inf
    shares = (logits / settings.get("temperature", 1.0)).softmax(-1)
    order = shares.argsort(descending=True)[: settings.get("top_k", 5)].tolist()
    kept: list[int] = []
    within = sum(shares[token].item() for token in order)
    while order and sum(shares[token].item() for token in kept) / within < settings.get("top_p", 1.0):
        kept.append(order.pop(0))
    kept = [token for token in kept if token != END]
    total = sum(shares[token].item() for token in kept)
    counts = drawn(8000, **settings)
    assert set(counts) <= set(kept)
    assert sum(counts.values()) == 8000
    expected = {token: 8000 * shares[token].item() / total for token in kept}
    assert sum((counts[token] - share) ** 2 / share for token, share in expected.items()) < 20


@given(seeds)
def test_a_seed_gives_the_same_samples_again_and_another_seed_others(seed: int) -> None:
    model, requests = MadeUp(seed=seed, vocabulary=20), [Request(source_length=30, number=n) for n in range(3)]
    settings = {"method": "sampling", "n_best": 2, "min_length": 20}
    first, again, other = (run(model, requests, search_of(**settings, seed=s), [0, 0, 0]) for s in (1, 1, 2))
    assert first == again
    everything = [hypothesis.ids for result in (*first, *other) for hypothesis in result.hypotheses]
    assert len(set(everything)) == len(everything) == 12


def test_a_limit_is_relative_to_the_source_as_in_the_paper() -> None:
    assert limit(Request(source_length=7), SearchSettings()) == 57

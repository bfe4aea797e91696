"""Requests that share an engine: the same translations as alone, nobody waits for a longer one, places become free."""

import random
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import regard
from regard import SearchSettings, Translator
from regard.search import Hypothesis, Request, Result
from regard.serve.batching import Sharing
from regard.serve.calls import Call, Cancelled, Item, Job, Queues, Turns, working_for
from regard.serve.lanes import WindowLane
from regard.translation.engines.engine import plain_requests
from trained import sentence, translation

ENGINES = ["torch", "ctranslate2-float32"]


class Watched:
    """How many sentences were searched together."""

    def __init__(self) -> None:
        self.sizes: list[int] = []

    def __call__(self, sentences: int, tokens: int) -> None:
        assert tokens > 0
        self.sizes.append(sentences)


@pytest.fixture(scope="module", params=ENGINES)
def shared(trained_folder: Path, request: pytest.FixtureRequest) -> Iterator[tuple[Translator, Sharing, Watched]]:
    if request.param != "torch":
        pytest.importorskip("ctranslate2", reason="ctranslate2 is not installed: pip install 'regard[fast]'")
    watched = Watched()
    sharing = Sharing(request.param, workers=2, seen=watched)
    translator = Translator(trained_folder, device="cpu", engine=sharing)
    yield translator, sharing, watched
    assert sharing.engine is not None
    sharing.engine.close()


def test_translations_in_company_are_those_of_one_request_alone(
    trained_folder: Path, shared: tuple[Translator, Sharing, Watched]
) -> None:
    translator, _, watched = shared
    draw = random.Random(7)  # noqa: S311
    requests = [[sentence(draw, longest=draw.choice([2, 7])) for _ in range(draw.choice([1, 1, 6]))] for _ in range(16)]
    alone = regard.load(trained_folder, device="cpu", engine="torch")
    expected = [[one.text for one in alone.translate(texts)] for texts in requests]
    gate = threading.Barrier(len(requests))

    def ask(texts: list[str]) -> list[str]:
        gate.wait()
        return [one.text for one in translator.translate(texts)]

    with ThreadPoolExecutor(len(requests)) as pool:
        assert list(pool.map(ask, requests)) == expected
    assert max(watched.sizes) > 6


def test_constraints_samples_and_alignments_are_those_of_an_engine_of_ones_own(
    trained_folder: Path, shared: tuple[Translator, Sharing, Watched]
) -> None:
    translator, _, _ = shared
    alone = regard.load(trained_folder, device="cpu", engine="torch")
    sampled = SearchSettings(method="sampling", n_best=3, seed=5, max_length=12)
    for options in (
        {"glossary": {"cado": "sul"}},
        {"search": sampled},
        {"alignment": True, "n_best": 3},
        {"prefix": "vos"},
    ):
        ours = translator.translate("alto cado esta", **options)  # type: ignore[call-overload]
        theirs = alone.translate("alto cado esta", **options)  # type: ignore[call-overload]
        assert (ours.text, ours.alignment) == (theirs.text, theirs.alignment)
        assert {other.text for other in ours.alternatives} == {other.text for other in theirs.alternatives}


def test_calls_take_turns_so_a_short_one_comes_before_the_rest_of_a_long_one() -> None:
    long, short = Call(50), Call(1)
    turns = Turns()
    turns.put(_items(long, [[5] * 6] * 50))
    turns.put(_items(short, [[5] * 6]))
    taken = turns.take(3, lambda _: True)
    assert [item.call for item in taken] == [long, short, long]


def test_calls_that_are_over_leave_and_those_that_do_not_fit_keep_their_turn() -> None:
    gone, large, small = Call(3), Call(2), Call(2)
    turns = Turns()
    turns.put(_items(gone, [[1]] * 3))
    turns.put(_items(large, [[1] * 30] * 2))
    turns.put(_items(small, [[1]] * 2))
    gone.fail(Cancelled())
    assert [item.call for item in turns.take(9, lambda item: len(item.ids) < 9)] == [small, small]
    assert [item.call for item in turns.take(1, lambda _: True)] == [large]
    assert len(turns) == 1


def test_kinds_wait_apart_and_one_that_is_taken_up_is_gone() -> None:
    first, second = Call(2), Call(1)
    queues = Queues(lambda item: len(item.ids) > 2)
    queues.put(_items(first, [[1], [1] * 9]))
    queues.put(_items(second, [[1]]))
    assert queues.kinds == [False, True]
    assert len(queues) == 3
    assert [item.call for item in queues.take(False, 5, lambda _: True)] == [first, second]
    assert queues.kinds == [True]
    assert queues.take(False, 5, lambda _: True) == []


def test_a_window_has_sentences_of_similar_length_and_a_short_one_does_not_wait_for_a_long_one() -> None:
    begun, allowed, order = threading.Event(), threading.Event(), list[int]()

    def search(items: Sequence[Item]) -> dict[int, Result]:
        lengths = {len(item.ids) for item in items}
        order.append(max(lengths))
        if max(lengths) == 100:
            begun.set()
            assert allowed.wait(20)
        assert max(lengths) <= 2 * min(lengths) + 8
        return {n: Result(request=item.request, hypotheses=(_hypothesis(),)) for n, item in enumerate(items)}

    lane = WindowLane(search, workers=2, seen=lambda *_: None)
    long, short = Call(1), Call(2)
    lane.put(_items(long, [[1] * 100]))
    assert begun.wait(20)
    lane.put(_items(short, [[1] * 3, [1] * 4]))
    assert len(short.results()) == 2
    assert not long.is_over
    allowed.set()
    assert len(long.results()) == 1
    lane.close()
    assert order[0] == 100


def test_a_request_that_is_given_up_ends_at_once_and_frees_its_places(
    shared: tuple[Translator, Sharing, Watched],
) -> None:
    translator, sharing, _ = shared
    job, errors = Job(), list[BaseException]()
    draw = random.Random(3)  # noqa: S311

    def work() -> None:
        with working_for(job):
            try:
                translator.translate([sentence(draw) for _ in range(4000)])
            except Cancelled as error:
                errors.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    while not sharing.engine or not sharing.engine.waiting:
        threading.Event().wait(0.001)
    job.cancel()
    thread.join(20)
    assert len(errors) == 1
    assert translator.translate("alto").text == translation("alto")
    assert sharing.engine.waiting == 0


def test_an_error_of_a_search_reaches_the_request_and_the_next_one_is_answered(trained_folder: Path) -> None:
    sharing = Sharing("torch", workers=1, seen=lambda *_: None)
    translator = Translator(trained_folder, device="cpu", engine=sharing)
    step = translator.model.step

    def broken(*_: object) -> None:
        raise MemoryError("no memory")

    translator.model.step = broken  # type: ignore[method-assign, assignment]
    with pytest.raises(MemoryError):
        translator.translate("alto")
    translator.model.step = step  # type: ignore[method-assign]
    assert translator.translate("alto").text == translation("alto")


def test_a_session_that_cannot_be_opened_fails_its_requests_and_the_next_one_is_answered(trained_folder: Path) -> None:
    sharing = Sharing("torch", workers=1, seen=lambda *_: None)
    translator = Translator(trained_folder, device="cpu", engine=sharing)
    assert sharing.engine is not None
    engine = sharing.engine._lane._engine  # type: ignore[attr-defined]
    opens = engine.open_session

    def broken(_: object) -> None:
        raise MemoryError("no memory")

    engine.open_session = broken
    with pytest.raises(MemoryError):
        translator.translate("alto")
    engine.open_session = opens
    assert translator.translate("alto").text == translation("alto")


def _items(call: Call, sentences: Sequence[Sequence[int]]) -> list[Item]:
    requests: list[Request] = plain_requests(sentences)
    return [
        Item(call, number, ids, SearchSettings(), request)
        for number, (ids, request) in enumerate(zip(sentences, requests, strict=True))
    ]


def _hypothesis() -> Hypothesis:
    return Hypothesis(
        ids=(1,), score=0, total=0, logprobs=(), length_limited=False, repetition_stopped=False, constraints_met=True
    )

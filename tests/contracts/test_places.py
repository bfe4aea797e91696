"""The torch engine's way on a GPU, on a processor: fixed places, all tensors in place, steps that are not captured."""

import gc
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import torch
from torch import Tensor

from baselines import model as baseline
from regard.errors import RegardError
from regard.search import Request, Result, SearchSettings, build
from regard.translation.engines import captured_board as captured
from regard.translation.engines.captured_board import CapturedBoard
from regard.translation.engines.engine import request_for
from regard.translation.engines.ensemble import Ensemble
from regard.translation.engines.torch import TorchEngine
from regard.translation.garbage import no_garbage
from small import VOCABULARY, transformer


class Side:
    begin, end = 0, 1


class Sides:
    source = target = Side()


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> TorchEngine:
    monkeypatch.setattr(captured, "captured", lambda work: work)  # done again and again, instead of replayed
    model = transformer(dtype=torch.float32)
    return TorchEngine(model, Sides(), device=torch.device("cpu"), gpu_rows=24)  # type: ignore[arg-type]


def sentences(count: int) -> list[list[int]]:
    draw = torch.Generator().manual_seed(0)
    lengths = torch.randint(1, 50, (count,), generator=draw).tolist()
    return [torch.randint(2, VOCABULARY, (length,), generator=draw).tolist() for length in lengths]


METHODS = pytest.mark.parametrize(
    "method",
    [
        {"beam_size": 1},
        {"beam_size": 4},
        {"method": "greedy"},
        {"method": "greedy", "min_length": 15},
        {"method": "sampling", "n_best": 3, "seed": 4, "top_p": 0.9},
    ],
    ids=["beam of 1", "beam of 4", "greedy", "greedy, at least", "sampling"],
)


@METHODS
def test_fixed_places_give_the_same_translations_call_after_call(engine: TorchEngine, method: dict[str, Any]) -> None:
    settings = SearchSettings(max_length_offset=12, max_length_factor=0.2, **method)
    given = sentences(40)
    expected = engine.search(given, settings)
    engine._on_a_cpu = engine._on_a_gpu  # type: ignore[method-assign]
    for _ in range(2):
        found = engine.search(given, settings)
        assert [a.hypotheses[0].ids for a in found] == [b.hypotheses[0].ids for b in expected]
    assert engine.benches
    (alone,) = engine.search(given[7:8], settings)
    assert alone.hypotheses[0].ids == expected[7].hypotheses[0].ids
    prefixed = [Request(source_length=len(sentence), prefix=(5, 6)) for sentence in given[:3]]
    with_prefix = engine.search(given[:3], settings, requests=prefixed)
    assert all(result.hypotheses[0].ids[:2] == (5, 6) for result in with_prefix)


@pytest.mark.parametrize("on_device", ["_on_a_cpu", "_on_a_gpu"])
def test_work_is_done_for_a_sentence_while_others_are_still_searched(engine: TorchEngine, on_device: str) -> None:
    engine._on_a_cpu = getattr(engine, on_device)  # type: ignore[method-assign]
    settings, given = SearchSettings(max_length_offset=12, max_length_factor=0.2), sentences(40)
    expected = engine.search(given, settings)
    steps, seen = [0], list[int]()
    move = engine.model.step

    def step(tokens: Tensor, state: Any) -> Any:
        steps[0] += 1
        return move(tokens, state)

    def work(number: int, result: Result) -> tuple[int, Any]:
        seen.append(steps[0])
        return number, result.hypotheses[0].ids

    engine.model.step = step  # type: ignore[method-assign]
    made = engine.search_each(given, settings, work)
    assert made == [(number, result.hypotheses[0].ids) for number, result in enumerate(expected)]
    assert seen[0] < seen[-1] <= steps[0]


def test_an_error_of_the_work_leaves_the_engine_free(engine: TorchEngine) -> None:
    on_a_gpu(engine)
    given, settings = sentences(5), SearchSettings(max_length_offset=5)
    with pytest.raises(ZeroDivisionError):
        engine.search_each(given, settings, lambda number, _: 1 // number)
    with ThreadPoolExecutor(1) as another_thread:
        assert len(another_thread.submit(engine.search, given, settings).result(timeout=60)) == 5


def test_python_looks_for_garbage_again_after_a_search_even_one_that_failed(engine: TorchEngine) -> None:
    engine._on_a_cpu = engine._on_a_gpu  # type: ignore[method-assign]
    settings = SearchSettings(max_length_offset=5)
    engine.search(sentences(3), settings)
    assert gc.isenabled()
    with pytest.raises(IndexError):
        engine.search([[VOCABULARY]], settings)
    assert gc.isenabled()
    engine.search(sentences(3), settings)


def test_python_looks_for_garbage_again_after_the_last_of_several_searches() -> None:
    first, second = no_garbage(), no_garbage()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert not gc.isenabled()
    second.__exit__(None, None, None)
    assert gc.isenabled()


def test_sentences_of_a_damaged_model_do_not_stay_in_their_places_for_ever(engine: TorchEngine) -> None:
    engine._on_a_cpu = engine._on_a_gpu  # type: ignore[method-assign]
    engine.model.target_embedding.weight.data.fill_(torch.nan)  # type: ignore[attr-defined]
    with pytest.raises(RegardError, match="no probability to any sentence"):
        engine.search(sentences(5), SearchSettings(max_length_offset=5))


def test_many_more_sentences_than_places_on_a_processor_find_what_they_find_alone(engine: TorchEngine) -> None:
    settings = SearchSettings(max_length_offset=10, max_length_factor=0.2)
    given = sentences(300)
    together = engine.search(given, settings)
    for number in (0, 50, 299):
        (alone,) = engine.search([given[number]], settings)
        assert alone.hypotheses[0].ids == together[number].hypotheses[0].ids


@METHODS
def test_several_moves_in_a_step_give_the_same_results(engine: TorchEngine, method: dict[str, Any]) -> None:
    settings = SearchSettings(max_length_offset=12, max_length_factor=0.2, **method)
    given = [sentence for sentence in sentences(40) if len(sentence) < 32]
    search = build(settings, begin=0, end=1, device="cpu")
    results: dict[int, dict[Any, Result]] = {}
    steps: dict[int, int] = {}
    for moves in (1, 4, 1):
        session = engine._bench(32, search, plain=True).session()
        for number, sentence in enumerate(given):
            session.submit(number, [*sentence, 1], request_for(sentence))
        steps[moves], found = 0, {}
        while not session.is_idle:
            found |= dict(session.step(moves=moves))
            steps[moves] += 1
        assert session.may_leap
        assert sorted(found) == list(range(len(given)))
        assert results.setdefault(moves, found) == found
    assert results[4] == results[1]
    assert steps[4] < steps[1]


def on_a_gpu(engine: TorchEngine) -> TorchEngine:
    """The engine, which now takes its way for GPUs."""
    engine._on_a_cpu = engine._on_a_gpu  # type: ignore[method-assign]
    return engine


def test_benches_are_bounded_and_the_least_recently_used_goes_first(engine: TorchEngine) -> None:
    settings = [SearchSettings(max_length_offset=5, beam_size=size) for size in range(2, 7)]
    on_a_gpu(engine)
    for number in (0, 1, 2, 3):
        engine.search([[2, 3]], settings[number])
    first = engine.benches[32, settings[0]]
    engine.search([[2, 3]], settings[0])
    engine.search([[2, 3]], settings[4])
    assert [setting for _, setting in engine.benches] == [settings[n] for n in (2, 3, 0, 4)]
    assert engine.benches[32, settings[0]] is first


class ShortOfMemory:
    """A step that finds no memory while more benches than `most` are there, and counts its attempts."""

    def __init__(self, engine: TorchEngine, *, most: int) -> None:
        self.engine, self.most, self.failures = engine, most, 0
        self.step = engine.model.step

    def __call__(self, tokens: Tensor, state: Any) -> tuple[Tensor, Any]:
        if len(self.engine.benches) > self.most and self.failures < 2:
            self.failures += 1
            raise torch.cuda.OutOfMemoryError("CUDA out of memory.")
        return self.step(tokens, state)


def test_when_memory_is_short_other_benches_go_and_the_search_is_tried_once_more(engine: TorchEngine) -> None:
    settings, others = SearchSettings(max_length_offset=5), SearchSettings(max_length_offset=6)
    given = sentences(5)
    expected = engine.search(given, settings)
    on_a_gpu(engine).search(given, others)
    step = engine.model.step = ShortOfMemory(engine, most=len(engine.benches))  # type: ignore[method-assign]
    found = engine.search(given, settings)
    assert [a.hypotheses[0].ids for a in found] == [b.hypotheses[0].ids for b in expected]
    assert step.failures == 1
    assert {setting for _, setting in engine.benches} == {settings}


def test_when_memory_stays_short_people_are_told_what_to_do(engine: TorchEngine) -> None:
    engine.model.step = ShortOfMemory(engine, most=0)  # type: ignore[method-assign]
    with pytest.raises(RegardError, match=r"cpu: there is not enough memory .* 32 tokens\.\n  Close other programs"):
        on_a_gpu(engine).search([[2, 3]], SearchSettings(max_length_offset=5))


def ensembles() -> list[Ensemble]:
    return [
        Ensemble([transformer(dtype=torch.float32, seed=seed) for seed in (1, 2)]),
        Ensemble([transformer(dtype=torch.float32), baseline("lstm-dot", dtype=torch.float32)]),
    ]


@pytest.mark.parametrize("number", [0, 1])
def test_an_ensemble_in_fixed_places_finds_what_it_finds_without_them(engine: TorchEngine, number: int) -> None:
    engine.model = ensembles()[number]
    settings, given = SearchSettings(max_length_offset=12, max_length_factor=0.2), sentences(30)
    expected = engine.search(given, settings)
    on_a_gpu(engine)
    for _ in range(2):
        found = engine.search(given, settings)
        assert [a.hypotheses[0].ids for a in found] == [b.hypotheses[0].ids for b in expected]
    assert len(engine.benches) == (2 if number == 0 else 0)  # lengths of 32 and 64


def test_capturing_an_ensembles_step_leaves_its_sentences_as_they_were(
    engine: TorchEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def warmed_up(work: Callable[[], None]) -> Callable[[], None]:
        work()
        return work

    settings, given = SearchSettings(max_length_offset=12, max_length_factor=0.2), sentences(10)
    engine.model = ensembles()[0]
    expected = engine.search(given, settings)
    monkeypatch.setattr(captured, "captured", warmed_up)
    found = on_a_gpu(engine).search(given, settings)
    assert [a.hypotheses[0].ids for a in found] == [b.hypotheses[0].ids for b in expected]


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@METHODS
def test_on_a_gpu_an_ensembles_captured_steps_find_what_a_processor_finds(method: dict[str, Any]) -> None:
    gpu, settings, given = torch.device("cuda"), SearchSettings(max_length_offset=12, **method), sentences(40)
    models = [transformer(dtype=torch.float32, seed=seed) for seed in (1, 2)]
    on_cpu = TorchEngine(Ensemble(models), Sides(), device=torch.device("cpu"))  # type: ignore[arg-type]
    expected = on_cpu.search(given, settings)
    there = Ensemble([model.to(gpu) for model in models])
    on_gpu = TorchEngine(there, Sides(), device=gpu, gpu_rows=64)  # type: ignore[arg-type]
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a step that cannot be captured warns
        for _ in range(2):
            found = on_gpu.search(given, settings)
            assert [a.hypotheses[0].ids for a in found] == [b.hypotheses[0].ids for b in expected]
    assert all(isinstance(bench.board, CapturedBoard) for bench in on_gpu.benches.values())
    assert len(on_gpu.benches) == 2  # lengths of 32 and 64

"""The torch engine's way on a GPU, on a processor: fixed places, all tensors in place, steps that are not captured."""

import gc

import pytest
import torch

from regard.errors import RegardError
from regard.search import Request, SearchSettings
from regard.translation.engines import captured
from regard.translation.engines.torch import TorchEngine
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


@pytest.mark.parametrize("beam_size", [1, 4])
def test_fixed_places_give_the_same_translations_call_after_call(engine: TorchEngine, beam_size: int) -> None:
    settings = SearchSettings(beam_size=beam_size, max_length_offset=12, max_length_factor=0.2)
    given = sentences(40)
    expected = engine.search(given, settings)
    engine._on_a_cpu = engine._on_a_gpu  # type: ignore[method-assign]
    for _ in range(2):
        found = engine.search(given, settings)
        assert [a.hypotheses[0].ids for a in found] == [b.hypotheses[0].ids for b in expected]
    (alone,) = engine.search(given[7:8], settings)
    assert alone.hypotheses[0].ids == expected[7].hypotheses[0].ids
    prefixed = [Request(source_length=len(sentence), prefix=(5, 6)) for sentence in given[:3]]
    with_prefix = engine.search(given[:3], settings, requests=prefixed)
    assert all(result.hypotheses[0].ids[:2] == (5, 6) for result in with_prefix)


def test_python_looks_for_garbage_again_after_a_search_even_one_that_failed(engine: TorchEngine) -> None:
    engine._on_a_cpu = engine._on_a_gpu  # type: ignore[method-assign]
    settings = SearchSettings(max_length_offset=5)
    engine.search(sentences(3), settings)
    assert gc.isenabled()
    with pytest.raises(IndexError):
        engine.search([[VOCABULARY]], settings)
    assert gc.isenabled()
    engine.search(sentences(3), settings)


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

"""Generation as on a GPU: beginnings in fixed places that are filled again, and steps that are replayed."""

import warnings
from pathlib import Path

import pytest
import torch

import family
import regard
from regard.family.generation import Continuation, Generation
from regard.family.language_model import LanguageModel, search_settings
from regard.translation.engines import benches as places
from regard.translation.engines import captured_board
from regard.translation.engines.benches import Benches
from regard.translation.engines.captured_board import CapturedBoard

BEGINNINGS = ("the", "the dog likes", "", "the rose finds the", "the oak", "the cat sees the cat", "the dog") * 3


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("generation")
    return family.model(place / "model", "language", family.documents(place / "text.txt"), steps=60)


def generation(model: LanguageModel, benches: Benches | None) -> Generation:
    return Generation(model.model, model.lines, device=model.device, longest=model.longest, benches=benches)


def said(way: Generation, **given: object) -> list[list[Continuation]]:
    options = {"temperature": None, "top_k": None, "top_p": None, "seed": None, "samples": 1, "max_tokens": 8}
    stop = given.pop("stop", ())
    settings = search_settings(**(options | given))  # type: ignore[arg-type]
    return way.all([way.lines.encode(text) for text in BEGINNINGS], settings, stop=stop)  # type: ignore[arg-type]


def same(found: list[list[Continuation]], expected: list[list[Continuation]]) -> None:
    """The same texts, which end in the same way; log-probabilities differ by rounding."""
    for some, others in zip(found, expected, strict=True):
        for one, other in zip(some, others, strict=True):
            assert one[:2] == other[:2]
            assert one.ended == other.ended
            assert one.logprobs == pytest.approx(other.logprobs, abs=1e-4)


ASKED = pytest.mark.parametrize(
    "asked",
    [
        {},
        {"max_tokens": 3},
        {"max_tokens": 500},
        {"stop": ("oak", "the cat")},
        {"temperature": 1.5, "seed": 5, "samples": 3},
        {"top_p": 0.9, "seed": 2},
        {"top_k": 3, "seed": 2, "stop": (" .",), "samples": 2},
    ],
)


@ASKED
def test_fixed_places_give_the_same_continuations_call_after_call(
    folder: Path, asked: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(captured_board, "captured", lambda work: work)  # done again and again, instead of replayed
    model = regard.load(folder, device="cpu")
    assert isinstance(model, LanguageModel)
    expected, benches = said(generation(model, None), **asked), Benches()
    for _ in range(2):
        same(said(generation(model, benches), **asked), expected)
    assert benches
    assert all(isinstance(bench.board, CapturedBoard) for bench in benches.values())


def test_beginnings_are_padded_to_no_more_than_the_model_reads(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(captured_board, "captured", lambda work: work)
    model = family.model(folder.parent / "short", "language", folder.parent / "text.txt", "model.learned_positions=20",
                         "training.row_lengths=[20]", steps=20)  # fmt: skip
    opened = regard.load(model, device="cpu")
    assert isinstance(opened, LanguageModel)
    same(said(generation(opened, Benches())), said(generation(opened, None)))


def test_a_beginning_near_the_longest_gets_its_own_room_whatever_its_company(folder: Path) -> None:
    model = regard.load(folder, device="cpu")
    assert model.longest == 32
    short, long = "the cat", " ".join(["the cat sees the dog ."] * 5)  # 30 tokens and the one that begins
    together = model.generate([short, long], max_tokens=20)
    assert together == [model.generate(short, max_tokens=20), model.generate(long, max_tokens=20)]


def test_a_listener_who_leaves_frees_the_place(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(captured_board, "captured", lambda work: work)
    model = regard.load(folder, device="cpu")
    way = generation(model, Benches())
    settings = search_settings(8, None, None, None, None, 1)
    stream = way.stream(model.lines.encode("the"), settings)
    first = next(stream)
    stream.close()
    whole = "".join(way.stream(model.lines.encode("the"), settings))
    assert whole.startswith(first)
    assert whole == model.generate("the", max_tokens=8).text


def test_between_two_pieces_of_a_stream_others_may_be_generated(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(captured_board, "captured", lambda work: work)
    model = regard.load(folder, device="cpu")
    way, settings = generation(model, Benches()), search_settings(8, None, None, None, None, 1)
    beginning = model.lines.encode("the")
    stream = way.stream(beginning, settings)
    first = next(stream)
    ((between,),) = way.all([beginning], settings)
    assert first + "".join(stream) == between.text == model.generate("the", max_tokens=8).text


def test_where_memory_does_not_suffice_for_places_the_texts_are_generated_without(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def short_of_memory(*_: object, **__: object) -> None:
        raise torch.cuda.OutOfMemoryError("CUDA out of memory.")

    monkeypatch.setattr(places, "CapturedBoard", short_of_memory)
    model = regard.load(folder, device="cpu")
    benches = Benches()
    assert said(generation(model, benches)) == said(generation(model, None))
    assert not benches


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@ASKED
def test_on_a_gpu_captured_steps_say_what_a_processor_says(folder: Path, asked: dict[str, object]) -> None:
    on_cpu, on_gpu = regard.load(folder, device="cpu"), regard.load(folder, device="cuda")
    expected = said(generation(on_cpu, None), **asked)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a step that cannot be captured warns
        for _ in range(2):
            same(said(on_gpu._generation, **asked), expected)
    assert on_gpu._generation.benches

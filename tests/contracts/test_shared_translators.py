"""One Translator for many threads; forked, spawned and pickled ones."""

import multiprocessing
import os
import pickle
import random
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest
import torch

import regard
from regard import SearchSettings, Translator, TranslatorError

THREADS, CALLS = 8, 4


@pytest.fixture(scope="module", params=["torch", "ctranslate2-float32"])
def translator(trained_folder: Path, request: pytest.FixtureRequest) -> Translator:
    if request.param != "torch":
        pytest.importorskip("ctranslate2", reason="ctranslate2 is not installed: pip install 'regard[fast]'")
    return regard.load(trained_folder, device="cpu", engine=request.param)


def rounded(found: Any) -> Any:
    """What a call gave, numbers rounded: sums of the same numbers may differ by their order."""
    if isinstance(found, float):
        return pytest.approx(found, abs=1e-4)
    if isinstance(found, torch.Tensor):
        return pytest.approx(found.numpy(), abs=1e-4)
    if isinstance(found, tuple | list):
        return [rounded(each) for each in found]
    return found


def calls(translator: Translator) -> list[Callable[[], Any]]:
    """Calls of every kind: aligned, with placeholders to repair, sampled, constrained, scored, looked at."""
    short = SearchSettings(max_length=8, beam_size=2)
    sampled = SearchSettings(method="sampling", n_best=2, seed=3, max_length=8)

    def translated(text: str, search: SearchSettings = short, **options: Any) -> Any:
        found = translator.translate(text, search=search, **options)
        return [found.text, found.score, found.logprobs, found.alignment, [other.text for other in found.alternatives]]

    def scored(text: str) -> Any:
        return list(translator.score([text, "gan"], ["vos", text])[0].logprobs)

    def looked(text: str, without: str = "") -> Any:
        seen = translator.look(text, "vos xemil", without=without)
        return [seen.logprobs, [lookup.weights for lookup in seen.lookups.values()]]

    kinds: list[Callable[[str], Any]] = [
        translated,
        lambda text: translated(text, alignment=True, n_best=2, logprobs=True),
        lambda text: translated(f"{text} {{name}}"),
        lambda text: translated(text, sampled),
        lambda text: translated(text, glossary={"gan": "vos"}, prefix="yuk"),
        scored,
        looked,
        lambda text: looked(text, "encoder.0.1,decoder-source.1"),
    ]
    return [partial(kind, text) for text in ("alto gan", "esta ikar holud") for kind in kinds]


def test_eight_threads_get_from_one_translator_what_each_gets_alone(translator: Translator) -> None:
    asked = calls(translator)
    expected = [rounded(call()) for call in asked]
    together = Barrier(THREADS)

    def work(number: int) -> list[tuple[int, Any]]:
        order = random.Random(number).sample(range(len(asked)), CALLS)  # noqa: S311
        together.wait(timeout=60)
        return [(n, asked[n]()) for n in order]

    with ThreadPoolExecutor(THREADS) as pool:
        found = [each for answers in pool.map(work, range(THREADS)) for each in answers]
    assert len(found) == THREADS * CALLS
    assert [n for n, answer in found if _listed(answer) != expected[n]] == []
    assert all(attention.observer is None for attention in translator.model.attentions().values())


def _listed(found: Any) -> Any:
    if isinstance(found, torch.Tensor):
        return found.numpy()
    return [_listed(each) for each in found] if isinstance(found, tuple | list) else found


def in_a_fork(work: Callable[[], str]) -> str:
    """What `work` returns in a forked process, which is killed if it hangs."""
    reading, writing = os.pipe()
    process = os.fork()
    if process == 0:
        signal.alarm(60)
        try:
            os.write(writing, work().encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as file:
        told = file.read()
    os.waitpid(process, 0)
    return told


def refused(call: Callable[[], object]) -> str:
    try:
        call()
    except TranslatorError as error:
        return str(error)
    return "it worked"


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_process_forked_after_loading_is_refused_with_advice(translator: Translator, trained_folder: Path) -> None:
    translator.translate("alto gan")
    begun = translator.stream(["alto", "gan"], window=1)
    next(begun)
    uses: list[Callable[[], object]] = [
        lambda: translator.translate("alto gan"),
        lambda: translator.stream(["alto"]),
        lambda: next(begun),
        lambda: translator.score("alto", "vos"),
        lambda: translator.look("alto"),
        lambda: regard.load(trained_folder, device="cpu"),
    ]
    for use in uses:
        told = in_a_fork(lambda use=use: refused(use))  # type: ignore[misc]
        assert f"was forked from process {os.getpid()}, which had opened a Translator" in told
        assert "\n  Start processes with multiprocessing.get_context('spawn')" in told
    assert translator.translate("alto gan").text


def _text_of(translator: Translator, text: str) -> tuple[str, str]:
    """For a spawned process."""
    return translator.translate(text).text, repr(translator)


def test_a_translator_is_pickled_by_its_folder_and_its_options(
    trained_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(trained_folder.parent)
    translator = regard.load(trained_folder.name, device="cpu", engine="torch", split_over=1)
    content = pickle.dumps(translator)
    assert len(content) < 1000
    monkeypatch.chdir(tmp_path)
    again = pickle.loads(content)  # noqa: S301
    assert again.model is not translator.model
    assert again.engine.name == "torch"
    text = "Alto gan. Esta ikar."
    assert again.translate(text).text == translator.translate(text).text


def test_a_spawned_process_gets_a_translator_that_works(trained_folder: Path) -> None:
    translator = regard.load(trained_folder, device="cpu", engine="torch")
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        text, shown = pool.apply(_text_of, (translator, "alto gan"))
    assert text == translator.translate("alto gan").text
    assert shown == repr(translator) == f"<Translator {str(trained_folder)!r}: xa to xb, engine torch, on cpu>"


def test_results_that_are_finished_come_before_an_error_of_the_input(translator: Translator) -> None:
    def lines() -> Iterator[str]:
        yield "alto gan"
        yield "esta"
        raise OSError("the disk is gone")

    for window in (1, 2, 3, 100):
        found = []
        with pytest.raises(OSError, match="the disk is gone"):
            found.extend(translator.stream(lines(), window=window))
        assert [one.source for one in found] == ["alto gan", "esta"]


def test_an_interrupt_of_the_input_is_raised_at_once(translator: Translator) -> None:
    def lines() -> Iterator[str]:
        yield "alto gan"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        next(translator.stream(lines()))

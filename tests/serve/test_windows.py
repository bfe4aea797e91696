"""Windows of sentences for CTranslate2: who is in one, and that a translation does not depend on it."""

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from regard import SearchSettings, Translator
from regard.search import Result
from regard.serve.calls import Call, Cancelled, Item
from regard.serve.windows import Windows
from regard.translation.engines.company import Scores, border, company
from regard.translation.engines.converted import opened
from regard.translation.engines.engine import plain_requests
from trained import sentence


def test_a_call_that_had_a_window_comes_behind_others_so_a_short_one_comes_before_the_rest_of_a_long_one() -> None:
    windows, long, short = Windows(), Call(99), Call(1)
    windows.put(_items(long, [40] * 99))
    windows.put(_items(short, [3]))
    assert {item.call for item in windows.take(workers=1)} == {long}
    assert [item.call for item in windows.take(workers=1)] == [short]
    assert len(windows.take(workers=1)) == 1024 // 41
    assert len(windows) == 99 - 2 * (1024 // 41)


def test_sentences_of_all_calls_join_a_window_the_nearest_lengths_first() -> None:
    windows = Windows()
    for lengths in ([30, 9, 8], [33, 20], [90], [28] * 2):
        windows.put(_items(Call(len(lengths)), lengths))
    assert _lengths(windows.take(workers=1)) == [30, 28, 28, 33, 20]
    assert _lengths(windows.take(workers=1)) == [90]
    assert _lengths(windows.take(workers=1)) == [9, 8]


def equal(length: int) -> int:
    """Every length keeps to itself."""
    return length


def test_windows_of_equal_length_hold_nothing_else() -> None:
    windows, draw, taken = Windows(company=equal), random.Random(5), list[int]()  # noqa: S311
    lengths = [draw.randint(1, 12) for _ in range(300)]
    for start in range(0, 300, 6):
        windows.put(_items(Call(6), lengths[start : start + 6]))
    while window := windows.take(workers=2):
        assert len(set(_lengths(window))) == 1
        assert len(window) <= 32
        taken += _lengths(window)
    assert sorted(taken) == sorted(lengths)
    assert not windows


def test_the_length_of_the_call_that_came_first_comes_first_with_all_calls_that_wait_for_it() -> None:
    windows = Windows(company=equal)
    for length in (9, 4, 6, 4, 4, 6):
        windows.put(_items(Call(1), [length]))
    assert [_lengths(windows.take(workers=1)) for _ in range(3)] == [[9], [4, 4, 4], [6, 6]]


def test_a_lonely_length_is_not_put_off_for_ever_by_those_that_keep_coming() -> None:
    windows, lonely = Windows(company=equal), Call(1)
    windows.put(_items(lonely, [9]))
    taken = set[Call]()
    for _ in range(3):
        windows.put(_items(Call(1), [4]))
        windows.put(_items(Call(1), [4]))
        taken |= {item.call for item in windows.take(workers=1)}
    assert lonely in taken


def test_where_a_window_is_full_those_that_waited_longest_are_in_it() -> None:
    windows, calls = Windows(company=equal), [Call(9) for _ in range(40)]
    for call in calls:
        windows.put(_items(call, [4] * 9))
    first, second = ({item.call for item in windows.take(workers=1)} for _ in range(2))
    assert first == set(calls[:32])
    assert set(calls[32:]) < second


def test_workers_share_what_waits() -> None:
    windows = Windows(company=equal)
    windows.put(_items(Call(20), [5] * 20))
    assert [len(windows.take(workers=2)) for _ in range(3)] == [10, 8, 2]


def test_other_settings_make_another_window() -> None:
    windows = Windows()
    windows.put(_items(Call(2), [4, 4]))
    windows.put(_items(Call(1), [4], SearchSettings(beam_size=1)))
    assert [len(windows.take(workers=1)) for _ in range(2)] == [2, 1]


def test_calls_that_are_over_leave() -> None:
    windows, gone, other = Windows(company=equal), Call(3), Call(1)
    windows.put(_items(gone, [4] * 3))
    windows.put(_items(other, [4]))
    gone.fail(Cancelled())
    assert len(windows) == 1
    assert [item.call for item in windows.take(workers=1)] == [other]
    assert not windows


def test_similar_lengths_of_one_company_share_a_window_and_no_others_do() -> None:
    windows = Windows(company=lambda length: length >= 8)
    windows.put(_items(Call(6), [5, 6, 7, 8, 9, 4]))
    taken = [_lengths(windows.take(workers=1)) for _ in range(2)]
    assert sorted(map(sorted, taken)) == [[4, 5, 6], [7, 8, 9]]


def test_the_border_between_lengths_is_the_one_that_changes_no_score() -> None:
    def of_a_library(least: int) -> Scores:
        """Sums of as many positions, padding included, have another last bit from `least` positions on."""
        return lambda batch: [sum(ids) + (max(map(len, batch)) + 1 >= least) * 1e-9 for ids in batch]

    def by_padding(batch: Sequence[Sequence[int]]) -> list[float]:
        return [sum(ids) + 1e-9 * max(map(len, batch)) for ids in batch]

    tokens = range(3, 50)
    assert [border(of_a_library(least), tokens) for least in (16, 8, 32)] == [16, 8, 32]
    assert border(of_a_library(20), tokens) == 0
    assert border(of_a_library(200), tokens) == 0
    assert border(by_padding, tokens) == 0
    assert [company(length, 16) for length in (2, 15, 16, 256, 257)] == [0, 0, 1, 1, 257]
    assert company(9, 0) == 9


def test_in_int8_a_translation_has_the_same_bits_alone_and_in_any_company(trained_folder: Path) -> None:
    pytest.importorskip("ctranslate2", reason="ctranslate2 is not installed: pip install 'regard[fast]'")
    translator = Translator(trained_folder, device="cpu")
    engine, verdict = opened(translator.loaded, compute_type="int8")
    draw = random.Random(2)  # noqa: S311
    texts = [sentence(draw, longest=longest) for longest in (9, 30) for _ in range(40)]
    sources = [translator.tokenisers.source.encode(text) for text in texts]
    assert {len(source) + 1 < 16 for source in sources} == {True, False}

    def found(sentences: Sequence[Sequence[int]]) -> list[Result]:
        return engine.search(sentences, SearchSettings(n_best=4))

    alone = [found([source])[0].hypotheses for source in sources]
    for known in {0, verdict.border}:
        engine.border = known
        assert [result.hypotheses for result in found(sources)] == alone
        assert [result.hypotheses for result in found(sources[::-1])] == alone[::-1]
        assert [result.hypotheses for result in found(sources[::3])] == alone[::3]


def test_a_window_on_one_core_is_one_batch_and_a_list_is_divided_among_all(
    trained_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("ctranslate2", reason="ctranslate2 is not installed: pip install 'regard[fast]'")
    translator = Translator(trained_folder, device="cpu")
    engine, _ = opened(translator.loaded, compute_type="int8")
    engine.use_workers(2)
    search, batches = engine._started, list[int]()

    def counted(texts: list[list[str]], settings: SearchSettings, longest: int) -> list[Any]:
        batches.append(len(texts))
        return search(texts, settings, longest)

    monkeypatch.setattr(engine, "_started", counted)
    sources = [translator.tokenisers.source.encode("alto gan mirto")] * 8
    divided = engine.attempt(sources, SearchSettings(), requests=plain_requests(sources))
    whole = engine.attempt(sources, SearchSettings(), requests=plain_requests(sources), cores=1)
    assert batches == [4, 4, 8]
    assert divided == whole


def _items(call: Call, lengths: Sequence[int], settings: SearchSettings | None = None) -> list[Item]:
    sentences = [[7] * length for length in lengths]
    requests = plain_requests(sentences)
    return [
        Item(call, number, ids, settings or SearchSettings(), request)
        for number, (ids, request) in enumerate(zip(sentences, requests, strict=True))
    ]


def _lengths(items: Sequence[Item]) -> list[int]:
    return [len(item.ids) for item in items]

"""Packing and loading: nothing is lost, nothing is there twice, and every batch is a function of the seed."""

import json
import time
from collections import Counter
from contextlib import closing
from itertools import islice
from pathlib import Path
from threading import active_count
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from regard import CorpusError, SettingsError
from regard.batches.corpus import CorpusWriter, StoredCorpus
from regard.batches.loader import Loader, LoaderSettings, Place
from regard.batches.packing import pack
from regard.batches.rows import Batch, rows_of, rows_of_ids
from regard.batches.shuffle import shuffled
from regard.batches.splitting import hold_out
from regard.tasks.translation import TASK, batch_of
from small import store

BEGIN, END = 0, 1

lengths = st.integers(min_value=1, max_value=30)
corpora = st.lists(st.tuples(lengths, lengths), min_size=1, max_size=120)


def pairs_of(sizes: list[tuple[int, int]]) -> list[tuple[list[int], list[int]]]:
    """Pairs of these lengths, each with a number of its own in every token."""
    return [([2 + n] * source, [2 + n] * target) for n, (source, target) in enumerate(sizes)]


def stored(folder: Path, sizes: list[tuple[int, int]]) -> StoredCorpus:
    return store(folder / f"corpus{time.monotonic_ns()}", pairs_of(sizes), begin=BEGIN, end=END, vocabulary=200)


def news(folder: Path, *, pairs: int) -> StoredCorpus:
    """Sentences of 28 tokens, as long as those of news: a log-normal, targets of about the same length."""
    draw = np.random.default_rng(1)
    source = draw.normal(np.log(28) - 0.55**2 / 2, 0.55, pairs)
    writer = CorpusWriter(folder, streams=("source", "target"), vocabulary=9)
    for side, logarithms in (("source", source), ("target", source + draw.normal(0, 0.15, pairs))):
        counts = np.clip(np.exp(logarithms).round(), 2, 100).astype(np.int32)
        writer.add(side, np.full(int(counts.sum()), END, dtype=np.uint32), counts)
    writer.finish({"begin": BEGIN, "end": END})
    return StoredCorpus(folder)


def found(batch: Batch) -> list[tuple[int, tuple[int, int]]]:
    """The pairs in a batch: their number and the lengths of their sides; checks how each stands in its row."""
    pairs = []
    for row in range(batch.streams["source"].tokens.size(0)):
        for segment in range(1, int(batch.streams["source"].segments[row].max()) + 1):
            at = batch.streams["source"].segments[row] == segment
            source, said = (
                batch.streams["source"].tokens[row][at].tolist(),
                batch.labels[row][batch.streams["target"].segments[row] == segment],
            )
            read = batch.streams["target"].tokens[row][batch.streams["target"].segments[row] == segment].tolist()
            assert source[-1] == END
            assert said.tolist()[-1] == END
            assert read == [BEGIN, *said.tolist()[:-1]]
            assert batch.streams["source"].positions[row][at].tolist() == list(range(len(source)))
            assert len(set(source[:-1]) | set(said.tolist()[:-1])) == 1
            pairs.append((source[0] - 2, (len(source) - 1, len(said) - 1)))
    return pairs


def epoch(loader: Loader, number: int) -> list[Batch]:
    batches = []
    for batch, after in loader.batches(Place(epoch=number)):
        batches.append(batch)
        if after.epoch != number:
            return batches
    raise AssertionError


@given(st.integers(1, 3000), st.tuples(st.integers(), st.integers()))
def test_a_shuffle_is_a_bijection_that_can_be_entered_anywhere(count: int, key: tuple[int, int]) -> None:
    whole = shuffled(np.arange(count), count=count, key=key)
    assert sorted(whole.tolist()) == list(range(count))
    some = np.arange(0, count, 7)
    assert shuffled(some, count=count, key=key).tolist() == whole[some].tolist()


def test_shuffles_look_random() -> None:
    orders = [tuple(shuffled(np.arange(4), count=4, key=(seed,)).tolist()) for seed in range(24_000)]
    counts = Counter(orders)
    assert len(counts) == 24
    assert all(850 < count < 1150 for count in counts.values())


def test_the_order_never_changes_between_versions_or_machines() -> None:
    assert shuffled(np.arange(10), count=10, key=(1, "epoch", 0)).tolist() == [3, 1, 4, 0, 8, 7, 2, 6, 5, 9]


@given(corpora, st.integers(1, 7), st.sampled_from([1, 7, 41]))
def test_packing_places_every_pair_once_and_overfills_no_row(
    sizes: list[tuple[int, int]], group: int, times: int
) -> None:
    sources, targets = (times * np.array(side) - times // 2 for side in zip(*sizes, strict=True))
    packed = pack(sources, targets, lengths=(10 * times, 20 * times, 30 * times), groups=(group, group, group))
    assert sorted(np.concatenate([rows.pairs for rows in packed]).tolist()) == list(range(len(sizes)))
    for rows in packed:
        assert (np.diff(rows.rows) >= 0).all()
        for side in (sources, targets):
            assert np.bincount(rows.rows, weights=side[rows.pairs]).max() <= rows.length


def test_pairs_that_fill_rows_exactly_find_each_other() -> None:
    sizes = [(60, 55), (31, 40), (33, 29), (2, 3), (2, 1)]
    sources, targets = np.repeat(np.array(sizes), 40, axis=0).T
    (packed,) = pack(sources, targets, lengths=(128,), groups=(1,))
    assert packed.rows.max() + 1 <= 41


@pytest.mark.parametrize("rows", [192, 198])
def test_sentences_as_long_as_those_of_news_fill_rows_of_128(tmp_path: Path, rows: int) -> None:
    corpus = news(tmp_path / "news", pairs=200_000)
    loader = Loader(corpus, LoaderSettings(batch_tokens=rows * 128, row_lengths=(128,)), TASK)
    tokens = sum(int(side.lengths.sum()) for side in corpus.streams.values())
    batches = sum(len(loader._pack_pool(0, pool)[1]) for pool in range(loader.pools))
    assert tokens / (2 * batches * rows * 128) > 0.983


@pytest.mark.parametrize(("pairs", "tokens", "least"), [(3_000, 4_096, 0.97), (20_000, 8_192, 0.97), (300, 512, 0.94)])
def test_rows_of_small_corpora_are_full_too(tmp_path: Path, pairs: int, tokens: int, least: float) -> None:
    corpus = news(tmp_path / "news", pairs=pairs)
    batches = epoch(Loader(corpus, LoaderSettings(batch_tokens=tokens, row_lengths=(128,)), TASK), 0)
    filled = sum(
        int((side.segments != 0).sum())
        for batch in batches
        for side in (batch.streams["source"], batch.streams["target"])
    )
    assert filled / sum(2 * batch.labels.numel() for batch in batches) > least


@pytest.mark.parametrize("wished", [1, 2, 5, 16])
def test_pools_are_about_as_large_as_asked_for(tmp_path: Path, wished: int) -> None:
    corpus = news(tmp_path / "news", pairs=20_000)
    tokens = max(int(side.lengths.sum()) for side in corpus.streams.values())
    options = LoaderSettings(batch_tokens=1_024, row_lengths=(128,), pool_batches=tokens // 1_024 // wished)
    pools = [Loader(corpus, options, TASK, rank=rank, ranks=4).pools for rank in range(4)]
    assert len(set(pools)) == 1
    assert wished / 1.25 - 0.5 <= pools[0] <= wished * 1.25 + 0.5


def test_no_pool_is_empty_where_every_pair_fills_a_batch(tmp_path: Path) -> None:
    corpus = stored(tmp_path, [(9, 9)] * 40)
    loader = Loader(corpus, LoaderSettings(batch_tokens=10, row_lengths=(10,), pool_batches=1), TASK)
    assert loader.pools <= 40
    assert [len(found(batch)) for batch in epoch(loader, 0)] == [1] * 40


def test_a_place_after_the_last_pool_is_the_next_epoch(tmp_path: Path) -> None:
    corpus = stored(tmp_path, [(n % 9 + 1, n % 7 + 1) for n in range(100)])
    loader = Loader(corpus, LoaderSettings(batch_tokens=120, row_lengths=(20,)), TASK)
    batch, after = next(loader.batches(Place(epoch=2, pool=loader.pools, batch=7)))
    expected, expected_after = next(loader.batches(Place(epoch=3)))
    assert torch.equal(batch.labels, expected.labels)
    assert after == expected_after


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(sizes=corpora, ranks=st.integers(1, 3), share=st.booleans(), seed=st.integers(0, 5), pool=st.integers(1, 3))
def test_every_pair_lands_in_exactly_one_row_of_each_epoch_over_all_ranks(
    tmp_path: Path, sizes: list[tuple[int, int]], ranks: int, share: bool, seed: int, pool: int
) -> None:
    corpus = stored(tmp_path, sizes)
    options = LoaderSettings(batch_tokens=70, row_lengths=(8, 16, 32), share_rows=share, seed=seed, pool_batches=pool)
    for number in (0, 3):
        epochs = [epoch(Loader(corpus, options, TASK, rank=rank, ranks=ranks), number) for rank in range(ranks)]
        pairs = [pair for batches in epochs for batch in batches for pair in found(batch)]
        assert sorted(pairs) == list(enumerate(sizes))
        assert {batch.streams["source"].tokens.size(1) for batches in epochs for batch in batches} <= {8, 16, 32}
        for together in zip(*epochs, strict=True):
            assert len({batch.streams["source"].tokens.shape for batch in together}) == 1
        if not share:
            assert all(batch.streams["source"].segments.max() <= 1 for batches in epochs for batch in batches)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(sizes=corpora, stop=st.integers(0, 40), seed=st.integers(0, 5))
def test_stopping_and_going_on_anywhere_yields_the_same_batches(
    tmp_path: Path, sizes: list[tuple[int, int]], stop: int, seed: int
) -> None:
    corpus = stored(tmp_path, sizes)
    options = LoaderSettings(batch_tokens=70, row_lengths=(8, 32), seed=seed, pool_batches=2)
    whole = list(islice(Loader(corpus, options, TASK).batches(), stop + 10))
    place = whole[stop - 1][1] if stop else Place()
    place = Place(*json.loads(json.dumps(place)))
    again = list(islice(Loader(StoredCorpus(corpus.folder), options, TASK).batches(place), 10))
    for (batch, after), (expected, expected_after) in zip(again, whole[stop:], strict=True):
        assert after == expected_after
        assert torch.equal(batch.labels, expected.labels)
        for mine, theirs in zip(batch.tensors(), expected.tensors(), strict=True):
            assert torch.equal(mine, theirs)


def test_ranks_hold_together_what_one_process_holds(tmp_path: Path) -> None:
    corpus = stored(tmp_path, [(n % 9 + 1, n % 7 + 1) for n in range(100)])
    options = LoaderSettings(batch_tokens=120, row_lengths=(20,))
    alone = islice(Loader(corpus, options, TASK).batches(), 12)
    two = [islice(Loader(corpus, options, TASK, rank=rank, ranks=2).batches(), 12) for rank in range(2)]
    for (batch, _), (first, _), (second, _) in zip(alone, *two, strict=True):
        together = torch.stack([first.labels, second.labels], dim=1).flatten(0, 1)
        assert batch.tokens == first.tokens == second.tokens == int((batch.streams["target"].segments != 0).sum())
        assert torch.equal(together, batch.labels)


def test_epochs_and_seeds_differ(tmp_path: Path) -> None:
    corpus = stored(tmp_path, [(n % 9 + 1, n % 7 + 1) for n in range(100)])
    options = LoaderSettings(batch_tokens=120, row_lengths=(20,))

    def first(loader: Loader, number: int) -> list[Any]:
        return next(loader.batches(Place(epoch=number)))[0].labels.tolist()

    loader = Loader(corpus, options, TASK)
    assert first(loader, 0) == first(Loader(corpus, options, TASK), 0)
    assert first(loader, 0) != first(loader, 1)
    assert first(loader, 0) != first(Loader(corpus, options.model_copy(update={"seed": 2}), TASK), 0)


def test_a_batch_of_the_loader_is_what_rows_by_hand_are(tmp_path: Path) -> None:
    corpus = stored(tmp_path, [(3, 2), (2, 4), (5, 5)])
    loader = Loader(corpus, LoaderSettings(batch_tokens=16, row_lengths=(16,)), TASK)
    batch, after = next(loader.batches())
    order = [pair for pair, _ in found(batch)]
    pairs = pairs_of([(3, 2), (2, 4), (5, 5)])
    expected = batch_of([[pairs[n] for n in order]], begin=BEGIN, end=END, length=16)
    assert torch.equal(batch.labels, expected.labels)
    assert all(torch.equal(mine, theirs) for mine, theirs in zip(batch.tensors(), expected.tensors(), strict=True))
    assert after == Place(epoch=1)


def test_another_thread_makes_the_same_batches_ahead_and_ends_with_its_reader(tmp_path: Path) -> None:
    corpus = stored(tmp_path, [(n % 9 + 1, n % 7 + 1) for n in range(100)])
    loader = Loader(corpus, LoaderSettings(batch_tokens=120, row_lengths=(20,)), TASK)
    place = Place(epoch=1, pool=0, batch=2)
    threads = active_count()
    stream = loader.prefetched(place, ahead=2)
    ahead = list(islice(stream, 5))
    assert active_count() == threads + 1
    stream.close()
    assert active_count() == threads
    for (batch, after), (expected, expected_after) in zip(ahead, islice(loader.batches(place), 5), strict=True):
        assert torch.equal(batch.labels, expected.labels)
        assert tuple(after) == tuple(expected_after)


def test_memory_is_pinned_only_for_a_gpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Training on a CPU pins nothing, even where there is a GPU."""
    pinned: list[Batch] = []
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(Batch, "pinned", lambda batch: pinned.append(batch) or batch)
    loader = Loader(stored(tmp_path, [(2, 2)] * 9), LoaderSettings(batch_tokens=16, row_lengths=(16,)), TASK)
    with closing(loader.prefetched()) as stream:
        next(stream)
    assert pinned == []
    with closing(loader.prefetched(pin=True)) as stream:
        next(stream)
    assert pinned


def test_a_failure_while_making_batches_ahead_reaches_the_reader(tmp_path: Path) -> None:
    loader = Loader(stored(tmp_path, [(2, 2)] * 9), LoaderSettings(batch_tokens=16, row_lengths=(16,)), TASK)
    loader.groups = {}
    with pytest.raises(KeyError):
        next(loader.prefetched())


def test_a_held_out_pair_takes_all_pairs_of_its_source_with_it(tmp_path: Path) -> None:
    pairs = [([5 + n % 10], [n]) for n in range(60)]
    corpus = store(tmp_path / "c", pairs, begin=0, end=1, vocabulary=80)
    rest, held = hold_out(corpus, count=4, seed=1)
    sources = {held.streams["source"].sentence(n)[0] for n in range(len(held))}
    assert len(held) == 4
    assert len(rest) == 60 - 6 * len(sources)
    assert not sources & {rest.streams["source"].sentence(n)[0] for n in range(len(rest))}
    assert [hold_out(corpus, count=4, seed=1)[1].streams["target"].sentence(n) for n in range(4)] == [
        held.streams["target"].sentence(n) for n in range(4)
    ]


def test_sources_that_only_begin_alike_are_not_held_out_together(tmp_path: Path) -> None:
    pairs = [([5, 6, 7, n], [n]) for n in range(2, 60)] + [([5, 6, 7, 2], [70])]
    corpus = store(tmp_path / "c", pairs, begin=0, end=1, vocabulary=80)
    for seed in range(5):
        rest, held = hold_out(corpus, count=3, seed=seed)
        sources = [[tuple(part.streams["source"].sentence(n)) for n in range(len(part))] for part in (rest, held)]
        assert not set(sources[0]) & set(sources[1])
        assert len(sources[0]) + len(sources[1]) >= len(pairs) - 1


def test_a_corpus_reads_back_what_was_stored(tmp_path: Path) -> None:
    pairs = [([5, 6], [7]), ([], [8, 9]), ([70_000], [3])]
    corpus = store(tmp_path / "c", pairs, begin=0, end=1, vocabulary=80_000)
    assert len(corpus) == 3
    assert [(corpus.streams["source"].sentence(n), corpus.streams["target"].sentence(n)) for n in range(3)] == pairs


def test_a_damaged_corpus_is_named_with_what_to_do(tmp_path: Path) -> None:
    folder = stored(tmp_path, [(3, 2), (2, 4)]).folder
    for name in ("target.tokens.npy", "corpus.json"):
        content = (folder / name).read_bytes()
        (folder / name).write_bytes(content[:-3])
        with pytest.raises(
            CorpusError, match=rf"{name}: this file is (missing|damaged)[^\n]*\n  Delete .* prepares the corpus again"
        ):
            StoredCorpus(folder)
        (folder / name).write_bytes(content)
    with pytest.raises(CorpusError, match=r"this is not a stored corpus: corpus\.json is missing"):
        StoredCorpus(tmp_path)


def test_sentences_longer_than_every_row_and_empty_corpora_are_refused_at_the_start(tmp_path: Path) -> None:
    options = LoaderSettings(batch_tokens=16, row_lengths=(8, 16))
    with pytest.raises(CorpusError, match="the longest sentence has 21 tokens, but the longest row holds only 16"):
        Loader(stored(tmp_path, [(3, 20)]), options, TASK)
    with pytest.raises(CorpusError, match="this corpus contains no examples"):
        Loader(store(tmp_path / "none", [], begin=0, end=1, vocabulary=9), options, TASK)


@pytest.mark.parametrize(
    ("table", "told"),
    [
        ({"row_lengths": [64, 32]}, "must be in increasing order"),
        ({"batch_tokens": 100}, "must hold a row of 1024 tokens"),
    ],
)
def test_settings_that_make_no_batches_are_refused(table: dict[str, Any], told: str) -> None:
    with pytest.raises(SettingsError, match=told):
        LoaderSettings.read(table, where="x")


@given(st.lists(st.lists(st.integers(0, 9), max_size=12), max_size=9))
def test_ids_in_rows_of_their_own_stand_as_in_any_rows(sentences: list[list[int]]) -> None:
    expected = rows_of([[sentence] for sentence in sentences], length=12)
    assert np.array_equal(rows_of_ids(sentences, length=12), torch.stack(expected).numpy())

"""Stretches of documents, hidden tokens and spans that are cut out: nothing is lost, nothing is read twice."""

from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from regard.batches.corpus import store
from regard.batches.loader import Loader, LoaderSettings
from regard.batches.rows import rows_of
from regard.batches.stretches import Stretches, split_end
from regard.metrics.labels import label_scores
from regard.metrics.spans import Span, span_scores, spans
from regard.tasks import language
from regard.tasks.denoising import Noise
from regard.tasks.masked import Masking
from regard.text.plain_documents import documents

DOCUMENTS = [list(range(10, 10 + length)) for length in (1, 5, 40, 7, 100)]


@pytest.mark.parametrize("shared", [0, 1])
def test_stretches_cover_every_document_once_in_every_epoch(tmp_path: Path, shared: int) -> None:
    corpus = store(tmp_path / "corpus", {"text": DOCUMENTS}, begin=0, end=1, vocabulary=200)
    cuts = set()
    for epoch in range(5):
        made = Stretches(corpus, length=16, shared=shared, seed=3).in_epoch(epoch)
        stream = made.streams["text"]
        assert stream.lengths.max() <= 16
        cuts.add(tuple(stream.starts.tolist()))
        tokens = [int(token) for start, length in zip(stream.starts, stream.lengths, strict=True)
                  for token in stream.tokens[start + shared : start + length]]  # fmt: skip
        whole = [token for text in DOCUMENTS for token in [*text, 1][shared:]]
        assert tokens == whole
    assert len(cuts) > 1


def test_the_last_tenth_of_a_text_is_held_out(tmp_path: Path) -> None:
    corpus = store(tmp_path / "corpus", {"text": [list(range(2, 101))]}, begin=0, end=1, vocabulary=200)
    first, last = split_end(corpus, share=0.1)
    assert first.streams["text"].lengths.tolist() == [90]
    assert last.streams["text"].lengths.tolist() == [10]
    assert last.streams["text"].sentence(0)[0] == 92


def test_every_token_of_a_document_is_predicted_once_an_epoch_by_one_process_or_by_two(tmp_path: Path) -> None:
    corpus = store(tmp_path / "corpus", {"text": DOCUMENTS}, begin=0, end=1, vocabulary=200)
    settings = LoaderSettings(batch_tokens=64, row_lengths=(16,))
    for ranks in (1, 2):
        labels: list[int] = []
        for rank in range(ranks):
            cut = Stretches(corpus, length=16, shared=1, seed=5)
            for batch, after in Loader(cut, settings, language.TASK, rank=rank, ranks=ranks).batches():
                labels += batch.labels[batch.labelled].tolist()
                if after.epoch:
                    break
        assert sorted(labels) == sorted(token for text in DOCUMENTS for token in [*text[1:], 1])


def test_15_of_100_tokens_are_hidden_80_10_10_and_the_key_decides_which() -> None:
    text = rows_of([[[*range(3, 503), 1]] for _ in range(100)])
    masking = Masking(mask=502, first=3, vocabulary=503)
    batch = masking.batch({"text": text}, begin=0, tokens=0, key=(1, 2))
    chosen = batch.labelled & (text.tokens != 502)
    read = batch.streams["text"].tokens
    assert chosen.sum() / (text.tokens > 1).sum() == pytest.approx(0.15, abs=0.01)
    assert (read[chosen] == 502).float().mean() == pytest.approx(0.8, abs=0.02)
    assert (read[chosen] == text.tokens[chosen]).float().mean() == pytest.approx(0.1, abs=0.02)
    assert torch.equal(read[~chosen], text.tokens[~chosen])
    again, other = (masking.batch({"text": text}, begin=0, tokens=0, key=key) for key in ((1, 2), (1, 3)))
    assert torch.equal(again.labelled, batch.labelled)
    assert not torch.equal(other.labelled, batch.labelled)


def test_words_are_hidden_as_a_whole_where_that_was_chosen() -> None:
    starts = np.arange(50) % 3 == 0
    text = rows_of([[[*range(3, 45), 1]] for _ in range(40)])
    batch = Masking(mask=49, first=3, vocabulary=50, word_starts=starts).batch(
        {"text": text}, begin=0, tokens=0, key=(7,)
    )
    words = batch.labelled[:, :42].view(40, 14, 3)
    assert torch.equal(words.all(-1), words.any(-1))
    assert words.any()


@given(st.integers(0, 60), st.integers(0, 2**31))
def test_a_text_is_its_kept_parts_with_the_spans_that_were_cut_out(length: int, seed: int) -> None:
    noise = Noise(sentinels=(900, 901, 902, 903), end=1)
    ids = np.arange(10, 10 + length)
    source, target = noise.cut(np.append(ids, 1), np.random.default_rng(seed))
    assert max(len(source), len(target)) <= length + 1
    assert source[-1] == target[-1] == 1
    cut: dict[int, list[int]] = {}
    for token in target[:-1]:
        if token >= 900:
            cut[token] = []
        else:
            cut[list(cut)[-1]].append(token)
    whole = [part for token in source[:-1] for part in (cut[token] if token >= 900 else [token])]
    assert whole == ids.tolist()


@pytest.mark.parametrize(
    ("tags", "found"),
    [
        ("B-NP I-NP O B-NP", [("NP", 0, 1), ("NP", 3, 3)]),
        ("I-NP I-NP I-VP", [("NP", 0, 1), ("VP", 2, 2)]),
        ("B-NP B-NP I-VP O", [("NP", 0, 0), ("NP", 1, 1), ("VP", 2, 2)]),
        ("S-A B-A I-A E-A I-A", [("A", 0, 0), ("A", 1, 3), ("A", 4, 4)]),
        ("O O", []),
    ],
)
def test_spans_are_found_by_the_rules_of_conlleval(tags: str, found: list[tuple[str, int, int]]) -> None:
    assert spans(tags.split()) == [Span(*each) for each in found]


def test_span_and_label_scores_of_a_hand_counted_example() -> None:
    right = [["B-NP", "I-NP", "O", "B-VP"], ["B-NP", "O"]]
    said = [["B-NP", "I-NP", "O", "B-NP"], ["B-NP", "I-NP"]]
    found = span_scores(said, right)
    assert found.overall == (1, 3, 3)
    assert found.by_type["VP"] == (0, 0, 1)
    assert found.accuracy == pytest.approx(100 * 4 / 6)
    labels = label_scores(list("aabb"), list("abbb"))
    assert labels.accuracy == 75
    assert labels.by_label["a"] == (1, 2, 1)
    assert labels.macro_f1 == pytest.approx((200 / 3 + 80) / 2)
    assert labels.confusion["b", "a"] == 1


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        ("auto", ["a b\nc", "d"]),
        ("lines", ["a b", "c", "d"]),
        ("paragraphs", ["a b\nc", "d"]),
        ("files", ["a b\nc\n\nd"]),
    ],
)
def test_documents_are_lines_paragraphs_or_files(tmp_path: Path, how: str, expected: list[str]) -> None:
    (tmp_path / "text.txt").write_text("a  b\nc\n\nd\n\n")
    assert [each.text for each in documents([tmp_path / "text.txt"], how=how)] == expected  # type: ignore[arg-type]
    (tmp_path / "flat.txt").write_text("a\nb\n")
    assert [each.text for each in documents([tmp_path / "flat.txt"])] == ["a", "b"]

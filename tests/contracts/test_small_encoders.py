"""What helps encoders that learn from few labelled texts: windows, the largest value, legal tags, small letters."""

from itertools import product
from pathlib import Path

import pytest
import torch

import family
import regard
from regard import ModelFolderError, models
from regard.batches.rows import rows_of
from regard.exchange import export
from regard.family.tag_choice import TagChoice
from regard.metrics.spans import are_legal, spans
from regard.models.encoder_only import EncoderOnly
from regard.models.fast import fast_form
from regard.models.parts.neighbours import Neighbours
from regard.models.parts.pooling import maximum_of_text, mean_of_text
from regard.search.tag_sequences import best_tags
from regard.tasks.masked import Masking, batch_of
from regard.tokens import TokeniserSettings, train

BIO = ("B-NP", "B-VP", "I-NP", "I-VP", "O")


def encoder(**more: object) -> EncoderOnly:
    torch.manual_seed(1)
    table = {
        "architecture": "encoder_only", "vocabulary": 20, "layers": 1, "d_model": 16, "d_ff": 24, "heads": 2,
        "labels": ["a", "b", "c"], "positions": "rotary", "neighbours": 3, "pooling": "max", "dropout": 0.0,
    }  # fmt: skip
    return models.build("encoder_only", models.read_settings(table | more, where="a test")).eval()  # type: ignore[return-value]


@pytest.mark.parametrize("pooling", ["max", "mean", "none"])
@pytest.mark.parametrize("window", [2, 3, 5])
def test_a_text_gets_the_same_logits_alone_and_beside_others_in_a_row(pooling: str, window: int) -> None:
    model = encoder(pooling=pooling, neighbours=window)
    texts = [[5, 6, 7, 1], [8, 1], [9, 10, 11, 12, 13, 1]]
    together = model(batch_of(rows_of([texts])))[0]
    alone = torch.cat([model(batch_of(rows_of([[text]])))[0] for text in texts])
    assert torch.allclose(together, alone, atol=1e-6)


def test_training_without_padding_gives_the_same_states() -> None:
    model = encoder()
    batch = batch_of(rows_of([[[5, 6, 7, 1], [8, 1]], [[9, 10, 1]]]))
    expected = model.states(batch)
    fast = fast_form(encoder(), "training").train()
    real = batch.streams["text"].segments != 0
    assert torch.allclose(fast.states(batch)[real], expected[real], atol=1e-5)


def test_a_window_is_the_tokens_around_each_token_of_its_own_text() -> None:
    part = Neighbours(1, window=3, activation=torch.nn.ReLU, dropout=0.0)
    x, segments = torch.tensor([[[1.0], [2.0], [3.0], [4.0]]]), torch.tensor([[1, 1, 1, 2]])
    assert part.windows(x, segments)[0].tolist() == [[0, 1, 2], [1, 2, 3], [2, 3, 0], [0, 4, 0]]


def test_a_text_is_pooled_by_itself() -> None:
    x, segments = torch.tensor([[[1.0, 9.0], [3.0, 5.0], [7.0, 2.0]]]), torch.tensor([[1, 1, 2]])
    assert maximum_of_text(x, segments)[0].tolist() == [[3, 9], [3, 9], [7, 2]]
    assert mean_of_text(x, segments)[0].tolist() == [[2, 7], [2, 7], [7, 2]]


def test_the_best_legal_tags_are_those_that_trying_all_sequences_gives() -> None:
    torch.manual_seed(2)
    choice = TagChoice(BIO, legal=True)
    for length in range(5):
        logits = torch.randn(length, len(BIO)) * 2
        scores = logits.log_softmax(-1)
        legal = [
            numbers
            for numbers in product(range(len(BIO)), repeat=length)
            if are_legal([[BIO[number] for number in numbers]], BIO)
        ]
        best = max(legal, key=lambda numbers: sum(float(scores[i, n]) for i, n in enumerate(numbers)))
        assert choice(logits) == list(best)


def test_without_rules_each_word_has_its_likeliest_tag() -> None:
    logits = torch.randn(6, len(BIO), generator=torch.Generator().manual_seed(3))
    assert TagChoice(BIO, legal=False)(logits) == logits.argmax(-1).tolist()
    allowed = torch.ones(len(BIO), len(BIO), dtype=torch.bool)
    assert best_tags(logits, allowed[0], allowed) == logits.argmax(-1).tolist()


def test_spans_are_legal_if_each_begins_and_where_ends_are_marked_also_ends() -> None:
    assert are_legal([["B-NP", "I-NP", "O"], []], BIO)
    assert not are_legal([["O", "I-NP"]], BIO)  # a span without its beginning
    assert not are_legal([["B-VP", "I-NP"]], BIO)  # of another type
    ends = ("B-NP", "I-NP", "E-NP", "S-NP", "O")
    assert are_legal([["B-NP", "I-NP", "E-NP", "S-NP", "O"]], ends)
    assert not are_legal([["B-NP", "O"]], ends)
    assert not are_legal([["B-NP", "I-NP"]], ends)  # the sentence ends within a span
    assert not are_legal([["noun", "verb"]], ("noun", "verb"))


def test_a_tagger_learns_from_its_data_whether_spans_begin_with_b(tmp_path: Path) -> None:
    small = ("model.neighbours=3", "tokeniser.kind=words")
    data = family.labelled(tmp_path / "tags.tsv", tags=True)
    made = family.model(tmp_path / "tags", "tags", data, *small, steps=60)
    tagger = regard.load(made)
    assert tagger.model.settings.legal_tags
    found = tagger.tag("the cat sees the dog .")
    assert [(span.type, span.first, span.last) for span in spans(found.tags)] == [
        ("NP", 0, 1),
        ("VP", 2, 2),
        ("NP", 3, 4),
    ]
    assert all(0 < chance <= 1 for chance in found.probabilities)
    assert tagger.tag(["", "the cat"])[0].tags == ()
    inside = data.read_text(encoding="utf-8").replace("B-", "I-")
    (tmp_path / "inside.tsv").write_text(inside, encoding="utf-8")
    other = regard.load(family.model(tmp_path / "inside", "tags", tmp_path / "inside.tsv", *small, steps=2))
    assert not other.model.settings.legal_tags


def test_a_classifier_reads_the_largest_values_and_starts_from_a_masked_model_with_windows(tmp_path: Path) -> None:
    windows = "model.neighbours=3"
    masked = family.model(tmp_path / "masked", "masked", family.documents(tmp_path / "text.txt"), windows, steps=4)
    data = family.labelled(tmp_path / "classes.tsv", tags=False)
    more = ("model.pooling=max", "model.head_dropout=0.2")
    settings = [setting for setting in family.COMMON if setting.startswith(("training.", "validation."))]
    out = tmp_path / "classes"
    regard.train(data, task="classes", out=out, from_model=masked, settings=[*settings, *more], steps=80, device="cpu")
    model = regard.load(out)
    assert (model.model.settings.pooling, model.model.settings.neighbours) == ("max", 3)
    assert model.classify("the rose sees the dog .").label == "plant"
    with pytest.raises(ModelFolderError, match="has a convolution below its stack"):
        export(masked, tmp_path / "exported", to="huggingface")


def test_small_letters_are_what_an_uncased_tokeniser_reads_and_protected_strings_keep_theirs() -> None:
    settings = TokeniserSettings(kind="uncased", vocabulary=400, protected=("[MASK]",), sample=100)
    tokeniser = train(["Who wrote Faust ? The [MASK] sat ."] * 20, (), settings).source
    assert tokeniser.encode("WHO wrote faust ?") == tokeniser.encode("who Wrote Faust ?")
    assert tokeniser.decode(tokeniser.encode("The [MASK] SAT .")) == "the [MASK] sat ."
    assert tokeniser.normalise("The [MASK] SAT .") == "the [MASK] sat ."
    many = ["WHO sat ?"] * 40
    assert tokeniser.encode_batch(many) == [tokeniser.encode("who sat ?")] * 40


@pytest.mark.parametrize("share", [0.15, 0.4])
def test_a_masked_model_predicts_the_share_of_tokens_that_was_set(share: float) -> None:
    masking = Masking(mask=3, first=4, vocabulary=50, share=share)
    rows = rows_of([[[10 + place % 30 for place in range(200)]] for _ in range(50)])
    batch = masking.batch({"text": rows}, begin=0, tokens=0, key=(1,))
    assert abs(batch.tokens / rows.tokens.numel() - share) < 0.02

"""Language models, masked models, classifiers, taggers and denoisers: trained, opened, asked, measured."""

import json
import pickle
from pathlib import Path

import pytest
import torch
from typer.testing import CliRunner

import family
import regard
from regard import CorpusError, LengthError, ModelFolderError, SettingsError, TextError, models, presets
from regard.batches.rows import rows_of
from regard.cli import _application
from regard.evaluation.confusion_page import confusion_page
from regard.evaluation.other_tasks import measure
from regard.family.classifier import Classifier
from regard.family.language_model import LanguageModel
from regard.family.masked_model import MaskedModel
from regard.family.tagger import Tagger
from regard.tasks import language as language_task
from regard.training.train import train


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data of all tasks."""
    made = tmp_path_factory.mktemp("family")
    family.documents(made / "text.txt")
    family.documents(made / "test.txt", count=40, seed=9)
    family.labelled(made / "classes.tsv", tags=False)
    family.labelled(made / "tags.tsv", tags=True)
    return made


@pytest.fixture(scope="module")
def language(folder: Path) -> Path:
    more = ("model.positions=rotary", "model.layers=2")
    return family.model(
        folder / "language", "language", folder / "text.txt", *more, steps=120, valid=folder / "test.txt"
    )


@pytest.fixture(scope="module")
def masked(folder: Path) -> Path:
    data, valid = folder / "text.txt", folder / "test.txt"
    return family.model(folder / "masked", "masked", data, "model.layers=2", steps=150, valid=valid)


@pytest.fixture(scope="module")
def classes(folder: Path) -> Path:
    return family.model(folder / "classes", "classes", folder / "classes.tsv")


@pytest.fixture(scope="module")
def tags(folder: Path) -> Path:
    return family.model(folder / "tags", "tags", folder / "tags.tsv")


def run(*words: str | Path, given: str | None = None) -> str:
    """What a command prints."""
    result = CliRunner().invoke(_application(), [str(word) for word in words], input=given, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_a_language_model_learns_its_language_and_load_gives_the_object_for_the_task(language: Path) -> None:
    model = regard.load(language)
    assert isinstance(model, LanguageModel)
    found = model.generate("the cat sees", max_tokens=10)
    assert found.text == " the cat ."
    assert found.ended == "end"
    assert model.score("the cat sees the cat .").total > model.score("the cat sees the dog .").total + 1
    assert pickle.loads(pickle.dumps(model)).generate("the oak").text.endswith("the oak .")  # noqa: S301


def test_many_beginnings_together_give_what_each_gives_alone(language: Path) -> None:
    model = regard.load(language)
    beginnings = ["the", "the dog likes", "", "the rose finds the"]
    together = model.generate(beginnings, max_tokens=8)
    assert [each.text for each in together] == [model.generate(each, max_tokens=8).text for each in beginnings]
    sampled = model.generate(beginnings, max_tokens=8, temperature=1.0, seed=3)
    assert sampled == model.generate(beginnings, max_tokens=8, temperature=1.0, seed=3)
    assert len(model.generate("the", temperature=1.5, seed=1, samples=4)) == 4


def test_a_stream_and_a_whole_continuation_are_the_same_text_and_end_at_stop_texts(language: Path) -> None:
    model = regard.load(language)
    for stop in ((), ("oak",), ("the oak",), ("nothing",)):
        whole = model.generate("the oak likes", stop=stop, max_tokens=9)
        assert "".join(model.stream("the oak likes", stop=stop, max_tokens=9)) == whole.text
        assert whole.ended == ("stop" if stop and stop[0] != "nothing" else "end")
        assert not any(each in whole.text for each in stop)
    assert model.generate("the oak", max_tokens=1).ended == "length"


def test_the_scores_of_a_text_are_the_probabilities_that_generating_it_has(language: Path) -> None:
    model = regard.load(language)
    found = model.generate("the dog", max_tokens=20)
    scored = model.score(f"the dog{found.text}")
    assert scored.logprobs[2:] == pytest.approx(found.logprobs, abs=1e-4)


def test_perplexity_by_token_word_and_byte_is_of_one_likelihood(language: Path, folder: Path) -> None:
    found = measure(language, folder / "test.txt")
    counts = found.details["counts"]
    assert counts["words"] == 40 * 6
    assert counts["tokens"] == 40 * 7
    assert counts["bytes"] == (folder / "test.txt").stat().st_size
    nats = [torch.tensor(found.scores[f"perplexity_by_{unit}"]).log() * counts[f"{unit}s"]
            for unit in ("token", "word", "byte")]  # fmt: skip
    torch.testing.assert_close(nats[0], nats[1])
    torch.testing.assert_close(nats[0], nats[2])
    assert found.scores["perplexity_by_token"] < 2.5  # of 11 words


def test_a_long_document_is_scored_in_stretches_that_overlap(folder: Path) -> None:
    learned = family.model(folder / "learned", "language", folder / "text.txt", steps=20)
    model = regard.load(learned)
    assert model.longest == 32
    long = " ".join(["the cat sees the cat ."] * 12)
    assert len(model.score(long).logprobs) == 12 * 6 + 1
    with pytest.raises(LengthError, match="beginning 1 has 72 tokens, but this model reads at most 32"):
        model.generate(long)
    assert model.generate("the cat", max_tokens=500).ended in ("end", "length")


def test_leaving_tokens_out_leaves_the_gradient_of_a_deep_stack_finite() -> None:
    """Nothing but zeros, from the beginning of a text through all layers, once gave NaN."""
    table = {**presets.load("gpt-small").model, "vocabulary": 20, "layers": 12, "d_model": 32, "heads": 2, "d_k": 16,
             "d_v": 16, "d_ff": 64, "positions": "rotary", "token_dropout": 0.9}  # fmt: skip
    torch.manual_seed(0)
    model = models.build("decoder_only", models.read_settings(table, where="test")).train()
    batch = language_task.batch({"text": rows_of([[[0, *range(2, 12)]]] * 8)}, begin=0, tokens=1)
    loss = torch.nn.functional.cross_entropy(model(batch).flatten(0, 1), batch.labels.flatten())
    gradients = torch.autograd.grad(loss, list(model.parameters()))
    assert sum(float(gradient.square().sum()) for gradient in gradients) < 1_000
    assert any(float(gradient.abs().max()) > 0 for gradient in gradients)


def test_a_run_that_was_stopped_ends_with_the_same_weights(folder: Path) -> None:
    whole = family.model(folder / "whole", "language", folder / "text.txt", steps=30, checkpoint_every=10)
    family.model(folder / "parts", "language", folder / "text.txt", steps=20, checkpoint_every=10)
    train(out=folder / "parts", steps=30, resume=True, device="cpu")
    assert (whole / "weights.safetensors").read_bytes() == (folder / "parts/weights.safetensors").read_bytes()


def test_a_masked_run_that_was_stopped_ends_with_the_same_weights(folder: Path) -> None:
    whole = family.model(folder / "m-whole", "masked", folder / "text.txt", steps=30, checkpoint_every=10)
    family.model(folder / "m-parts", "masked", folder / "text.txt", steps=20, checkpoint_every=10)
    train(out=folder / "m-parts", steps=30, resume=True, device="cpu")
    assert (whole / "weights.safetensors").read_bytes() == (folder / "m-parts/weights.safetensors").read_bytes()


def test_the_space_before_a_mask_belongs_to_the_word_that_is_hidden(folder: Path) -> None:
    more = ("model.layers=2", "tokeniser.kind=subwords", "tokeniser.vocabulary=320", "data.whole_words=true")
    data, valid = folder / "text.txt", folder / "test.txt"
    model = regard.load(family.model(folder / "subwords", "masked", data, *more, steps=150, valid=valid))
    assert isinstance(model, MaskedModel)
    assert model.tokeniser.pieces(model.tokeniser.encode("a [MASK]"))[-2:] == ["▁", "[MASK]"]
    assert [each[0].text for each in model.fill("the [MASK] sees the cat .")] == ["the cat sees the cat ."]
    assert model.fill("[MASK] cat sees the cat .")[0][0].text == "the cat sees the cat ."


def test_a_masked_model_fills_in_what_is_hidden(masked: Path) -> None:
    model = regard.load(masked)
    assert isinstance(model, MaskedModel)
    (options,) = model.fill("the [MASK] sees the cat .")
    assert options[0].text == "the cat sees the cat ."
    assert sum(each.probability for each in model.fill("[MASK] cat", count=99)[0]) == pytest.approx(1, abs=1e-5)
    with pytest.raises(TextError, match=r"there is no \[MASK\] in this text"):
        model.fill("the cat")


def test_texts_become_vectors_of_length_one_whatever_stands_beside_them(masked: Path) -> None:
    model = regard.load(masked)
    found = model.embed(["the cat .", "the cat sees the oak .", "the dog ."])
    assert found.shape == (3, 32)
    torch.testing.assert_close(found.norm(dim=1), torch.ones(3))
    torch.testing.assert_close(found[:1], model.embed("the cat ."))


def test_a_classifier_names_the_label_of_each_text(classes: Path, folder: Path) -> None:
    model = regard.load(classes)
    assert isinstance(model, Classifier)
    assert model.labels == ("animal", "plant")
    found = model.classify(["the cat likes the oak .", "the oak likes the cat ."])
    assert [each.label for each in found] == ["animal", "plant"]
    assert sum(found[0].probabilities.values()) == pytest.approx(1)
    measured = measure(classes, folder / "classes.tsv")
    assert measured.scores["accuracy"] > 95
    page = confusion_page(measured)
    assert "Which labels are taken for which" in page
    assert "animal" in page
    with pytest.raises(TextError, match="text 2 is empty"):
        model.classify(["the cat", " "])


def test_a_tagger_tags_every_word_and_finds_spans(tags: Path, folder: Path) -> None:
    model = regard.load(tags)
    assert isinstance(model, Tagger)
    found = model.tag("the cat likes the oak .")
    assert found.tags == ("B-NP", "I-NP", "B-VP", "B-NP", "I-NP", "O")
    assert [tuple(span) for span in found.spans] == [("NP", 0, 1), ("VP", 2, 2), ("NP", 3, 4)]
    assert measure(tags, folder / "tags.tsv").scores["span_f1"] == pytest.approx(100)
    assert model.tag([["the", "cat"], "the", ""])[2].tags == ()


def test_a_classifier_can_start_from_a_masked_model_and_keeps_its_tokeniser(masked: Path, folder: Path) -> None:
    out = folder / "from-masked"
    train(folder / "classes.tsv", out=out, task="classes", from_model=masked, steps=60, device="cpu",
          settings=("training.row_lengths=[32]", "training.batch_tokens=512", "training.peak_rate=0.003",
                    "training.warmup=10", "validation.every=30"))  # fmt: skip
    assert regard.load(out).classify("the oak likes the cat .").label == "plant"
    assert regard.load(out).tokenisers.hash == regard.load(masked).tokenisers.hash


def test_denoising_is_a_start_for_a_translator_and_does_not_open_by_itself(folder: Path) -> None:
    before = family.model(folder / "denoising", "denoising", folder / "text.txt", "tokeniser.kind=characters", steps=10)
    with pytest.raises(ModelFolderError, match=r"does not open.\n  It was trained to restore text"):
        regard.load(before)
    pairs = folder / "pairs.tsv"
    pairs.write_text("".join(f"the cat {n}\tdie katze {n}\n" for n in range(60)), encoding="utf-8")
    train(pairs, source="en", target="de", out=folder / "pairs", from_model=before, steps=5, device="cpu",
          settings=("training.row_lengths=[64]", "training.batch_tokens=512", "validation.every=5"))  # fmt: skip
    assert regard.load(folder / "pairs").languages == {"source": "en", "target": "de"}


def test_commands_answer_each_line_with_a_line(language: Path, masked: Path, classes: Path, tags: Path) -> None:
    assert run("generate", language, "the cat sees", "--device", "cpu") == "the cat sees the cat .\n"
    many = run("generate", language, "the cat", "the oak", "--json", "--device", "cpu").splitlines()
    assert [json.loads(line)["ended"] for line in many] == ["end", "end"]
    assert run("fill", masked, "the [MASK] sees the cat .", "--device", "cpu").startswith("the cat sees the cat .\n")
    shown = run("classify", classes, "the oak likes the cat .", "the cat likes the oak .", "--device", "cpu")
    assert [line.split("\t")[0] for line in shown.splitlines()] == ["plant", "animal"]
    told = json.loads(run("tag", tags, "the cat likes the oak .", "--json", "--device", "cpu"))
    assert told["tags"][:2] == ["B-NP", "I-NP"]


def test_the_card_and_the_report_speak_of_the_task(language: Path, classes: Path) -> None:
    card = (language / "README.md").read_text()
    assert "it continues texts" in card
    assert "regard generate" in card
    assert "ranslat" not in card.partition("## Training")[0]
    assert "regard classify" in (classes / "README.md").read_text()
    assert "Sample labels" in (classes / "report.html").read_text()


def test_presets_have_the_published_sizes_of_gpt2_and_bert() -> None:
    def parameters(name: str, vocabulary: int) -> int:
        table = models.sized(presets.load(name).model, {"text": vocabulary})
        with torch.device("meta"):
            built = models.build(table["architecture"], models.read_settings(table, where=name))
        return sum(parameter.numel() for parameter in built.parameters())

    assert parameters("gpt2", 50_257) == 124_439_808
    assert parameters("bert-base", 30_522) == 109_514_298


@pytest.mark.parametrize(
    ("task", "content", "message"),
    [
        ("classes", "a good film\n", r"data.tsv:1: this line has no label.\n  Expected: text, tab, label"),
        ("classes", "\tgood\n", r"data.tsv:1: this line has a label but no text"),
        ("classes", "a\tx\nb\tx\n", r"all labels are 'x'.\n  A model needs at least two labels"),
        ("tags", "a b c\tX Y\n", r"data.tsv:1: this line has 3 words but 2 tags.\n  Expected: words, tab"),
        ("tags", "a b c\n", r"data.tsv:1: this line has no tags"),
        ("tags", "\n\n", r"data.tsv: there are no labelled sentences in these files"),
        ("language", "\n \n", r"data.tsv: there is no text in these files"),
        ("masked", "", r"data.tsv: this file is empty"),
        ("denoising", "\n \n", r"data.tsv: there is no text in these files.\n  Give files with at least one line"),
    ],
)
def test_bad_input_is_refused_with_its_place_and_what_to_do(
    tmp_path: Path, task: str, content: str, message: str
) -> None:
    (tmp_path / "data.tsv").write_text(content)
    with pytest.raises(CorpusError, match=message):
        family.model(tmp_path / "model", task, tmp_path / "data.tsv", steps=2)


def test_texts_that_a_finished_model_cannot_use_are_refused(
    language: Path, classes: Path, tags: Path, folder: Path, tmp_path: Path
) -> None:
    with pytest.raises(TextError, match=r"text 2 is empty.\n  A label needs a text"):
        regard.load(classes).classify(["the cat", "  "])
    with pytest.raises(TextError, match=r"There is no text to embed.\n  Give at least one"):
        regard.load(classes).embed([])
    (tmp_path / "test.tsv").write_text("the cat sees\tB-NP I-NP\n")
    with pytest.raises(CorpusError, match=r"test.tsv:1: this line has 3 words but 2 tags"):
        measure(tags, tmp_path / "test.tsv")
    (tmp_path / "empty.txt").write_text("\n\n")
    with pytest.raises(CorpusError, match=r"empty.txt: there is no text in this file"):
        measure(language, tmp_path / "empty.txt")
    with pytest.raises(TextError, match="the text has no words"):
        regard.load(language).look(" ")


def test_arrays_are_refused_where_text_is_expected_and_the_error_names_their_tasks(tmp_path: Path) -> None:
    (tmp_path / "data.npz").write_bytes(b"PK")
    with pytest.raises(CorpusError, match=r"data.npz: this is a file of arrays.*\n.*--task recognition"):
        family.model(tmp_path / "model", "classes", tmp_path / "data.npz", steps=2)


def test_bytes_cannot_be_masked_and_the_error_names_kinds_that_can(folder: Path) -> None:
    with pytest.raises(SettingsError, match=r"'utf8': this kind has no id for '\[MASK\]'"):
        family.model(folder / "bytes", "masked", folder / "text.txt", "tokeniser.kind=utf8", steps=2)


def test_a_label_that_training_never_saw_is_refused_in_validation(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "valid.tsv").write_text("the cat\tmineral\n")
    with pytest.raises(CorpusError, match=r"valid.tsv:1: the label 'mineral' does not occur in the training data"):
        family.model(tmp_path / "m", "classes", folder / "classes.tsv", steps=2, valid=tmp_path / "valid.tsv")


def test_a_model_of_another_kind_is_no_start_for_a_classifier(language: Path, folder: Path, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="is a decoder_only model, but the task 'classes' needs a encoder_only"):
        family.model(tmp_path / "m", "classes", folder / "classes.tsv", steps=2, from_model=language)


@pytest.mark.parametrize(("task", "kind"), [("language", "decoder"), ("classes", "encoder")])
def test_looking_inside_shows_the_one_kind_of_attention_that_a_model_has(
    task: str, kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    folder: Path = request.getfixturevalue(task)
    model = regard.load(folder)
    seen = model.look("the cat sees the oak .")
    assert seen.kinds() == [kind]
    weights = next(iter(seen.lookups.values())).weights
    torch.testing.assert_close(weights.sum(-1), torch.ones_like(weights.sum(-1)))
    above = weights.triu(1).abs().max()
    assert (above == 0) == (task == "language")
    run("look", folder, "the cat sees the oak .", "--out", tmp_path / "page.html", "--device", "cpu")
    page = (tmp_path / "page.html").read_text()
    assert ("Causal self-attention" in page) == (task == "language")
    assert "for one text" in page
    without = model.look("the cat sees the oak .", without=f"{kind}.0.0")
    assert without.weights(next(iter(without.lookups)))[0].sum() == 0


def test_a_label_can_be_read_from_the_first_token_instead_of_the_mean(folder: Path) -> None:
    made = family.model(folder / "first", "classes", folder / "classes.tsv", "model.pooling=first", steps=60)
    model = regard.load(made)
    assert model.model.settings.pooling == "first"
    assert measure(made, folder / "classes.tsv").scores["accuracy"] > 90
    assert model.classify("the cat sees the oak .").label == "animal"

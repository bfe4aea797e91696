"""Sequences that are not text: frames and images are trained on, opened, asked, measured, looked at and refused."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

import regard
import vectors
from regard import CorpusError, LengthError, ModelFolderError, SettingsError, TextError, models
from regard.batches.corpus import StoredCorpus
from regard.batches.loader import Loader, LoaderSettings, Place
from regard.batches.rows import Batch, rows_of_vectors
from regard.batches.splitting import hold_out
from regard.batches.texts import stored
from regard.cli import _application
from regard.evaluation.other_tasks import measure
from regard.exchange import export
from regard.family.recogniser import Recogniser
from regard.family.transcriber import Transcriber
from regard.insight.attention_page import page
from regard.models.fast import fast_form
from regard.tasks import recognition
from regard.training.train import train


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data of all models."""
    made = tmp_path_factory.mktemp("vectors")
    vectors.frames(made / "frames.npz")
    vectors.strokes(made / "strokes")
    vectors.words(made / "words")
    vectors.words(made / "test-words", count=60, seed=5)
    return made


@pytest.fixture(scope="module")
def frames(folder: Path) -> Path:
    return vectors.model(folder / "of-frames", "recognition", folder / "frames.npz")


@pytest.fixture(scope="module")
def strokes(folder: Path) -> Path:
    return vectors.model(folder / "of-strokes", "recognition", folder / "strokes", "data.patch=2", steps=100)


@pytest.fixture(scope="module")
def words(folder: Path) -> Path:
    return vectors.model(folder / "of-words", "transcription", folder / "words", "data.patch=[12,2]", steps=250)


def run(*given: str | Path) -> str:
    """What a command prints."""
    result = CliRunner().invoke(_application(), [str(word) for word in given], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def corpus(place: Path, examples: list[np.ndarray]) -> StoredCorpus:
    """Vectors with a label each, stored."""
    return stored(
        place,
        lambda: ({"vectors": each, "labels": [1, *[0] * (len(each) - 1)]} for each in examples),
        streams=("vectors", "labels"),
        vocabulary=5,
        features={"vectors": examples[0].shape[1]},
        question={"made": "up"},
        describe=lambda: {"begin": 0, "end": 1},
    )


def test_the_loader_packs_every_vector_once_and_resumes_exactly(tmp_path: Path) -> None:
    draw = np.random.default_rng(1)
    examples = [draw.normal(size=(draw.integers(1, 9), 3)).astype(np.float32) for _ in range(60)]
    found = corpus(tmp_path, examples)
    np.testing.assert_array_equal(found.streams["vectors"].vectors(7), examples[7])
    settings = LoaderSettings(batch_tokens=64, row_lengths=(16,), pool_batches=2)
    loader = Loader(found, settings, recognition.TASK)
    seen: list[tuple[Batch, Place]] = []
    for batch, after in loader.batches():
        seen.append((batch, after))
        if after.epoch:
            break
    real = torch.cat([batch.streams["vectors"].tokens[batch.streams["vectors"].segments != 0] for batch, _ in seen])
    assert sorted(real[:, 0].tolist()) == sorted(np.concatenate(examples)[:, 0].tolist())
    assert sum(int(batch.labelled.sum()) for batch, _ in seen) == 60
    again, _ = next(loader.batches(seen[1][1]))
    assert all(torch.equal(one, other) for one, other in zip(again.tensors(), seen[2][0].tensors(), strict=True))


def test_copies_of_a_held_out_example_are_not_trained_on(tmp_path: Path) -> None:
    draw = np.random.default_rng(2)
    one = [draw.normal(size=(4, 3)).astype(np.float32) for _ in range(20)]
    rest, held = hold_out(corpus(tmp_path, one + one), count=6, seed=1, by="vectors")
    left = {each.tobytes() for each in map(rest.streams["vectors"].vectors, range(len(rest)))}
    assert len(held) == 6
    assert not left & {held.streams["vectors"].vectors(number).tobytes() for number in range(6)}
    assert len(rest) >= 40 - 12


def test_neighbours_in_a_row_change_nothing_and_the_fast_form_gives_the_same_gradients(tmp_path: Path) -> None:
    draw = np.random.default_rng(3)
    examples = [draw.normal(size=(length, 4)).astype(np.float32) for length in (3, 5, 2, 6)]
    settings = LoaderSettings(batch_tokens=32, row_lengths=(16,))
    batch, _ = next(Loader(corpus(tmp_path, examples), settings, recognition.TASK).batches())
    table = {"architecture": "encoder_only", "vocabulary": 3, "layers": 2, "d_model": 16, "d_ff": 24, "heads": 2,
             "labels": ["a", "b"], "pooling": "mean", "vectors": {"features": 4, "mean": [1.0], "deviation": [2.0]},
             "positions": "learned", "learned_positions": 16, "dropout": 0.0}  # fmt: skip
    model = models.build("encoder_only", models.read_settings(table, where="a test"))
    rows = batch.streams["vectors"]
    together = model(batch)
    for row, number in {(int(r), int(rows.segments[r, c])) for r, c in batch.labelled.nonzero()}:
        here = rows.segments[row] == number
        alone = rows_of_vectors([rows.tokens[row][here].numpy()])
        torch.testing.assert_close(model(Batch({"vectors": alone}, *[alone.segments] * 2, 0))[0], together[row][here])
    for each in (model, fast_form(model, "training")):
        model.zero_grad()
        each.train()
        each(batch)[batch.labelled].logsumexp(-1).sum().backward()
        gradient = model.embedding.map.weight.grad.clone()  # type: ignore[attr-defined]
        if each is model:
            plain = gradient
    torch.testing.assert_close(gradient, plain)


def test_a_recogniser_learns_frames_of_any_length_and_scale(frames: Path, folder: Path) -> None:
    vectors.frames(folder / "test.npz", count=100, seed=7)
    model = regard.load(frames)
    assert isinstance(model, Recogniser)
    assert model.labels == ("falls", "rises")
    assert measure(frames, folder / "test.npz").scores["accuracy"] > 95
    one = np.array([[1000, 0, 0], [1010, 0, 0], [1020, 0, 0]])
    found = model.classify(one)
    assert found.label == "rises"
    assert sum(found.probabilities.values()) == pytest.approx(1)
    assert [each.label for each in model.classify([one, 2000 - one])] == ["rises", "falls"]


def test_a_recogniser_reads_images_from_folders_files_and_arrays_alike(strokes: Path, folder: Path) -> None:
    model = regard.load(strokes)
    assert model.shape.image.grid == (4, 4)
    picture = np.zeros((8, 8), dtype=np.uint8)
    picture[3] = 255
    assert model.classify(picture).label == "lies"
    assert model.classify(np.stack([picture, picture.T]))[1].label == "stands"
    labels = [line.split("\t") for line in (folder / "strokes/labels.tsv").read_text().splitlines()]
    assert model.classify(folder / "strokes" / labels[0][0]).label == labels[0][1]
    printed = run("classify", strokes, folder / "strokes" / "0.png", folder / "strokes" / "1.png").splitlines()
    assert [line.split("\t")[0] for line in printed] == [label for _, label in labels[:2]]
    about = json.loads(run("classify", strokes, folder / "strokes" / "0.png", "--json"))
    assert about["example"].endswith("0.png")
    assert set(about["probabilities"]) == {"lies", "stands"}
    assert "accuracy" in run("evaluate", strokes, "--test", folder / "strokes")
    assert "Classifies sequences of vectors" in (strokes / "README.md").read_text()


def test_words_that_were_drawn_are_read_back_as_characters(words: Path, folder: Path) -> None:
    model = regard.load(words)
    assert isinstance(model, Transcriber)
    found = measure(words, folder / "test-words")
    assert found.scores["exact_match"] > 80
    lines = [line.split("\t") for line in (folder / "test-words/texts.tsv").read_text().splitlines()]
    printed = run("translate", words, *(folder / "test-words" / name for name, _ in lines[:20])).splitlines()
    assert printed == list(found.predicted[:20])
    about = json.loads(run("translate", words, folder / "test-words" / "0.png", "--json"))
    assert about["text"] == model.translate(folder / "test-words" / "0.png").text
    assert about["logprob"] < 0


def test_a_run_on_vectors_that_was_stopped_ends_with_the_same_weights(folder: Path) -> None:
    data = folder / "frames.npz"
    whole = vectors.model(folder / "whole", "recognition", data, steps=30, checkpoint_every=10)
    vectors.model(folder / "parts", "recognition", data, steps=20, checkpoint_every=10)
    train(out=folder / "parts", steps=30, resume=True, device="cpu")
    assert (whole / "weights.safetensors").read_bytes() == (folder / "parts/weights.safetensors").read_bytes()


def test_a_model_of_vectors_can_be_adapted_and_keeps_its_shape(frames: Path, folder: Path) -> None:
    more = ("training.row_lengths=[64]", "training.batch_tokens=512")
    train(folder / "frames.npz", out=folder / "adapted", task="recognition", settings=more, steps=3, device="cpu",
          from_model=frames)  # fmt: skip
    before, after = regard.load(frames), regard.load(folder / "adapted")
    assert after.shape == before.shape
    assert after.labels == before.labels


def test_a_model_of_vectors_is_no_start_for_text_and_is_not_exported(
    words: Path, strokes: Path, folder: Path, tmp_path: Path
) -> None:
    (tmp_path / "pairs.tsv").write_text("a\tb\n")
    with pytest.raises(SettingsError, match="the task 'translation' reads text, which it does not"):
        train(tmp_path / "pairs.tsv", out=tmp_path / "m", source="en", target="de", from_model=words, device="cpu")
    (tmp_path / "classes.tsv").write_text("a\tb\nc\td\n")
    with pytest.raises(SettingsError, match="the task 'classes' reads text, which it does not"):
        train(tmp_path / "classes.tsv", out=tmp_path / "m", task="classes", from_model=strokes, device="cpu")
    with pytest.raises(ModelFolderError, match="models of vectors or images cannot be exported to onnx"):
        export(words, tmp_path / "onnx", to="onnx")
    export(words, tmp_path / "smaller", to="regard", quantization="float16")
    assert regard.load(tmp_path / "smaller").translate(folder / "words" / "0.png").text


def test_looking_inside_shows_patches_as_a_grid(strokes: Path, words: Path, folder: Path, tmp_path: Path) -> None:
    picture = folder / "strokes" / "0.png"
    seen = regard.load(strokes).look(picture)
    assert seen.kinds() == ["encoder"]
    assert seen.source.pieces[:5] == ("1,1", "1,2", "1,3", "1,4", "2,1")
    assert seen.picture.grid == (4, 4)
    assert sum(byte == 255 for byte in seen.picture.pixels) == 8  # the line
    text = page(seen)
    assert 'id="picture"' in text
    assert "Self-attention: each patch to all patches" in text
    run("look", words, folder / "words" / "0.png", "--out", tmp_path / "page.html")
    written = (tmp_path / "page.html").read_text()
    assert "Encoder-decoder attention: text to patches" in written
    reading = regard.load(words).look(folder / "words" / "0.png", without="encoder.0.1")
    assert {str(name) for name in reading.lookups} == {"encoder.0", "decoder.0", "decoder-source.0"}
    assert reading.lookups[next(iter(reading.lookups))].weights[1].sum() == 0


def test_a_look_at_frames_has_no_picture(frames: Path) -> None:
    seen = regard.load(frames).look(np.ones((3, 3)))
    assert seen.picture is None
    assert seen.source.pieces == ("1", "2", "3")
    assert "Self-attention: each vector to all vectors" in page(seen)


def npz(path: Path, **arrays: object) -> Path:
    np.savez(path, **arrays)  # type: ignore[arg-type]
    return path


FRAMES = np.ones((4, 3, 2), dtype=np.float32)

BAD = [
    ({"images": FRAMES}, "there is no array named labels; found: images"),
    ({"vectors": FRAMES, "labels": ["a", "b"]}, "there are 4 examples but 2 labels"),
    ({"vectors": FRAMES, "labels": ["a", "b", " ", "a"]}, r"3: its entry in labels is empty"),
    ({"vectors": FRAMES, "labels": np.ones(4)}, "labels has the shape .4. and the type float64"),
    ({"labels": ["a"]}, "expected an array named vectors or one named images, found: labels"),
    ({"vectors": np.ones((4, 3)), "labels": ["a"] * 4}, "expected .examples, vectors, features."),
    ({"vectors": np.ones((4, 3)), "lengths": [1, 2], "labels": ["a", "b"]}, "the lengths add up to 3"),
    ({"vectors": np.ones((4, 3)), "lengths": [4, 0], "labels": ["a", "b"]}, "2: this example has no vectors"),
    ({"vectors": np.array(["x"]), "labels": ["a"]}, "vectors has the type <U1; expected numbers"),
    ({"vectors": FRAMES * np.nan, "labels": list("abab")}, "1: some numbers are NaN or infinite"),
    ({"vectors": FRAMES, "labels": ["a"] * 4}, "all labels are 'a'"),
    ({"vectors": np.array([[1], [1, 2]], dtype=object), "labels": list("ab")}, "it holds Python objects"),
    ({"images": np.ones((4, 7, 7)), "labels": list("abab")}, "patches of 2 x 2 pixels do not divide an image of 7 x 7"),
]


@pytest.mark.parametrize(("arrays", "message"), BAD)
def test_bad_arrays_are_refused_with_what_to_do(arrays: dict[str, object], message: str, tmp_path: Path) -> None:
    data = npz(tmp_path / "bad.npz", **arrays)
    with pytest.raises(CorpusError, match=message) as refused:
        vectors.model(tmp_path / "model", "recognition", data, "data.patch=2", steps=1)
    assert "\n  " in str(refused.value)


def test_bad_folders_of_images_are_refused_with_what_to_do(tmp_path: Path) -> None:
    folder = vectors.strokes(tmp_path / "images", count=4)

    def refused(message: str, task: str = "recognition") -> None:
        with pytest.raises(CorpusError, match=message):
            vectors.model(tmp_path / "model", task, folder, steps=1)

    refused("this folder has no texts.tsv", "transcription")
    vectors.Image.new("L", (9, 8)).save(folder / "2.png")
    refused("2.png: this image has 9 x 8 pixels in grey, but 8 x 8 pixels in grey are expected")
    (folder / "2.png").write_bytes(b"no image")
    refused("2.png: this image cannot be read")
    (folder / "labels.tsv").write_text("0.png\ta\n1.png\t\n")
    refused("labels.tsv:2: this line has no label")
    (folder / "labels.tsv").write_text("0.png\ta\nmissing.png\tb\n")
    refused("labels.tsv:2: the image .*missing.png does not exist")
    (folder / "labels.tsv").write_text("\n")
    refused("there are no examples in these files")


def test_bad_inputs_of_a_finished_model_are_refused(frames: Path, strokes: Path, words: Path, folder: Path) -> None:
    model = regard.load(strokes)
    with pytest.raises(CorpusError, match="input 1: this image has 9 x 9 pixels in grey, but 8 x 8"):
        model.classify(np.zeros((9, 9)))
    with pytest.raises(TextError, match=r"input 2: it has the shape \[3\]"):
        model.classify([np.zeros((8, 8)), np.zeros(3)])
    with pytest.raises(CorpusError, match="its vectors have 5 numbers, but 3 are expected"):
        regard.load(frames).classify(np.zeros((2, 5)))
    with pytest.raises(CorpusError, match="this is an image, but vectors are expected"):
        regard.load(frames).classify(folder / "strokes" / "0.png")
    with pytest.raises(LengthError, match="this model reads at most 64"):
        regard.load(frames).classify(np.zeros((65, 3)))
    with pytest.raises(SettingsError, match="This model reads vectors, not text"):
        run("classify", strokes)
    with pytest.raises(SettingsError, match="--glossary: this does not apply to vectors"):
        run("translate", words, folder / "words", "--glossary", folder / "words/texts.tsv")
    with pytest.raises(ModelFolderError, match="so it does not translate"):
        run("translate", strokes, folder / "strokes" / "0.png")


def test_too_many_vectors_for_a_row_are_refused(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(LengthError, match=r"frames.npz:\d+: this example has \d vectors or tokens, but the longest"):
        vectors.model(tmp_path / "m", "recognition", folder / "frames.npz", "training.row_lengths=[4]", steps=1)


def test_without_pillow_the_error_names_the_extra(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "PIL.Image", None)
    with pytest.raises(SettingsError, match=r"regard\[images\]"):
        vectors.model(folder / "none", "recognition", folder / "strokes", steps=1)

"""Folders of other programs that are broken or made to harm: refused with a message, nothing executed or written.

And what a good one becomes: an ordinary model folder.
"""

import io
import json
import pickle
import shutil
import struct
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from typer.testing import CliRunner

import regard
from foreign_folders import SENTENCES, marian_folder, opus_folder
from regard import ModelFolderError, SettingsError, modelfolder
from regard.cli import _application
from regard.exchange.importing import import_model, is_foreign, opened
from runs import environment

pytest.importorskip("transformers", reason="pip install 'regard[exchange]'")

Damage = Callable[[Path], None]


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("foreign") / "opus"
    opus_folder(folder, bans=True)
    return folder


def config(**changes: Any) -> Damage:
    def damage(folder: Path) -> None:
        table = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps(table | changes))

    return damage


def file(name: str, content: bytes) -> Damage:
    return lambda folder: [(folder / name).unlink(missing_ok=True), (folder / name).write_bytes(content)][0]


def weights(change: Callable[[dict[str, torch.Tensor]], Any]) -> Damage:
    def damage(folder: Path) -> None:
        tensors = load_file(folder / "model.safetensors")
        change(tensors)
        save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})

    return damage


def cut(name: str) -> Damage:
    return lambda folder: file(name, (folder / name).read_bytes()[:-100])(folder)


def index(name: str) -> Damage:
    def damage(folder: Path) -> None:
        shutil.move(folder / "model.safetensors", folder.parent / "outside.safetensors")
        (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"lm_head.weight": name}}))

    return damage


def link(name: str) -> Damage:
    def damage(folder: Path) -> None:
        shutil.move(folder / name, folder.parent / "outside")
        (folder / name).symlink_to(folder.parent / "outside")

    return damage


HUGE = json.dumps({"lm_head.weight": {"dtype": "F32", "shape": [1 << 40], "data_offsets": [0, 1 << 42]}}).encode()
FC1 = "model.encoder.layers.0.fc1.weight"

CASES: list[tuple[Damage, str]] = [
    (lambda folder: (folder / "vocab.json").unlink(), r"vocab\.json: this file is missing"),
    (lambda folder: (folder / "target.spm").unlink(), r"target\.spm: this file is missing"),
    (lambda folder: (folder / "model.safetensors").unlink(), "there are no weights"),
    (cut("model.safetensors"), "this is not a safetensors file"),
    (cut("config.json"), r"config\.json: this is not valid JSON"),
    (cut("vocab.json"), r"vocab\.json: this is not valid JSON"),
    (file("config.json", b"[" * 100_000), r"config\.json: this is not valid JSON"),
    (file("config.json", b'{"model_type": "t5"}'), "this is a model of the type 't5'"),
    (file("config.json", b'{"model_type": "bert"}'), r"config\.json: vocab_size is missing"),
    (file("config.json", b'{"model_type": "gpt2", "n_embd": "x"}'), r"config\.json: "),
    (file("source.spm", b"no model"), "this is not a SentencePiece model"),
    (file("vocab.json", b'{"a": 3}'), "'<unk>' has no id"),
    (file("vocab.json", b'{"<unk>": 1, "a": 100000}'), "numbers outside of 0 to"),
    (file("vocab.json", b'{"<unk>": 1, "a": "x"}'), "does not map pieces to numbers"),
    (file("model.safetensors", struct.pack("<Q", len(HUGE)) + HUGE), "this is not a safetensors file"),
    (file("model.safetensors", struct.pack("<Q", 1 << 60)), "this is not a safetensors file"),
    (config(encoder_layers=10**9), r"declares 1000000000 layers of the encoder, but 2 are stored"),
    (config(encoder_layers=1), r"declares 1 layers of the encoder, but 2 are stored"),
    (config(d_model=10**9), r"is \[16, 16\], and by config\.json it should be \[1000000000, 1000000000\]"),
    (config(vocab_size=10**12), r"should be \[1000000000000, 16\]"),
    (config(d_model="16"), "d_model = '16'"),
    (config(d_model=-16), "d_model = -16"),
    (config(activation_function="tanh"), "Regard has relu, gelu and swish"),
    (config(decoder_attention_heads=2), "the same number of heads"),
    (config(normalize_before=True), "normalize_before is set"),
    (config(eos_token_id=10**6), "lies outside of the vocabulary"),
    (weights(lambda tensors: tensors.pop(FC1)), rf"{FC1} is missing"),
    (
        weights(lambda tensors: tensors.update({FC1: torch.zeros(3, 3)})),
        r"fc1\.weight is \[3, 3\], and by config\.json",
    ),
    (
        weights(lambda tensors: tensors.update({FC1: torch.zeros(24, 16, dtype=torch.int32)})),
        "is not a tensor of float",
    ),
    (index("../outside.safetensors"), r"'\.\./outside\.safetensors' is not the name of a file in this folder"),
    (index("/etc/passwd"), "is not the name of a file in this folder"),
    (link("model.safetensors"), "this link leads out of the folder"),
    (link("source.spm"), "this link leads out of the folder"),
    (link("config.json"), "this link leads out of the folder"),
]


@pytest.mark.parametrize(("damage", "message"), CASES, ids=[message for _, message in CASES])
def test_a_damaged_or_hostile_folder_is_refused_and_nothing_is_written(
    damage: Damage, message: str, good: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "opus"
    shutil.copytree(good, folder)
    damage(folder)
    with pytest.raises(ModelFolderError, match=message):
        import_model(folder, tmp_path / "model")
    assert not (tmp_path / "model").exists()
    with pytest.raises(ModelFolderError, match=message):
        opened(folder)


class Harm:
    """What a pickle can do when it is loaded."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.path,)


def as_pytorch(folder: Path, content: bytes) -> None:
    (folder / "model.safetensors").unlink()
    (folder / "pytorch_model.bin").write_bytes(content)


def saved(content: Any, *, zipped: bool = True) -> bytes:
    buffer = io.BytesIO()
    torch.save(content, buffer, _use_new_zipfile_serialization=zipped)
    return buffer.getvalue()


def compressed(content: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as one, zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as other:
        for name in one.namelist():
            other.writestr(name, one.read(name))
    return buffer.getvalue()


def test_pytorchs_format_gives_the_same_model_in_both_of_its_versions(good: Path, tmp_path: Path) -> None:
    expected = opened(good).model.state_dict()
    for zipped in (True, False):
        folder = tmp_path / str(zipped)
        shutil.copytree(good, folder)
        as_pytorch(folder, saved(load_file(good / "model.safetensors"), zipped=zipped))
        found = opened(folder).model.state_dict()
        assert all(torch.equal(found[name], expected[name]) for name in expected)


@pytest.mark.parametrize("kind", ["zipped", "older", "bare", "nested"])
def test_a_pickle_with_code_is_refused_before_anything_runs(kind: str, good: Path, tmp_path: Path) -> None:
    folder, touched = tmp_path / "opus", tmp_path / "touched"
    shutil.copytree(good, folder)
    harm = Harm(touched)
    contents = {
        "zipped": lambda: saved({"lm_head.weight": harm}),
        "older": lambda: saved({"lm_head.weight": harm}, zipped=False),
        "bare": lambda: pickle.dumps(harm),
        "nested": lambda: saved({**load_file(good / "model.safetensors"), "more": [harm]}),
    }
    as_pytorch(folder, contents[kind]())
    touched.unlink(missing_ok=True)
    with pytest.raises(ModelFolderError, match="so Regard did not load it") as error:
        import_model(folder, tmp_path / "model")
    assert "Nothing in it was executed" in str(error.value)
    assert not touched.exists()
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (lambda: saved({"a": torch.zeros(1).expand(1 << 40)}), "declares more numbers than the file contains"),
        (lambda: saved([1, 2]), "does not contain named tensors"),
        (lambda: saved({"a": 1}), "is not a tensor of floating-point numbers"),
        (lambda: compressed(saved({"a": torch.zeros(1000)})), "parts of it are compressed"),
        (lambda: saved({"a": torch.zeros(1000)})[:-200], "so Regard did not load it"),
        (lambda: b"", "so Regard did not load it"),
    ],
    ids=["expanded", "list", "number", "compressed", "truncated", "empty"],
)
def test_a_file_of_pytorch_that_lies_about_its_size_is_refused(
    content: Callable[[], bytes], message: str, good: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "opus"
    shutil.copytree(good, folder)
    as_pytorch(folder, content())
    with pytest.raises(ModelFolderError, match=message):
        import_model(folder, tmp_path / "model")
    assert not (tmp_path / "model").exists()


def arrays(change: Callable[[dict[str, Any]], Any]) -> Damage:
    def damage(folder: Path) -> None:
        with np.load(folder / "opus.npz") as stored:
            found = dict(stored)
        change(found)
        np.savez(folder / "opus.npz", **found)

    return damage


def bomb(folder: Path) -> None:
    with zipfile.ZipFile(folder / "opus.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("Wemb.npy", b"\0" * 50_000_000)


def header_that_lies(folder: Path) -> None:
    buffer = io.BytesIO()
    np.lib.format.write_array_header_1_0(buffer, {"descr": "<f4", "fortran_order": False, "shape": (1 << 40,)})
    with zipfile.ZipFile(folder / "opus.npz", "w") as archive:
        archive.writestr("Wemb.npy", buffer.getvalue() + b"\0" * 64)


MARIAN: list[tuple[Damage, str]] = [
    (file("decoder.yml", b"models: [../opus.npz]\nvocabs: [a, b]"), "is not the name of a file in this folder"),
    (file("decoder.yml", b"models: [/etc/passwd]\nvocabs: [a, b]"), "is not the name of a file in this folder"),
    (file("decoder.yml", b"models: [a.npz, b.npz]\nvocabs: [a, b]"), "models should list 1 file of this folder"),
    (file("decoder.yml", b"!!python/object/apply:os.system ['touch x']"), "this is not valid YAML"),
    (file("opus.npz", b"nothing"), r"is not a \.npz file of Marian"),
    (cut("opus.npz"), r"is not a \.npz file of Marian"),
    (bomb, "this archive is far larger than its file"),
    (header_that_lies, "declares more numbers than the file contains"),
    (arrays(lambda found: found.pop("special:model.yml")), "has no configuration of Marian"),
    (arrays(lambda found: found.pop("encoder_l1_self_Wq")), "encoder_l1_self_Wq is missing"),
    (arrays(lambda found: found.update(encoder_l1_self_Wq=np.zeros((2, 2)))), r"should be \[16, 16\]"),
    (arrays(lambda found: found.update(more=np.array([{}], dtype=object))), "is not an array of numbers"),
    (file("source.yml", b"a: 1"), "</s> or <unk> has no id"),
    (file("source.yml", b"</s>: 0\n<unk>: 1\na: 999999999999"), "by config.json it should be"),
    (lambda folder: (folder / "source.spm").unlink(), r"source\.spm: this file is missing"),
    (link("opus.npz"), "this link leads out of the folder"),
]


@pytest.mark.parametrize(("damage", "message"), MARIAN, ids=[message for _, message in MARIAN])
def test_a_damaged_or_hostile_folder_of_marian_is_refused(damage: Damage, message: str, tmp_path: Path) -> None:
    pytest.importorskip("yaml", reason="pip install 'regard[exchange]'")
    marian_folder(tmp_path / "marian")
    damage(tmp_path / "marian")
    with pytest.raises(ModelFolderError, match=message):
        import_model(tmp_path / "marian", tmp_path / "model")
    assert not (tmp_path / "model").exists()
    assert not Path("x").exists()


def test_a_snapshot_in_the_hubs_cache_is_read_through_its_links(good: Path, tmp_path: Path) -> None:
    snapshot, blobs = tmp_path / "models--x" / "snapshots" / "abc", tmp_path / "models--x" / "blobs"
    snapshot.mkdir(parents=True)
    blobs.mkdir()
    for number, path in enumerate(good.iterdir()):
        shutil.copy(path, blobs / str(number))
        (snapshot / path.name).symlink_to(Path("..") / ".." / "blobs" / str(number))
    assert opened(snapshot).description.languages == {"source": "en", "target": "de"}


def test_other_folders_are_told_apart(good: Path, tmp_path: Path) -> None:
    assert is_foreign(good)
    assert not is_foreign("en-de")
    with pytest.raises(ModelFolderError, match="this is a model folder of Regard"):
        import_model(Path(regard.__file__).parent / "shipped" / "en-de", tmp_path / "model")
    with pytest.raises(ModelFolderError, match=r"does not know the format of this folder\.\n  It reads: Hugging Face"):
        import_model(tmp_path, tmp_path / "model")
    with pytest.raises(ModelFolderError, match="there is no such folder"):
        import_model(tmp_path / "none", tmp_path / "model")
    with pytest.raises(SettingsError, match="already exists"):
        import_model(good, good)


def test_the_tokeniser_of_an_import_cannot_be_trained() -> None:
    from regard.tokens import TokeniserSettings, train

    with pytest.raises(SettingsError, match="comes with imported models and cannot be trained"):
        train(["a"], ["b"], TokeniserSettings(kind="marian"))


def command(*arguments: str) -> str:
    """What a command prints, in this process."""
    told = CliRunner().invoke(_application(), list(arguments), catch_exceptions=False)
    assert told.exit_code == 0, told.output
    return told.stdout


def adapt(folder: Path) -> None:
    """Three steps from the imported model, in a process of its own, since training sets up memory for itself."""
    sets = [part for each in ("training.batch_tokens=1024", "validation.every=1000") for part in ("--set", each)]
    given = ["pairs.tsv", "--from", "model", "--source", "en", "--target", "de", "--out", "adapted", "--steps", "3"]
    told = subprocess.run(
        [sys.executable, "-m", "regard", "train", *given, "--device", "cpu", *sets],
        cwd=folder, capture_output=True, text=True, check=False, env=environment(folder),
    )  # fmt: skip
    assert told.returncode == 0, told.stderr


def test_an_import_is_translated_evaluated_looked_into_adapted_and_exported_again(
    good: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path / "cache"))
    shutil.copytree(good, "opus")
    assert "Translate with: regard translate model" in command("import", "opus", "model")
    pairs = [f"{text}\t{' '.join(reversed(text.split()))}\n" for text in (*SENTENCES, *(f"{t} {t}" for t in SENTENCES))]
    Path("pairs.tsv").write_text("".join(pairs))
    Path("lines.txt").write_text("A small house.\n")
    translator = regard.load("model", engine="torch")
    expected = translator.translate("A small house.").text
    assert command("translate", "model", "lines.txt", "--engine", "torch").rstrip("\n") == expected
    assert regard.load("opus", engine="torch").translate("A small house.").text == expected
    assert '"bleu"' in command("evaluate", "model", "--test", "pairs.tsv", "--json", "--engine", "torch")
    assert translator.look("A small house.", "Haus").source
    adapt(tmp_path)
    before, after = modelfolder.load("model"), modelfolder.load("adapted")
    assert after.tokeniser == before.tokeniser
    assert not torch.equal(*(loaded.model.state_dict()["source_embedding.weight"] for loaded in (before, after)))
    assert "Checked with transformers" in command("export", "adapted", "out", "--to", "huggingface")
    again = opened("out")
    ours, theirs = after.model.state_dict(), again.model.state_dict()
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)
    assert again.tokeniser == after.tokeniser
    assert "Checked with CTranslate2" in command("export", "adapted", "converted", "--to", "ctranslate2")

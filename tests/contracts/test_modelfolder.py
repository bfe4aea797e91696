"""A model folder is everything, whole, checked; whatever is wrong with one is named, with what to do."""

import json
import resource
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from regard import ModelFolderError, SettingsError, modelfolder
from small import padded, transformer

BATCH = padded([([5, 6, 7], [8, 9]), ([4], [3, 2, 6])])


def save(folder: Path, *, seed: int = 0, **more: Any) -> torch.Tensor:
    """Saves a small model and gives its logits."""
    model = transformer(seed=seed, dtype=torch.float32)
    modelfolder.save(
        folder,
        model,
        architecture="transformer",
        settings=model.settings,
        languages={"source": "en", "target": "de"},
        tokeniser={"subwords.model": b"pieces"},
        **more,
    )
    with torch.no_grad():
        return model(BATCH)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    save(tmp_path / "model")
    return tmp_path / "model"


def logits(folder: Path) -> torch.Tensor:
    with torch.no_grad():
        return modelfolder.load(folder).model(BATCH)


def rewrite(path: Path, **changes: Any) -> None:
    """Changes regard.json as another writer would: with a seal that fits."""
    table = json.loads(path.read_text())
    table.pop("sha256")
    path.write_bytes(modelfolder._sealed(table | changes))


def test_what_was_saved_is_loaded_to_the_bit(tmp_path: Path) -> None:
    expected = save(tmp_path / "model", training={"pairs": 3}, scores={"BLEU": 1.5}, card="# A card\n")
    assert torch.equal(logits(tmp_path / "model"), expected)
    loaded = modelfolder.load(tmp_path / "model")
    assert loaded.tokeniser == {"subwords.model": b"pieces"}
    assert loaded.description.training == {"pairs": 3}
    assert loaded.description.scores == {"BLEU": 1.5}
    assert (tmp_path / "model" / "README.md").read_text() == "# A card\n"


def test_a_folder_holds_these_files_and_every_shared_weight_once(folder: Path) -> None:
    files = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    assert files == {"regard.json", "weights.safetensors", "README.md", "tokeniser/subwords.model"}
    weights = load_file(folder / "weights.safetensors")
    assert [name for name in weights if "embedding" in name] == ["source_embedding.weight"]
    assert f"{sum(w.numel() for w in weights.values()):,} parameters, en to de" in (folder / "README.md").read_text()


def test_half_precision_on_disk_is_half_the_size_and_close(tmp_path: Path) -> None:
    expected = save(tmp_path / "half", stored_as="float16")
    save(tmp_path / "whole")
    sizes = [(tmp_path / name / "weights.safetensors").stat().st_size for name in ("half", "whole")]
    assert sizes[0] < 0.7 * sizes[1]
    torch.testing.assert_close(logits(tmp_path / "half"), expected, rtol=0, atol=0.05)


def test_people_may_edit_the_card(folder: Path) -> None:
    (folder / "README.md").write_text("My notes.\n")
    assert torch.isfinite(logits(folder)).all()


@pytest.mark.parametrize("name", ["weights.safetensors", "tokeniser/subwords.model"])
def test_a_missing_file_is_named(folder: Path, name: str) -> None:
    (folder / name).unlink()
    with pytest.raises(ModelFolderError, match=rf"{name}: this file is missing\.\n  Copy the folder again"):
        modelfolder.load(folder)


@pytest.mark.parametrize("name", ["weights.safetensors", "tokeniser/subwords.model"])
def test_a_truncated_file_is_named_with_its_sizes(folder: Path, name: str) -> None:
    content = (folder / name).read_bytes()
    (folder / name).write_bytes(content[:-1])
    with pytest.raises(
        ModelFolderError, match=f"{name}: this file is truncated: it has {len(content) - 1:,} of {len(content):,} bytes"
    ):
        modelfolder.load(folder)


@pytest.mark.parametrize("name", ["weights.safetensors", "tokeniser/subwords.model"])
def test_one_changed_bit_is_noticed(folder: Path, name: str) -> None:
    content = bytearray((folder / name).read_bytes())
    content[-1] ^= 1
    (folder / name).write_bytes(content)
    with pytest.raises(ModelFolderError, match=f"{name}: this file was changed after it was written"):
        modelfolder.load(folder)


def test_a_changed_description_is_noticed(folder: Path) -> None:
    path = folder / "regard.json"
    path.write_text(path.read_text().replace('"dropout": 0.1', '"dropout": 0.2'))
    with pytest.raises(ModelFolderError, match=r"regard\.json: this file was changed after it was written"):
        modelfolder.load(folder)


@pytest.mark.parametrize("content", ["", '{"format": 1', "[]", "{}", '"text"', "\x00\x01"])
def test_a_truncated_or_foreign_description_is_named(folder: Path, content: str) -> None:
    (folder / "regard.json").write_text(content)
    with pytest.raises(
        ModelFolderError,
        match=r"regard\.json: this file is truncated or was not written by Regard\.\n  Copy the folder",
    ):
        modelfolder.load(folder)


def test_a_missing_description_means_another_kind_of_folder(folder: Path) -> None:
    (folder / "regard.json").unlink()
    with pytest.raises(ModelFolderError, match=r"not a Regard model folder: regard\.json is missing"):
        modelfolder.load(folder)


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(
        ModelFolderError,
        match=r"nowhere: there is no such folder, and no model of that name is shipped\.\n  Give the path of a folder",
    ):
        modelfolder.load(tmp_path / "nowhere")


def test_a_newer_format_says_which_regard_wrote_it_and_how_to_upgrade(folder: Path) -> None:
    rewrite(folder / "regard.json", format=2, regard="9.1.0", files={}, surprises=True)
    with pytest.raises(ModelFolderError, match=r"written by Regard 9\.1\.0, in format 2;.*\n.*pip install --upgrade"):
        modelfolder.load(folder)


def test_a_file_outside_the_folder_is_refused(folder: Path) -> None:
    (folder.parent / "secret").write_bytes(b"x")
    stored = {"bytes": 1, "sha256": modelfolder._sha256(b"x")}
    rewrite(folder / "regard.json", files={"tokeniser/../../secret": stored})
    with pytest.raises(ModelFolderError, match="is not a valid file name in a model folder"):
        modelfolder.load(folder)


def test_weights_of_another_model_are_told_by_name_and_shape(folder: Path) -> None:
    weights = load_file(folder / "weights.safetensors")
    weights["stranger"] = weights.pop("encoder.layers.0.feed_forward.inner.bias")
    weights["source_embedding.weight"] = weights["source_embedding.weight"][:5].contiguous()
    save_file(weights, folder / "weights.safetensors")
    content = (folder / "weights.safetensors").read_bytes()
    stored = {"bytes": len(content), "sha256": modelfolder._sha256(content)}
    rewrite(folder / "regard.json", files={"weights.safetensors": stored})
    with pytest.raises(ModelFolderError) as error:
        modelfolder.load(folder)
    assert "encoder.layers.0.feed_forward.inner.bias is missing" in str(error.value)
    assert "stranger is not part of this architecture" in str(error.value)
    assert "source_embedding.weight is [5, 16] and should be [23, 16]" in str(error.value)


def test_a_pickle_under_the_name_of_the_weights_is_not_unpickled(folder: Path) -> None:
    torch.save(load_file(folder / "weights.safetensors"), folder / "weights.safetensors")
    content = (folder / "weights.safetensors").read_bytes()
    stored = {"bytes": len(content), "sha256": modelfolder._sha256(content)}
    rewrite(folder / "regard.json", files={"weights.safetensors": stored})
    with pytest.raises(ModelFolderError, match=r"weights\.safetensors: this is not a safetensors file"):
        modelfolder.load(folder)


def test_an_unknown_architecture_is_told_with_the_nearest_name(folder: Path) -> None:
    rewrite(folder / "regard.json", architecture="transfomer")
    with pytest.raises(SettingsError, match=r"no such architecture; did you mean 'transformer'\?"):
        modelfolder.load(folder)


def test_saving_replaces_a_model_folder_but_nothing_else(folder: Path) -> None:
    expected = save(folder, seed=1)
    assert torch.equal(logits(folder), expected)
    assert [path.name for path in folder.parent.iterdir()] == ["model"]
    other = folder.parent / "thesis"
    other.mkdir()
    (other / "chapter.txt").write_text("years of work")
    with pytest.raises(ModelFolderError, match=r"thesis: this folder contains other files\.\n  Choose a new folder"):
        save(other)
    with pytest.raises(ModelFolderError, match=r"chapter\.txt: this is a file"):
        save(other / "chapter.txt")
    assert (other / "chapter.txt").read_text() == "years of work"


def test_a_failure_while_writing_leaves_the_former_model_and_no_debris(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = logits(folder)

    def full_disk(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("regard.files.os.fsync", full_disk)
    with pytest.raises(OSError, match="No space left"):
        save(folder, seed=1)
    monkeypatch.undo()
    assert torch.equal(logits(folder), before)
    assert [path.name for path in folder.parent.iterdir()] == ["model"]


def test_a_folder_can_be_copied_and_renamed(folder: Path, tmp_path: Path) -> None:
    before = logits(folder)
    shutil.copytree(folder, tmp_path / "elsewhere")
    assert torch.equal(logits(tmp_path / "elsewhere"), before)


@pytest.mark.parametrize("setting", ["d_model", "d_ff", "encoder_layers", "source_vocabulary"])
def test_settings_of_a_far_larger_model_are_refused_before_memory_is_asked_for(folder: Path, setting: str) -> None:
    settings = json.loads((folder / "regard.json").read_text())["settings"]
    rewrite(folder / "regard.json", settings=settings | {setting: 1_000_000_000, "tied_embeddings": "none"})
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(ModelFolderError, match=r"numbers are stored, .* a model of far more\.\n  Copy the folder"):
        modelfolder.load(folder)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200 << 10  # KiB

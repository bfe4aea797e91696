"""`regard export --to onnx`: a folder that onnxruntime and transformers.js run without Regard, checked when written."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

import regard
from baselines import model as baseline
from regard import ModelFolderError, SettingsError, modelfolder
from regard.exchange import export
from regard.tokens import Tokenisers, TokeniserSettings, train
from small import VOCABULARY, transformer

pytest.importorskip("onnx", reason="onnx is not installed: pip install 'regard[onnx]'")
pytest.importorskip("onnxruntime", reason="onnxruntime is not installed: pip install 'regard[onnx]'")

from regard.exchange import onnx as exporter
from regard.exchange.onnx.runtime import Files
from regard.exchange.onnx.transformer import Builder

ROOT = Path(__file__).parents[2]
WORDS = [f"w{number}" for number in range(20)]
SENTENCES = [
    "A dog runs.",
    "Two men are standing in front of a house and talking about the weather.",
    "The file could not be opened because it is damaged.",
    "She has lived in Berlin for three years.",
    "What time does the next train leave?",
    "Click the button to save all changes, then close the window.",
    "He bought 12 apples, 3 pears and a loaf of bread for 8.50 €.",
    "I would have called you if I had known your number.",
]
NODE_MODULES = os.environ.get("REGARD_NODE_MODULES", "")


@pytest.fixture(scope="module")
def shipped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The shipped model en-de, exported."""
    out = tmp_path_factory.mktemp("onnx") / "en-de"
    verdict = export("en-de", out, to="onnx")
    assert verdict.equal == verdict.probes > 20
    return out


@pytest.fixture(scope="module")
def expected() -> list[str]:
    translator = regard.load("en-de", engine="torch", device="cpu")
    return [found.text for found in translator.translate(SENTENCES, beam_size=1, checks=False)]


def saved(path: Path, model: Any, *, architecture: str = "transformer", tokenisers: Tokenisers | None = None) -> Path:
    """A small random model in a model folder, with a vocabulary of words unless another is given."""
    if tokenisers is None:
        words = TokeniserSettings(kind="words", vocabulary=VOCABULARY, options={"minimum": 1})
        tokenisers = train(WORDS, WORDS, words)
    settings = model.settings
    modelfolder.save(path, model, architecture=architecture, settings=settings, tokeniser=tokenisers.files())
    return path


def test_the_shipped_model_translates_as_in_regard(shipped: Path, expected: list[str]) -> None:
    tokeniser = Tokenisers.from_files(modelfolder.read_tokeniser("en-de")).source
    sources = [[*tokeniser.encode(text), tokeniser.end] for text in SENTENCES]
    for merged in (True, False):
        files = Files(shipped / "onnx", merged=merged)
        found = files.greedy(sources, begin=tokeniser.begin, end=tokeniser.end, limits=[60] * len(sources))
        assert [tokeniser.decode(ids) for ids in found] == expected


@pytest.mark.parametrize("place", ["the card", "the guide"])
def test_the_programs_in_the_card_and_in_the_guide_translate_as_regard_does(
    place: str, shipped: Path, expected: list[str], tmp_path: Path
) -> None:
    pytest.importorskip("tokenizers", reason="tokenizers is not installed: pip install tokenizers")
    (tmp_path / "en-de-onnx").symlink_to(shipped)
    path, where = {"the card": (shipped / "README.md", shipped), "the guide": (ROOT / "docs/onnx.md", tmp_path)}[place]
    (program,) = re.findall(r"```python\n(.*?)```", path.read_text(encoding="utf-8"), re.DOTALL)
    sentence = "A sentence." if place == "the card" else "A dog runs."
    assert sentence in program
    command = [sys.executable, "-c", program.replace(sentence, SENTENCES[1])]
    told = subprocess.run(command, cwd=where, capture_output=True, text=True, check=True)
    assert told.stdout.strip() == expected[1]


def test_the_card_of_an_export_says_that_it_was_checked(shipped: Path) -> None:
    assert "Checked with onnxruntime" in (shipped / "README.md").read_text(encoding="utf-8")


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
@pytest.mark.skipif(
    not Path(NODE_MODULES, "@huggingface/transformers").is_dir() or not NODE_MODULES,
    reason="REGARD_NODE_MODULES names no folder with @huggingface/transformers in it",
)
class TestTransformersJs:
    """Where node and the package are installed: npm install --ignore-scripts @huggingface/transformers."""

    def translated(self, folder: Path, dtype: str, texts: list[str]) -> dict[str, Any]:
        command = ["node", str(ROOT / "tests/transformers_js.mjs"), NODE_MODULES, str(folder), dtype]
        told = subprocess.run(command, input="\n".join(texts), capture_output=True, text=True, check=False)
        assert told.returncode == 0, told.stderr
        found: dict[str, Any] = json.loads(told.stdout)
        return found

    def test_the_shipped_model_translates_as_in_regard(self, shipped: Path, expected: list[str]) -> None:
        found = self.translated(shipped, "fp32", SENTENCES)
        assert found["found"] == expected
        assert found["together"] == expected[:4]

    def test_two_vocabularies_work_with_two_tokenisers(self, tmp_path: Path) -> None:
        tokenisers = train(
            [f"{word} {other}" for word in WORDS for other in WORDS],
            [f"x{word} y{other}" for word in WORDS for other in WORDS],
            TokeniserSettings(kind="subwords", vocabulary=300, joint=False),
        )
        sizes = {
            "source_vocabulary": tokenisers.source.size,
            "target_vocabulary": tokenisers.target.size,
            "tied_embeddings": "none",
        }
        model = saved(tmp_path / "model", transformer(dtype=torch.float32, **sizes), tokenisers=tokenisers)
        export(model, tmp_path / "out", to="onnx")
        texts = ["w1 w2", "w3", "w4 w5 w6", "w7 w7"]
        found = self.translated(tmp_path / "out", "fp32", texts)
        files, source, target = Files(tmp_path / "out/onnx"), tokenisers.source, tokenisers.target
        ids = files.greedy(
            [[*source.encode(text), source.end] for text in texts],
            begin=target.begin,
            end=target.end,
            limits=[31] * 4,  # and the end, which generation forces
        )
        assert [text.strip() for text in found["found"]] == [target.decode(one) for one in ids]
        assert len(set(found["found"])) > 2


def test_int8_is_a_quarter_of_the_size_and_mostly_translates_alike(
    shipped: Path, expected: list[str], tmp_path: Path
) -> None:
    loaded = modelfolder.load("en-de")
    exporter.write(loaded, tmp_path, "int8")
    decoders = ("decoder_model", "decoder_model_merged", "decoder_with_past_model")
    names = {path.name for path in (tmp_path / "onnx").iterdir()}
    assert names == {f"{name}_quantized.onnx" for name in ("encoder_model", *decoders)}
    small, large = (sum(path.stat().st_size for path in (at / "onnx").iterdir()) for at in (tmp_path, shipped))
    assert small < 0.27 * large
    found = exporter.said(tmp_path, loaded, SENTENCES)
    assert sum(said.text == text for said, text in zip(found, expected, strict=True)) >= 5


def test_the_card_says_how_many_probes_are_equal_in_int8(tmp_path: Path) -> None:
    model = saved(tmp_path / "model", transformer(dtype=torch.float32))
    verdict = export(model, tmp_path / "out", to="onnx", quantization="int8")
    assert 0 < verdict.equal <= verdict.probes
    assert verdict.sentence() in (tmp_path / "out/README.md").read_text(encoding="utf-8")


def test_an_export_that_translates_differently_is_an_error_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = saved(tmp_path / "model", transformer(dtype=torch.float32, start="token"))
    export(model, tmp_path / "right", to="onnx")
    monkeypatch.setattr(Builder, "placed", lambda _, x, *__, **___: x)
    with pytest.raises(ModelFolderError, match=r"onnxruntime [\d.]+ translates differently with this export"):
        export(model, tmp_path / "wrong", to="onnx")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model", "right"]
    verdict = export(model, tmp_path / "wrong", to="onnx", unchecked=True)
    assert "written with --unchecked" in verdict.sentence()
    assert verdict.sentence() in (tmp_path / "wrong/README.md").read_text(encoding="utf-8")


def test_a_merged_decoder_that_differs_from_the_others_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = saved(tmp_path / "model", transformer(dtype=torch.float32))
    right = Files.greedy

    def wrong(self: Files, *arguments: Any, **options: Any) -> list[list[int]]:
        return [[*ids, 5] if self.merged else ids for ids in right(self, *arguments, **options)]

    monkeypatch.setattr(Files, "greedy", wrong)
    with pytest.raises(ModelFolderError, match=r"decoder_model_merged\.onnx translates differently"):
        export(model, tmp_path / "out", to="onnx")
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_other_tokenisers_are_stored_as_they_are_and_the_card_says_so(tmp_path: Path) -> None:
    model = saved(tmp_path / "model", transformer(dtype=torch.float32, positions="rotary", norm="pre"))
    verdict = export(model, tmp_path / "out", to="onnx", attentions=True)
    assert verdict.equal == verdict.probes
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {"README.md", "onnx", "tokeniser.json", "tokeniser.words.txt"}
    card = (tmp_path / "out/README.md").read_text(encoding="utf-8")
    assert "No `tokenizer.json` cuts text in the same way" in card
    assert "`cross_attentions.0`" in card


@pytest.mark.parametrize("name", ["lstm-dot", "convs2s", "bytenet", "neural-gpu"])
def test_other_architectures_are_refused(name: str, tmp_path: Path) -> None:
    built = baseline(name, dtype=torch.float32)
    architecture = {"lstm-dot": "recurrent", "neural-gpu": "neural_gpu"}.get(name, name)
    saved(tmp_path / "model", built, architecture=architecture)
    with pytest.raises(ModelFolderError, match=f"only Transformers .* but this model is a '{architecture}'"):
        export(tmp_path / "model", tmp_path / "out", to="onnx")
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_text_from_its_end_and_a_missing_tokeniser_are_refused(tmp_path: Path) -> None:
    built = transformer(dtype=torch.float32)
    words = TokeniserSettings(kind="words", vocabulary=VOCABULARY, options={"minimum": 1}, reversed=True)
    saved(tmp_path / "backwards", built, tokenisers=train(WORDS, WORDS, words))
    with pytest.raises(ModelFolderError, match="from its end, which programs that run ONNX files do not support"):
        export(tmp_path / "backwards", tmp_path / "out", to="onnx")
    modelfolder.save(tmp_path / "bare", built, architecture="transformer", settings=built.settings)
    with pytest.raises(ModelFolderError, match="has no tokeniser"):
        export(tmp_path / "bare", tmp_path / "out", to="onnx")
    assert not (tmp_path / "out").exists()


def test_a_missing_library_is_named_with_its_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = saved(tmp_path / "model", transformer(dtype=torch.float32))
    monkeypatch.setattr(exporter, "find_spec", lambda name: None if name == "onnxruntime" else name)
    verdict = export(model, tmp_path / "unchecked", to="onnx")
    assert verdict.sentence() == "Not checked with onnxruntime: it is not installed (pip install 'regard[onnx]')."
    monkeypatch.setattr(exporter, "find_spec", lambda _: None)
    with pytest.raises(SettingsError, match=r"the library onnx, .*\n  Install it with: pip install 'regard\[onnx\]'"):
        export(model, tmp_path / "out", to="onnx")
    assert not (tmp_path / "out").exists()


def test_a_file_beyond_2_gib_is_refused_before_it_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from regard.exchange.onnx import checks

    model = saved(tmp_path / "model", transformer(dtype=torch.float32))
    monkeypatch.setattr(checks, "_LARGEST", 2**20 + 1000)
    with pytest.raises(ModelFolderError, match=r"encoder_model\.onnx would be larger than 2 GiB"):
        export(model, tmp_path / "out", to="onnx")
    assert not (tmp_path / "out").exists()


def test_only_onnx_has_outputs_for_attention(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="exports to ctranslate2 have no outputs for the weights of attention"):
        export("en-de", tmp_path / "out", to="ctranslate2", attentions=True)

"""Exported folders in `transformers` and in CTranslate2's own converter: the same logits and translations."""

import gzip
import json
import os
import shutil
import warnings
from pathlib import Path
from typing import Any

import pytest
import torch

import regard
import trained
from regard import modelfolder
from regard.exchange import export, hub_files, huggingface
from regard.exchange.importing import opened
from regard.modelfolder import ModelFolder
from regard.models.transformer import Transformer, TransformerSettings
from regard.search import SearchSettings
from regard.tasks.translation import batch_of
from regard.tokens import Tokenisers, TokeniserSettings, train

transformers = pytest.importorskip("transformers", reason="pip install 'regard[exchange]'")

TEXTS = ["The lake is small.", "An old house, {name}!", "3.5 km – Häuser", "</s> <unk>", "x"]
MORE = ["A small house stands by the lake.", "Where is the station?", "Save the file before you close the window."]


def tokenisers_of(algorithm: str = "unigram", *, joint: bool = True, protected: tuple[str, ...] = ()) -> Tokenisers:
    lines = ["A small house stands by the old lake, {name}.", "The lake is small, and the house is old."] * 20
    others = ["Ein kleines Haus steht am alten See, {name}.", "Der See ist klein, und das Haus ist alt."] * 20
    settings = TokeniserSettings(
        vocabulary=330, options={"algorithm": algorithm, "minimum": 1}, joint=joint, protected=protected
    )
    return train(lines, others, settings)


def random_folder(folder: Path, tokenisers: Tokenisers, **settings: Any) -> ModelFolder:
    """A random model whose biases are not zero, in a model folder."""
    torch.manual_seed(4)
    sizes = {"source_vocabulary": tokenisers.source.size, "target_vocabulary": tokenisers.target.size, "d_model": 16}
    sizes |= {"d_ff": 24, "heads": 4, "encoder_layers": 2, "decoder_layers": 2}
    model = Transformer(TransformerSettings(**(sizes | settings))).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith("bias"):
                parameter.normal_(std=0.3)
    modelfolder.save(
        folder,
        model,
        architecture="transformer",
        settings=model.settings,
        languages={"source": "en", "target": "de"},
        tokeniser=tokenisers.files(),
    )
    return modelfolder.load(folder)


VARIANTS: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({}, {}),
    ({"positions": "halves", "start": "token", "activation": "swish"}, {"algorithm": "bpe"}),
    ({"attention_bias": True, "output_bias": True, "activation": "gelu"}, {"protected": ("{name}",)}),
    ({"tied_embeddings": "source-target"}, {}),
    ({"tied_embeddings": "target-output", "output_bias": True}, {"joint": False}),
    ({"tied_embeddings": "none", "encoder_layers": 1}, {"joint": False, "algorithm": "bpe"}),
]


@pytest.mark.parametrize(("settings", "subwords"), VARIANTS, ids=str)
def test_an_export_has_the_same_logits_tokens_and_weights_after_the_round_trip(
    settings: dict[str, Any], subwords: dict[str, Any], tmp_path: Path
) -> None:
    tokenisers = tokenisers_of(**subwords)
    loaded = random_folder(tmp_path / "model", tokenisers, **settings)
    verdict = export(tmp_path / "model", tmp_path / "out", to="huggingface")
    assert verdict.equal + verdict.ties == verdict.probes > 20
    tokenizer, model = huggingface.opened(tmp_path / "out")
    numbering = hub_files.padding_last(tokenisers)
    sources = [tokenisers.source.encode(text) for text in TEXTS]
    targets = [tokenisers.target.encode(text) for text in reversed(TEXTS)]
    for text, source, target in zip(TEXTS, sources, targets, strict=True):
        ids = tokenizer(text)["input_ids"]
        assert [numbering.source[token] for token in ids] == [*source, tokenisers.source.end]
        theirs = [numbering.target.index(token) for token in target]
        start = torch.tensor([[model.config.decoder_start_token_id, *theirs]])
        ends = {"end": tokenisers.target.end, "source_end": tokenisers.source.end}
        batch = batch_of([[(source, target)]], begin=tokenisers.target.begin, **ends)
        with torch.no_grad():
            expected = loaded.model(batch)[0][:, list(numbering.target)]
            found = model(input_ids=torch.tensor([ids]), decoder_input_ids=start).logits[0]
        words = [token for token in range(found.size(1)) if token != numbering.padding[1]]
        torch.testing.assert_close(found[:, words], expected[:, words], rtol=0, atol=1e-5)
    restored = opened(tmp_path / "out")
    assert restored.tokeniser == loaded.tokeniser
    assert restored.description.settings == loaded.description.settings
    ours, again = loaded.model.state_dict(), restored.model.state_dict()
    assert all(torch.equal(ours[name], again[name]) for name in ours)


@pytest.fixture(scope="module")
def shipped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The shipped model, exported."""
    out = tmp_path_factory.mktemp("huggingface") / "en-de"
    verdict = export("en-de", out, to="huggingface")
    assert (verdict.equal, verdict.unchecked) == (verdict.probes, "")
    assert verdict.sentence() in (out / "README.md").read_text()
    return out


def sentences(count: int) -> list[str]:
    """The first sentences of Multi30k's test set of 2016, and a few where there are none."""
    file = Path(os.environ.get("REGARD_DATA", "data")) / "multi30k" / "test_2016_flickr.en.gz"
    if not file.exists():
        return MORE
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        return [line.rstrip("\n") for line, _ in zip(lines, range(count), strict=False)]


def test_the_shipped_model_translates_alike_in_all_programs(shipped: Path, tmp_path: Path) -> None:
    texts = sentences(12)
    ours = regard.load("en-de", engine="torch", device="cpu")
    tokenizer, model = huggingface.opened(shipped)
    batch = tokenizer(texts, return_tensors="pt", padding=True)

    def theirs(**options: Any) -> list[str]:
        with torch.no_grad():
            found: list[str] = tokenizer.batch_decode(model.generate(**batch, **options), skip_special_tokens=True)
        return found

    for search, options in (
        (SearchSettings(method="greedy", repetition_cycle=0), {"num_beams": 1}),
        (SearchSettings(length_penalty=0.0, repetition_cycle=0), {"num_beams": 4, "length_penalty": 0.0}),
    ):
        expected = [found.text for found in ours.translate(texts, search=search)]
        assert theirs(**options) == expected
        assert [
            found.text for found in regard.load(shipped, engine="torch").translate(texts, search=search)
        ] == expected
    greedy = [found.text for found in ours.translate(texts, search=SearchSettings(method="greedy", repetition_cycle=0))]
    assert converted_by_ctranslate2(shipped, tmp_path, texts) == greedy


def converted_by_ctranslate2(folder: Path, tmp_path: Path, texts: list[str]) -> list[str]:
    """What CTranslate2 says after its own converter read the folder."""
    ctranslate2 = pytest.importorskip("ctranslate2", reason="pip install 'regard[fast]'")
    tokenizer, _ = huggingface.opened(folder)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ctranslate2.converters.TransformersConverter(str(folder)).convert(str(tmp_path / "converted"))
    translator = ctranslate2.Translator(str(tmp_path / "converted"), intra_threads=1)
    tokens = [tokenizer.convert_ids_to_tokens(tokenizer.encode(text)) for text in texts]
    found = translator.translate_batch(tokens, beam_size=1)
    return [tokenizer.decode(tokenizer.convert_tokens_to_ids(one.hypotheses[0])) for one in found]


def test_the_fast_tokeniser_normalises_and_cuts_as_regard_does(shipped: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fast = transformers.PreTrainedTokenizerFast.from_pretrained(shipped)
    tokenisers = Tokenisers.from_files(modelfolder.read_tokeniser("en-de"))
    ids = hub_files.padding_last(tokenisers).source
    odd = ["", "  e\u0301 two  spaces\t", "a\u200bb\u00a0c\ufeff", "▁x▁", "<0x41> </s>", "🙂 日本語", "\r\nx\ny"]
    for text in [*odd, *sentences(40)]:
        found = fast(text)["input_ids"]
        assert [ids[token] for token in found] == [*tokenisers.source.encode(text), tokenisers.source.end]
        assert fast.decode(found, skip_special_tokens=True) == tokenisers.source.normalise(text)


def test_the_card_has_the_hubs_metadata(shipped: Path) -> None:
    hub = pytest.importorskip("huggingface_hub")
    card = hub.ModelCard.load(shipped / "README.md")
    assert card.data.language == ["en", "de"]
    assert card.data.pipeline_tag == "translation"
    assert card.data.library_name == "transformers"
    assert set(card.data.metrics) == {"bleu", "chrf"}
    assert "## Limits" in card.text


def test_a_folder_that_was_trained_elsewhere_is_read_as_it_is_now(shipped: Path, tmp_path: Path) -> None:
    folder = tmp_path / "tuned"
    _, model = huggingface.opened(shipped)
    with torch.no_grad():
        model.model.encoder.layers[0].fc1.weight.add_(0.25)
    shutil.copytree(shipped, folder)
    model.save_pretrained(folder)
    loaded = opened(folder)
    assert loaded.description.settings["positions"] == "halves"
    assert Tokenisers.from_files(loaded.tokeniser).source.kind == "marian"
    found = dict(loaded.model.named_parameters())["encoder.layers.0.feed_forward.inner.weight"]
    assert torch.equal(found, model.model.encoder.layers[0].fc1.weight)


@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
def test_half_precision_is_checked_and_half_as_large(kind: str, tmp_path: Path) -> None:
    random_folder(tmp_path / "model", tokenisers_of())
    verdict = export(tmp_path / "model", tmp_path / "out", to="huggingface", quantization=kind)
    assert verdict.equal > 0.5 * verdict.probes
    assert json.loads((tmp_path / "out" / "config.json").read_text())["dtype"] == kind
    _, model = huggingface.opened(tmp_path / "out")
    assert next(model.parameters()).dtype == torch.float32
    count = sum(tensor.numel() for tensor in {id(p): p for p in model.parameters()}.values())
    assert (tmp_path / "out" / "model.safetensors").stat().st_size < 2.5 * count


def test_a_trained_model_that_ends_its_sentences_is_exported_exactly(tmp_path: Path) -> None:
    trained.model_folder(tmp_path / "model", steps=60)
    verdict = export(tmp_path / "model", tmp_path / "out", to="huggingface")
    assert (verdict.equal, verdict.ties) == (verdict.probes, 0)
